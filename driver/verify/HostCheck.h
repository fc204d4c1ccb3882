// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One call of a kernel compared with the f64 reference: what `kernelc check` and the
// GPU tests ask.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/jit/HostTensor.h"
#include "driver/jit/Session.h"
#include "reference/Check.h"

namespace kernelc {

struct CheckResult {
  bool failed = false; ///< an output differs, or the emulator has a finding
  int unbounded = 0;   ///< outputs none of whose elements has a bound: nothing was checked
  std::string text;    ///< a line per output; on the emulator also findings and counts
  std::vector<reference::OutputCheck> outputs;
  bool passed() const { return !failed && unbounded == 0; }
};

/// Runs the kernel on `place` and on the oracle. `tensors` as for runOnHost(); outputs
/// and inouts hold the device's results afterwards. A status is for calls that
/// could not be made, not for wrong results.
absl::StatusOr<CheckResult> checkOnHost(JitKernel &kernel, const Place &place, absl::Span<const HostTensor> tensors,
                                        absl::Span<const NamedSize> sizes = {});

/// Compares what `tensors` hold, whoever computed it on `place`, with the oracle on `args`, the inputs and inouts as they were before.
absl::StatusOr<reference::CheckReport> checkResults(JitKernel &kernel, const Place &place, absl::Span<const TensorView> args,
                                                    absl::Span<const HostTensor> tensors, absl::Span<const NamedSize> sizes = {});

} // namespace kernelc
