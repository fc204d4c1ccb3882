// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Affine expressions over a kernel's sizes as the artifact's size expressions.
#pragma once

#include <optional>

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/IntegerSet.h"
#include "support/SizeExpr.h"

namespace kernelc {

/// `e` without dims; semi-affine forms allowed.
SizeExpr sizeExprOf(mlir::AffineExpr e);
/// The conjunction of the constraints of a set without dims.
SizeExpr sizeExprOf(mlir::IntegerSet set);

struct LinearSize {
  unsigned size;
  int64_t scale, offset;
};
/// e = scale * size + offset with one size and a nonzero scale, or nothing.
std::optional<LinearSize> solvableSize(mlir::AffineExpr e);

} // namespace kernelc
