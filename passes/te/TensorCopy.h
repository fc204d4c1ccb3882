// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies of tensors to memory of their own.
#pragma once

#include "ir/te/Te.h"
#include "mlir/IR/Builders.h"

namespace kernelc::te {

/// `tensor`, element by element, in a launch of its own. `type` and `shape` are the copy's and the tensor's.
ComputeOp copyTensor(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tensor, mlir::RankedTensorType type, mlir::AffineMap shape,
                     mlir::ArrayAttr indices, const llvm::Twine &name);

} // namespace kernelc::te
