// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the two halves of te-repack ask of a kernel: MaterializeFactor.h is about what a factor is made of, FactorLayout.h about how its
// tensor lies.
#pragma once

#include "passes/analysis/Contraction.h"
#include "passes/plan/CopyPolicy.h"

namespace kernelc::te {

/// Of one kernel, under one policy, which it keeps a reference to. Not for several threads at once, as the IR is not.
class Repacking {
public:
  Repacking(KernelOp kernel, const CopyPolicy &policy) : kernel(kernel), target(*policy.target), policy(policy), facts(policy.facts()) {}

  KernelOp kernel;
  const Target &target;
  const CopyPolicy &policy;
  SizeFacts facts;

  /// The multiply-adds of a product, where its extents are bounded: long enough for all we know is not enough.
  std::optional<double> workOf(mlir::Operation *statement, const Contraction &c) const;
  /// The elements of `tensor`, or more than any device has where its extents are not bounded.
  double elementsOf(mlir::Value tensor) const;
  /// `e` as it is where it is known to be a multiple of `unit`.
  mlir::AffineExpr roundUp(mlir::AffineExpr e, int64_t unit) const;
};

/// Of a parameter or of what a statement makes; "operand" where nobody has named it.
std::string nameOfOperand(mlir::Value tensor);

} // namespace kernelc::te
