// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar bodies of te as tile values: one element's expression becomes the same
// expression over a box of points.
#pragma once

#include "ir/te/Te.h"
#include "ir/tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "passes/index/Affine.h"
#include "llvm/ADT/DenseMap.h"

namespace kernelc {

/// Where a launch stands while its ops are emitted.
struct LaunchContext {
  llvm::ArrayRef<int64_t> tiles;
  mlir::AffineMap extents;
  llvm::SmallVector<mlir::Value> offsets;                       ///< per launch index: where the current tile starts
  llvm::BitVector ragged;                                       ///< indices whose last tile may stick out
  llvm::BitVector mayBeBeyond;                                  ///< indices of which a block of a cluster may have a tile without any point
  llvm::BitVector onGrid;                                       ///< indices whose points never meet: what sticks out is not stored
  llvm::DenseMap<mlir::Value, mlir::Value> buffers;             ///< te tensor or scalar → block argument
  llvm::DenseMap<mlir::Value, mlir::Value> results;             ///< te tensor computed in this launch → tile
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned>> own; ///< te tensor in memory of the block's own → its dims there
  te::SizeFacts facts;
  /// In rounds of a product, which has none without a point: forms over the launch's indices that are not negative at any of its points.
  std::optional<llvm::SmallVector<mlir::AffineExpr>> atAllPoints;

  int64_t rank() const { return tiles.size(); }
  /// Whether a tile with `extent` points along index `d` needs a mask there.
  bool needsMask(unsigned d, int64_t extent) const { return ragged[d] && (extent > 1 || mayBeBeyond[d]); }
};

/// Evaluates values of one domain op's body.
class BodyToTiles {
public:
  /// `dims`: the launch index of each dim of the op (of each index argument of the
  /// region to be evaluated, where a cascade has several).
  BodyToTiles(mlir::OpBuilder &builder, LaunchContext &context, mlir::Operation *op, llvm::ArrayRef<int64_t> dims)
      : b_(builder), c_(context), op_(op), dims_(dims) {}

  /// Says what an argument of the region that is no index stands for.
  void bind(mlir::Value argument, mlir::Value tile) { done_[argument] = tile; }
  /// Says of a body value that it is zero at points that the op's condition excludes, as its tile is made.
  void markZeroOutside(mlir::Value value) { zeroOutside_.insert(value); }
  /// Says that points of launch index `index` before `begin` or from `end` on (either may be null) count for nothing, whatever is read
  /// there: elements that data of them says are not loaded.
  void needOnly(int64_t index, mlir::Value begin, mlir::Value end) { needed_.push_back({index, begin, end}); }
  /// Whether a body value is zero there: no mask has to make it so.
  bool isZeroOutside(mlir::Value value) const;
  /// The tile of a body value; null after a diagnostic.
  mlir::Value evaluate(mlir::Value value);
  /// The conjunction of an integer set's constraints over the op's dims.
  mlir::Value evaluateSet(mlir::IntegerSet set, mlir::Location loc);
  /// A form over the op's dims.
  mlir::Value indexExpr(mlir::AffineExpr e, mlir::Location loc);
  /// Which points lie inside the extents, for the ragged ones among the launch
  /// indices `among`; null when all do.
  mlir::Value inside(llvm::ArrayRef<int64_t> among, mlir::Location loc);
  /// a and b (either may be null).
  mlir::Value conjunction(mlir::Value a, mlir::Value b, mlir::Location loc);

  /// Extends `tile` to `shape`.
  mlir::Value broadcast(mlir::Value tile, llvm::ArrayRef<int64_t> shape);
  /// Tiles of one element.
  mlir::Value scalarTile(mlir::Value scalar, mlir::Location loc);
  mlir::Value constantTile(bool v, mlir::Location loc);
  /// The shape with the launch's tile size in `indices` and 1 elsewhere.
  llvm::SmallVector<int64_t> shapeOf(llvm::ArrayRef<int64_t> indices);

  /// The results of a map to a tensor's dims that the memory has in which it lies.
  static llvm::SmallVector<mlir::AffineExpr> inMemory(const LaunchContext &context, mlir::Value tensor, mlir::AffineMap map);

private:
  mlir::Value load(te::ReadOp read);
  bool leansOnCondition(te::ReadOp read);
  bool staysInsideInRounds(mlir::AffineExpr subscript, mlir::AffineExpr size);
  bool isKeptByOwnMasks(te::ReadOp read);
  /// Lets a subscript that data says be -1 at points that needOnly leaves out; false where it is the same at all of them.
  bool restrictToNeeded(mlir::Value &index, mlir::Location loc);
  mlir::Value elementwise(mlir::Operation *op);

  mlir::OpBuilder &b_;
  LaunchContext &c_;
  mlir::Operation *op_;
  llvm::ArrayRef<int64_t> dims_;
  llvm::DenseMap<mlir::Value, mlir::Value> done_;
  llvm::DenseSet<mlir::Value> zeroOutside_;
  struct Needed {
    int64_t index;
    mlir::Value begin, end;
  };
  llvm::SmallVector<Needed> needed_;
};

} // namespace kernelc
