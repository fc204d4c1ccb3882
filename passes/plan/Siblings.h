// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products side by side: several of one tile of results in one launch, because they read the same boxes or because one statement reads
// what they make.
#pragma once

#include "passes/analysis/Contraction.h"
#include "passes/plan/PlanAttr.h"
#include "support/Target.h"

namespace kernelc::te {

/// `op` as a product that may stand beside others in a launch of `target`: warpgroups take it from slots alone, and its sum stays in
/// their accumulators. Nothing for those of chains.
std::optional<Contraction> findSibling(ReduceOp op, const Target &target, const SizeFacts &facts);

/// Which dims of two products are one index of a launch that has both.
struct SiblingDims {
  llvm::SmallVector<int64_t> ofFirst; ///< for each dim of the second product that of the first one, or -1
  bool sharesLoop = false;            ///< what they sum, too: they read the same boxes of a factor
};
/// Nothing where neither a factor nor a reader joins them, or their results have not the same indices.
std::optional<SiblingDims> pairSiblings(ReduceOp first, const Contraction &c, ReduceOp second, const Contraction &d);

/// Member `n` of a launch, a product beside others.
struct Sibling {
  size_t member;
  ReduceOp op;
  Contraction product;
};
/// The products of a launch that has several of them side by side; none for other launches. `ops`: the kernel's domain ops.
std::vector<Sibling> siblingsOf(const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops);

/// Of results that are only added up, sums that go on from each other: the statement's addition and the two products, of which the
/// second starts from the first one's result.
struct AddedProducts {
  mlir::Value sum;
  ReduceOp first, second;
};
/// All additions of `statement` whose terms are products that nobody else reads, inner ones first.
llvm::SmallVector<AddedProducts> findAddedProducts(mlir::Operation *statement);

/// Whether a launch takes the second sum up where the first one ended: both are its own, each has a loop of its own, and what the second
/// comes to is scaled by nothing.
bool goesOn(const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops, const AddedProducts &added);

} // namespace kernelc::te
