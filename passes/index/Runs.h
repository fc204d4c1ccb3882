// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs of elements side by side in one dim of a tensor, as the columns of heads in packed rows: `80 * h + d`.
#pragma once

#include <optional>

#include "passes/index/Affine.h"

namespace kernelc::te {

/// A subscript as which run it is in and which element of the run: `pitch * which + element`, where `which` is free of the element's
/// index.
struct Run {
  mlir::AffineExpr which;
  int64_t pitch;
};

/// The runs of a subscript `e` of `dims` dims and `symbols` sizes whose elements `element` counts, if each begins at a multiple of 16
/// bytes: a tensor map may have the runs for a dim and the elements for another, which ends where the run does. Nothing for a subscript
/// that nothing but `element` moves.
std::optional<Run> findRun(mlir::AffineExpr e, unsigned element, unsigned dims, unsigned symbols, int64_t elementBytes,
                           const SizeFacts &facts);

/// Whether each run of `span` elements that begins inside of a dim of `extent` elements, at `begin`, also ends inside of it. A tensor map
/// with a dim for runs cannot have a run that the tensor's end cuts off: it would lose the elements that are inside.
bool areRunsWhole(mlir::AffineExpr begin, mlir::AffineExpr span, mlir::AffineExpr extent, const SizeFacts &facts);

/// `e` with numbers for the sizes that the facts pin down.
mlir::AffineExpr withPinnedSizes(mlir::AffineExpr e, unsigned dims, unsigned symbols, const SizeFacts &facts);

} // namespace kernelc::te
