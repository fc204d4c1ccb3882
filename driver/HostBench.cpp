#include "driver/HostBench.h"

#include <algorithm>

#include "driver/DeviceArguments.h"
#include "support/TargetRates.h"

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

/// A driver that does not tell a clock leaves that rate unknown.
PeakRates peaksOf(Device &device) {
  const cuda::CudaDriver &driver = device.driver();
  auto attribute = [&](cuda::DeviceAttribute a) {
    cuda::DeviceId id = 0;
    int value = 0;
    bool ok = driver.cuDeviceGet(&id, device.ordinal()) == cuda::kSuccess && driver.cuDeviceGetAttribute(&value, a, id) == cuda::kSuccess;
    return ok ? double(value) : 0.0;
  };
  PeakRates peaks;
  // Memory of all GPUs since sm_75 transfers twice a clock.
  peaks.bytesPerSecond = 2 * attribute(cuda::kMemoryClockRate) * 1e3 * attribute(cuda::kMemoryBusWidth) / 8;
  if (const TargetRates *rates = findTargetRates(device.info().target())) {
    double clocks = attribute(cuda::kClockRate) * 1e3 * device.info().smCount;
    peaks.flopsPerSecond = 2 * clocks * rates->f32;
    peaks.matrixFlopsPerSecond = 2 * clocks * rates->matrix16;
  }
  return peaks;
}

absl::StatusOr<double> measureCopy(Device &device, Stream &stream) {
  constexpr size_t kBytes = size_t(512) << 20;
  absl::StatusOr<Buffer> from = Buffer::allocate(device, kBytes), to = Buffer::allocate(device, kBytes);
  absl::StatusOr<Stopwatch> watch = Stopwatch::create(device);
  if (!from.ok() || !to.ok() || !watch.ok())
    return !from.ok() ? from.status() : !to.ok() ? to.status() : watch.status();
  std::vector<double> times;
  for (int i = 0; i < 8; ++i) {
    KERNELC_RETURN_IF_ERROR(watch->start(stream));
    {
      absl::StatusOr<ContextScope> scope = ContextScope::enter(device);
      if (!scope.ok())
        return scope.status();
      KERNELC_RETURN_IF_ERROR(device.check(
          device.driver().cuMemcpyDtoDAsync(to->address(), from->address(), kBytes, stream.handle()), "cuMemcpyDtoDAsync"));
    }
    KERNELC_RETURN_IF_ERROR(watch->stop(stream));
    KERNELC_RETURN_IF_ERROR(stream.synchronize());
    absl::StatusOr<double> t = watch->seconds();
    if (!t.ok())
      return t.status();
    times.push_back(*t);
  }
  std::sort(times.begin(), times.end());
  return 2 * double(kBytes) / times[times.size() / 2];
}

} // namespace

absl::StatusOr<BenchResult> benchOnHost(JitKernel &kernel, const Place &place, absl::Span<const HostTensor> tensors, int repeats) {
  absl::StatusOr<std::unique_ptr<DeviceArguments>> args = DeviceArguments::create(kernel.signature(), place, tensors);
  if (!args.ok())
    return args.status();
  Device &device = (*args)->device();
  Stream &stream = (*args)->stream();
  BenchResult result;
  result.device = device.info().name;
  result.peaks = peaksOf(device);
  absl::StatusOr<double> copy = measureCopy(device, stream);
  if (!copy.ok())
    return copy.status();
  result.copyBytesPerSecond = *copy;
  absl::StatusOr<BoundCall> bound = kernel.bind(place, (*args)->values());
  if (!bound.ok())
    return bound.status();
  result.launches = bound->numLaunches();
  absl::StatusOr<Buffer> flush = Buffer::allocate(device, size_t(std::max<int64_t>(256 << 20, 4 * device.info().l2Bytes)));
  if (!flush.ok())
    return flush.status();
  std::vector<Stopwatch> watches;
  constexpr int kWarm = 3;
  for (int i = 0; i < repeats + kWarm; ++i) {
    absl::StatusOr<Stopwatch> watch = Stopwatch::create(device);
    if (!watch.ok())
      return watch.status();
    // The fill also keeps the GPU busy while the host queues what is measured.
    KERNELC_RETURN_IF_ERROR(flush->fill(uint8_t(i), stream));
    KERNELC_RETURN_IF_ERROR(watch->start(stream));
    KERNELC_RETURN_IF_ERROR(bound->launch(stream.handle()));
    KERNELC_RETURN_IF_ERROR(watch->stop(stream));
    watches.push_back(*std::move(watch));
  }
  KERNELC_RETURN_IF_ERROR(stream.synchronize());
  for (int i = kWarm; i < repeats + kWarm; ++i) {
    absl::StatusOr<double> t = watches[i].seconds();
    if (!t.ok())
      return t.status();
    result.seconds.push_back(*t);
  }
  std::sort(result.seconds.begin(), result.seconds.end());
  return result;
}

} // namespace kernelc
