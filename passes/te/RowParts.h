// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums over many rows of what each row is reduced to: cut so that a block has the rows of a part, and what they are reduced to never
// is in memory. Finds and carries out; te-split-reduce asks.
#pragma once

#include "ir/te/Te.h"
#include "passes/index/Affine.h"
#include "passes/plan/Rewrite.h"
#include "support/Target.h"

namespace kernelc::te {

/// A reduction `r` of which index `dim` counts rows, each of which `rows` reduce.
struct RowParts {
  unsigned dim;                                                      ///< of r
  int64_t chunk;                                                     ///< rows of a part; 0: all that the index has
  llvm::SmallVector<std::pair<mlir::Operation *, unsigned>> members; ///< what is made of rows, and which of its indices they are
};
/// Nothing where what rows are reduced to is read elsewhere too, where rows are long, or where parts would leave the device idle.
std::optional<RowParts> findRowParts(ReduceOp r, const SizeFacts &facts, const Target &target);

/// Cuts `r` and the statements that it reads. The part is reduced within a tile (`in_tile`).
void splitRows(ReduceOp r, const RowParts &parts, const SizeFacts &facts);
/// The same as a part of a rewrite.
void sketchSplitRows(RewriteSketch &sketch, ReduceOp r, const RowParts &parts, const SizeFacts &facts);

} // namespace kernelc::te
