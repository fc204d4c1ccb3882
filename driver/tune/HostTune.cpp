// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/tune/HostTune.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "driver/jit/DeviceArguments.h"
#include "driver/jit/JitKernelImpl.h"
#include "driver/jit/TuningStore.h"
#include "driver/jit/VariantSet.h"
#include "driver/measure/GpuTimer.h"
#include "driver/tune/PlannedSchedule.h"
#include "driver/verify/HostValues.h"

namespace kernelc {
namespace {

/// How far results may lie apart that differ by the order of f32 sums only.
double toleranceOf(ElementType type) {
  switch (type) {
  case ElementType::f64: return 1e-10;
  case ElementType::f32: return 1e-3;
  case ElementType::f16: return 4e-3;
  case ElementType::bf16: return 3e-2;
  default: return isFloat(type) ? 0.3 : 0;
  }
}

/// "" or what is wrong with `result`: elements further from `expected` than reduction
/// order explains, relative to the element and the tensor's root mean square.
std::string compare(const HostTensor &result, const HostTensor &expected) {
  if (!std::memcmp(result.data(), expected.data(), expected.bytes()))
    return "";
  int64_t n = expected.numElements();
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) {
    double v = loadElement(expected, i);
    squares += std::isfinite(v) ? v * v : 0;
  }
  double scale = std::sqrt(squares / double(n)), tolerance = toleranceOf(expected.type());
  for (int64_t i = 0; i < n; ++i) {
    double r = loadElement(result, i), e = loadElement(expected, i);
    bool same = r == e || (std::isnan(r) && std::isnan(e)) || std::fabs(r - e) <= tolerance * (std::fabs(e) + scale);
    if (!same)
      return absl::StrCat("wrong: element ", i, " is ", r, ", not ", e);
  }
  return "";
}

/// The evaluator of a search.
class Gpu {
public:
  Gpu(Session &session, JitKernel &kernel, const Place &place, absl::Span<const HostTensor> tensors, const TuneOptions &options)
      : session_(session), kernel_(kernel), place_(place), tensors_(tensors), options_(options) {}

  /// Where to search from, the kernel's own records first; keeps its results.
  absl::StatusOr<std::vector<SchedulePoint>> start() {
    absl::StatusOr<std::unique_ptr<DeviceArguments>> args = DeviceArguments::create(kernel_.signature(), place_, tensors_);
    if (!args.ok())
      return args.status();
    args_ = *std::move(args);
    absl::StatusOr<std::unique_ptr<GpuTimer>> timer = GpuTimer::create(args_->device(), args_->stream());
    if (!timer.ok())
      return timer.status();
    timer_ = *std::move(timer);
    absl::StatusOr<std::vector<HostTensor>> results = resultsOf(kernel_);
    if (!results.ok())
      return results.status();
    expected_ = *std::move(results);
    absl::StatusOr<CheckedArgs> checked = checkArguments(kernel_.signature(), args_->values(), {}, place_.ordinal, 1);
    if (!checked.ok())
      return checked.status();
    sizes_ = checked->sizes;
    variant_ = optionsFor(kernel_.signature(), target(), *checked, session_.options().generalOnly);
    std::optional<TunedSchedule> kept =
        findTuned(session_.cache(), kernel_.program(), kernel_.signature(), variant_, session_.options().remark);
    std::vector<std::string> found;
    if (kept)
      found.push_back(kept->schedule);
    if (!options_.fastest.empty())
      found.push_back(options_.fastest);
    return startingPoints(session_, kernel_, target(), args_->values(), found);
  }

  /// Keeps what was found for calls like this one. Whether it is kept.
  bool keep(const TuneResult &result) {
    if (!kernel_.program().options().schedule.empty() || session_.options().generalOnly || !(result.startSeconds > 0))
      return false;
    const Kernel &signature = kernel_.signature();
    if (result.search.best == result.start || result.bestSeconds >= result.startSeconds) {
      dropTuned(session_.cache(), kernel_.program(), signature, variant_);
      return false;
    }
    absl::StatusOr<std::string> schedule = printJson(toJson(result.search.best, signature.name));
    if (!schedule.ok())
      return false;
    TuningRecord record{*std::move(schedule), result.device, describeSizesOf(kernel_.program(), signature, sizes_), result.bestSeconds,
                        result.startSeconds};
    return keepTuned(session_.cache(), kernel_.program(), signature, variant_, record).ok();
  }

  std::vector<ScheduleTrial> evaluate(const SchedulePoint &best, const std::vector<SchedulePoint> &points) {
    std::vector<Candidate> candidates(points.size());
    for (size_t i = 0; i < points.size(); ++i)
      candidates[i].trial.point = points[i];
    inParallel(candidates.size(), [&](size_t i) { compile(candidates[i]); });
    for (Candidate &c : candidates) {
      if (!c.trial.rejected.empty())
        continue;
      check(c);
      if (!usable().ok()) { // this one's doing; of the others nothing is known
        hear(c.trial);
        return {};
      }
    }
    Candidate center;
    center.trial.point = best;
    compile(center);
    std::vector<Candidate *> running{&center};
    for (Candidate &c : candidates)
      if (c.trial.rejected.empty())
        running.push_back(&c);
    measure(running);
    if (!usable().ok())
      return {};
    std::vector<ScheduleTrial> trials;
    for (Candidate &c : candidates) {
      if (c.trial.rejected.empty())
        c.trial.ofBest = center.trial.seconds / c.trial.seconds;
      hear(c.trial);
      trials.push_back(std::move(c.trial));
    }
    return trials;
  }

  /// Whether the device still is, which a candidate's fault may have taken away.
  absl::Status usable() const { return args_->device().usable(); }
  const std::string target() const { return args_->device().info().target(); }
  const std::string deviceName() const { return args_->device().info().name; }

private:
  struct Candidate {
    ScheduleTrial trial;
    std::shared_ptr<JitKernel> kernel;
    std::unique_ptr<BoundCall> call;
  };

  void hear(const ScheduleTrial &trial) {
    if (options_.heard)
      options_.heard(trial, target());
  }

  void compile(Candidate &c) {
    ProgramOptions program = kernel_.program().options();
    auto reject = [&](const absl::Status &s) { c.trial.rejected = std::string(s.message()); };
    absl::StatusOr<std::string> schedule = printJson(toJson(c.trial.point, kernel_.signature().name));
    if (!schedule.ok())
      return reject(schedule.status());
    program.schedule = *schedule;
    program.scheduleName = "candidate";
    absl::StatusOr<std::shared_ptr<JitKernel>> kernel = session_.compile(kernel_.program().text(), kernel_.signature().name, program);
    if (!kernel.ok())
      return reject(kernel.status());
    c.kernel = *std::move(kernel);
    absl::StatusOr<BoundCall> call = c.kernel->bind(place_, args_->values(), {}, std::nullopt, CompilePolicy::Block);
    if (!call.ok())
      return reject(call.status());
    c.call = std::make_unique<BoundCall>(*std::move(call));
  }

  /// Fresh arguments: kernels may update them in place.
  absl::StatusOr<std::vector<HostTensor>> resultsOf(JitKernel &kernel) {
    absl::StatusOr<std::unique_ptr<DeviceArguments>> args = DeviceArguments::create(kernel.signature(), place_, tensors_);
    if (!args.ok())
      return args.status();
    absl::StatusOr<BoundCall> call = kernel.bind(place_, (*args)->values(), {}, std::nullopt, CompilePolicy::Block);
    if (!call.ok())
      return call.status();
    KERNELC_RETURN_IF_ERROR(call->launch((*args)->stream().handle()));
    std::vector<HostTensor> results;
    for (const HostTensor &t : tensors_)
      results.emplace_back(t.type(), t.shape());
    KERNELC_RETURN_IF_ERROR((*args)->copyBack(kernel.signature(), results));
    KERNELC_RETURN_IF_ERROR((*args)->stream().synchronize());
    return results;
  }

  void check(Candidate &c) {
    if (options_.checks)
      options_.checks(c.trial.point);
    absl::StatusOr<std::vector<HostTensor>> results = resultsOf(*c.kernel);
    if (!results.ok()) {
      c.trial.rejected = std::string(results.status().message());
      return;
    }
    const Kernel &signature = c.kernel->signature();
    for (size_t i = 0; i < results->size() && c.trial.rejected.empty(); ++i)
      if (signature.params[i].kind == ParamKind::Output || signature.params[i].kind == ParamKind::InOut)
        c.trial.rejected = compare((*results)[i], expected_[i]);
  }

  /// Medians of runs in turns.
  void measure(const std::vector<Candidate *> &running) {
    if (options_.measures)
      options_.measures(running.size());
    std::vector<BoundCall *> calls;
    for (Candidate *c : running)
      calls.push_back(c->call.get());
    absl::StatusOr<std::vector<std::vector<double>>> times = timer_->timeInTurns(calls, options_.repeats);
    for (size_t i = 0; i < running.size(); ++i) {
      if (times.ok())
        running[i]->trial.seconds = (*times)[i][(*times)[i].size() / 2];
      else
        running[i]->trial.rejected = std::string(times.status().message());
    }
  }

  static void inParallel(size_t count, const std::function<void(size_t)> &work) {
    std::atomic<size_t> next = 0;
    std::vector<std::thread> threads;
    for (size_t t = 0; t < std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency())); ++t)
      threads.emplace_back([&] {
        for (size_t i = next++; i < count; i = next++)
          work(i);
      });
    for (std::thread &t : threads)
      t.join();
  }

  Session &session_;
  JitKernel &kernel_;
  const Place &place_;
  absl::Span<const HostTensor> tensors_;
  const TuneOptions &options_;
  std::unique_ptr<DeviceArguments> args_;
  std::unique_ptr<GpuTimer> timer_;
  std::vector<HostTensor> expected_;
  std::vector<int64_t> sizes_;
  VariantOptions variant_; ///< that this call gets
};

} // namespace

absl::StatusOr<TuneResult> tuneOnHost(Session &session, JitKernel &kernel, const Place &place, absl::Span<const HostTensor> tensors,
                                      const TuneOptions &options) {
  if (place.kind != Place::Cuda)
    return absl::InvalidArgumentError("schedules are measured on a GPU");
  auto begin = std::chrono::steady_clock::now();
  Gpu gpu(session, kernel, place, tensors, options);
  absl::StatusOr<std::vector<SchedulePoint>> starts = gpu.start();
  if (!starts.ok())
    return starts.status();
  const SchedulePoint &own = starts->front();
  ScheduleSearch search;
  search.evaluate = [&](const SchedulePoint &best, const std::vector<SchedulePoint> &points) { return gpu.evaluate(best, points); };
  search.goOn = [&] {
    return gpu.usable().ok() && std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < options.seconds;
  };
  search.isKnown = [&](const SchedulePoint &point) {
    absl::StatusOr<std::string> text = printJson(toJson(point, kernel.signature().name));
    return text.ok() && *text != options.fastest && options.tried.count(*text);
  };
  TuneResult result{searchSchedules(*starts, search), own, 0, 0, gpu.deviceName(), gpu.target()};
  KERNELC_RETURN_IF_ERROR(gpu.usable());
  // The two of them once more: the search has picked the luckiest of many.
  std::vector<ScheduleTrial> last = gpu.evaluate(result.search.best, {own});
  result.startSeconds = last[0].seconds;
  result.bestSeconds = last[0].seconds * last[0].ofBest;
  result.kept = gpu.keep(result);
  return result;
}

} // namespace kernelc
