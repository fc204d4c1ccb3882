// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writing an index as two digits, index = high * radix + low: in expressions, and in the
// statement whose dim the index is. Decides nothing; te-split does.
#pragma once

#include "ir/te/Te.h"
#include "passes/plan/Rewrite.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace kernelc::te {

/// 0 <= high < highExtent, 0 <= low < radix; both over the kernel's sizes.
struct Digits {
  mlir::AffineExpr radix, highExtent;
  llvm::StringRef high = "_high", low = "_low"; ///< what the digits' names add to the index's
  /// The last digits may make no index: high * radix + low may be the index's extent or more. A reduction
  /// and a returned tensor leave these points out by a condition. A tensor inside the kernel has values at
  /// them, computed from zeros for what lies outside the tensors that it reads; nothing reads these values.
  bool endsEarly = false;
  bool operator==(const Digits &) const = default;
};

/// How expressions use one dim.
struct DigitUse {
  /// Every r of `d floordiv r` and `d mod r`, once: a constant of 2 and more, or an
  /// expression of sizes.
  llvm::SmallVector<mlir::AffineExpr> radices;
  bool plain = false; ///< d stands somewhere else
};
void noteUse(mlir::AffineExpr e, unsigned dim, DigitUse &use);

/// `e` with dim = high * radix + low, where 0 <= low < radix. Quotients and remainders by
/// the radix (or a constant multiple of a constant one) become the digits.
mlir::AffineExpr splitDim(mlir::AffineExpr e, unsigned dim, mlir::AffineExpr high, mlir::AffineExpr low, mlir::AffineExpr radix);

/// high and low of a subscript `high * radix + low` whose low is an index of the reader
/// that ends at `radix`; nothing for other subscripts.
std::optional<std::pair<mlir::AffineExpr, mlir::AffineExpr>> findDigits(ReadOp read, unsigned position, mlir::AffineExpr radix);

/// An index of this extent in parts of `chunk`: as many as there are, unless the last one `isShorter` and counts, too.
Digits digitsOfParts(mlir::AffineExpr extent, int64_t chunk, bool isShorter);

/// The first `count` of `extents`.
mlir::AffineMap takeExtents(mlir::AffineMap extents, unsigned count);
/// `extents` with two digits in place of `dim`.
mlir::AffineMap splitExtents(mlir::AffineMap extents, unsigned dim, const Digits &digits);

/// Replaces `r` by the reduction over two digits in place of its reduced dim.
ReduceOp splitReducedDim(ReduceOp r, unsigned dim, const Digits &digits);

/// Whether splitParallelDim can take `dim` of `op`: a te.compute or te.reduce that
/// defines all of its result by itself (a te.reduce one dim of it along `dim`); which is returned, or
/// whose readers stay inside it. With `endsEarly` its body also has to mean something at digits that make no index.
bool canSplitParallelDim(mlir::Operation *op, unsigned dim, bool endsEarly = false);

/// Replaces `op` by one with two dims in place of its parallel one. A result that stays
/// inside the kernel gets two dims as well, and its readers subscripts for both; one
/// that is returned keeps its shape: a te.compute with an `out_map` writes it. Returns what
/// stands in place of `op`.
mlir::Operation *splitParallelDim(mlir::Operation *op, unsigned dim, const Digits &digits);
/// The same as a part of a rewrite.
void sketchSplitParallelDim(RewriteSketch &sketch, mlir::Operation *op, unsigned dim, const Digits &digits);

} // namespace kernelc::te
