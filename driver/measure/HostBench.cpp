// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/measure/HostBench.h"

#include "driver/jit/DeviceArguments.h"
#include "driver/measure/GpuTimer.h"
#include "support/TargetRates.h"

namespace kernelc {

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
    peaks.intOpsPerSecond = 2 * clocks * rates->int32;
  }
  return peaks;
}

absl::StatusOr<BenchResult> benchOnHost(JitKernel &kernel, const Place &place, absl::Span<const HostTensor> tensors, int repeats) {
  absl::StatusOr<std::unique_ptr<DeviceArguments>> args = DeviceArguments::create(kernel.signature(), place, tensors);
  if (!args.ok())
    return args.status();
  Device &device = (*args)->device();
  Stream &stream = (*args)->stream();
  BenchResult result;
  result.device = device.info().name;
  result.peaks = peaksOf(device);
  absl::StatusOr<std::unique_ptr<GpuTimer>> timer = GpuTimer::create(device, stream);
  if (!timer.ok())
    return timer.status();
  absl::StatusOr<double> copy = (*timer)->measureCopy();
  if (!copy.ok())
    return copy.status();
  result.copyBytesPerSecond = *copy;
  absl::StatusOr<BoundCall> bound = kernel.bind(place, (*args)->values());
  if (!bound.ok())
    return bound.status();
  result.launches = bound->numLaunches();
  absl::StatusOr<std::vector<std::vector<double>>> times = (*timer)->timeInTurns({&*bound}, repeats);
  if (!times.ok())
    return times.status();
  result.seconds = std::move(times->front());
  return result;
}

} // namespace kernelc
