// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the points of a launch are in memory: one form that its rows have in common, by which tiles can begin where vectors do whatever
// the length of a row is.
#pragma once

#include "passes/plan/PlanAttr.h"
#include "support/TargetCosts.h"

namespace kernelc::te {

/// Rows along one index of a launch.
struct RowForm {
  int64_t index = -1;
  mlir::AffineExpr form; ///< elements from a tensor's first, over the launch's indices and the sizes
  int64_t align = 1;     ///< elements of a vector of the narrowest type that lies so
};

/// The rows along which a launch, whatever its tiles, would read and write by vectors if tiles began where these do: rows of one form, most
/// of which begin inside a vector. Nothing where some large access lies otherwise, where a statement is neither pointwise nor a plain
/// reduction, and where rows have no room for tiles that begin before them. `ops`: the kernel's domain ops.
std::optional<RowForm> findRowForm(const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops, const SizeFacts &facts,
                                   const AlignedRowCosts &costs);

/// The tile of an index of at most `max` points (-1: any number): `tile`, or the longest of its halves, of `least` points at least, that
/// leaves clearly fewer points beyond the end: 160 are five of 32, and not one of 256.
int64_t cutTile(int64_t tile, int64_t max, int64_t least);

/// Gives a pointwise launch tiles of one such row each, few points of which lie outside it.
void cutAlongRows(LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops, const SizeFacts &facts, const AlignedRowCosts &costs);

/// The same of a launch with its tiles: where each block has one such row, or a part of one, its tiles begin where vectors do (te-to-tile).
std::optional<RowForm> findAlignedRows(const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops, const SizeFacts &facts,
                                       const AlignedRowCosts &costs);

} // namespace kernelc::te
