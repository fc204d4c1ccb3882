// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Indices as floats, where a thread has many that differ by numbers of the text.
#pragma once

#include "ir/cu/Cu.h"

namespace kernelc {

/// f32(n + c)  →  f32(n) + f32(c)
///
/// where loops that are unrolled say c, which is a number then, and n is the same in them: one conversion, which units make few of in a
/// clock, for all of a thread's points. Of numbers below 2^24, whose sums are exact.
void convertApart(cu::KernelOp kernel);

} // namespace kernelc
