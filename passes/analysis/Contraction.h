// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which reductions are contractions: sums of products of two factors.
#pragma once

#include <optional>

#include "ir/te/Te.h"
#include "mlir/IR/IntegerSet.h"
#include "passes/index/Affine.h"
#include "llvm/ADT/BitVector.h"

namespace kernelc::te {

/// result[batch, m, n] = sumScale · Σ_k partScale · a[batch, m, k] · b[batch, n, k]. The index lists
/// hold dims of the reduction in domain order.
struct Contraction {
  mlir::Value a, b; ///< the factors, scalars inside the body, in the accumulator's type
  mlir::Value term; ///< what is combined, made of a and b, where that is not their product or not summed (findGeneralContraction)
  llvm::SmallVector<unsigned> batch, m, n, k;
  /// The narrowest types that hold all values of the factors: what an extension widens from, or else the
  /// factor's own type.
  mlir::Type aType, bType;
  bool aUnsigned = false, bUnsigned = false; ///< zero-extended integers
  /// The type in which a matrix unit takes both factors without changing either:
  /// i8 (integers), f8e4m3 (for any mix of f8), f16, bf16 or tf32. Null where there is none.
  mlir::Type unitType;
  /// Further factors of the body: those free of some reduced indices, which may multiply partial
  /// sums over these (scales of blocks), and those free of all.
  llvm::SmallVector<mlir::Value> partScales, sumScales;
  llvm::SmallVector<unsigned> scaledK; ///< the reduced indices that partScales depend on
  /// The reduced indices that one factor alone depends on: the other is the same at all of their points.
  llvm::SmallVector<unsigned> ownK;
  /// The reduced indices whose ends move with a batch index (`first[p] + 2 * r < R`): a loop over single points knows them, and nothing
  /// is masked.
  llvm::SmallVector<unsigned> endedK;
  /// The domain's condition, shared out: a factor counts as zero where its part does
  /// not hold. What speaks of summed and batch indices alone stands in both.
  std::optional<mlir::IntegerSet> aWhere, bWhere;
  /// Whether a part of the condition ties a row or column to a summed index (`k <= i`): one factor is zero where it does not
  /// hold, the other what it is for other results.
  bool tied = false;
  /// What of it speaks of no reduced index (`j <= i`): where it does not hold the result is zero.
  std::optional<mlir::IntegerSet> resultWhere;
  /// A condition on data that picks blocks of the product (`mask[k // 64, j // 64] != 0`), a
  /// scalar inside the body: where it does not hold nothing is summed. Null without one, and where it only bounds points
  /// one by one (`k < n[i]`).
  mlir::Value where;
  /// What of the condition on data tells the points of a block apart (`off[g] <= i`), shared out too.
  llvm::SmallVector<mlir::Value> aMask, bMask;

  /// Whether results have terms only where an equation on their index d holds.
  bool isPhase(unsigned d) const;
  /// Those of `side`, m or n, of which a tile may have several points: of phases it has one, since nothing is walked for those without
  /// terms.
  llvm::SmallVector<unsigned> tiledOf(llvm::ArrayRef<unsigned> side) const;
  bool isAMasked() const { return aWhere || !aMask.empty(); }
  bool isBMasked() const { return bWhere || !bMask.empty(); }
  /// Whether a tile may hold several points of reduced index d: both factors tell them apart, no scale does, and all end alike.
  bool isTiledK(unsigned d) const {
    return !llvm::is_contained(scaledK, d) && !llvm::is_contained(ownK, d) && !llvm::is_contained(endedK, d);
  }
  /// Lets the operands change places.
  void swapOperands();
};

/// A sum that may be a contraction: that of a te.reduce, or a component of a te.cascade.
struct Summation {
  /*implicit*/ Summation(ReduceOp reduce);
  Summation(CascadeOp cascade, unsigned component);

  mlir::Operation *op;
  Combiner kind;
  mlir::Value term, where; ///< in the op's body: what is summed, and the condition on data
  std::optional<mlir::IntegerSet> condition;
  unsigned parallel, dims;
  llvm::BitVector own; ///< the parallel dims that the result has
};

/// Whether `read`, in the body of `op`, is of the operand that a streamed sum reads once, or of all of them in other statements.
bool isStreamedRead(mlir::Operation *op, ReadOp read);

/// The largest tile of dim d of a domain op, a power of two, within which the data that `condition`,
/// a value of its body, speaks of is the same everywhere, whatever the other dims are; 0 where it does
/// not depend on d. So is the condition itself, but for its linear bounds (TileCondition.h).
int64_t findUniformTile(mlir::Value condition, unsigned d);

/// The dims of the enclosing domain op that a body value depends on; those of a cascade's component are its own.
llvm::BitVector findSupport(mlir::Value value, unsigned numDims);

/// `reduce` as a contraction: a sum whose body is a product of two factors that share a reduced index and
/// each depend on a parallel index of its own, and of scales that are free of a reduced index that the factors share.
/// Of several pairs of factors that is the one whose tiles lie best in memory (`x[i, j, k] * b[j, r] * c[k, r]`: x and c, summed
/// over k, times b). Each constraint of its condition must concern one factor's
/// indices only, or parallel ones only; of conditions on data those are taken that are the same throughout blocks of
/// at least 8 points along some row, column and reduced index, or that bound one factor's indices by data. None is one that streams an
/// operand (`streamed`).
std::optional<Contraction> findContraction(ReduceOp reduce);
/// The same of component `component`, whose factors may use what earlier components have come to (`exp(s[i, j] - max[i]) * v[j, d]`).
std::optional<Contraction> findContraction(CascadeOp cascade, unsigned component);
/// `reduce` as a contraction, or as a reduction that has a contraction's shape: by any combiner, of terms that scalar arithmetic makes
/// of two values, each free of a parallel index that the other depends on (`min[k](a[i, k] + b[k, j])`, `sum[k](abs(a[i, k] - b[j, k]))`).
/// No condition bounds it, and CUDA cores alone take it.
std::optional<Contraction> findGeneralContraction(ReduceOp reduce);
/// Gives the indices of `sum` to the operands of `c`, and its condition; nothing where they do not make a contraction.
std::optional<Contraction> classify(const Summation &sum, Contraction c);

/// The value behind an exact widening (extf, extsi, extui), or `value` itself.
mlir::Value stripWidening(mlir::Value value);

/// The type of the value that `factor` widens, converts exactly or has rounded.
mlir::Type narrowestType(mlir::Value factor);
/// The reads that a factor is computed from.
llvm::SmallVector<ReadOp> findReads(mlir::Value factor);

/// The read that a factor is, behind exact widening or rounding to the unit's type.
ReadOp findOperandRead(mlir::Value factor);

/// Whether `read` gives zero for what lies outside its tensor (a `pad` with zero).
bool readsZeroOutside(ReadOp read);
/// Whether nothing but a proof, or a promise, keeps `read` inside its tensor.
bool isUnchecked(ReadOp read);

} // namespace kernelc::te
