// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Merging launches. Grouping.cpp puts a statement where what it reads is made; here launches meet that read the same points of
// the same tensors, however they are spelled: pieces of one output, results beside a reduction of what they read, updates of memory that
// another statement still reads at its own point. And the parts of a reduction, of which there are few, are merged by each block that
// needs the result, in place of a launch of their own.
#include "passes/plan/Merging.h"

#include "ir/te/Hints.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Definitions.h"
#include "passes/analysis/Inouts.h"
#include "passes/plan/AccessSummary.h"
#include "passes/plan/Grouping.h"
#include "passes/plan/MergeOrder.h"
#include "passes/plan/SharedReads.h"
#include "passes/plan/TensorBytes.h"
#include "support/Saturating.h"
#include "support/TargetCosts.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace kernelc::te {
namespace {

/// A launch that two others would become.
struct Merged {
  LaunchPlan launch;
  double saves = 0; ///< microseconds
};

class Merger {
public:
  Merger(KernelOp kernel, const Target &target, const SizeFacts &facts, std::vector<LaunchPlan> &launches)
      : kernel_(kernel), target_(target), facts_(facts), ops_(getDomainOps(kernel)), order_(kernel, target, facts, ops_),
        launches_(launches), reads_(ops_, facts, costs_.unknownExtent) {}

  void run() {
    // The simplest first: a launch of several kinds of statements takes fewer others in.
    for (Step step : {Step::Pointwise, Step::SamePoints, Step::Few})
      while (mergeBest(step))
        ;
  }

private:
  static constexpr size_t kAllPairs = 64;

  enum class Step {
    Pointwise,  ///< pointwise launches
    SamePoints, ///< others over the same points
    Few,        ///< few values, and the launch that needs them
  };

  bool mergeBest(Step step) {
    std::optional<Merged> best;
    size_t first = 0, second = 0;
    for (size_t b = 1; b < launches_.size(); ++b)
      for (size_t a = launches_.size() <= kAllPairs ? 0 : b - 1; a < b; ++a)
        if (std::optional<Merged> merged = merge(a, b, step); merged && (!best || merged->saves > best->saves)) {
          best = std::move(merged);
          std::tie(first, second) = std::pair(a, b);
        }
    if (!best)
      return false;
    // In the place of the later one where nothing between needs the earlier one, else in that one's.
    bool later = order_.canPass(launches_, first, second, /*down=*/true);
    launches_[later ? second : first] = std::move(best->launch);
    launches_.erase(launches_.begin() + (later ? first : second));
    return true;
  }

  std::optional<Merged> merge(size_t a, size_t b, Step step) {
    if (launches_[a].ops.size() + launches_[b].ops.size() > kMostSiblings || !isMergeable(launches_[a]) || !isMergeable(launches_[b]) ||
        (!order_.canPass(launches_, a, b, true) && !order_.canPass(launches_, a, b, false)))
      return std::nullopt;
    if (step == Step::Pointwise && !(isPointwise(launches_[a]) && isPointwise(launches_[b])))
      return std::nullopt;
    return step == Step::Few ? mergeFew(launches_[a], launches_[b]) : mergeSamePoints(launches_[a], launches_[b]);
  }

  //===- What may be moved -===//

  bool isMergeable(const LaunchPlan &l) {
    return l.loops.empty() && llvm::all_of(l.ops, [&](int64_t o) { return isMergeable(ops_[o]); });
  }
  bool isMergeable(Operation *op) {
    if (isInBlock(op) || hasOwnLaunch(op) || !getStreamedDims(op).empty() || isSegmented(op) || isPointByPoint(op) || isInTile(op))
      return false;
    auto reduce = dyn_cast<ReduceOp>(op);
    if (reduce)
      return !reduce.isArg() && !reduce.getInit() && !reduce.getOutMap() && !findScan(reduce) && !findGeneralContraction(reduce);
    return isa<ComputeOp, CascadeOp>(op);
  }

  //===- Launches over the same points -===//

  bool isPointwise(const LaunchPlan &l) {
    return l.grid.size() == l.indices.size() && llvm::all_of(l.ops, [&](int64_t o) { return isa<ComputeOp>(ops_[o]); });
  }
  /// The same beside what every block makes.
  bool isPointwiseBehindFew(const LaunchPlan &l) {
    bool some = false;
    for (size_t n = 0; n < l.ops.size(); ++n) {
      bool again = !findMissingIndices(l, n, ops_).empty();
      some |= !again;
      if (!again && (!isa<ComputeOp>(ops_[l.ops[n]]) || l.dims[n].size() != l.grid.size()))
        return false;
    }
    return some;
  }
  bool hasCascade(const LaunchPlan &l) {
    return llvm::any_of(l.ops, [&](int64_t o) { return isa<CascadeOp>(ops_[o]); });
  }

  std::optional<Merged> mergeSamePoints(const LaunchPlan &a, const LaunchPlan &b) {
    if (hasCascade(a) || hasCascade(b) || readsBehindParts(a, b))
      return std::nullopt;
    SmallVector<IndexMap> maps(1, IndexMap(b.indices.size(), -1));
    bool alike = a.extents == b.extents && a.grid == b.grid;
    if (alike && ((isPointwise(a) && isPointwise(b)) || (isShort(a) && isShort(b)))) // as they stand, before others
      maps.insert(maps.begin(), llvm::to_vector(llvm::seq<int64_t>(0, b.indices.size())));
    for (IndexMap &map : maps)
      if (std::optional<Merged> merged = mergeSamePoints(a, b, map))
        return merged;
    return std::nullopt;
  }

  /// Whether a launch of reductions is over soon, so that its start is a good part of its time.
  bool isShort(const LaunchPlan &l) {
    double bytes = 0;
    for (const Access &access : reads_.accessesOf(l))
      bytes += reads_.bytesOf(l, access);
    SmallVector<int64_t> all = llvm::to_vector(llvm::seq<int64_t>(0, l.indices.size()));
    return bytes <= costs_.shortBytes && reads_.areKnown(l, all) && llvm::all_of(l.ops, [&](int64_t o) { return isa<ReduceOp>(ops_[o]); });
  }

  std::optional<Merged> mergeSamePoints(const LaunchPlan &a, const LaunchPlan &b, IndexMap &map) {
    if (!reads_.unifyResults(a, b, map))
      return std::nullopt;
    double saved = reads_.unifyReads(a, b, map);
    // Of two pointwise launches each index is the other's. Beside reductions one has the indices of the other.
    size_t common = llvm::count_if(map, [](int64_t i) { return i >= 0; });
    bool both = common == a.indices.size() && common == b.indices.size();
    if (common == 0 || (common < a.indices.size() && common < b.indices.size()) || (isPointwise(a) && isPointwise(b) && !both))
      return std::nullopt;
    Merged merged{join(a, b, map), 0};
    for (const Access &access : reads_.accessesOf(b)) // rows that a block has
      if (Operation *maker = access.tensor.getDefiningOp(); maker && getNumParallel(maker) > merged.launch.grid.size())
        saved += llvm::any_of(a.ops, [&](int64_t o) { return ops_[o] == maker; }) ? reads_.bytesOf(b, access) : 0;
    if (!order_.isOrdered(merged.launch) || !isWorthIt(a, b, merged.launch, saved))
      return std::nullopt;
    merged.saves = order_.mustMeet(a, b) ? std::numeric_limits<double>::infinity() : launchTime() + saved / rate();
    return merged;
  }

  /// Bytes of memory in a microsecond, and what a launch takes that does next to nothing: where a target has no rates, those of any.
  double rate() { return target_.partRates.memory > 0 ? target_.partRates.memory : costs_.rate; }
  double launchTime() { return (target_.partRates.launch > 0 ? target_.partRates.launch : costs_.start) + costs_.oneBlock; }

  /// The indices and statements of both. Blocks have what is parallel in all.
  LaunchPlan join(const LaunchPlan &a, const LaunchPlan &b, const IndexMap &map) {
    LaunchPlan l;
    SmallVector<AffineExpr> extents;
    SmallVector<int64_t> fromA(a.indices.size()), fromB(b.indices.size(), -1);
    auto add = [&](const LaunchPlan &of, int64_t i) {
      l.indices.push_back(of.indices[i]);
      extents.push_back(of.extents.getResult(i));
      return int64_t(extents.size()) - 1;
    };
    auto isGrid = [&](int64_t i) {
      auto at = llvm::find(map, i);
      return llvm::is_contained(a.grid, i) && (at == map.end() || llvm::is_contained(b.grid, at - map.begin()));
    };
    for (bool grid : {true, false})
      for (size_t i = 0; i < a.indices.size(); ++i)
        if (isGrid(i) == grid) {
          fromA[i] = add(a, i);
          if (grid)
            l.grid.push_back(fromA[i]);
        }
    for (size_t i = 0; i < b.indices.size(); ++i)
      fromB[i] = map[i] >= 0 ? fromA[map[i]] : add(b, i);
    l.extents = AffineMap::get(0, a.extents.getNumSymbols(), extents, kernel_.getContext());
    appendStatements(l, a, fromA);
    appendStatements(l, b, fromB);
    l.tiles.assign(l.indices.size(), 1);
    return l;
  }

  /// In the order of the kernel.
  static void appendStatements(LaunchPlan &l, const LaunchPlan &of, ArrayRef<int64_t> indices) {
    for (auto [n, o] : llvm::enumerate(of.ops)) {
      size_t at = llvm::lower_bound(l.ops, o) - l.ops.begin();
      l.ops.insert(l.ops.begin() + at, o);
      l.dims.insert(l.dims.begin() + at, llvm::map_to_vector(of.dims[n], [&](int64_t d) { return indices[d]; }));
    }
  }

  bool readsBehindParts(const LaunchPlan &a, const LaunchPlan &b) {
    return llvm::any_of(b.ops, [&](int64_t o) {
      bool reads = false;
      ops_[o]->walk([&](ReadOp read) {
        reads |= llvm::any_of(a.ops, [&](int64_t p) { return !isa<ComputeOp>(ops_[p]) && read.getTensor().getDefiningOp() == ops_[p]; });
      });
      return reads && isBehindParts(ops_[o]);
    });
  }

  /// Whether a launch over the points of both is no slower than two: there are blocks for the device, and a block walks rows of memory,
  /// which it holds from one statement to the next.
  bool isWorthIt(const LaunchPlan &a, const LaunchPlan &b, const LaunchPlan &merged, double saved) {
    if ((isPointwise(a) && isPointwise(b)) || (isShort(a) && isShort(b)))
      return true;
    double all = 0;
    for (const LaunchPlan *l : {&a, &b}) {
      double own = 0;
      for (const Access &access : reads_.accessesOf(*l))
        own += reads_.bytesOf(*l, access);
      all = all ? std::min(all, own) : own;
    }
    if (all > costs_.smallBytes && saved < costs_.share * all)
      return false;
    if (!isPointwise(a) && !isPointwise(b))
      return true; // blocks are as many as of each
    if (double blocks = reads_.pointsOf(merged, merged.grid);
        blocks < target_.smCount &&
        reads_.pointsOf(merged, llvm::to_vector(llvm::seq<int64_t>(0, merged.indices.size()))) > double(costs_.points)) {
      // The merged launch has few blocks, which move the pointwise bytes more slowly than the whole device would. It pays only where that
      // loss is less than a launch and what merging saves.
      double moved = bytesMoved(isPointwise(a) ? a : b);
      if (moved * target_.smCount / blocks > launchTime() * rate() + moved + saved)
        return false;
    }
    AccessSummary s = summarizeAccesses(merged, ops_, facts_);
    int64_t row = s.contiguousIndex();
    return row >= 0 && !llvm::is_contained(merged.grid, row);
  }

  /// Bytes that a launch reads and writes.
  double bytesMoved(const LaunchPlan &l) {
    double bytes = 0;
    for (const Access &access : reads_.accessesOf(l))
      bytes += reads_.bytesOf(l, access);
    for (auto [o, dims] : llvm::zip(l.ops, l.dims))
      for (Value result : ops_[o]->getResults())
        bytes += reads_.pointsOf(l, ArrayRef<int64_t>(dims).take_front(getNumParallel(ops_[o]))) *
                 bytesOfElement(cast<RankedTensorType>(result.getType()).getElementType());
    return bytes;
  }

  //===- Few values that every block can make -===//

  /// The statements of `a` in each block of `b`, where they merge few values.
  std::optional<Merged> mergeFew(const LaunchPlan &a, const LaunchPlan &b) {
    if (!isPointwiseBehindFew(b) || b.grid.empty() || !llvm::all_of(a.ops, [&](int64_t o) { return order_.canBeMadeAgain(ops_[o]); }))
      return std::nullopt;
    IndexMap map(b.indices.size(), -1);
    if (!reads_.unifyResults(a, b, map))
      return std::nullopt;
    for (int64_t g : a.grid) { // its results are at points of b's
      auto at = llvm::find(map, g);
      if (at == map.end() || !llvm::is_contained(b.grid, at - map.begin()))
        return std::nullopt;
    }
    if (!readsResults(a, b))
      return std::nullopt;
    LaunchPlan l;
    l.indices = b.indices;
    l.grid = b.grid;
    SmallVector<AffineExpr> extents(b.extents.getResults());
    SmallVector<int64_t> fromA(a.indices.size(), -1), fromB = llvm::to_vector(llvm::seq<int64_t>(0, b.indices.size()));
    for (auto [bi, ai] : llvm::enumerate(map))
      if (ai >= 0)
        fromA[ai] = bi;
    for (size_t i = 0; i < a.indices.size(); ++i)
      if (fromA[i] < 0) {
        fromA[i] = extents.size();
        extents.push_back(a.extents.getResult(i));
        l.indices.push_back(a.indices[i]);
      }
    l.extents = AffineMap::get(0, b.extents.getNumSymbols(), extents, kernel_.getContext());
    appendStatements(l, a, fromA);
    appendStatements(l, b, fromB);
    l.tiles.assign(l.indices.size(), 1);
    double saves = launchTime() - timeOfMakingAgain(a, b, map);
    if (saves <= 0 || !order_.readsOnlyEarlier(a, l))
      return std::nullopt;
    return Merged{std::move(l), saves};
  }

  bool readsResults(const LaunchPlan &a, const LaunchPlan &b) {
    auto isMade = [&](Value v) { return llvm::any_of(a.ops, [&](int64_t o) { return v.getDefiningOp() == ops_[o]; }); };
    return llvm::any_of(b.ops, [&](int64_t o) {
      return ops_[o]
          ->walk([&](ReadOp read) { return isMade(read.getTensor()) ? WalkResult::interrupt() : WalkResult::advance(); })
          .wasInterrupted();
    });
  }
  /// What all blocks of a pointwise launch take longer for reading what the statements of `a` read, in microseconds. They find it in the
  /// second-level cache. `map`: of b's indices to those of a.
  double timeOfMakingAgain(const LaunchPlan &a, const LaunchPlan &b, ArrayRef<int64_t> map) {
    SmallVector<int64_t> inner;
    for (int64_t i = 0; i < int64_t(a.indices.size()); ++i)
      if (!llvm::is_contained(a.grid, i))
        inner.push_back(i);
    if (!reads_.areKnown(a, inner) || !reads_.areKnown(b, b.grid))
      return std::numeric_limits<double>::infinity();
    double blocks = std::ceil(reads_.pointsOf(b, b.grid) / double(costs_.blockPoints)), bytes = 0;
    for (const Access &access : reads_.accessesOf(a)) {
      SmallVector<int64_t> own;
      for (int64_t i : access.indices)
        if (llvm::is_contained(inner, i))
          own.push_back(i);
      bytes += reads_.pointsOf(a, own) * cast<RankedTensorType>(access.tensor.getType()).getElementTypeBitWidth() / 8;
    }
    bytes *= resultsOfBlock(a, b, map);
    if (bytes > costs_.mostBytes)
      return std::numeric_limits<double>::infinity();
    return blocks * bytes / (costs_.cacheRate * rate());
  }
  /// How many results of `a` the points of a block of `b` need, which lie one behind the other: of rows' values one or few, of columns' as
  /// many as a row is long.
  double resultsOfBlock(const LaunchPlan &a, const LaunchPlan &b, ArrayRef<int64_t> map) {
    double results = 1, left = double(costs_.blockPoints);
    SmallVector<int64_t> others = llvm::filter_to_vector(b.grid, [&](int64_t i) { return !llvm::is_contained(a.grid, map[i]); });
    if (reads_.pointsOf(b, others) <= left) // a tile has all points of a result
      return 1;
    for (int64_t i : llvm::reverse(b.grid)) {
      double tile = std::min(left, reads_.pointsOf(b, {i}));
      if (llvm::is_contained(a.grid, map[i]))
        results *= tile;
      left = std::max(1.0, left / std::max(1.0, tile));
    }
    return results;
  }

  KernelOp kernel_;
  const Target &target_;
  const MergingCosts &costs_ = target_.costs->merging;
  SizeFacts facts_;
  SmallVector<Operation *> ops_;
  MergeOrder order_;
  std::vector<LaunchPlan> &launches_;
  SharedReads reads_;
};

} // namespace

void mergeLaunches(KernelOp kernel, const Target &target, const SizeFacts &facts, std::vector<LaunchPlan> &launches) {
  Merger(kernel, target, facts, launches).run();
}

SmallVector<int64_t> findMissingIndices(const LaunchPlan &launch, size_t member, ArrayRef<Operation *> ops) {
  auto isReduced = [&](int64_t g) { // within a tile: it has all of them
    return llvm::any_of(llvm::zip(launch.ops, launch.dims), [&](auto other) {
      return llvm::is_contained(ArrayRef<int64_t>(std::get<1>(other)).drop_front(getNumParallel(ops[std::get<0>(other)])), g);
    });
  };
  return llvm::to_vector(
      llvm::make_filter_range(launch.grid, [&](int64_t g) { return !llvm::is_contained(launch.dims[member], g) && !isReduced(g); }));
}

} // namespace kernelc::te
