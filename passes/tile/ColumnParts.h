// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Code of an epilogue for a part of a product's columns at a time: as many registers as the part has.
#pragma once

#include "ir/tile/Tile.h"
#include "llvm/ADT/DenseMap.h"

namespace kernelc {

/// How an epilogue is cut along one launch index: [0, extent), [extent, 2 · extent), ..
struct ColumnParts {
  int64_t dim, extent, count;
};

/// `type` with one part's elements along the dim.
mlir::RankedTensorType partOf(mlir::Type type, const ColumnParts &parts);

/// Clones the computation of values for one part.
class PartCloner {
public:
  /// `block`: where the values are computed; what comes from elsewhere is sliced.
  PartCloner(mlir::OpBuilder &b, mlir::Block *block, const ColumnParts &parts, int64_t part)
      : b_(b), block_(block), parts_(parts), start_(part * parts.extent) {}

  mlir::Value clone(mlir::Value v);
  /// The offset of a launch index, moved to this part.
  mlir::Value offset(int64_t index, mlir::Value v, mlir::Location loc);

private:
  mlir::Value make(mlir::Value v, mlir::RankedTensorType type);

  mlir::OpBuilder &b_;
  mlir::Block *block_;
  ColumnParts parts_;
  int64_t start_;
  llvm::DenseMap<mlir::Value, mlir::Value> done_;
};

} // namespace kernelc
