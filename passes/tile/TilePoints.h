// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the extents of a launch's indices say of the points of its tiles.
#pragma once

#include "ir/tile/Tile.h"
#include "passes/index/Meeting.h"

namespace kernelc {

/// The points that an access with `map` to a tile of `shape` asks for: those of the indices in `kept` are inside their extents, as are
/// those of whole tiles. (An index off the grid may have no point; only if its tiles are of one is there a loop that is not walked then.)
class TilePoints {
public:
  TilePoints(tile::FuncOp func, mlir::AffineMap map, llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> kept);

  /// Whether e >= 0 at all of them, `e` over the map's dims and the sizes.
  bool isNeverNegative(mlir::AffineExpr e);

private:
  tile::FuncOp func_;
  llvm::SmallVector<int64_t> kept_;
  te::Meeting points_;
  unsigned point_ = 0;
};

} // namespace kernelc
