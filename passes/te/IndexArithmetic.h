// Index values as affine expressions and back: what the body computes with arith
// on one side, what maps and sets say on the other.
#pragma once

#include "ir/te/Te.h"
#include "mlir/IR/Builders.h"

namespace kernelc::te {

/// `v` as an affine expression over the dims `leaves`, which is appended to where
/// `v` depends on something that is not affine. Sizes are symbols.
mlir::AffineExpr affineOf(mlir::Value v, llvm::SmallVectorImpl<mlir::Value> &leaves);

/// An index value for `e` over `operands`: the operand itself, or a te.size / arith
/// expression. Null where arith has no spelling (ceildiv of non-symbols).
mlir::Value materialize(mlir::OpBuilder &b, mlir::Location loc, mlir::AffineExpr e, mlir::ValueRange operands,
                        unsigned symbols);

} // namespace kernelc::te
