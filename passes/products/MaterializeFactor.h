// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a factor of a product is made of, and the tensor of its values that the product reads in place of computing them (te-repack).
#pragma once

#include "passes/analysis/IndexForm.h"
#include "passes/plan/Rewrite.h"
#include "passes/products/Repacking.h"
#include "llvm/ADT/SetVector.h"

namespace kernelc::te {

/// A factor that a product's unit would take as it lies, if it were written to memory first.
struct ComputedFactor {
  mlir::Value factor, value; ///< `value`: what is written, which the factor rounds or widens
  mlir::Type unitType;       ///< in which the unit takes it
  bool isUnsigned;
  bool onCores;                             ///< words for CUDA cores, whose rows run along the product's rows (columns)
  bool isFree;                              ///< what launches of products write anyway
  bool isStored;                            ///< it is an element of the unit's type: the copy only moves elements
  bool isGathered;                          ///< and data says where its rows lie
  bool looksUp;                             ///< it is made of elements that data says, others at each point
  llvm::SmallVector<unsigned> dims;         ///< of the reduction, of which the tensor has an index each, that along memory last
  llvm::SmallVector<IndexForm> forms;       ///< what it takes of them
  llvm::SetVector<mlir::Operation *> slice; ///< what leads to the value, in the reduction's body
};

/// `factor`, of `reduce`, if it is made of more than an element of memory, and nothing stands in the way. `outer`: the product's rows or
/// columns that the factor has.
std::optional<ComputedFactor> findComputedFactor(const Repacking &of, ReduceOp reduce, const Contraction &c, mlir::Value factor,
                                                 llvm::ArrayRef<unsigned> outer, bool isUnsigned);

/// Whether the policy lets a pass over it pay, before a product of so much `work`. (The points of the copy's rows, without what is padded.)
bool paysMaterialized(const Repacking &of, double work, const ComputedFactor &found);

/// factor = f(T[..], ..)  →  P[batch, outer, k] = f(T[..], ..) in the unit's type;  factor = P[batch, outer, k]. Returns what gives P.
/// (For CUDA cores P[batch, k, outer].)
ComputeOp materialize(const Repacking &of, ReduceOp reduce, const ComputedFactor &found);
/// The same as a part of a rewrite.
void sketchMaterialize(RewriteSketch &sketch, const Repacking &of, ReduceOp reduce, const ComputedFactor &found);

} // namespace kernelc::te
