// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How an operand of a product says of a point of k that a condition excludes it for some results and not for others.
#pragma once

#include "llvm/ADT/APFloat.h"

namespace kernelc::tile {

/// What stands in an f32 operand `a` of a dot with a `count`, behind so many points of k, where there is no term, whatever b holds: -0.
/// What is there in earnest is no -0. (Times what is finite it adds nothing, so that only results that are NaN have to ask for it.)
inline llvm::APFloat absentMark() { return llvm::APFloat::getZero(llvm::APFloat::IEEEsingle(), /*Negative=*/true); }

} // namespace kernelc::tile
