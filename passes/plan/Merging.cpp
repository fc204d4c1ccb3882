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
#include "passes/analysis/Memories.h"
#include "passes/plan/AccessSummary.h"
#include "passes/plan/Grouping.h"
#include "passes/plan/SharedReads.h"
#include "passes/plan/TensorBytes.h"
#include "support/Saturating.h"
#include "support/TargetCosts.h"

#include <cmath>
#include <limits>
#include <set>

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
      : kernel_(kernel), target_(target), facts_(facts), ops_(getDomainOps(kernel)), places_(placeTensors(kernel)), memories_(kernel),
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
    bool later = canPass(first, second, /*down=*/true);
    launches_[later ? second : first] = std::move(best->launch);
    launches_.erase(launches_.begin() + (later ? first : second));
    return true;
  }

  std::optional<Merged> merge(size_t a, size_t b, Step step) {
    if (launches_[a].ops.size() + launches_[b].ops.size() > kMostSiblings || !isMergeable(launches_[a]) || !isMergeable(launches_[b]) ||
        (!canPass(a, b, true) && !canPass(a, b, false)))
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

  struct Touched {
    std::set<int64_t> read, written; ///< sources (Memories.h)
  };
  Touched touchedBy(const LaunchPlan &l) {
    Touched t;
    for (int64_t o : l.ops) {
      ops_[o]->walk([&](Operation *inner) {
        for (Value v : inner->getOperands())
          if (isa<RankedTensorType>(v.getType()))
            t.read.insert(places_.source.lookup(v));
      });
      for (Value v : ops_[o]->getResults())
        t.written.insert(places_.source.lookup(v));
    }
    return t;
  }
  static bool conflict(const Touched &x, const Touched &y) {
    auto meets = [](const std::set<int64_t> &a, const std::set<int64_t> &b) {
      return llvm::any_of(a, [&](int64_t s) { return b.count(s); });
    };
    return meets(x.written, y.read) || meets(x.written, y.written) || meets(x.read, y.written);
  }
  /// Whether launch a can stand behind those between it and b, or b before them.
  bool canPass(size_t a, size_t b, bool down) {
    Touched own = touchedBy(launches_[down ? a : b]);
    for (size_t n = a + 1; n < b; ++n)
      if (conflict(own, touchedBy(launches_[n])))
        return false;
    return true;
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
    if (!isOrdered(merged.launch) || !isWorthIt(a, b, merged.launch, saved))
      return std::nullopt;
    merged.saves = mustMeet(a, b) ? std::numeric_limits<double>::infinity() : launchTime() + saved / rate();
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

  bool isParallel(Operation *op, ArrayRef<int64_t> dims, int64_t index) {
    return llvm::is_contained(dims.take_front(getNumParallel(op)), index);
  }

  /// Whether statements of one launch may stand in one: what one makes for another a block has at once, and memory that one reads and
  /// another writes is read first.
  bool isOrdered(const LaunchPlan &l) {
    if (l.grid.empty())
      return false;
    for (size_t n = 0; n < l.ops.size(); ++n) {
      Operation *op = ops_[l.ops[n]];
      if (!llvm::all_of(l.grid, [&](int64_t g) { return isParallel(op, l.dims[n], g); }))
        return false;
      // A block walks what is not on the grid: there a pointwise statement stores each point, and a reduction goes over it.
      if (!isa<ComputeOp>(op) && getNumParallel(op) != l.grid.size())
        return false;
      if (!isOrdered(l, n, op))
        return false;
    }
    return true;
  }

  bool isOrdered(const LaunchPlan &l, size_t n, Operation *op) {
    bool ordered = true;
    op->walk([&](ReadOp read) {
      for (size_t m = 0; m < l.ops.size() && ordered; ++m)
        ordered = isOrdered(l, n, m, read);
    });
    for (size_t m = n + 1; m < l.ops.size() && ordered; ++m) // both write: apart
      for (Value x : op->getResults())
        for (Value y : ops_[l.ops[m]]->getResults())
          ordered &= places_.source.lookup(x) != places_.source.lookup(y) || writeApart(kernel_, facts_, op, ops_[l.ops[m]]);
    return ordered;
  }

  /// Whether `read` of statement n has what it should beside statement m.
  bool isOrdered(const LaunchPlan &l, size_t n, size_t m, ReadOp read) {
    Operation *reader = ops_[l.ops[n]], *writer = ops_[l.ops[m]];
    for (Value result : writer->getResults()) {
      if (result == read.getTensor()) // from registers: a block has all points of its tile that are on the grid
        return l.dims[m].size() >= l.grid.size() && (getResultDims(result).size() == l.grid.size() || hasRowAtPoint(l, n, m, read));
      if (places_.source.lookup(result) != places_.source.lookup(read.getTensor()))
        continue;
      size_t before = 0, after = 0;
      if (!memories_.find(read.getTensor(), before) || !memories_.find(result, after) || after < before)
        return false;
      if (n == m || readsApart(read, reader, writer) || isReadBeforeWritten(l.grid, l.dims[n], l.dims[m], read, reader, writer) ||
          isReadAtPointWritten(kernel_, facts_, l.grid, l.dims[n], l.dims[m], read, reader, writer))
        continue;
      return false;
    }
    return true;
  }

  /// Whether what statement m makes of a whole row, which a block holds, is read by statement n at the points that its threads have.
  bool hasRowAtPoint(const LaunchPlan &l, size_t n, size_t m, ReadOp read) {
    Operation *reader = ops_[l.ops[n]];
    auto maker = dyn_cast<ComputeOp>(ops_[l.ops[m]]);
    // (What lies in no memory of others is here only where te-simplify has left it to be computed once.)
    if (!maker || !isDefinition(maker) || l.indices.size() != l.grid.size() + 1 || l.dims[m].size() != l.indices.size() ||
        l.dims[n].size() != l.indices.size() || read.getBounds() != BoundsMode::InBounds ||
        (!isa<ComputeOp>(reader) && !isa<ReduceOp>(reader)))
      return false;
    auto isOnGrid = [&](int64_t index) { return llvm::is_contained(l.grid, index); };
    int64_t row = *llvm::find_if_not(l.dims[m], isOnGrid);
    int64_t most = knownMax(l.extents.getResult(row), facts_);
    if (row != l.dims[m].back() || most < 0 || most > target_.costs->rows.largestHeld)
      return false;
    return llvm::all_of(llvm::enumerate(read.getMapOrIdentity().getResults()), [&](auto result) {
      auto d = dyn_cast<AffineDimExpr>(result.value());
      std::optional<unsigned> at = d ? findIndex(reader, read.getOperands_()[d.getPosition()]) : std::nullopt;
      return at && l.dims[n][*at] == l.dims[m][result.index()];
    });
  }

  /// Whether the later of two launches reads what the earlier one overwrites: as one they do so in time.
  bool mustMeet(const LaunchPlan &a, const LaunchPlan &b) {
    bool found = false;
    for (int64_t o : b.ops)
      ops_[o]->walk([&](ReadOp read) {
        Operation *writer = memories_.findOverwriter(read, ops_[o]);
        found |= writer && writer != ops_[o] && llvm::any_of(a.ops, [&](int64_t w) { return ops_[w] == writer; });
      });
    return found;
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
    if (!isPointwiseBehindFew(b) || b.grid.empty() || !llvm::all_of(a.ops, [&](int64_t o) { return canBeMadeAgain(ops_[o]); }))
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
    if (saves <= 0 || !readsOnlyEarlier(a, l))
      return std::nullopt;
    return Merged{std::move(l), saves};
  }

  /// A reduction of values that are in memory, or what is computed of such; written by the first block alone.
  bool canBeMadeAgain(Operation *op) {
    if (auto compute = dyn_cast<ComputeOp>(op); compute && (compute.getInit() || compute.getOutMap() || compute.getCondition()))
      return false;
    return llvm::all_of(op->getResults(), [&](Value v) {
      size_t version = 0;
      return !memories_.find(v, version);
    });
  }
  bool readsResults(const LaunchPlan &a, const LaunchPlan &b) {
    auto isMade = [&](Value v) { return llvm::any_of(a.ops, [&](int64_t o) { return v.getDefiningOp() == ops_[o]; }); };
    return llvm::any_of(b.ops, [&](int64_t o) {
      return ops_[o]
          ->walk([&](ReadOp read) { return isMade(read.getTensor()) ? WalkResult::interrupt() : WalkResult::advance(); })
          .wasInterrupted();
    });
  }
  /// Nothing that the statements of `a` read is written by the launch: some block may have done so before another one reads.
  bool readsOnlyEarlier(const LaunchPlan &a, const LaunchPlan &merged) {
    Touched all = touchedBy(merged);
    bool apart = true;
    for (int64_t o : a.ops)
      ops_[o]->walk([&](ReadOp read) {
        bool own = llvm::any_of(a.ops, [&](int64_t p) { return read.getTensor().getDefiningOp() == ops_[p]; });
        apart &= own || !all.written.count(places_.source.lookup(read.getTensor()));
      });
    return apart;
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
  Places places_;
  Memories memories_;
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
