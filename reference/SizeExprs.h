// Affine maps over a kernel's sizes as size expressions, which outlive the IR.
#pragma once

#include <vector>

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IntegerSet.h"
#include "support/SizeExpr.h"

namespace kernelc::reference {

/// `expr` may refer to symbols only; symbol i is size i.
SizeExpr toSizeExpr(mlir::AffineExpr expr);
std::vector<SizeExpr> toSizeExprs(mlir::AffineMap map);
/// Nonzero where every constraint of `set` holds.
SizeExpr toSizeExpr(mlir::IntegerSet set);

} // namespace kernelc::reference
