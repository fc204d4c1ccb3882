// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers in a round of a loop over tiles, as linear forms of its variable, of points' places in their tiles and of what is known outside.
#pragma once

#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"

namespace kernelc {

class TileForms {
public:
  TileForms(tile::FuncOp func, mlir::Value variable) : func_(func), variable_(variable) {}

  /// A number as a form over the loop's variable (d0), a point's place in its tile (d1 .. dn) and what else there is.
  mlir::AffineExpr formOf(mlir::Value scalar);
  /// The same of an element of a tile; null when it is no such form.
  mlir::AffineExpr elementOf(mlir::Value tile);
  /// What a comparison of tiles of indices says is not negative, x - y of `x >= y`; null where it is no such form.
  mlir::AffineExpr excessOf(mlir::arith::CmpIOp condition);
  mlir::AffineExpr placeOf(unsigned dim);
  mlir::AffineExpr simplify(mlir::AffineExpr form);
  /// The values that are not affine in other values, each with the dim that stands for it in forms.
  const llvm::MapVector<mlir::Value, unsigned> &others() const { return others_; }

private:
  tile::FuncOp func_;
  mlir::Value variable_;
  llvm::MapVector<mlir::Value, unsigned> others_;
};

} // namespace kernelc
