// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Long sums and the blocks of the device: when a sum is worth more than one block, when the
// blocks of a cluster may share its index out, and when columns fill the device as they are.
#pragma once

#include <string>

#include "passes/index/Affine.h"
#include "passes/plan/PlanAttr.h"
#include "support/Saturating.h"
#include "support/Target.h"
#include "support/TargetCosts.h"

namespace kernelc::te {

/// Whether it pays to cut a sum into parts for several blocks, which are merged afterwards. There are `results` sums of `length` terms;
/// `across`: neighbouring terms lie in different rows of memory.
bool isWorthSharing(Count results, Count length, bool across, const SharingCosts &costs);

/// Neighbouring results of a reduction that read neighbouring memory.
struct Column {
  unsigned dim;    ///< of the op, along which they lie
  int64_t bytes;   ///< of the widest element read so
  bool byElements; ///< their rows may begin inside a vector

  /// How many of them are read in whole lines of memory.
  int64_t perLine() const;
};
std::optional<Column> findColumn(mlir::Operation *op, const SizeFacts &facts);

/// Rows of a streamed operand that a block has, where they meet several points of the other one; by elements a thread has
/// loads for few of them.
inline int64_t streamedRows(bool byElements, const StreamedCosts &costs) { return byElements ? costs.rowsByElements : costs.rows; }
/// Columns of it side by side that a block has: the more points of the other operand they meet, the fewer threads load the
/// same of those. By elements (see Column) a thread has one.
int64_t streamedColumns(int64_t points, const Column &column, const StreamedCosts &costs);

/// Blocks that have columns from end to end, with nothing to merge.
struct ColumnBlocks {
  Column column;
  int64_t columns; ///< side by side: a line of 128 bytes
  int64_t warps;   ///< one or two blocks have the threads of a multiprocessor
};
/// For a long reduction of columns, where such blocks leave little of the device idle (docs/lab).
std::optional<ColumnBlocks> wholeColumns(mlir::Operation *op, const SizeFacts &facts, const Target &target);

/// A longer row in the registers of a cluster's blocks, each of which has one tile of it.
struct HeldRow {
  int64_t cluster, tile;
  int64_t threads; ///< of a block
};
/// Whether so many rows of `length` elements are worth being held: they are read once, by enough blocks for the device. `rows` < 0: any
/// number.
std::optional<HeldRow> findHeldRow(int64_t rows, int64_t length, const Target &target);
/// The same for a reduction over one index, along memory, whose row a pointwise statement goes over once more.
std::optional<HeldRow> findHeldRow(ReduceOp reduce, const SizeFacts &facts, const Target &target);
/// Whether one block holds each row that `reduce` reads and statements behind it read again, and there are as many rows as multiprocessors:
/// cut into parts they would be read once more for each walk.
bool isHeldByBlocks(ReduceOp reduce, const SizeFacts &facts, const Target &target);

/// Whether op, in any grouping, shares its launch with pointwise statements over its results alone: it reads
/// parameters, and it and these statements make outputs.
bool standsAlone(mlir::Operation *op);

/// Why the blocks of a cluster cannot share launch index `index` out; empty where they can.
/// `ops`: the kernel's domain ops.
std::string whyNotShared(KernelOp kernel, const LaunchPlan &launch, int64_t index, llvm::ArrayRef<mlir::Operation *> ops);

} // namespace kernelc::te
