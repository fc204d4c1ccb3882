// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What te-factor-sums weighs steps of a sum by: what they cost, and how many points they have.
#pragma once

#include "ir/te/Te.h"
#include "support/Target.h"
#include "support/TargetCosts.h"

namespace kernelc::te {

inline const FactorCosts &factorCosts() { return kMeasuredCosts.factors; }

/// Points by the bounds of a kernel's sizes, where one of which nothing is known counts as `FactorCosts::unknown`.
class BoundedPoints {
public:
  BoundedPoints(KernelOp kernel, llvm::ArrayRef<int64_t> sizeMax) {
    for (unsigned s = 0; s < kernel.getNumSizes(); ++s) {
      int64_t most = s < sizeMax.size() ? sizeMax[s] : -1;
      isKnown_.push_back(most >= 0);
      sizes_.push_back(mlir::getAffineConstantExpr(most >= 0 ? std::max<int64_t>(1, most) : factorCosts().unknown, kernel.getContext()));
    }
  }

  /// Of an index of that extent, one at least.
  double along(mlir::AffineExpr extent) const {
    auto c = mlir::dyn_cast<mlir::AffineConstantExpr>(mlir::simplifyAffineExpr(extent.replaceSymbols(sizes_), 0, 0));
    return c ? double(std::max<int64_t>(1, c.getValue())) : double(factorCosts().unknown);
  }
  /// Of `dims` of `reduce`.
  double of(ReduceOp reduce, const llvm::BitVector &dims) const {
    double points = 1;
    for (unsigned d : dims.set_bits())
      points *= along(reduce.getExtents().getResult(d));
    return points;
  }
  /// Whether a size of which nothing is known counts in `extent`.
  bool isAssumed(mlir::AffineExpr extent) const {
    return llvm::any_of(llvm::enumerate(isKnown_), [&](auto known) { return !known.value() && extent.isFunctionOfSymbol(known.index()); });
  }

private:
  llvm::SmallVector<mlir::AffineExpr> sizes_;
  llvm::SmallVector<bool> isKnown_;
};

} // namespace kernelc::te
