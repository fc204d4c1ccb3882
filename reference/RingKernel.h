// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program of sums and products with integers modulo 2^32 in place of its floats:
// any order of summation gives the same, so that two forms of it must agree exactly.
#pragma once

#include "reference/Reference.h"

namespace kernelc::reference {

/// `kernel` over i32 where it has floats (arguments and outputs too), in Own arithmetic.
/// Casts between floats and roundings become nothing. Unimplemented where a float
/// meets an op that is none of a ring (division, comparison, a maximum, exp ..) or a
/// constant that is no whole number.
absl::StatusOr<std::unique_ptr<ReferenceKernel>> compileRingKernel(te::KernelOp kernel);

} // namespace kernelc::reference
