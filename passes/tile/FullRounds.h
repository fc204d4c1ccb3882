// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What holds in all rounds of a loop over tiles whose tile lies wholly before the loop's end.
#pragma once

#include "passes/tile/TileForms.h"

namespace kernelc {

/// Reads the loop's end as linear forms of what is known outside (a domain's bound: `n - part * C`, a row's `i + 1`),
/// and asks of comparisons in a round whether these forms say enough.
class FullRounds {
public:
  /// Of `loop`, which walks index `d` from zero or more on.
  FullRounds(tile::FuncOp func, mlir::scf::ForOp loop, unsigned d);

  /// Whether `condition`, a comparison of tiles of indices, holds at every point of every full round, because of the end.
  bool alwaysHolds(mlir::arith::CmpIOp condition);
  /// Whether no point of a full round at which `load` reads leaves the tensor.
  bool staysInside(tile::LoadOp load);

private:
  /// Whether `form` is a number that is not negative.
  bool isNatural(mlir::AffineExpr form);
  /// Whether `form` is nowhere negative.
  bool isNeverNegative(mlir::AffineExpr form);

  tile::FuncOp func_;
  mlir::scf::ForOp loop_;
  unsigned d_;
  TileForms forms_;
  llvm::SmallVector<mlir::AffineExpr> ends_; ///< points lie below each of them
};

} // namespace kernelc
