// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reducing in two steps: parts first, then what the parts have become.
#pragma once

#include "ir/te/Te.h"
#include "passes/plan/Rewrite.h"
#include "passes/te/Digits.h"
#include "llvm/ADT/ArrayRef.h"

namespace kernelc::te {

/// A reduced dim of which each part has one point, or those of one high digit.
struct PartDim {
  unsigned dim;
  std::optional<Digits> digits = {};
};

/// ⊕_{w, k < K} f(p, w, k)  =  ⊕_{w, q < K/C} ⊕_{k' < C} f(p, w, q·C + k'): the reduced dims `outer` of `r`, ascending, or their high
/// digits, become parallel ones of a reduction over the others, from `at` on among its dims, and are what a second reduction, in place of
/// `r`, goes over. Returns the first. `r` has no init and no out_map, and is no arg reduction.
ReduceOp reduceByParts(ReduceOp r, llvm::ArrayRef<PartDim> outer, unsigned at);
/// The same, where the order of the sum is any: the parts are added into memory, which starts at zero, each when it is there. The sum
/// stands in place of `r` as a te.scatter of the parts' elements, that no data places.
ReduceOp addParts(ReduceOp r, llvm::ArrayRef<PartDim> outer, unsigned at);
/// Either as a part of a rewrite; `added`: as addParts does it.
void sketchParts(RewriteSketch &sketch, ReduceOp r, llvm::ArrayRef<PartDim> outer, unsigned at, bool added = false);

/// The condition of `op` with the first reduced index in parts of `chunk`, whose index stands before it, and that index below its
/// extent where the last part `isShorter`; null where there is none.
mlir::IntegerSetAttr splitCondition(mlir::Operation *op, int64_t chunk, bool isShorter);

} // namespace kernelc::te
