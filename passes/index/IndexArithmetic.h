// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Index values as affine expressions and back: what the body computes with arith
// on one side, what maps and sets say on the other.
#pragma once

#include <optional>

#include "ir/te/Te.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace kernelc::te {

/// `v` as an affine expression over the dims `leaves`, which is appended to where
/// `v` depends on something that is not affine. Sizes are symbols.
mlir::AffineExpr affineOf(mlir::Value v, llvm::SmallVectorImpl<mlir::Value> &leaves);

/// form >= 0, or == 0, over a domain op's dims and the sizes.
struct IndexConstraint {
  mlir::AffineExpr form;
  bool isEquality = false;
  bool operator==(const IndexConstraint &) const = default;
};

/// Whether a constraint of `set` is `c`, or says more.
bool implies(mlir::IntegerSet set, const IndexConstraint &c);

/// What it says of `dims` that `compare`, of index values, comes to `outcome`; nothing where that is not affine in
/// them, or no conjunction (`!=`).
std::optional<IndexConstraint> constraintOf(mlir::arith::CmpIOp compare, bool outcome, mlir::ValueRange dims, unsigned symbols);

/// An index value for `e` over `operands`: the operand itself, or a te.size / arith
/// expression. Null where arith has no spelling (ceildiv of non-symbols).
mlir::Value materialize(mlir::OpBuilder &b, mlir::Location loc, mlir::AffineExpr e, mlir::ValueRange operands, unsigned symbols);

} // namespace kernelc::te
