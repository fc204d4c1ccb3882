// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the loops of a reduction are arranged: which dim is vectorised, which are
// unrolled together ("jammed"), which reduced dim is innermost. Only speed depends
// on it. Analysis; emits nothing.
#pragma once

#include <optional>

#include "ir/te/Te.h"
#include "llvm/ADT/SmallVector.h"

namespace kernelc::reference {

struct ReducePlan {
  /// A parallel dim along which every read is contiguous or constant: emitted as
  /// explicit vectors, `vectors` of them a step. Absent: LLVM vectorises the
  /// innermost reduced loop if it can.
  std::optional<unsigned> vectorDim;
  unsigned vectors = 1;
  /// Parallel dims with the number of points computed together, so that they share loads.
  llvm::SmallVector<std::pair<unsigned, unsigned>> jam;
  /// The reduced dims, outermost first.
  llvm::SmallVector<unsigned> reducedOrder;
};

/// `light`: few accumulators (each takes several registers).
ReducePlan planReduce(te::ReduceOp op, bool light);

} // namespace kernelc::reference
