// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "ir/tile/Tile.h"

namespace kernelc {

/// Makes one loop of loops of `func` that walk the same tiles, read some of them alike, and do not wait for each other, as far as a
/// thread carries their sums in so many registers.
void joinRounds(tile::FuncOp func, int64_t registers);

} // namespace kernelc
