// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads whose subscripts are linear in the indices of a statement.
#pragma once

#include "ir/te/Te.h"
#include "passes/index/Affine.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SmallVector.h"

namespace kernelc::te {

/// Subscript r is Σ_d coefficients[r][d] · d + rest[r], the rest over the sizes.
struct LinearRead {
  ReadOp read;
  llvm::SmallVector<llvm::SmallVector<int64_t>> coefficients;
  llvm::SmallVector<mlir::AffineExpr> rest;
  llvm::BitVector others; ///< subscripts that are not linear: all of one is its rest, over the indices, or null where data chooses

  /// The subscripts that index `d` stands in, or may.
  llvm::SmallVector<unsigned> subscriptsWith(unsigned d) const;
  /// Whether subscript r is index d and nothing else.
  bool isAlone(unsigned r, unsigned d) const;
};

/// Whether a subscript of `read` moves with an index of its statement that `isOne` holds for.
bool movesWith(ReadOp read, mlir::AffineExpr subscript, llvm::function_ref<bool(unsigned)> isOne);
/// Whether `indices` of `op` are digits of one number that alone is a subscript of `read`, in the body of op: `j_tile * 128 + j`, the last
/// of them the fastest, or one index that stands in one subscript.
bool areDigitsOfOne(mlir::Operation *op, ReadOp read, llvm::ArrayRef<unsigned> indices);
/// The coefficients of subscript `r` of `read`, in the body of `op`; nothing where it is not linear in op's indices.
std::optional<llvm::SmallVector<int64_t>> lineariseSubscript(mlir::Operation *op, ReadOp read, unsigned r);
/// `read`, in the body of `op`, whose subscripts need not all be linear.
/// With `facts`, sizes that have one value are that value: `g * C + c`.
LinearRead lineariseSubscripts(mlir::Operation *op, ReadOp read, const SizeFacts *facts = nullptr);
/// The same; nothing where a subscript is not linear.
std::optional<LinearRead> lineariseRead(mlir::Operation *op, ReadOp read);

} // namespace kernelc::te
