// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Everything about a launch that can be judged on the host before the driver is
// involved: are these arguments what the kernel declares, what are its sizes, which
// variant takes them. Pure functions; they touch no memory of a tensor.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/DeviceTensor.h"
#include "support/Artifact.h"

namespace kernelc {

/// Arguments that fit a kernel, with what follows from them.
struct CheckedArgs {
  std::vector<LaunchValue> values;           ///< parallel to Kernel::params
  std::vector<int64_t> sizes;                ///< parallel to Kernel::sizes
  std::vector<std::vector<int64_t>> strides; ///< per parameter, in elements; extents <= 1 get an aligned one
  int64_t smCount = 1;

  SizeEnv env() const { return {sizes, smCount, strides}; }
  const DeviceTensor *tensor(int param) const { return std::get_if<DeviceTensor>(&values[param]); }
};

/// Checks count, kind, element type, device, rank, extents, null and misaligned
/// addresses, spans, `require`s and overlaps of outputs; solves the sizes.
/// InvalidArgument with "file:line:column: parameter 'x': expected .., got .." for
/// the first thing that is wrong. `kernel` must satisfy checkKernel().
absl::StatusOr<CheckedArgs> checkArguments(const Kernel &kernel, absl::Span<const LaunchValue> values,
                                           absl::Span<const NamedSize> namedSizes, int device, int64_t smCount);

/// Index of the first variant whose guard, layouts and alignments hold. NoVariant
/// (see CudaError.h) with one reason per variant when none does.
absl::StatusOr<int> selectVariant(const Kernel &kernel, const CheckedArgs &args);

/// Whether argument i is written and must share no memory with argument j. A pair of written tensors is asked of its later member.
bool mustBeApart(const Kernel &kernel, size_t i, size_t j);
/// What is said where they do share some.
absl::Status overlapError(const Kernel &kernel, size_t i, size_t j);

/// "linear.kc:1:12: ", or "" when unknown: how located messages begin.
std::string locPrefix(const SourceLoc &loc);

/// " [M, 2 * N]": a parameter's shape as the text has it; empty of rank 0.
std::string shapeFormula(const Kernel &kernel, const Param &p);

} // namespace kernelc
