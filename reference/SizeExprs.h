// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Affine maps over a kernel's sizes as size expressions, which outlive the IR.
#pragma once

#include <vector>

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IntegerSet.h"
#include "support/SizeExpr.h"

namespace kernelc::reference {

/// Symbol i is size i; dim i is size firstDim + i (asserts on dims without it).
SizeExpr toSizeExpr(mlir::AffineExpr expr, int firstDim = -1);
std::vector<SizeExpr> toSizeExprs(mlir::AffineMap map);
/// Nonzero where every constraint of `set` holds.
SizeExpr toSizeExpr(mlir::IntegerSet set);

} // namespace kernelc::reference
