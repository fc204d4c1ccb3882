// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts that units ask of their products: of accumulators, and of first operands in registers.
#pragma once

#include "ir/tile/Accumulator.h"
#include "passes/tile/LayoutComponents.h"

namespace kernelc {

class ProductLayouts {
public:
  explicit ProductLayouts(tile::FuncOp func) : func_(func) {}

  /// A dot has the unit's fragments for its accumulator, or no layout.
  mlir::LogicalResult checkShape(tile::DotOp dot);
  /// Whether a product may have so many rows, or parts of rows: a power of two, or 64 for each of several warpgroups.
  bool isRows(int64_t extent);
  /// Once it is known what first operands are made from.
  void orderRows(LayoutComponents &components);
  /// Registers of a matrix unit's accumulator, or 8 × 8 patches per thread.
  tile::Layout accumulatorLayout(tile::DotOp dot);
  /// Registers of a first operand that a unit takes from them.
  tile::Layout operandLayout(tile::DotOp dot);

private:
  tile::FuncOp func_;
  tile::RowOrder rows_;
};

} // namespace kernelc
