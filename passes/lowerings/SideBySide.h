// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registers that follow each other and lie side by side in memory, whatever indices they differ in: what a thread has of a tensor that lies
// in memory as registers hold the tiles of those who write it. What runs along one index by itself is found without (provableVector).
#pragma once

#include "ir/tile/Layout.h"
#include "ir/tile/Tile.h"

namespace kernelc {

class SideBySide {
public:
  /// Of an access by `map` to `base`, of which a thread holds a tile of `shape` in `layout`.
  SideBySide(tile::FuncOp func, mlir::Value base, mlir::AffineMap map, llvm::ArrayRef<int64_t> mask, llvm::ArrayRef<int64_t> shape,
             const tile::Layout &layout)
      : func_(func), base_(base), map_(map), mask_(mask), tile_(shape), layout_(layout) {}

  /// The digits of registers that are left where the first `count` make a vector; nothing where they make none.
  std::optional<tile::Digits> find(int64_t count);

private:
  using Coordinates = llvm::SmallVector<int64_t>;

  bool isVector(llvm::ArrayRef<tile::Digit> own, llvm::ArrayRef<tile::Digit> others, int64_t count);
  llvm::SmallVector<int64_t> subscriptsAt(const Coordinates &at);
  /// By how much `e` grows with each dim from tile to tile; nothing where that differs from point to point.
  std::optional<Coordinates> growthOf(mlir::AffineExpr e);

  tile::FuncOp func_;
  mlir::Value base_;
  mlir::AffineMap map_;
  llvm::ArrayRef<int64_t> mask_, tile_;
  const tile::Layout &layout_;
};

} // namespace kernelc
