// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Groups of statements on the way to launches (Grouping.h): which statement joins which, and how their dims become the launch's indices.
#pragma once

#include <map>
#include <set>

#include "ir/te/Scan.h"
#include "passes/plan/Chain.h"
#include "passes/plan/ChainSets.h"
#include "passes/plan/Grouping.h"

namespace kernelc::te {

/// Whether op stands for itself: no other statement writes its result before or after.
bool isPlain(mlir::Operation *op);

/// Whether blocks combine a scatter's points in shared memory first: the elements are few, and there are many points for each.
bool meetsInFew(ScatterOp scatter, const SizeFacts &facts, const SizeFacts &likely, const ScatterCosts &costs);

/// A group under construction: statements and the launch index of each dim.
struct Group {
  llvm::SmallVector<int64_t> ops;
  llvm::SmallVector<llvm::SmallVector<int64_t>> dims;
  llvm::SmallVector<mlir::AffineExpr> extents;
  llvm::SmallVector<std::string> names;
  unsigned grid = 0;                 ///< the first `grid` indices are the grid
  llvm::SmallVector<int64_t> loops;  ///< indices that its statements walk together
  llvm::SmallVector<int64_t> whole;  ///< indices of the grid of which a tile has all points
  llvm::SmallVector<int64_t> inTile; ///< beside a scan, of which a tile has all points
  std::optional<bool> isReverse;     ///< of a scan, whose last index is the one that it goes along
  bool hasWalk = false;              ///< a scan's blocks walk its rows, each in one piece
  bool hasRows = false;              ///< and have each row at once
  bool sumsRows = false;             ///< what is reduced over rows goes with the scan

  /// The index that a scan goes along.
  int64_t along() const { return int64_t(extents.size()) - 1; }
};

/// Of one kernel, once.
class Grouper {
public:
  Grouper(KernelOp kernel, const Target &target, const SizeFacts &facts);
  std::vector<LaunchPlan> run();

private:
  /// What a statement reads, and where.
  using Reads = std::set<std::tuple<const void *, const void *, llvm::SmallVector<std::optional<unsigned>>>>;

  void start(int64_t i);
  /// The dims of `op` as a launch has them. Digits of a subscript of what a product reads (`2 * h + u`) stand next to each other, slowest
  /// first, as boxes of memory have them.
  llvm::SmallVector<unsigned> orderOf(mlir::Operation *op);
  static void addIndex(Group &g, mlir::Operation *op, unsigned d);
  /// Statement i, of a set that a block makes, in its launch.
  bool joinBlock(int64_t i);
  /// Statement i as a member of the group that holds what it reads last.
  bool tryJoin(int64_t i);
  bool join(int64_t i, int64_t candidate, llvm::ArrayRef<ReadOp> reads);
  /// A statement that reads no other: beside one over the same domain, pointwise ones together, and reductions that
  /// read a tensor in common.
  bool joinSibling(int64_t i);
  /// Records that dim d of op is launch index ..., from a read of a member.
  bool unify(mlir::Operation *op, ReadOp read, Group &g, int64_t producer, llvm::SmallVectorImpl<int64_t> &map);
  /// Adds op to a group; dims without a launch index share one of equal extent
  /// that op does not use yet, or get a new one.
  void adopt(int64_t i, int64_t group, llvm::SmallVector<int64_t> map);
  std::vector<LaunchPlan> finish();

  // GroupProducts.cpp

  /// Statement i, which reduces dim `walked` of what products make, in the last one's launch: it gets the statement's grid, and walks what
  /// that reduces.
  bool joinLoop(int64_t i, int64_t candidate, llvm::ArrayRef<FirstProduct> firsts, unsigned walked, llvm::ArrayRef<ProductChain> products);
  /// Leaves out group n, which nothing is in any more; what `candidate` is called then.
  int64_t dropGroup(int64_t n, int64_t candidate);
  /// Statement i in the launch of a set of chained products, of which it is one.
  bool joinSet(int64_t i);
  /// Statement i, a product, beside those of a group behind all that it reads.
  bool joinProducts(int64_t i);
  bool joinProducts(int64_t i, ReduceOp op, const Contraction &product, size_t n);

  // GroupScans.cpp

  /// A scan's block has rows from end to end: the grid is what is beside them.
  void startScan(int64_t i, const Scan &scan);
  /// What is computed from scans, point by point, goes with their tiles; so do scans of it in the same direction, reductions over rows,
  /// which a block walks as a whole, reductions over indices beside the scan of which a tile has all points, as recurrences' do, and what
  /// is computed from those.
  bool joinScan(int64_t i, int64_t candidate, llvm::ArrayRef<ReadOp> reads);
  /// A scan of rows behind what is reduced over them, where a block has each row at once.
  bool joinRows(int64_t i, int64_t candidate, llvm::ArrayRef<ReadOp> reads, const Scan &scan);
  /// Whether a block has each row of a scan at once.
  bool holdsRows(mlir::Operation *op, const Scan &scan);
  /// Whether the blocks of a scan walk each row from end to end.
  bool walksRows(mlir::Operation *op, const Scan &scan);
  /// Whether a member, by its ordinal, is reduced over the rows of the group's scan.
  bool isRowSum(const Group &g, int64_t producer) const;
  /// Whether statements of this kind go with the group's scan.
  bool canGoAlong(const Group &g, mlir::Operation *op);
  /// A scan beside others of the same tensors, over the same domain and in the same direction.
  bool joinScanSibling(int64_t i, const Scan &scan);

  // What joins ask.

  const Reads &readsOf(mlir::Operation *op);
  /// Whether two statements over one domain read some tensor at the same points.
  bool readsInCommon(mlir::Operation *a, mlir::Operation *b);
  bool fitsTile(mlir::AffineExpr extent);
  /// Whether a pointwise statement needs all of the grid's indices but those that a member has reduced in the tile.
  bool isBehindTile(const Group &g, mlir::Operation *op, llvm::ArrayRef<int64_t> map);
  bool isContractionGroup(const Group &g);
  /// Whether points that a group reduces to may go, where they are made, to where the scatter says: nothing is there before, or a launch
  /// before has made that, and no block would combine them first.
  bool canScatterFrom(ScatterOp scatter, int64_t candidate);
  /// Whether a block has all that a member makes of its tile when the next member starts: what loops make in parts is in memory.
  static bool hasAtOnce(const Group &g, mlir::Operation *op);

  KernelOp kernel_;
  const Target &target_;
  SizeFacts facts_;
  llvm::SmallVector<mlir::Operation *> ops_;
  llvm::DenseMap<mlir::Value, int64_t> ordinal_; ///< of the statement that gives a tensor, among ops_
  llvm::DenseMap<int64_t, int64_t> owner_;       ///< the group that a statement is in, by ordinals
  std::map<mlir::Operation *, Reads> reads_;
  std::vector<Group> groups_;
  std::vector<ChainSet> sets_;
  llvm::DenseMap<size_t, size_t> groupOfSet_;
};

} // namespace kernelc::te
