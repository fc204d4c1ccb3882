// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/measure/HostBench.h"

#include "driver/jit/DeviceArguments.h"
#include "driver/measure/GpuTimer.h"

namespace kernelc {

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
  absl::StatusOr<BoundCall> bound = kernel.bind(place, (*args)->values(), {}, std::nullopt, CompilePolicy::Block);
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
