// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What te-factor-sums writes partial sums with: parts of the sum that they are taken from.
#pragma once

#include "ir/te/Te.h"
#include "mlir/IR/IRMapping.h"

namespace kernelc::te {

/// The names and the extents of `dims` of `reduce`.
mlir::ArrayAttr indicesOf(ReduceOp reduce, llvm::ArrayRef<unsigned> dims);
mlir::AffineMap extentsOf(ReduceOp reduce, llvm::ArrayRef<unsigned> dims);

/// Clones what `values` of the body of `reduce` are computed from to where `b` stands, in the body's order, but for what `mapping` has
/// already. A dim that `mapping` lacks is one that no subscript of their reads names: it may be anything, and is zero.
void cloneTerms(mlir::OpBuilder &b, ReduceOp reduce, llvm::ArrayRef<mlir::Value> values, mlir::IRMapping &mapping);

} // namespace kernelc::te
