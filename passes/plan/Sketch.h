// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a plan says that its launches will move: for each launch the tensors that its blocks take from memory and leave there, with what a
// tile has of each. It is made of statements and plan alone. The planner's times count by it; te-to-tile holds what it has made against
// it (passes/lowerings/VerifySketch.cpp), so that a plan is carried out as it was weighed.
#pragma once

#include "passes/plan/PlanAttr.h"
#include "llvm/ADT/BitVector.h"

namespace kernelc::te {

/// A tensor of which each tile of a launch takes a box from memory, or leaves one there.
struct Transfer {
  mlir::Value tensor;
  int64_t source = 0;                 ///< where it lies (Places)
  mlir::Type element;                 ///< as it is read
  llvm::SmallVector<int64_t> indices; ///< of the launch, that its subscripts name
  llvm::SmallVector<int64_t> box;     ///< for each index of the launch: points that differ within a tile
  bool isAsked = false;               ///< conditions alone ask for it: perhaps once for a tile, or not at all
  mlir::Operation *statement = nullptr;
  int64_t points() const; ///< of the box
};

struct LaunchSketch {
  std::vector<Transfer> loads, stores; ///< in the order of statements
};

/// `launch` of the plan of `kernel`. `source`: where its tensors lie.
LaunchSketch sketchLaunch(KernelOp kernel, const LaunchPlan &launch, const llvm::DenseMap<mlir::Value, int64_t> &source);

} // namespace kernelc::te
