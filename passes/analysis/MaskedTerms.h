// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conditions under which the terms of a reduction count for nothing: what te-mask-to-domain moves into
// domains, and te-exclude-masked into those of sums that read masked tensors.
#pragma once

#include "passes/index/Domain.h"
#include "passes/index/IndexArithmetic.h"
#include "passes/index/TileCondition.h"
#include "passes/index/ValueClasses.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace kernelc::te {

/// A comparison of a reduction's body whose outcome `masking` makes the term count for nothing.
struct Mask {
  mlir::arith::CmpIOp compare;
  bool masking = false;
  /// Over the dims of the reduction, where the term counts; nothing where `bound` is given.
  std::optional<IndexConstraint> constraint;
  /// Over those dims and data, where the term counts.
  std::optional<LinearBound> bound;
  /// Where the masked term may be NaN instead of zero, and its value; else null.
  mlir::Value carrier;
  llvm::DenseMap<mlir::Value, ValueClasses> classes;
};

/// Finds masks of the terms of `op` in `body`: the body of `op`, or of a copy that has taken in definitions
/// (with the same dims).
class MaskFinder {
public:
  MaskFinder(ReduceOp op, mlir::Block &body);

  /// Comparisons of affine forms of indices, whose masked terms are the reduction's identity.
  std::optional<Mask> match(mlir::arith::CmpIOp compare);
  /// Comparisons of such forms with data that does not depend on reduced dims (`j < n[b]`).
  std::optional<Mask> matchBound(mlir::arith::CmpIOp compare);
  /// Those among the first `most` comparisons of the body (each costs a walk over it) of which `counts` holds.
  llvm::SmallVector<Mask> findAll(unsigned most, llvm::function_ref<bool(Mask &)> counts);

  /// result[p] + (a point of p is masked ? carrier(p) : 0), made at `b`: NaN where the program as written adds a NaN,
  /// otherwise the result. `sum` becomes the read of `result`.
  mlir::Value addMasked(mlir::OpBuilder &b, mlir::Value result, const Mask &m, mlir::Operation *&sum);

  /// What the term comes to with nothing known, products of zero and an infinity being NaN.
  ValueClasses classifyTerm(mlir::arith::CmpIOp compare, bool masking);

private:
  std::optional<Mask> match(mlir::arith::CmpIOp compare, bool masking, std::optional<IndexConstraint> constraint,
                            std::optional<LinearBound> bound);
  bool dependsOnReduced(mlir::AffineExpr e);
  mlir::Value findCarrier(mlir::Value term, const Mask &m);
  llvm::SmallPtrSet<mlir::Operation *, 16> sliceOf(mlir::Value v, const Mask &m, bool &ok);
  bool isFreeOfReduced(mlir::Value v, const Mask &m);
  bool canSayWhereMasked(const Mask &m);
  llvm::SmallVector<DimRange> rangesOfReduced();
  llvm::SmallVector<llvm::SmallVector<DimRange>> rangesOfDomain();
  mlir::Value isMaskedIn(mlir::OpBuilder &b, const Mask &m, llvm::ArrayRef<DimRange> ranges, mlir::ValueRange parallel, mlir::Value bound,
                         mlir::Location loc);
  mlir::Value isSomewhereMasked(mlir::OpBuilder &b, const Mask &m, mlir::ValueRange parallel, mlir::Value bound, mlir::Location loc);

  ReduceOp op_;
  mlir::Block &body_;
  mlir::Value term_;
  unsigned parallel_, symbols_;
  llvm::BitVector reduced_;
  ValueClasses identity_;
};

/// Makes `mask` a part of the domain of `op`, or of the condition of its `te.yield`: of `lhs` against `rhs`, what the mask compares as the
/// body of `op` has it.
void restrict(ReduceOp op, Mask &mask, mlir::Value lhs, mlir::Value rhs, mlir::OpBuilder &b);

} // namespace kernelc::te
