// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rounds in which a cascade's first component has not been anything yet.
#pragma once

#include "ir/tile/Tile.h"

namespace kernelc {

/// Exponents are by nothing in a round that starts from no reference, and are moved down by as much as they come to: far from zero they
/// would lose digits. Where `largest`, a reduction that is asked above a number (ir/tile/Marks.h), stands in such a round for all rows, the
/// reference is looked for first, and exponents are by it at once. (CascadeToTile.cpp writes what this takes apart.)
void makeExact(tile::ReduceOp largest);

} // namespace kernelc
