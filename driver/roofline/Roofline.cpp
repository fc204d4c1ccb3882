// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/roofline/Roofline.h"

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

Roofline rooflineOf(const WorkCount &work, const PeakRates &peaks) {
  const struct {
    double amount, rate;
    const char *name;
  } limits[] = {
      {double(work.bytes), peaks.bytesPerSecond, "memory"},
      {double(work.matrixFlops) + 2 * double(work.tf32Flops) + 0.5 * double(work.matrixIntOps), peaks.matrixFlopsPerSecond, "matrix units"},
      {double(work.flops - work.matrixFlops - work.tf32Flops), peaks.flopsPerSecond, "CUDA cores"},
      {double(work.intOps - work.matrixIntOps), peaks.intOpsPerSecond, "CUDA cores"}};
  Roofline roof;
  for (const auto &l : limits) {
    if (l.amount <= 0)
      continue;
    if (l.rate <= 0)
      return {};
    if (double seconds = l.amount / l.rate; seconds > roof.seconds)
      roof = {seconds, l.name};
  }
  return roof;
}

} // namespace kernelc
