// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Policies for what is not compiled yet: waiting, fast code first, refusing. The compiler is TierWorker.cpp.
#include "test/tools/SessionCudaFixture.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include "driver/jit/Tiers.h"

namespace kernelc {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr char kProduct[] = "def product(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * b[k, j]) }";

class SessionTiers : public SessionCuda {
protected:
  void SetUp() override {
    SessionCuda::SetUp();
    if (IsSkipped())
      return;
    home_ = testing::TempDir() + "/kernelc-tiers-XXXXXX";
    ASSERT_NE(::mkdtemp(home_.data()), nullptr);
    oldHome_ = std::getenv("HOME") ? std::getenv("HOME") : "";
    ::setenv("HOME", home_.c_str(), 1);
    ::setenv("KERNELC_NVRTC_WORKER", KERNELC_TIER_WORKER, 1);
    device_ = *(*Runtime::instance())->device(0);
    auto scope = ContextScope::enter(*device_);
    ASSERT_EQ(device_->driver().cuStreamCreate(&stream_, cuda::kStreamNonBlocking), 0);
  }
  void TearDown() override {
    kernel_ = nullptr;
    ::unsetenv("KERNELC_NVRTC_WORKER");
    ::unsetenv("KERNELC_COMPILE");
    if (!home_.empty())
      ::setenv("HOME", oldHome_.c_str(), 1);
  }
  /// A session with a cache of its own, and its kernel. The worker's cubin has the kernel's entries.
  void open(std::optional<CompilePolicy> policy) {
    SessionOptions options;
    options.cachePath = home_ + "/cache";
    options.compile = policy;
    options.remark = [this](const std::string &text) { remarks_.push_back(text); };
    session_ = Session::create(options);
    auto kernel = session_->compile(kProduct);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    kernel_ = *kernel;
    t_.clear();
    values_.clear();
    for (int i = 0; i < 3; ++i)
      t_.emplace_back(ElementType::f32, std::vector<int64_t>{64, 64});
    for (HostTensor &t : t_)
      values_.push_back(t.deviceTensor());
    auto k = Session::create(withoutCache())->compile(kProduct).value()->variantFor(target_, values_);
    ASSERT_TRUE(k.ok()) << k.status();
    std::ofstream(home_ + "/cubin", std::ios::binary) << fakeCubinOf(*k);
  }
  static SessionOptions withoutCache() {
    SessionOptions options;
    options.diskCache = false;
    return options;
  }
  /// The worker sees the file with its text, or none.
  void letGo(const std::string &why = "") {
    std::ofstream(home_ + "/go.part") << why;
    std::filesystem::rename(home_ + "/go.part", home_ + "/go");
  }
  int64_t loads() { return fakecuda::callCount("cuLibraryLoadData"); }
  /// Launches until code has been loaded, 10 seconds at most.
  void launchUntilLoad(BoundCall &bound, int64_t before) {
    for (int i = 0; i < 10000 && loads() == before; ++i) {
      ASSERT_EQ(bound.launch(stream_), absl::OkStatus());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::string home_, oldHome_;
  std::vector<std::string> remarks_;
  std::shared_ptr<JitKernel> kernel_;
  std::vector<HostTensor> t_;
  std::vector<LaunchValue> values_;
  Device *device_ = nullptr;
  cuda::StreamHandle stream_ = nullptr;
};

TEST_F(SessionTiers, FastCodeRunsUntilTheOtherIsThere) {
  open(CompilePolicy::Tiered);
  int64_t before = loads();
  auto bound = kernel_->bind({Place::Cuda}, values_, {}, stream_);
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(loads(), before + 1);
  EXPECT_THAT(remarks_, Contains(HasSubstr("kernel 'product' runs code that was compiled fast")));
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(bound->launch(stream_), absl::OkStatus());
  EXPECT_EQ(loads(), before + 1) << "there is nothing better yet";
  letGo();
  launchUntilLoad(*bound, before + 1);
  EXPECT_EQ(loads(), before + 2);
  EXPECT_THAT(remarks_, Contains("kernel 'product' runs NVRTC's full code now"));
  // It stays, for other calls as well, and for the next process.
  ASSERT_EQ(bound->launch(stream_), absl::OkStatus());
  ASSERT_EQ(kernel_->call({Place::Cuda}, values_, {}, stream_), absl::OkStatus());
  EXPECT_EQ(loads(), before + 2);
  open(CompilePolicy::Strict);
  EXPECT_EQ(kernel_->call({Place::Cuda}, values_, {}, stream_), absl::OkStatus());
  EXPECT_THAT(fakecuda::misuses(), testing::IsEmpty());
}

TEST_F(SessionTiers, NothingChangesWhileAGraphIsCaptured) {
  open(CompilePolicy::Tiered);
  auto bound = kernel_->bind({Place::Cuda}, values_, {}, stream_);
  ASSERT_TRUE(bound.ok()) << bound.status();
  ASSERT_EQ(bound->launch(stream_), absl::OkStatus()); // which gets the stream its workspace
  letGo();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  int64_t before = loads();
  auto scope = ContextScope::enter(*device_);
  ASSERT_EQ(device_->driver().cuStreamBeginCapture(stream_, cuda::kCaptureGlobal), 0);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(bound->launch(stream_), absl::OkStatus());
  EXPECT_EQ(kernel_->call({Place::Cuda}, values_, {}, stream_), absl::OkStatus());
  EXPECT_EQ(loads(), before);
  cuda::Graph graph = nullptr;
  ASSERT_EQ(device_->driver().cuStreamEndCapture(stream_, &graph), 0) << "the capture is broken";
  device_->driver().cuGraphDestroy(graph);
  launchUntilLoad(*bound, before);
  EXPECT_EQ(loads(), before + 1);
}

TEST_F(SessionTiers, WhatFailsLeavesTheFastCode) {
  open(CompilePolicy::Tiered);
  auto bound = kernel_->bind({Place::Cuda}, values_, {}, stream_);
  ASSERT_TRUE(bound.ok()) << bound.status();
  letGo("ptxas has no idea");
  for (int i = 0; i < 10000 && !testing::Value(remarks_, Contains(HasSubstr("ptxas has no idea"))); ++i) {
    ASSERT_EQ(bound->launch(stream_), absl::OkStatus());
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(remarks_, Contains("kernel 'product' keeps the code that was compiled fast: ptxas has no idea"));
  EXPECT_EQ(bound->launch(stream_), absl::OkStatus());
  EXPECT_EQ(kernel_->call({Place::Cuda}, values_, {}, stream_), absl::OkStatus());
}

TEST_F(SessionTiers, ACallMayAskForTheFullCode) {
  open(CompilePolicy::Tiered);
  ASSERT_EQ(kernel_->call({Place::Cuda}, values_, {}, stream_), absl::OkStatus());
  int64_t before = loads();
  letGo();
  ASSERT_EQ(kernel_->call({Place::Cuda}, values_, {}, stream_, nullptr, CompilePolicy::Block), absl::OkStatus());
  EXPECT_EQ(loads(), before + 1);
}

TEST_F(SessionTiers, BlockWaits) {
  open(CompilePolicy::Block);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    letGo();
  });
  int64_t before = loads();
  EXPECT_EQ(kernel_->call({Place::Cuda}, values_, {}, stream_), absl::OkStatus());
  later.join();
  EXPECT_EQ(loads(), before + 1);
  EXPECT_THAT(remarks_, Not(Contains(HasSubstr("compiled fast"))));
}

TEST_F(SessionTiers, StrictCompilesNothing) {
  ::setenv("KERNELC_COMPILE", "strict", 1);
  open(std::nullopt);
  absl::Status s = kernel_->call({Place::Cuda}, values_, {}, stream_);
  EXPECT_EQ(findErrorKind(s), RuntimeErrorKind::NotLoaded) << s;
  EXPECT_THAT(std::string(s.message()), HasSubstr("the policy 'strict' forbids compiling it now"));
  // The text alone is not the code.
  auto k = kernel_->variantFor(target_, values_);
  ASSERT_TRUE(k.ok()) << k.status();
  EXPECT_EQ(findErrorKind(kernel_->call({Place::Cuda}, values_, {}, stream_)), RuntimeErrorKind::NotLoaded);
  store(k->variants[0], fakeCubinOf(*k));
  EXPECT_EQ(kernel_->call({Place::Cuda}, values_, {}, stream_), absl::OkStatus());
}

TEST_F(SessionTiers, AnUnknownPolicyIsSaid) {
  ::setenv("KERNELC_COMPILE", "lazy", 1);
  open(std::nullopt);
  EXPECT_THAT(remarks_,
              Contains("KERNELC_COMPILE: 'lazy' is no policy for compiling; there are block, tiered and strict; tiered is taken"));
}

TEST(Tiers, OnlyProductsOfCudaCoresAreWorthIt) {
  auto codeOf = [](const std::string &text) {
    VariantCode code;
    code.units.resize(1);
    code.units[0].text = text;
    code.cubins.resize(1);
    return code;
  };
  EXPECT_TRUE(isWorthFastCode(codeOf("c[r] = fmaf(a, b[n], c[r]);")));
  EXPECT_TRUE(isWorthFastCode(codeOf("kc_multiply_f32<16, 8, 4, 128, 8, 4, 128, 1>(c, a, b);")));
  EXPECT_FALSE(isWorthFastCode(codeOf("c[r] = expf(a);")));
  EXPECT_FALSE(isWorthFastCode(codeOf("kc_wgmma_bf16<256, 0, 0>(a, x, y, 1); c = fmaf(a, b, c);")));
  const VariantCode loops = codeOf("c[r] = fmaf(a, b[n], c[r]);"),
                    rounds = codeOf("kc_multiply_f32<16, 8, 4, 128, 8, 4, 128, 1>(c, a, b);");
  EXPECT_FALSE(FastWay::find(1e-3, loops).inPieces) << "there are none";
  EXPECT_TRUE(FastWay::find(1e-3, rounds).inPieces);
  EXPECT_FALSE(FastWay::find(10e-6, rounds).inPieces) << "they take NVRTC longer than the loops take the GPU";
  EXPECT_TRUE(FastWay::find(1e-3, rounds).mayEndEarlier(1e-3));
  EXPECT_FALSE(FastWay::find(1, rounds).mayEndEarlier(1));
  const FastWay way = FastWay::find(100e-6, loops);
  EXPECT_TRUE(way.endsEarlier(100e-6, absl::Milliseconds(60)));
  EXPECT_FALSE(way.endsEarlier(10e-3, absl::Milliseconds(60)));
  EXPECT_FALSE(way.endsEarlier(0, absl::Milliseconds(60))) << "not known";
}

} // namespace
} // namespace kernelc
