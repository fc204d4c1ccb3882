// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How an operand of a product says of a point of k that a condition excludes it for some results and not for others.
#pragma once

#include "llvm/ADT/APFloat.h"

namespace kernelc::tile {

/// What stands in an f32 operand `a` of a dot with a `count`, behind so many points of k, where there is no term, whatever b holds: a
/// signalling NaN, which no arithmetic makes.
inline llvm::APFloat absentMark() { return llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, 0x7fb5b5b5)); }

} // namespace kernelc::tile
