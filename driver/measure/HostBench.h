// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The time of one kernel on a GPU, by events, the L2 cache flushed before every run.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/jit/HostTensor.h"
#include "driver/jit/Session.h"
#include "driver/roofline/Roofline.h"

namespace kernelc {

struct BenchResult {
  std::vector<double> seconds;   ///< of every run, sorted
  int launches = 0;              ///< per run
  double copyBytesPerSecond = 0; ///< of a large device copy in the same process, read and write counted
  std::string device;
  PeakRates peaks; ///< of the device: its clocks and the rates of its architecture
};

/// Runs `repeats` times after a few to warm up. `tensors` as for runOnHost(); results
/// are not copied back. Unavailable without a GPU.
absl::StatusOr<BenchResult> benchOnHost(JitKernel &kernel, const Place &place, absl::Span<const HostTensor> tensors, int repeats);

} // namespace kernelc
