// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small facts about affine expressions over a kernel's sizes.
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "support/Saturating.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"

namespace kernelc::te {

/// What is known of the sizes: a divisor (1: nothing) and a bound (-1: none) each.
struct SizeFacts {
  llvm::ArrayRef<int64_t> div, max;
};

/// The longest window along one dim whose extent has a value of its own, which a variant is compiled for.
constexpr int64_t kMostTaps = 15;
/// The one value that size i may have, which te-fix-sizes puts in its place; nothing where there are several. (Sizes with a bound are at
/// least 1.)
std::optional<int64_t> pinnedSize(const SizeFacts &facts, unsigned i);
/// `e`, a function of sizes alone, with the values of those that have one.
mlir::AffineExpr withPinnedSizes(mlir::AffineExpr e, const SizeFacts &facts);

/// A number that divides `e` for all values of the dims that are multiples of
/// `dimDiv` (1 where the list is short) and all admissible sizes; 0 for zero.
int64_t knownDivisor(mlir::AffineExpr e, const SizeFacts &facts, llvm::ArrayRef<int64_t> dimDiv = {});

/// An upper bound of an expression of sizes alone, or -1 where there is none. At least 1, because tiles are chosen and times
/// reckoned by it: of an extent that is 0 for certain, as if it were 1. At most Count::kMost, because such bounds are rounded and
/// added up: what may be more has none.
int64_t knownMax(mlir::AffineExpr e, const SizeFacts &facts);

/// The same as a count: Count::kMost where there is no bound.
inline Count countOf(mlir::AffineExpr e, const SizeFacts &facts) {
  int64_t most = knownMax(e, facts);
  return most < 0 ? Count(Count::kMost) : Count(most);
}

/// An upper bound of the number of points that these dims of `extents` have together, or -1 where one has no bound.
template <typename Dims> int64_t knownPoints(mlir::AffineMap extents, const Dims &dims, const SizeFacts &facts) {
  Count points = 1;
  for (auto d : dims) {
    int64_t most = knownMax(extents.getResult(d), facts);
    if (most < 0)
      return -1;
    points *= most;
  }
  return int64_t(points);
}

/// Whether an expression of sizes is at least 1. Sizes that have a bound are: a variant's
/// guard says so.
bool knownPositive(mlir::AffineExpr e, const SizeFacts &facts);

/// Whether `e` cannot be negative where its dims and sizes are not.
bool isNonNegative(mlir::AffineExpr e);

/// The dims that occur in `e`.
void collectDims(mlir::AffineExpr e, llvm::BitVector &dims);

/// Whether e may differ between the points of a tile of so many values of `dim` that starts at a
/// multiple of its size: `d floordiv 128` does not in tiles of 1 to 128.
bool variesInTile(mlir::AffineExpr e, unsigned dim, int64_t tile);

/// e as a linear form: coefficient of dim d where that is a constant and d occurs
/// nowhere else; nothing otherwise.
std::optional<int64_t> linearCoefficient(mlir::AffineExpr e, unsigned dim);

/// The terms of a sum with the constants that they are multiplied by, products of sums written out: 2 * (x + 3 * y) + 1 is 2 x, 6 y and 1.
llvm::SmallVector<std::pair<mlir::AffineExpr, int64_t>> splitTerms(mlir::AffineExpr e);

/// How many neighbours along dim d share a subscript: c of `d floordiv c` plus what is free of d, 1 of d itself;
/// nothing for other forms, and where c is no power of two or more than the bits of a byte.
std::optional<int64_t> neighboursIn(mlir::AffineExpr e, unsigned dim);

} // namespace kernelc::te
