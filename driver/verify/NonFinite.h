// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a kernel's infinities and NaNs come from: the first statement that makes one, at which point, and from what.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/jit/HostTensor.h"
#include "driver/jit/Session.h"

namespace kernelc {

struct NonFiniteReport {
  bool found = false; ///< a statement gives an infinity or a NaN
  std::string text;   ///< lines: arguments that hold some, then the first statement of each kind with its point and what it read there
};

/// Runs the kernel statement by statement on the CPU, in the program's types. `tensors` follow Kernel::params and are not written to.
absl::StatusOr<NonFiniteReport> findNonFinite(JitKernel &kernel, absl::Span<const HostTensor> tensors, absl::Span<const int64_t> sizes);

} // namespace kernelc
