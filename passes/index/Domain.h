// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a domain's integer set says about one index: which part of its range can
// hold a point. Symbols are the kernel's sizes throughout.
#pragma once

#include <optional>

#include "ir/te/Te.h"
#include "mlir/IR/IntegerSet.h"
#include "passes/index/Affine.h"
#include "llvm/ADT/SmallVector.h"

namespace kernelc::te {

/// The values of one dim: low <= d <= high, over other dims (offsets, say) and the
/// sizes. Null ends are unknown.
struct DimRange {
  mlir::AffineExpr low, high;
};

/// The largest (`high`) or smallest value of `e` while dim d ranges over ranges[d];
/// null when that is not an affine expression of the ends. Never too small (large);
/// exact where `isSeparable(e, ..)` and no range is empty.
mlir::AffineExpr findExtreme(mlir::AffineExpr e, bool high, llvm::ArrayRef<DimRange> ranges);

/// Whether each of the dims with `among[d]` set occurs at most once in `e`, and
/// under no mod: then the extremes over them are attained.
bool isSeparable(mlir::AffineExpr e, const llvm::BitVector &among);

/// Bounds of one dim of a set, inclusive: all of lowers <= d <= all of uppers.
struct IndexBounds {
  llvm::SmallVector<mlir::AffineExpr> lowers, uppers;
};

/// Bounds that every point of `set` satisfies in `dim` while the others range over
/// `ranges` (in whose dims they are expressed). What no constraint yields is left out.
IndexBounds findBounds(mlir::IntegerSet set, unsigned dim, llvm::ArrayRef<DimRange> ranges);

/// Whether there is a point of `set` for all values of the first `parallel` dims, whatever the sizes: proved for constraints that say
/// one end of a single other dim.
bool hasPointEverywhere(std::optional<mlir::IntegerSet> set, mlir::AffineMap extents, unsigned parallel, const SizeFacts &facts);

/// The points of both sets; constraints that stand in both once.
mlir::IntegerSet intersect(std::optional<mlir::IntegerSet> a, mlir::IntegerSet b);

/// The constraints of `set` with the numbers in `which`.
mlir::IntegerSet select(mlir::IntegerSet set, llvm::ArrayRef<unsigned> which);

/// `set` without dim `d`, which no constraint asks for.
mlir::IntegerSet withoutDim(mlir::IntegerSet set, unsigned d);

/// Takes dim `d`, which neither the body nor a constraint asks for, out of a reduction's domain; how many dims are parallel stays.
void dropDim(ReduceOp reduce, unsigned d);

} // namespace kernelc::te
