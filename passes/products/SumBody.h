// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a sum is written anew with: sums of parts of it, and the bodies of statements that take these together.
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

/// The product of `values`, of one type.
mlir::Value multiplyAll(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<mlir::Value> values);

/// What a statement computes at its point: `mapping` has the dims of the sum that it is taken from.
using BodyWriter = llvm::function_ref<mlir::Value(mlir::OpBuilder &b, mlir::IRMapping &mapping)>;

/// Gives `block` an argument for each of `dims` of `reduce`, behind those that it has, and lets it yield what `body` makes.
void writeBody(mlir::Block &block, ReduceOp reduce, llvm::ArrayRef<unsigned> dims, BodyWriter body);

/// A sum over `dims` of `reduce`, of which the first `parallel` are the result's: of what `body` makes, where `where` holds.
ReduceOp makeSum(mlir::OpBuilder &b, ReduceOp reduce, llvm::ArrayRef<unsigned> dims, size_t parallel, mlir::IntegerSetAttr where,
                 mlir::StringAttr name, BodyWriter body);

} // namespace kernelc::te
