// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How much a kernel has to do at least, whatever the schedule and however it is written: bytes
// that must move between memory and the chip, and operations of its statements. Of a reduction those
// terms count whose condition holds; what two statements or two places of one compute alike counts once, and
// what does not depend on an index once for all its values.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/compile/Program.h"

namespace kernelc {

struct WorkCount {
  int64_t bytes = 0;        ///< every input read once, every output written once
  int64_t flops = 0;        ///< additions, multiplications, maxima and math calls on floats count one each
  int64_t matrixFlops = 0;  ///< of those: sums of products of 8- and 16-bit floats, which matrix units can do
  int64_t tf32Flops = 0;    ///< of those: sums of products of f32 that a policy rounds to tf32
  int64_t intOps = 0;       ///< the same on integers; subscripts and comparisons are free
  int64_t matrixIntOps = 0; ///< of those: sums of products of 8-bit integers
  std::string upperBound;   ///< if not empty: why fewer terms may count than were counted
};

/// For these sizes, in the kernel's order.
absl::StatusOr<WorkCount> countWork(Program &program, const Kernel &kernel, absl::Span<const int64_t> sizes);

} // namespace kernelc
