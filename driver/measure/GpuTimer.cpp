// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/measure/GpuTimer.h"

#include <algorithm>

namespace kernelc {
namespace {

/// Two events around something queued on a stream.
class Stopwatch {
public:
  static absl::StatusOr<Stopwatch> create(Device &device) {
    absl::StatusOr<std::unique_ptr<Event>> a = Event::create(device), b = Event::create(device);
    if (!a.ok() || !b.ok())
      return a.ok() ? b.status() : a.status();
    return Stopwatch(*std::move(a), *std::move(b));
  }
  absl::Status start(Stream &stream) { return start_->record(stream); }
  absl::Status stop(Stream &stream) { return stop_->record(stream); }
  /// Once both have passed.
  absl::StatusOr<double> seconds() {
    absl::StatusOr<float> ms = stop_->millisecondsSince(*start_);
    if (!ms.ok())
      return ms.status();
    return *ms / 1e3;
  }

private:
  Stopwatch(std::unique_ptr<Event> a, std::unique_ptr<Event> b) : start_(std::move(a)), stop_(std::move(b)) {}
  std::unique_ptr<Event> start_, stop_;
};

} // namespace

absl::StatusOr<std::unique_ptr<GpuTimer>> GpuTimer::create(Device &device, Stream &stream) {
  absl::StatusOr<Buffer> flush = Buffer::allocate(device, size_t(std::max<int64_t>(256 << 20, 4 * device.info().l2Bytes)));
  if (!flush.ok())
    return flush.status();
  return std::unique_ptr<GpuTimer>(new GpuTimer(device, stream, *std::move(flush)));
}

absl::StatusOr<std::vector<std::vector<double>>> GpuTimer::timeInTurns(const std::vector<BoundCall *> &calls, int repeats) {
  constexpr int kWarm = 3;
  std::vector<std::vector<double>> seconds(calls.size());
  std::vector<Stopwatch> watches;
  // No waiting in between: the first run after an idle GPU is a tenth slower than the others.
  for (int round = 0; round < repeats + kWarm; ++round)
    for (size_t turn = 0; turn < calls.size(); ++turn) {
      BoundCall *call = calls[(turn + round) % calls.size()]; // at another place in every round
      absl::StatusOr<Stopwatch> watch = Stopwatch::create(device_);
      if (!watch.ok())
        return watch.status();
      // The fill also keeps the GPU busy while the host queues what is measured.
      KERNELC_RETURN_IF_ERROR(flush_.fill(uint8_t(round), stream_));
      KERNELC_RETURN_IF_ERROR(watch->start(stream_));
      KERNELC_RETURN_IF_ERROR(call->launch(stream_.handle()));
      KERNELC_RETURN_IF_ERROR(watch->stop(stream_));
      watches.push_back(*std::move(watch));
    }
  KERNELC_RETURN_IF_ERROR(stream_.synchronize());
  for (size_t i = kWarm * calls.size(); i < watches.size(); ++i) {
    absl::StatusOr<double> t = watches[i].seconds();
    if (!t.ok())
      return t.status();
    seconds[(i + i / calls.size()) % calls.size()].push_back(*t);
  }
  for (std::vector<double> &s : seconds)
    std::sort(s.begin(), s.end());
  return seconds;
}

absl::StatusOr<double> GpuTimer::measureCopy() {
  constexpr size_t kBytes = size_t(512) << 20;
  absl::StatusOr<Buffer> from = Buffer::allocate(device_, kBytes), to = Buffer::allocate(device_, kBytes);
  absl::StatusOr<Stopwatch> watch = Stopwatch::create(device_);
  if (!from.ok() || !to.ok() || !watch.ok())
    return !from.ok() ? from.status() : !to.ok() ? to.status() : watch.status();
  std::vector<double> times;
  for (int i = 0; i < 8; ++i) {
    KERNELC_RETURN_IF_ERROR(watch->start(stream_));
    {
      absl::StatusOr<ContextScope> scope = ContextScope::enter(device_);
      if (!scope.ok())
        return scope.status();
      KERNELC_RETURN_IF_ERROR(
          device_.check(device_.driver().cuMemcpyDtoDAsync(to->address(), from->address(), kBytes, stream_.handle()), "cuMemcpyDtoDAsync"));
    }
    KERNELC_RETURN_IF_ERROR(watch->stop(stream_));
    KERNELC_RETURN_IF_ERROR(stream_.synchronize());
    absl::StatusOr<double> t = watch->seconds();
    if (!t.ok())
      return t.status();
    times.push_back(*t);
  }
  std::sort(times.begin(), times.end());
  return 2 * double(kBytes) / times[times.size() / 2];
}

} // namespace kernelc
