// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a product takes that tensor copies feed to warpgroups, in tiles of one size: the one model by which tiles, clusters and parts are
// chosen.
#pragma once

#include <cstdint>

#include "support/Target.h"
#include "support/TargetCosts.h"

namespace kernelc::te {

/// Bytes of a slot's rows, if they are as wide as the widest swizzle.
constexpr int64_t kSlotRow = 128;

/// Such a product, the unit's rows and columns in place of its own.
struct TiledProduct {
  int64_t batch, m, n;                   ///< of the results
  int64_t slots;                         ///< of a tile's sum: a row of one has 128 bytes
  double operands = 0;                   ///< bytes of both in memory
  double oneByOne = 1;                   ///< times as long as the unit takes with two products in flight
  int64_t slotRow = kSlotRow;            ///< bytes of a row of slots along columns
  int64_t cluster = 1;                   ///< blocks that share columns
  int64_t rowPanel = 1, columnPanel = 1; ///< rows, and columns, that rows of slots run across: beyond a tensor's end whole ones are filled
  double leaving = 0; ///< microseconds of a slot until its products have left the unit's accumulators, and the next ones may start
};

/// Microseconds of all rounds of its tiles over the device, beside what all schedules have in common.
double timeOfTiles(const TiledProduct &p, const ProductTile &tile, const Target &target);

/// The tile of a product of words on CUDA cores: 128 × 128, or 64 × 64 where the last round of those has little to do.
ProductTile chooseCoresTile(int64_t m, int64_t n, int64_t batch, const Target &target);

/// Of a product on CUDA cores with an operand of windows that warps fill word by word, each word for `filledFor` points of the other side:
/// how long rows of `row` words take beside those that lie in one piece, and the shortest that the filling keeps up with.
double timeOfWordRows(int64_t row, int64_t filledFor, const CoresCosts &costs);
int64_t shortestWordRow(int64_t filledFor, const CoresCosts &costs);

} // namespace kernelc::te
