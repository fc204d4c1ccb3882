// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chains of more than two products: several take the results of one or more others from registers, in one launch whose loop walks what
// they sum. So of attention's backward pass dK and dV take p and ds, which two products make, and dQ takes ds along the other index:
// in a launch of its own, or, where its sum may come in any order, in theirs, whose blocks add what their tiles come to into memory.
#pragma once

#include "passes/analysis/Contraction.h"
#include "passes/plan/PlanAttr.h"
#include "support/Target.h"
#include "support/TargetCosts.h"

namespace kernelc::te {

/// A product whose one factor is made point by point of other products' results at one place.
struct SetReader {
  ReduceOp op;
  Contraction product;
  bool fromB;                            ///< it is factor b
  unsigned walked;                       ///< its dim that is summed: an index of those results
  llvm::SmallVector<ReduceOp> producers; ///< in their order
  llvm::SmallVector<int64_t> dims;       ///< for each index of their results the reader's dim
  llvm::ArrayRef<unsigned> rows() const { return fromB ? product.n : product.m; }
  llvm::ArrayRef<unsigned> columns() const { return fromB ? product.m : product.n; }
  mlir::Value other() const { return fromB ? product.a : product.b; }
};

/// Readers that walk the same index of the same results, and have the same rows and columns.
struct ChainSet {
  std::vector<SetReader> readers;
  llvm::SmallVector<ReduceOp> producers; ///< of all of them
  std::vector<SetReader> added;          ///< those that sum the readers' rows: a block has a part of each sum, and adds it in any order
  /// For each dim of one of `added` the dim of the readers that is the same index.
  llvm::SmallVector<int64_t> dimsOfAdded(const SetReader &sum) const;
};

/// The sets of a kernel's products that `target` may run in a launch each: of three products at least, where nobody else reads what a
/// set's producers make. Of readers that are marked so (`in_set`); `unmarked`: of all, and a producer may stand in several sets.
/// `refused`: readers of sets that no tile holds, and why.
std::vector<ChainSet> findChainSets(KernelOp kernel, const Target &target, const SizeFacts &facts, bool unmarked = false,
                                    std::vector<std::pair<mlir::Operation *, std::string>> *refused = nullptr);

/// Registers that a thread of `threads` needs for tiles of `m` rows, `n` columns and `j` points of what is walked.
int64_t registersOf(const ChainSet &set, int64_t m, int64_t n, int64_t j, int64_t threads, const ChainCosts &costs);

/// Whether member `n` of a launch sums over an index of the grid: its blocks add what their tiles come to.
bool isAddedByBlocks(const LaunchPlan &l, size_t n, llvm::ArrayRef<mlir::Operation *> ops);

/// Where an added sum lies in memory: as warpgroups hold its tiles, 64 rows by 8 columns one behind the other, of which each thread has
/// four neighbours, so that a warp adds whole lines. Rows go on to whole tiles.
struct AddedLayout {
  mlir::AffineMap shape, subscripts; ///< over the sizes; over the sum's parallel dims
};
AddedLayout layoutOfAdded(ReduceOp sum, unsigned row, unsigned column);
/// Whether tiles of `points` along a dim of an added sum lie in its memory as a whole, where they go on beyond the dim's extent, too.
bool hasRoomForTiles(ReduceOp sum, unsigned dim, int64_t points);

/// Whether sets that have producers in common take less time, each computing these itself, than a launch for each product, which writes
/// its results for those that read them.
bool paysAsSets(std::vector<ChainSet *> sets, const Target &target, const SizeFacts &facts);

/// Whether an index that is summed over in a set's producers and that is a column of its readers is one index of the launch: all its points
/// are in one tile, which both can take.
bool isOneIndex(const ChainSet &set, ReduceOp producer, const Target &target, const SizeFacts &facts);
/// The tile that has them. (Operands that lie across the unit's rows in shared memory are powers of two; copies fill the rest with zeros.)
int64_t tileOfOneIndex(int64_t points);

} // namespace kernelc::te
