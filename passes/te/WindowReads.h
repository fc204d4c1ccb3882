// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a thread reads for each of its points where a block makes windows of points (te-block-windows).
#pragma once

#include "passes/te/BlockGeometry.h"

namespace kernelc::te {

struct WindowReads {
  double own = 0, memory = 0; ///< of what the block has made, and of tensors
  double bytes = 0;           ///< of both, as lanes ask for them
};

/// Of a point of `m`, of which a thread has so many neighbours along one dim: what several of them read it loads once. The dim is the one,
/// not the last, that saves most.
WindowReads readsOf(const BlockSet &set, const BlockMember &m, int64_t neighbours);

} // namespace kernelc::te
