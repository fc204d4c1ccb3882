// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The record of a set of statements whose windows stay in a block (te-block-windows has chosen what a block has of each): rounds of
// neighbours along memory, a few points of each thread.
#include "passes/plan/Scheduler.h"

#include "ir/te/TeShape.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

void Scheduler::scheduleBlock(LaunchPlan &l) {
  l.warps = costs_.blocks.warps;
  SmallVector<bool> isGiven(l.indices.size());
  for (ArrayRef<int64_t> dims : l.dims) {
    int64_t room = l.warps * 32 * costs_.blocks.roundPoints;
    for (int64_t index : llvm::reverse(dims))
      if (!llvm::is_contained(l.grid, index)) {
        int64_t tile = clampTile(l, index, room); // (of an index that several statements have the least)
        l.tiles[index] = isGiven[index] ? std::min(l.tiles[index], tile) : tile;
        isGiven[index] = true;
        room = std::max<int64_t>(1, room / tile);
      }
  }
}

} // namespace kernelc::te
