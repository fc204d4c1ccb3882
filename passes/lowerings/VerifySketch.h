// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Holds the launches that te-to-tile has made against what their plan says of them.
#pragma once

#include "ir/tile/Tile.h"
#include "passes/plan/Sketch.h"

namespace kernelc {

/// [S1] each launch of the plan is one function, with its indices, extents, tiles and grid;
/// [S2] what a function takes from memory is no more than its sketch has: of each tensor boxes that are within one that is sketched;
/// [S3] and no less: each sketched load is there in its box, but those that conditions alone ask for;
/// [S4] it leaves in memory what the sketch says, in these boxes, and nothing else.
/// Where the plan is not carried out so, an internal error says which rule, at the launch.
mlir::LogicalResult verifySketches(te::KernelOp kernel, const te::KernelPlan &plan, const llvm::DenseMap<mlir::Value, int64_t> &source,
                                   llvm::ArrayRef<tile::FuncOp> functions);

} // namespace kernelc
