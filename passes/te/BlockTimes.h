// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long a set of statements takes that blocks make (BlockGeometry.h), with the best tiles, beside launches of their own.
#pragma once

#include "passes/te/BlockGeometry.h"

namespace kernelc {
struct Target;
}

namespace kernelc::te {

/// In microseconds: of the members in launches of their own, and how many these are.
std::pair<double, unsigned> timeApart(const BlockSet &set, const Target &target, const SizeFacts &facts);

/// What a block has of each dim, and the time of the launch.
struct BlockTiles {
  llvm::SmallVector<int64_t> tiles;
  double time = 0, points = 1; ///< points: that blocks make for each that is asked for
  int64_t bytes = 0;           ///< of shared memory
};
/// The best tiles for members that are pointwise all; nothing where none fit.
std::optional<BlockTiles> chooseTiles(const BlockSet &set, const Target &target, const SizeFacts &facts);

} // namespace kernelc::te
