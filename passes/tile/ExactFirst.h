// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The first round of a cascade with a running maximum (an online softmax), where there is no earlier maximum to begin with.
#pragma once

#include "ir/tile/Tile.h"

namespace kernelc {

/// Later rounds subtract the maximum so far from exponents, and correct that where the maximum grows. In the first round nothing would be
/// subtracted, and the correction of exponents far from zero would lose digits. Where `largest`, a reduction whose result is compared with
/// a number (ir/tile/Marks.h), stands in a first round of all rows, this computes the maximum first and subtracts it from the exponents at
/// once. (It rewrites what CascadeToTile.cpp has written.)
void makeExact(tile::ReduceOp largest);

} // namespace kernelc
