// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements that read each other at windows of points, as a set that a block makes: which they are, and what points a block needs of each
// (te-block-windows).
#pragma once

#include <optional>
#include <vector>

#include "ir/te/Te.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "passes/index/Affine.h"
#include "support/TargetCosts.h"

namespace kernelc::te {

/// A subscript that is `step` times a parallel dim of its statement, and `low` to `high` more.
struct Window {
  unsigned dim = 0;
  int64_t step = 1, low = 0, high = 0;
  bool isPoint() const { return step == 1 && low == 0 && high == 0; }
};

/// The subscripts of a read over its statement's dims, and over `leaves` behind those, which are data.
llvm::SmallVector<mlir::AffineExpr> subscriptsOf(ReadOp read, mlir::Operation *reader, llvm::SmallVectorImpl<mlir::Value> &leaves);
/// How many points a reduction over a window of constants has; 1 of a pointwise statement, 0 of others.
int64_t termsOf(mlir::Operation *statement);

/// The windows of a read's subscripts, each along another dim of `reader`; nothing for other subscripts.
std::optional<llvm::SmallVector<Window>> findWindows(ReadOp read, mlir::Operation *reader);

/// A statement of a set.
struct BlockMember {
  mlir::Operation *op = nullptr;
  llvm::SmallVector<unsigned> blockDims;    ///< for each of its parallel dims, which of the set's it is
  bool isSink = false;                      ///< it is what the set is for: others may need it
  BoundsMode bounds = BoundsMode::InBounds; ///< what its readers see outside of it: nothing, one value, or what is nearest
  mlir::TypedAttr padding;                  ///< that value
  /// What a block needs of it, by the set's dims: from scale * (the block's first point) + low on, `last` - `low` more. Of `last` what a
  /// tile of one point needs: larger ones need `scale` more for each.
  llvm::SmallVector<int64_t> scale, low, last;
  int64_t extent(unsigned dim, int64_t tile) const { return scale[dim] * (tile - 1) + last[dim] - low[dim] + 1; }
};

/// The first member that others need is `sink`; members stand in the statements' order.
struct BlockSet {
  std::vector<BlockMember> members;
  mlir::Operation *sink = nullptr;
  llvm::BitVector wide; ///< dims of which a block has several points

  const BlockMember *find(mlir::Operation *op) const;
  BlockMember *find(mlir::Operation *op) { return const_cast<BlockMember *>(std::as_const(*this).find(op)); }
  mlir::AffineExpr extentOf(unsigned dim) const; ///< the sink's
  /// The kernel that the set is of has been rewritten, and its members with it: asks anew what blocks need. False where that has no bound.
  bool measure();
};

/// `sink` and what it reads that nothing else does, up to `rounds` readers away. Nothing where no member is read at windows.
std::optional<BlockSet> findBlockSet(KernelOp kernel, mlir::Operation *sink, unsigned rounds, const BlockCosts &costs);

} // namespace kernelc::te
