// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tails: the part of an index's last tile that lies beyond its extent, and that tensor copies need not bring.
//
// A copy brings a box whatever there is of it, and fills the rest with zeros, which takes it longer than to bring it. Where points have
// results of their own, and those of points beyond the extent are stored nowhere, the slot may hold anything there: what an earlier
// round left, infinities and NaN among it.
#pragma once

#include "passes/tile/Box.h"

namespace kernelc {

struct Tail {
  int64_t index; ///< of the launch
  size_t dim;    ///< of the box: the slowest, the last rows of which lie beyond, or 0: whole panels do
};

/// What `copy`, which brings `box`, may leave out. Nothing where tiles along an index are whole, or are not those of the launch from its
/// first point on, or where something is made of what lies beyond.
std::optional<Tail> findTail(tile::FuncOp func, tile::RingCopyOp copy, const Box &box);

/// The acquire that announces what `copy` brings; null where none stands before it in its block, or in a branch beside its own.
tile::AcquireOp findAcquire(tile::RingCopyOp copy);

} // namespace kernelc
