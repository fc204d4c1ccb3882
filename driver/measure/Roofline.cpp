// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/measure/Roofline.h"

namespace kernelc {

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
