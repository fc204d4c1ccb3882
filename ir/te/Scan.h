// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scans: reductions of which each result has the terms of its neighbour, and some more.
//
// A scan is no op of its own: `te.reduce` (or `te.fold`) with the condition says what it means, and every pass and device may compute
// it so, point by point. Those that know better ask here, as they ask for products (passes/analysis/Contraction.h).
#pragma once

#include <optional>

#include "ir/te/Te.h"

namespace kernelc::te {

/// y[.., j, ..] = ⊕_{k ≤ j} body(.., k): one reduced index that runs up to (or down to) the one parallel index that the body
/// is free of. Both have the same extent.
struct Scan {
  unsigned along = 0;                ///< the parallel dim j
  unsigned reduced = 0;              ///< the reduced dim k
  bool reverse = false;              ///< k ≥ j
  bool exclusive = false;            ///< without the term k = j
  bool behind = false;               ///< a fold whose elements stand before what has been combined: in reverse, and not descending
  llvm::SmallVector<unsigned> where; ///< constraints of the condition beside that one: all are free of j
};

/// What scan `op` is; nothing for other reductions, scans of positions, and those that go on from an init or write through a map.
std::optional<Scan> findScan(ReduceOp op);

/// The same of any statement: a te.fold is one, too. With `positions` scans of positions are scans as well (te-scan makes folds of
/// them: devices see none).
std::optional<Scan> findScanOf(mlir::Operation *op, bool positions = false);

/// How the condition ties reduced dim `k` to parallel dim `j`: j - k + offset ≥ 0, or with `reverse` k - j + offset ≥ 0.
struct ScanTie {
  unsigned constraint;
  bool reverse;
  int64_t offset;
};
/// The tie, if constraint `c` of the condition of `op` is one.
std::optional<ScanTie> findScanTie(mlir::Operation *op, unsigned c, unsigned j, unsigned k);

} // namespace kernelc::te
