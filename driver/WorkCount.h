// How much a kernel has to do at least, whatever the schedule: bytes that must move
// between memory and the chip, and floating-point operations of its statements.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/Program.h"

namespace kernelc {

struct WorkCount {
  int64_t bytes = 0; ///< every input read once, every output written once
  int64_t flops = 0; ///< additions, multiplications and math calls count one each
  int64_t matrixFlops = 0; ///< of those: sums of products of 8- and 16-bit floats, which matrix units can do
  int64_t tf32Flops = 0;   ///< of those: sums of products of f32 that a policy rounds to tf32
};

/// For these sizes, in the kernel's order.
absl::StatusOr<WorkCount> countWork(Program &program, const Kernel &kernel, absl::Span<const int64_t> sizes);

} // namespace kernelc
