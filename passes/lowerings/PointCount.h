// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many points of a tile count, said by bounds instead of a walk.
#pragma once

#include "passes/lowerings/BodyToTiles.h"

namespace kernelc {

/// The number of points of the current tile that count for a result of `op`, an index for each of its rows (or one for all): where all
/// within the extents do, or one index is reduced and what counts is a run of it, by conditions on indices and comparisons of the index
/// itself with data. Null where neither is known, or after a diagnostic. `body`: evaluates values of op's body; `dims`: the launch
/// index of each of op's dims; `isAny`: whether there is one, an i1, in place of the number.
mlir::Value countPoints(mlir::OpBuilder &b, const LaunchContext &context, te::CascadeOp op, llvm::ArrayRef<int64_t> dims, BodyToTiles &body,
                        bool isAny, mlir::Location loc);

} // namespace kernelc
