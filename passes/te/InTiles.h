// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions of a product's results within the tiles that it has of them, and between these. Carries out; te-reduce-in-tiles decides.
#pragma once

#include "ir/te/Te.h"
#include "passes/index/Affine.h"
#include "passes/te/Digits.h"

namespace kernelc::te {

/// A reduction of a product's results, and its dim at each of theirs.
struct ReductionOfProduct {
  ReduceOp op;
  llvm::SmallVector<unsigned> places;
};

/// A product whose results are reduced in the tiles that it has of them.
struct ReducedProduct {
  ReduceOp product;
  std::vector<ReductionOfProduct> reductions;
  llvm::SmallVector<int64_t> radix;   ///< points of a tile for each dim of the results; 0: all that there are, or no parts
  llvm::SmallVector<unsigned> inTile; ///< dims of the results of which a tile has more than one point
};

/// An index of this extent in tiles of `radix` points.
Digits digitsOfTiles(mlir::AffineExpr extent, int64_t radix, const SizeFacts &facts);

/// Cuts the reductions, and splits the product and what reads it. Whether anything was changed.
mlir::FailureOr<bool> reduceInTiles(KernelOp kernel, const ReducedProduct &tiled, const SizeFacts &facts);

} // namespace kernelc::te
