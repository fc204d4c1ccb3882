// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What products make for factors of other products, ahead of launches that walk results: s[i, j] = Σ_d q[i, d] · k[j, d], q and k results
// of products that are rounded to bf16.
#pragma once

#include "ir/te/Te.h"
#include "support/Target.h"

namespace kernelc::te {

struct SizeFacts;

/// Writes such factors down, once for all products that have them, where a reduction walks a product's results: a launch that does takes
/// its operands from memory as they lie there. Factors that a product takes from registers stay as they are.
///
///     Σ_d bf16(qkv[i, d]) · bf16(qkv[j, D + d])   →   r[i, c] = bf16(qkv[i, c]);  Σ_d r[i, d] · r[j, D + d]
void writeProductFactors(KernelOp kernel, const Target &target, const SizeFacts &facts);

} // namespace kernelc::te
