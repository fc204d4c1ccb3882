// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known of an index computation that no affine expression says: `i & 3`, `(i * i) % N`,
// `min(i, 3)`, a scalar parameter, data of a narrow type. Facts only: nothing here changes the tree.
#pragma once

#include "frontend/Sema.h"

namespace kernelc::frontend {

/// Whether neither data nor scalar parameters decide `n`: such arithmetic does not wrap.
bool isOfIndicesAlone(const Node *n);

/// Whether both have one value wherever both are computed.
bool areSame(const Node *a, const Node *b, unsigned depth = 0);

/// Expressions over the prover's dims and, for what is not affine, over dims of its own, of
/// which the prover is told what follows from the operation. What wraps is not known at all.
class IndexModel {
public:
  IndexModel(Prover &prover, const Kernel &kernel, mlir::MLIRContext *context)
      : prover(prover), nextDim(kernel.indices.size()), numSizes(kernel.sizes.size()), context(context) {}

  mlir::AffineExpr of(const Node *n);
  /// From now on the comparison holds, or does not.
  void assume(const Node *condition, bool negated);

private:
  mlir::AffineExpr build(const Node *n);
  mlir::AffineExpr ofCast(const Node *n);
  mlir::AffineExpr ofProduct(const Node *n, mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr ofLowBits(const Node *n, mlir::AffineExpr a, int64_t bits);
  mlir::AffineExpr ofBits(const Node *n, mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr ofChoice(const Node *n, mlir::AffineExpr a, mlir::AffineExpr b);
  mlir::AffineExpr ifItFits(const Node *n, mlir::AffineExpr e);
  mlir::AffineExpr unknown() { return mlir::getAffineDimExpr(nextDim++, context); }
  mlir::AffineExpr unknownOf(const Node *n);
  mlir::AffineExpr between(mlir::AffineExpr lo, mlir::AffineExpr hi);
  bool isNatural(mlir::AffineExpr e) { return prover.proves(e); }

  Prover &prover;
  unsigned nextDim; ///< the model's own begin behind the kernel's
  unsigned numSizes;
  mlir::MLIRContext *context;
  llvm::SmallVector<std::pair<const Node *, mlir::AffineExpr>> known; ///< equal ones once
};

} // namespace kernelc::frontend
