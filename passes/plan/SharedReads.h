// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the statements of two launches read in common, and which index of the one is an index of the other then.
#pragma once

#include "passes/index/Affine.h"
#include "passes/plan/PlanAttr.h"

namespace kernelc::te {

/// An element that a statement reads at each of its points, in the indices of its launch.
struct Access {
  mlir::Value tensor;
  mlir::AffineMap map;
  BoundsMode bounds;
  llvm::SmallVector<int64_t> indices; ///< per operand of the read; -1: data
  bool operator==(const Access &o) const { return tensor == o.tensor && map == o.map && bounds == o.bounds && indices == o.indices; }
};

/// Per index of the later launch the one of the earlier launch that it is; -1: none.
using IndexMap = llvm::SmallVector<int64_t>;

class SharedReads {
public:
  /// `unknown`: what an extent counts for of which nothing is known.
  SharedReads(llvm::ArrayRef<mlir::Operation *> ops, const SizeFacts &facts, int64_t unknown)
      : ops_(ops), facts_(facts), unknown_(unknown) {}

  /// What the statements of a launch read where indices alone say, each once.
  llvm::SmallVector<Access> accessesOf(const LaunchPlan &l);
  /// Points of these indices (-1: none).
  double pointsOf(const LaunchPlan &l, llvm::ArrayRef<int64_t> indices);
  double bytesOf(const LaunchPlan &l, const Access &a);
  /// Whether these indices have bounds.
  bool areKnown(const LaunchPlan &l, llvm::ArrayRef<int64_t> indices);
  /// Extends the map by what `later` reads of `earlier`; false where that is not at the point where it is made, whole and plain.
  bool unifyResults(const LaunchPlan &earlier, const LaunchPlan &later, IndexMap &map);
  /// Extends the map by what both read; returns the bytes that are read once then.
  double unifyReads(const LaunchPlan &earlier, const LaunchPlan &later, IndexMap &map);

private:
  llvm::SmallVector<Access> accessesOf(const LaunchPlan &l, size_t member);
  bool isReadWhereMade(const LaunchPlan &earlier, size_t n, const LaunchPlan &later, size_t m, IndexMap &map);

  llvm::ArrayRef<mlir::Operation *> ops_;
  SizeFacts facts_;
  int64_t unknown_;
};

} // namespace kernelc::te
