// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Grouping statements into launches.
//
// Each statement starts as a group of its own. A reduction joins the group of a
// later statement that reads it when the result's indices are exactly that group's
// grid: then the block that needs the value is the block that has it. Of a product's results a
// reduction joins that goes over what one tile has (te-reduce-in-tiles makes such). Pointwise
// statements over one and the same domain join when nothing orders them across
// blocks, and so do reductions that read the same, and products whose factors or readers join them (Siblings.h). What is read by a group
// that does not own it goes through a workspace.
#include "passes/plan/Grouping.h"

#include <map>
#include <set>

#include "ir/te/Marks.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Affine.h"
#include "passes/index/LinearRead.h"
#include "passes/plan/Chain.h"
#include "passes/plan/ChainSets.h"
#include "passes/plan/Merging.h"
#include "passes/plan/Siblings.h"
#include "support/TargetCosts.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// Whether the elements of op's result are its parallel indices' points, in their order.
bool isInPlace(Operation *op) {
  auto c = dyn_cast<ComputeOp>(op);
  auto r = dyn_cast<ReduceOp>(op);
  return !(c && c.getOutMap()) && !(r && r.getOutMap()) && !isa<ScatterOp>(op);
}

/// Whether op stands for itself: no other statement writes its result before or after.
bool isPlain(Operation *op) {
  if (auto c = dyn_cast<ComputeOp>(op))
    return !c.getInit() && !(c.getOutMap() && c.getPartial());
  auto r = dyn_cast<ReduceOp>(op);
  return !isa<ScatterOp>(op) && (!r || (!r.getInit() && !r.getOutMap()));
}

/// A group under construction: statements and the launch index of each dim.
struct Group {
  SmallVector<int64_t> ops;
  SmallVector<SmallVector<int64_t>> dims;
  SmallVector<AffineExpr> extents;
  SmallVector<std::string> names;
  unsigned grid = 0;             ///< the first `grid` indices are the grid
  SmallVector<int64_t> loops;    ///< indices that its statements walk together
  SmallVector<int64_t> whole;    ///< indices of the grid of which a tile has all points
  SmallVector<int64_t> inTile;   ///< beside a scan, of which a tile has all points
  std::optional<bool> isReverse; ///< of a scan, whose last index is the one that it goes along
};

class Grouper {
public:
  Grouper(KernelOp kernel, const Target &target, const SizeFacts &facts)
      : kernel_(kernel), target_(target), facts_(facts), ops_(getDomainOps(kernel)) {
    for (auto [i, op] : llvm::enumerate(ops_))
      for (Value result : op->getResults())
        ordinal_[result] = i;
  }

  std::vector<LaunchPlan> run() {
    sets_ = findChainSets(kernel_, target_, facts_);
    for (size_t i = 0; i < ops_.size(); ++i)
      if (!joinSet(i) && !tryJoin(i) && !joinProducts(i))
        start(i);
    return finish();
  }

private:
  void start(int64_t i) {
    Operation *op = ops_[i];
    if (std::optional<Scan> scan = findScanOf(op))
      return startScan(i, *scan);
    auto recurrence = dyn_cast<RecurrenceOp>(op);
    Group g;
    g.ops = {i};
    g.grid = recurrence ? unsigned(recurrence.getFree()) : getNumParallel(op); // (a block walks all that needs an order)
    SmallVector<int64_t> dims(getExtents(op).getNumResults());
    for (unsigned d : orderOf(op)) {
      dims[d] = g.extents.size();
      addIndex(g, op, d);
    }
    g.dims.push_back(std::move(dims));
    owner_[i] = groups_.size();
    groups_.push_back(std::move(g));
  }

  /// The dims of `op` as a launch has them. Digits of a subscript of what a product reads (`2 * h + u`) stand next to each other, slowest
  /// first, as boxes of memory have them.
  SmallVector<unsigned> orderOf(Operation *op) {
    SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, getExtents(op).getNumResults()));
    auto reduce = dyn_cast<ReduceOp>(op);
    if (!reduce || !findGeneralContraction(reduce))
      return order;
    reduce->walk([&](ReadOp read) {
      std::optional<LinearRead> linear = lineariseRead(reduce, read);
      for (ArrayRef<int64_t> by : linear ? ArrayRef(linear->coefficients) : ArrayRef<SmallVector<int64_t>>()) {
        SmallVector<unsigned> digits =
            llvm::filter_to_vector(llvm::seq<unsigned>(0, reduce.getNumParallel()), [&](unsigned d) { return by[d] > 0; });
        llvm::sort(digits, [&](unsigned x, unsigned y) { return std::pair(-by[x], x) < std::pair(-by[y], y); });
        for (auto [slow, fast] : llvm::zip(digits, llvm::drop_begin(digits, digits.empty() ? 0 : 1)))
          if (int64_t points = knownMax(reduce.getExtents().getResult(fast), facts_); points > 1 && by[slow] == by[fast] * points) {
            order.erase(llvm::find(order, fast));
            order.insert(std::next(llvm::find(order, slow)), fast);
          }
      }
    });
    return order;
  }

  /// A scan's block has rows from end to end: the grid is what is beside them.
  void startScan(int64_t i, const Scan &scan) {
    Operation *op = ops_[i];
    Group g;
    g.ops = {i};
    g.isReverse = scan.reverse;
    SmallVector<int64_t> dims(scan.reduced + 1, int64_t(scan.reduced) - 1);
    for (unsigned d = 0; d <= scan.reduced; ++d)
      if (d != scan.along && (d != scan.reduced))
        dims[d] = g.grid++;
    for (unsigned d = 0; d < scan.reduced; ++d)
      if (d != scan.along)
        addIndex(g, op, d);
    addIndex(g, op, scan.along);
    g.dims.push_back(std::move(dims));
    owner_[i] = groups_.size();
    groups_.push_back(std::move(g));
  }

  static void addIndex(Group &g, Operation *op, unsigned d) {
    g.extents.push_back(getExtents(op).getResult(d));
    g.names.push_back(cast<StringAttr>(getIndices(op)[d]).getValue().str());
  }

  /// Statement i as a member of the group that holds what it reads last.
  bool tryJoin(int64_t i) {
    Operation *op = ops_[i];
    if (!isPlain(op) || kOwnLaunch.isOn(op) || kBehindParts.isOn(op))
      return false;
    // Groups whose results op reads; the youngest is the candidate, and no other
    // one may come later than it (it would have to run before).
    int64_t candidate = -1;
    SmallVector<ReadOp> reads;
    op->walk([&](ReadOp r) {
      if (auto it = ordinal_.find(r.getTensor()); it != ordinal_.end()) {
        reads.push_back(r);
        candidate = std::max(candidate, owner_[it->second]);
      }
    });
    if (candidate < 0)
      return joinSibling(i);
    return join(i, candidate, reads);
  }

  bool join(int64_t i, int64_t candidate, ArrayRef<ReadOp> reads) {
    Operation *op = ops_[i];
    Group &g = groups_[candidate];
    if (findScanOf(op) || isa<FoldOp, RecurrenceOp>(op) || isa<RecurrenceOp>(ops_[g.ops.front()]))
      return false;
    if (g.isReverse)
      return joinScan(i, candidate, reads);
    if (auto reader = dyn_cast<ReduceOp>(op))
      if (std::optional<ProductChain> chain = findChain(reader, target_, facts_))
        return joinLoop(i, candidate, {{chain->producer, chain->first}}, chain->walked, {*chain});
    if (std::optional<ProductWalk> walk = findJoinedWalk(op, target_, facts_))
      return joinLoop(i, candidate, walk->firsts(), walk->walked, walk->products);
    bool product = isContractionGroup(g);
    auto reduce = dyn_cast<ReduceOp>(op);
    if (product && !isa<ComputeOp>(op) && (!reduce || reduce.isArg()))
      return false; // a product's tile stays a tile
    SmallVector<int64_t> map(getExtents(op).getNumResults(), -1);
    for (ReadOp read : reads) {
      int64_t producer = ordinal_[read.getTensor()];
      if (owner_[producer] != candidate)
        continue;
      if (!hasAtOnce(g, ops_[producer]))
        return false;
      if (read.getBounds() != BoundsMode::InBounds || !unify(op, read, g, producer, map))
        return false;
    }
    // The grid's indices must all be indices of op, the same ones: parallel ones, or reduced ones of
    // which a product's tile has all points. (A cascade's result may lack columns of the others.)
    unsigned lacking = llvm::count_if(g.whole, [&](int64_t index) { return !llvm::is_contained(map, index); }), found = lacking;
    for (auto [d, index] : llvm::enumerate(map))
      if (index >= 0 && index < int64_t(g.grid)) {
        if (d >= getNumParallel(op) && !(product && fitsTile(getExtents(op).getResult(d))) && !kInTile.isOn(op))
          return false;
        ++found;
      }
    bool isSingle = isa<ComputeOp>(op) && map.empty(); // one value of one value
    if ((g.grid == 0 && !isSingle) || (found != g.grid && !(product && isBehindTile(g, op, map))))
      return false;
    if (!isa<ComputeOp>(op) && !product && !kInTile.isOn(op) && getNumParallel(op) != g.grid)
      return false;
    if (product && getExtents(op).getNumResults() != found - lacking)
      return false;
    // A second contraction in one launch would need operands of its own shape.
    if (reduce && findGeneralContraction(reduce))
      return false;
    adopt(i, candidate, map);
    return true;
  }

  /// Statement i, which reduces dim `walked` of what products make, in the last one's launch: it gets the statement's grid, and walks what
  /// that reduces.
  bool joinLoop(int64_t i, int64_t candidate, ArrayRef<FirstProduct> firsts, unsigned walked, ArrayRef<ProductChain> products) {
    Operation *op = ops_[i];
    Group joined;
    joined.grid = getNumParallel(op);
    for (unsigned d = 0; d < getExtents(op).getNumResults(); ++d)
      addIndex(joined, op, d);
    joined.loops = {int64_t(walked)};
    for (const ProductChain &c : products)
      joined.whole.push_back(c.columns().front());
    for (FirstProduct f : firsts) {
      int64_t first = llvm::find(ops_, f.op) - ops_.begin();
      if (groups_[owner_[first]].ops != SmallVector<int64_t>{first})
        return false;
      ReadOp read;
      op->walk([&](ReadOp r) { read = r.getTensor() == f.op.getResult() ? r : read; });
      SmallVector<int64_t> dims;
      for (Value v : read.getOperands_())
        dims.push_back(*findIndex(op, v));
      for (unsigned d = 0; d < dims.size(); ++d)
        if (joined.extents[dims[d]] != f.op.getExtents().getResult(d))
          return false;
      for (unsigned d = f.op.getNumParallel(); d < f.op.getNumDims(); ++d) { // what it sums
        dims.push_back(joined.extents.size());
        addIndex(joined, f.op, d);
      }
      joined.ops.push_back(first);
      joined.dims.push_back(std::move(dims));
    }
    joined.ops.push_back(i);
    joined.dims.push_back(llvm::to_vector(llvm::seq<int64_t>(0, getExtents(op).getNumResults())));
    groups_[candidate] = std::move(joined);
    for (FirstProduct f : firsts)
      if (int64_t first = llvm::find(ops_, f.op) - ops_.begin(), own = owner_[first]; own != candidate) {
        owner_[first] = candidate;
        candidate = dropGroup(own, candidate);
      }
    owner_[i] = candidate;
    return true;
  }

  /// Leaves out group n, which nothing is in any more; what `candidate` is called then.
  int64_t dropGroup(int64_t n, int64_t candidate) {
    groups_.erase(groups_.begin() + n);
    for (auto &[op, group] : owner_)
      group -= group > n;
    for (auto &[set, group] : groupOfSet_)
      group -= int64_t(group) > n;
    return candidate - (candidate > n);
  }

  /// Statement i in the launch of a set of chained products, of which it is one.
  bool joinSet(int64_t i) {
    for (auto [n, set] : llvm::enumerate(sets_)) {
      SetReader &first = set.readers.front();
      bool isReader = llvm::any_of(set.readers, [&](SetReader &r) { return r.op == ops_[i]; });
      bool isProducer = llvm::is_contained(set.producers, ops_[i]);
      if (!isReader && !isProducer)
        continue;
      auto [at, isNew] = groupOfSet_.try_emplace(n, groups_.size());
      if (isNew) { // the readers' space: what they walk is the launch's loop
        Group &g = groups_.emplace_back();
        g.grid = first.op.getNumParallel();
        for (unsigned d = 0; d < first.op.getNumDims(); ++d)
          addIndex(g, first.op, d);
        g.loops = {int64_t(first.walked)};
      }
      Group &g = groups_[at->second];
      SmallVector<int64_t> dims = isReader ? llvm::to_vector(llvm::seq<int64_t>(0, first.op.getNumDims())) : first.dims;
      if (isProducer && isOneIndex(set, cast<ReduceOp>(ops_[i]), target_, facts_)) {
        dims.push_back(first.columns().front());
      } else if (isProducer) {
        dims.push_back(g.extents.size());
        addIndex(g, ops_[i], cast<ReduceOp>(ops_[i]).getNumParallel());
      }
      g.ops.push_back(i);
      g.dims.push_back(std::move(dims));
      owner_[i] = at->second;
      return true;
    }
    return false;
  }

  /// Statement i, a product, beside those of a group behind all that it reads.
  bool joinProducts(int64_t i) {
    auto op = dyn_cast<ReduceOp>(ops_[i]);
    std::optional<Contraction> product = op ? findSibling(op, target_, facts_) : std::nullopt;
    if (!product)
      return false;
    int64_t after = -1;
    op->walk([&](ReadOp r) {
      if (auto it = ordinal_.find(r.getTensor()); it != ordinal_.end())
        after = std::max(after, owner_[it->second]);
    });
    for (size_t n = after + 1; n < groups_.size(); ++n)
      if (joinProducts(i, op, *product, n))
        return true;
    return false;
  }

  bool joinProducts(int64_t i, ReduceOp op, const Contraction &product, size_t n) {
    Group &g = groups_[n];
    auto isWhole = [&](int64_t o) { return isa<ComputeOp>(ops_[o]) && isPlain(ops_[o]) && getNumParallel(ops_[o]) == g.grid; };
    if (g.isReverse || g.grid != op.getNumParallel())
      return false;
    for (auto [position, o] : llvm::enumerate(g.ops)) {
      auto other = dyn_cast<ReduceOp>(ops_[o]);
      std::optional<Contraction> first = other ? findSibling(other, target_, facts_) : std::nullopt;
      if (!first && !isWhole(o))
        return false;
    }
    for (auto [position, o] : llvm::enumerate(g.ops)) {
      auto other = dyn_cast<ReduceOp>(ops_[o]);
      std::optional<Contraction> first = other ? findSibling(other, target_, facts_) : std::nullopt;
      std::optional<SiblingDims> paired = first ? pairSiblings(other, *first, op, product) : std::nullopt;
      if (!paired)
        continue;
      SmallVector<int64_t> indices(g.dims[position]), map;
      for (int64_t d : paired->ofFirst)
        map.push_back(d < 0 ? -1 : indices[d]);
      if (paired->sharesLoop && g.loops.empty())
        for (unsigned d : first->k)
          g.loops.push_back(indices[d]);
      for (auto [d, index] : llvm::enumerate(map))
        if (index < 0) { // a sum of its own
          index = g.extents.size();
          addIndex(g, op, d);
        }
      g.ops.push_back(i);
      g.dims.push_back(std::move(map));
      owner_[i] = n;
      return true;
    }
    return false;
  }

  /// What is computed from scans, point by point, goes with their tiles; so do reductions over indices beside the scan of which a tile
  /// has all points, as recurrences' do, and what is computed from those.
  bool joinScan(int64_t i, int64_t candidate, ArrayRef<ReadOp> reads) {
    Operation *op = ops_[i];
    Group &g = groups_[candidate];
    SmallVector<int64_t> map(getExtents(op).getNumResults(), -1);
    auto reduce = dyn_cast<ReduceOp>(op);
    bool reduces =
        reduce && isa<FoldOp>(ops_[g.ops.front()]) && !reduce.isArg() && !reduce.getCondition() && !reduce.getYield().getCondition();
    if (!isa<ComputeOp>(op) && !reduces)
      return false;
    for (ReadOp read : reads) {
      int64_t producer = ordinal_[read.getTensor()];
      if (owner_[producer] != candidate)
        continue;
      auto compute = dyn_cast<ComputeOp>(ops_[producer]);
      if ((compute && (compute.getCondition() || compute.getYield().getCondition())) || read.getBounds() != BoundsMode::InBounds ||
          !unify(op, read, g, producer, map))
        return false;
    }
    if (llvm::is_contained(map, -1))
      return false;
    unsigned parallel = getNumParallel(op);
    SmallVector<int64_t> reduced(map.begin() + parallel, map.end());
    if (!llvm::all_of(reduced, [&](int64_t index) {
          return index < int64_t(g.grid) && knownMax(g.extents[index], facts_) > 0 &&
                 knownMax(g.extents[index], facts_) <= target_.costs->folds.largestInTile;
        }))
      return false;
    for (int64_t index = 0; index < int64_t(g.extents.size()); ++index)
      if (!llvm::is_contained(map, index) && !llvm::is_contained(g.inTile, index))
        return false;
    for (int64_t index : reduced)
      if (!llvm::is_contained(g.inTile, index))
        g.inTile.push_back(index);
    adopt(i, candidate, map);
    return true;
  }

  /// A scan beside others of the same tensors, over the same domain and in the same direction.
  bool joinScanSibling(int64_t i, const Scan &scan) {
    Operation *op = ops_[i];
    startScan(i, scan);
    Group own = std::move(groups_.back());
    groups_.pop_back();
    for (auto [n, g] : llvm::enumerate(groups_)) {
      if (g.ops.size() >= kMostSiblings || g.isReverse != own.isReverse || g.extents != own.extents ||
          isa<FoldOp>(op) != isa<FoldOp>(ops_[g.ops.front()]) || !llvm::all_of(g.ops, [&](int64_t o) {
            bool readsAlike = readsOf(op).empty() || readsOf(ops_[o]).empty() || readsInCommon(op, ops_[o]); // (a count reads nothing)
            return findScanOf(ops_[o]) && !kOwnLaunch.isOn(ops_[o]) && readsAlike;
          }))
        continue;
      g.ops.push_back(i);
      g.dims.push_back(own.dims.front());
      owner_[i] = n;
      return true;
    }
    owner_.erase(i);
    return false;
  }

  /// A statement that reads no other: beside one over the same domain, pointwise ones together, and reductions that
  /// read a tensor in common.
  bool joinSibling(int64_t i) {
    Operation *op = ops_[i];
    if (std::optional<Scan> scan = findScanOf(op))
      return joinScanSibling(i, *scan);
    auto isReduction = [](Operation *o) {
      auto r = dyn_cast<ReduceOp>(o);
      return r && !r.isArg() && !findScan(r) && !findGeneralContraction(r);
    };
    if (!isa<ComputeOp>(op) && !isReduction(op))
      return false;
    for (auto [n, g] : llvm::enumerate(groups_)) {
      if (g.ops.size() >= kMostSiblings || g.grid != getNumParallel(op) || ArrayRef<AffineExpr>(g.extents) != getExtents(op).getResults())
        continue;
      bool alike = llvm::all_of(g.ops, [&](int64_t o) {
        Operation *other = ops_[o];
        if (!isPlain(other) || kOwnLaunch.isOn(other))
          return false;
        return isa<ComputeOp>(op) ? isa<ComputeOp>(other) : isReduction(other) && readsInCommon(op, other);
      });
      if (!alike)
        continue;
      adopt(i, n, llvm::to_vector(llvm::seq<int64_t>(0, g.extents.size())));
      return true;
    }
    return false;
  }

  /// What a statement reads, and where.
  using Reads = std::set<std::tuple<const void *, const void *, SmallVector<std::optional<unsigned>>>>;
  const Reads &readsOf(Operation *op) {
    auto [it, isNew] = reads_.try_emplace(op);
    if (isNew)
      op->walk([&](ReadOp read) {
        auto dims = llvm::map_to_vector<6>(read.getOperands_(), [&](Value v) { return findIndex(op, v); });
        it->second.insert({read.getTensor().getAsOpaquePointer(), read.getMapOrIdentity().getAsOpaquePointer(), std::move(dims)});
      });
    return it->second;
  }

  /// Whether two statements over one domain read some tensor at the same points.
  bool readsInCommon(Operation *a, Operation *b) {
    const Reads &others = readsOf(b);
    return llvm::any_of(readsOf(a), [&](auto &read) { return others.count(read); });
  }

  bool fitsTile(AffineExpr extent) {
    int64_t max = knownMax(extent, facts_);
    return max >= 0 && max <= target_.costs->chains.largestInTile;
  }

  /// Whether a pointwise statement needs all of the grid's indices but those that a member has reduced in the tile.
  bool isBehindTile(const Group &g, Operation *op, ArrayRef<int64_t> map) {
    auto isReduced = [&](int64_t index) {
      return llvm::any_of(llvm::zip(g.ops, g.dims), [&](auto member) {
        Operation *other = ops_[std::get<0>(member)];
        return llvm::is_contained(ArrayRef<int64_t>(std::get<1>(member)).drop_front(getNumParallel(other)), index);
      });
    };
    return isa<ComputeOp>(op) &&
           llvm::all_of(llvm::seq<int64_t>(0, g.grid), [&](int64_t index) { return llvm::is_contained(map, index) || isReduced(index); });
  }

  bool isContractionGroup(const Group &g) {
    return llvm::any_of(g.ops, [&](int64_t o) {
      auto r = dyn_cast<ReduceOp>(ops_[o]);
      return r && findGeneralContraction(r).has_value();
    });
  }

  /// Whether a block has all that a member makes of its tile when the next member starts: what loops make in parts is in memory.
  static bool hasAtOnce(const Group &g, Operation *op) {
    auto c = dyn_cast<ComputeOp>(op);
    return !isa<ScatterOp>(op) && (!c || (!c.getCondition() && !c.getYield().getCondition() && getNumParallel(op) == g.grid));
  }

  /// Records that dim d of op is launch index ..., from a read of a member.
  bool unify(Operation *op, ReadOp read, Group &g, int64_t producer, SmallVectorImpl<int64_t> &map) {
    size_t position = llvm::find(g.ops, producer) - g.ops.begin();
    if (!isInPlace(ops_[producer]))
      return false;
    AffineMap access = read.getMapOrIdentity();
    SmallVector<unsigned> resultDims = getResultDims(read.getTensor());
    for (auto [r, e] : llvm::enumerate(access.getResults())) {
      auto d = dyn_cast<AffineDimExpr>(e);
      std::optional<unsigned> found = d ? findIndex(op, read.getOperands_()[d.getPosition()]) : std::nullopt;
      if (!found)
        return false;
      int64_t index = g.dims[position][resultDims[r]];
      unsigned dim = *found;
      if (getExtents(op).getResult(dim) != g.extents[index] || (map[dim] >= 0 && map[dim] != index))
        return false;
      map[dim] = index;
    }
    return true;
  }

  /// Adds op to a group; dims without a launch index share one of equal extent
  /// that op does not use yet, or get a new one.
  void adopt(int64_t i, int64_t group, SmallVector<int64_t> map) {
    Operation *op = ops_[i];
    Group &g = groups_[group];
    for (auto [d, index] : llvm::enumerate(map)) {
      if (index >= 0)
        continue;
      AffineExpr extent = getExtents(op).getResult(d);
      for (unsigned k = g.grid; k < g.extents.size() && index < 0; ++k)
        if (g.extents[k] == extent && !llvm::is_contained(map, int64_t(k)))
          index = k;
      if (index < 0) {
        index = g.extents.size();
        g.extents.push_back(extent);
        g.names.push_back(cast<StringAttr>(getIndices(op)[d]).getValue().str());
      }
    }
    g.ops.push_back(i);
    g.dims.push_back(map);
    owner_[i] = group;
  }

  std::vector<LaunchPlan> finish() {
    std::vector<LaunchPlan> launches;
    for (const Group &g : groups_) {
      LaunchPlan l;
      l.ops = g.ops;
      l.dims = g.dims;
      l.indices = g.names;
      l.extents = AffineMap::get(0, kernel_.getNumSizes(), g.extents, kernel_.getContext());
      l.tiles.assign(g.extents.size(), 1);
      l.grid = llvm::to_vector(llvm::seq<int64_t>(0, g.grid));
      l.loops = g.loops;
      launches.push_back(std::move(l));
    }
    return launches;
  }

  KernelOp kernel_;
  const Target &target_;
  SizeFacts facts_;
  SmallVector<Operation *> ops_;
  llvm::DenseMap<Value, int64_t> ordinal_;
  llvm::DenseMap<int64_t, int64_t> owner_;
  std::map<Operation *, Reads> reads_;
  std::vector<Group> groups_;
  std::vector<ChainSet> sets_;
  llvm::DenseMap<size_t, size_t> groupOfSet_;
};

/// Each for its last statement, but for parts of reductions that tiles have aside.
void nameLaunches(std::vector<LaunchPlan> &launches, ArrayRef<Operation *> ops) {
  for (size_t n = 0; n < launches.size(); ++n) {
    LaunchPlan &l = launches[n];
    Operation *last = ops[l.ops.back()];
    for (int64_t o : llvm::reverse(l.ops))
      if (!kInTile.isOn(ops[o])) {
        last = ops[o];
        break;
      }
    auto name = last->getAttrOfType<StringAttr>("name");
    std::string base = name                   ? name.getValue().str()
                       : isa<ReduceOp>(last)  ? stringifyCombiner(cast<ReduceOp>(last).getKind()).str()
                       : isa<CascadeOp>(last) ? "cascade"
                                              : "step";
    l.name = base;
    auto isTaken = [&](const LaunchPlan &o) { return o.name == l.name; };
    for (int k = 2; llvm::any_of(ArrayRef<LaunchPlan>(launches).take_front(n), isTaken); ++k)
      l.name = base + std::to_string(k);
  }
}

} // namespace

std::vector<LaunchPlan> groupStatements(KernelOp kernel, const Target &target, const SizeFacts &facts) {
  std::vector<LaunchPlan> launches = Grouper(kernel, target, facts).run();
  mergeLaunches(kernel, target, facts, launches);
  nameLaunches(launches, getDomainOps(kernel));
  return launches;
}

} // namespace kernelc::te
