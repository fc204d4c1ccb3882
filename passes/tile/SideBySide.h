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

  /// The digits of registers that are left where the first `count` make a vector; nothing where they make none. Then each subscript of a
  /// point is the sum of what the map makes of the tile's place, of the thread's and of the registers', each by itself.
  std::optional<tile::Digits> find(int64_t count);

  /// The layout of a tile of `shape` in which registers, then lanes, then warps follow each other as memory does, where `most` elements of
  /// it or fewer are vectors so; nothing where indices are no digits of places in memory. Lanes that have more than a line go on along dim
  /// `along`, if any: what else is done with the tile runs along it.
  static std::optional<tile::Layout> inOrderOfMemory(tile::FuncOp func, mlir::Value base, mlir::AffineMap map, llvm::ArrayRef<int64_t> mask,
                                                     llvm::ArrayRef<int64_t> shape, int64_t warps, int64_t along = -1);

private:
  using Coordinates = llvm::SmallVector<int64_t>;

  bool isVector(llvm::ArrayRef<tile::Digit> own, llvm::ArrayRef<tile::Digit> others);
  llvm::SmallVector<int64_t> subscriptsAt(const Coordinates &at);
  /// Digits of the places where tiles begin, up to those from which on the map repeats itself; nothing where it does not. Of vectors of
  /// `count`, where memory goes on by whole ones.
  std::optional<tile::Digits> findStarts(int64_t count);
  /// By how much `e` grows with each dim, by `step` of it; nothing where that differs from point to point.
  std::optional<Coordinates> growthOf(mlir::AffineExpr e, const Coordinates &step);

  tile::FuncOp func_;
  mlir::Value base_;
  mlir::AffineMap map_;
  llvm::ArrayRef<int64_t> mask_, tile_;
  const tile::Layout &layout_;
};

} // namespace kernelc
