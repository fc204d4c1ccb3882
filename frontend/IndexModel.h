// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known of an index computation that no affine expression says: `i & 3`, `(i * i) % N`,
// `min(i, 3)`, a scalar parameter. Facts only: nothing here changes the tree.
#pragma once

#include "frontend/Sema.h"

namespace kernelc::frontend {

/// Expressions over the prover's dims and, for what is not affine, over dims of its own, of
/// which the prover is told what follows from the operation. What wraps is not known at all.
class IndexModel {
public:
  /// Dims from `firstDim` on are the model's.
  IndexModel(Prover &prover, unsigned firstDim, mlir::MLIRContext *context) : prover(prover), nextDim(firstDim), context(context) {}

  mlir::AffineExpr of(const Node *n);

private:
  mlir::AffineExpr build(const Node *n);
  mlir::AffineExpr unknown() { return mlir::getAffineDimExpr(nextDim++, context); }
  mlir::AffineExpr unknownOf(const Node *n);
  mlir::AffineExpr between(mlir::AffineExpr lo, mlir::AffineExpr hi);
  bool isNatural(mlir::AffineExpr e) { return prover.proves(e); }

  Prover &prover;
  unsigned nextDim;
  mlir::MLIRContext *context;
  llvm::DenseMap<const Node *, mlir::AffineExpr> known;
};

} // namespace kernelc::frontend
