// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Quotients of values that are zero for many points.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// x / s  =>  x == 0 ? x * t : (x == 0 ? 1 : x) / s, with t = 1 or -1 as s has it, NaN where s is 0 or none
///
/// in f32, in pointwise statements, where x may well be zero (a mask, a positive part, an integer) and s is the same along an index that x
/// has. A device divides by a few instructions where neither is zero, infinite or next to that, and by a call for a whole warp where one
/// lane has such an x. All bits stay.
void divideAroundZeros(KernelOp kernel);

} // namespace kernelc::te
