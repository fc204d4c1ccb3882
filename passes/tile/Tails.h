// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tails: the part of an index's last tile that lies beyond its extent, and that tensor copies need not bring.
//
// A tensor copy always fills a whole box: it writes zeros beyond the extent, which takes longer than to bring data. Where each point has
// results of its own, results beyond the extent are never stored, and so the slot may hold anything there: what an earlier round left,
// even infinities and NaN.
#pragma once

#include "passes/tile/Box.h"

namespace kernelc {

struct Tail {
  int64_t index; ///< the launch's index whose last tile is not whole
  size_t dim;    ///< the dim of the box that is cut: its slowest (the last rows lie beyond the extent), or 0 (whole panels do)
};

/// The part of `box` that `copy` may leave out. Nothing where all tiles are whole, where they are not the launch's tiles counted from the
/// index's first point, or where something is computed from points beyond the extent.
std::optional<Tail> findTail(tile::FuncOp func, tile::RingCopyOp copy, const Box &box);

/// The acquire that announces what `copy` brings; null where none stands before it in its block, or in a branch beside its own.
tile::AcquireOp findAcquire(tile::RingCopyOp copy);

} // namespace kernelc
