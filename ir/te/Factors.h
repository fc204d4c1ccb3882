// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products inside bodies, as the factors that they multiply.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Where the factors of `product` stand, left to right: the operands of the tree of
/// multiplications that ends in it, whose inner results nobody else reads.
/// `(a * s) * b` has the factors a, s, b. Empty where `product` is no multiplication.
llvm::SmallVector<mlir::OpOperand *> findFactors(mlir::Value product);

/// Where `values`, factors of `product` or products of some of them, stand in that tree, left to right.
llvm::SmallVector<mlir::OpOperand *> findUsesIn(mlir::Value product, llvm::ArrayRef<mlir::Value> values);

} // namespace kernelc::te
