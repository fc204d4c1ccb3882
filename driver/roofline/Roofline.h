// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The time below which a kernel cannot finish on a GPU whatever its schedule, and
// what sets it. Arithmetic on numbers; measures nothing.
#pragma once

#include "driver/roofline/WorkCount.h"
#include "runtime/Device.h"

namespace kernelc {

/// A GPU's best rates; 0 where one is not known.
struct PeakRates {
  double bytesPerSecond = 0;       ///< of its memory
  double flopsPerSecond = 0;       ///< f32 on CUDA cores
  double matrixFlopsPerSecond = 0; ///< f16 and bf16 on the matrix units; tf32 is half of that, integers of 8 bits twice
  double intOpsPerSecond = 0;      ///< of 32 bits on CUDA cores
};

/// What a device can do at best, by its clocks and its architecture; a driver that does not tell a clock leaves that rate unknown.
PeakRates peaksOf(Device &device);

struct Roofline {
  double seconds = 0;     ///< 0: not known
  const char *bound = ""; ///< "memory", "matrix units" or "CUDA cores"
};

/// The longest of the times that memory, matrix units and CUDA cores need for `work`
/// when each runs at its best and all at once. Work for a unit whose rate is not
/// known makes the result unknown.
Roofline rooflineOf(const WorkCount &work, const PeakRates &peaks);

} // namespace kernelc
