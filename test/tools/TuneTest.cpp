// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc tune without a GPU: FakeCuda tells how long a launch takes; see SessionCudaFixture.h.
#include "test/tools/SessionCudaFixture.h"

#include "driver/compile/Program.h"
#include "driver/jit/CacheQuestion.h"
#include "driver/tune/HostTune.h"
#include "driver/tune/PlannedSchedule.h"

namespace kernelc {
namespace {

using testing::HasSubstr;

class SessionTune : public SessionCuda {
protected:
  void SetUp() override {
    ::unsetenv("KERNELC_UNTUNED");
    SessionCuda::SetUp();
  }
  /// Tunes `kernel` where a launch takes `milliseconds` by the threads of its blocks.
  absl::StatusOr<TuneResult> tune(JitKernel &kernel, const std::function<float(unsigned threads)> &milliseconds) {
    std::vector<HostTensor> t = tensors(1 << 16);
    std::vector<LaunchValue> values = valuesOf(t);
    prepare(kernel, values);
    auto own = startingPoints(*session_, kernel, target_, values);
    if (!own.ok())
      return own.status();
    std::vector<SchedulePoint> points = neighboursOf(own->front());
    points.push_back(own->front());
    for (const SchedulePoint &p : points) { // what the search will ask for first
      ProgramOptions options;
      options.schedule = *printJson(toJson(p, kernel.signature().name));
      options.scheduleName = "candidate";
      auto candidate = session_->compile(kernel.program().text(), "", options);
      if (candidate.ok())
        if (auto variant = (*candidate)->variantFor(target_, values); variant.ok())
          store(variant->variants[0], fakeCubinOf(*variant));
    }
    fakecuda::onLaunch("kc_scale", [=](const fakecuda::Launched &l) { fakecuda::passTime(milliseconds(l.block)); });
    options_.repeats = 1;
    return tuneOnHost(*session_, kernel, {Place::Cuda}, t, options_);
  }
  TuneOptions options_;
  /// The schedule and the remarks that a call without one gets from a new session.
  std::pair<std::string, std::string> taken() {
    SessionOptions o;
    o.cachePath = session_->cache().path();
    auto session = Session::create(o);
    auto kernel = session->compile(kScale);
    auto t = tensors(1 << 16);
    auto variant = (*kernel)->variantFor(target_, valuesOf(t));
    EXPECT_TRUE(variant.ok()) << variant.status();
    const Variant &v = variant->variants[0];
    return {v.launches[0].schedule, v.remarks.empty() ? "" : v.remarks[0]};
  }
};

TEST_F(SessionTune, KeepsWhatIsFasterAndDropsWhatIsNot) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::string costModel = taken().first;
  auto faster = tune(**kernel, [](unsigned threads) { return 100.0f / float(threads); });
  ASSERT_TRUE(faster.ok()) << faster.status();
  EXPECT_TRUE(faster->kept);
  EXPECT_LT(faster->bestSeconds, faster->startSeconds);
  auto [schedule, remark] = taken();
  EXPECT_NE(schedule, costModel);
  EXPECT_THAT(remark, testing::StartsWith("scale: the schedule is tuned, from "));
  EXPECT_THAT(remark, testing::AllOf(HasSubstr("for N = 65536: "), HasSubstr(" us, the cost model's ")));
  // Where the device has changed its mind, so does the cache.
  auto none = tune(**kernel, [](unsigned) { return 1.0f; });
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->kept);
  EXPECT_EQ(taken(), std::make_pair(costModel, std::string()));
}

TEST_F(SessionTune, GoesOnFromWhatWasTried) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::set<std::string> tried;
  std::string best;
  auto time = [](unsigned threads) { return 100.0f / float(threads); };
  options_.heard = [&](const ScheduleTrial &t, const std::string &) { tried.insert(*printJson(toJson(t.point, "scale"))); };
  auto first = tune(**kernel, time);
  ASSERT_TRUE(first.ok()) << first.status();
  options_.tried = tried;
  options_.fastest = *printJson(toJson(first->search.best, "scale"));
  std::vector<std::string> again;
  options_.heard = [&](const ScheduleTrial &t, const std::string &) { again.push_back(*printJson(toJson(t.point, "scale"))); };
  auto second = tune(**kernel, time);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->search.best, first->search.best);
  EXPECT_LT(again.size(), tried.size() / 2) << "the starts and the last comparison alone";
}

TEST_F(SessionTune, KeepsNothingOfAScheduleThatItWasGiven) {
  ProgramOptions options;
  options.schedule = R"([{"kernel": "scale", "launch": "y", "warps": 2}])";
  auto kernel = session_->compile(kScale, "", options);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  auto faster = tune(**kernel, [](unsigned threads) { return 100.0f / float(threads); });
  ASSERT_TRUE(faster.ok()) << faster.status();
  EXPECT_FALSE(faster->kept);
  EXPECT_EQ(taken().second, "");
}

// The last one: the device is lost to all of this process.
TEST_F(SessionTune, EndsWhereACandidateTakesTheDeviceAway) {
  auto kernel = session_->compile(kScale);
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<ScheduleTrial> heard;
  int checks = 0;
  options_.heard = [&](const ScheduleTrial &t, const std::string &) { heard.push_back(t); };
  options_.checks = [&](const SchedulePoint &) {
    if (++checks == 2)
      fakecuda::faultNextLaunch(cuda::Result(700));
  };
  auto result = tune(**kernel, [](unsigned threads) { return 100.0f / float(threads); });
  EXPECT_EQ(findErrorKind(result.status()), RuntimeErrorKind::DeviceLost) << result.status();
  ASSERT_FALSE(heard.empty());
  EXPECT_THAT(heard.back().rejected, HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_EQ(checks, 2) << "nothing runs behind it";
}

} // namespace
} // namespace kernelc
