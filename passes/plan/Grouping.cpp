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
#include "passes/plan/Grouper.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Affine.h"
#include "passes/index/LinearRead.h"
#include "passes/plan/Merging.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc::te {

/// Whether the elements of op's result are its parallel indices' points, in their order.
static bool isInPlace(Operation *op) {
  auto c = dyn_cast<ComputeOp>(op);
  auto r = dyn_cast<ReduceOp>(op);
  return !(c && c.getOutMap()) && !(r && r.getOutMap()) && !isa<ScatterOp>(op);
}

bool isPlain(Operation *op) {
  if (auto c = dyn_cast<ComputeOp>(op))
    return !c.getInit() && !(c.getOutMap() && c.getPartial());
  auto r = dyn_cast<ReduceOp>(op);
  return !isa<ScatterOp>(op) && (!r || (!r.getInit() && !r.getOutMap()));
}

Grouper::Grouper(KernelOp kernel, const Target &target, const SizeFacts &facts)
    : kernel_(kernel), target_(target), facts_(facts), ops_(getDomainOps(kernel)) {
  for (auto [i, op] : llvm::enumerate(ops_))
    for (Value result : op->getResults())
      ordinal_[result] = i;
}

std::vector<LaunchPlan> Grouper::run() {
  sets_ = findChainSets(kernel_, target_, facts_);
  for (size_t i = 0; i < ops_.size(); ++i)
    if (!joinBlock(i) && !joinSet(i) && !tryJoin(i) && !joinProducts(i))
      start(i);
  return finish();
}

void Grouper::start(int64_t i) {
  Operation *op = ops_[i];
  if (std::optional<Scan> scan = findScanOf(op))
    return startScan(i, *scan);
  auto recurrence = dyn_cast<RecurrenceOp>(op);
  Group g;
  g.ops = {i};
  g.grid = recurrence ? unsigned(recurrence.getFree()) : getNumParallel(op); // (a block walks all that needs an order)
  if (isInBlock(op))
    g.grid = unsigned(getBlockOf(op)[1]);
  SmallVector<int64_t> dims(getExtents(op).getNumResults());
  for (unsigned d : orderOf(op)) {
    dims[d] = g.extents.size();
    addIndex(g, op, d);
  }
  g.dims.push_back(std::move(dims));
  owner_[i] = groups_.size();
  groups_.push_back(std::move(g));
}

bool Grouper::joinBlock(int64_t i) {
  Operation *op = ops_[i];
  ArrayRef<int64_t> own = getBlockOf(op);
  if (own.empty())
    return false;
  for (auto [n, g] : llvm::enumerate(groups_))
    if (getBlockOf(ops_[g.ops.front()]) == own) {
      SmallVector<int64_t> map(getExtents(op).getNumResults(), -1);
      for (int64_t d = 0; d < own[1]; ++d)
        map[d] = d;
      adopt(i, n, std::move(map));
      return true;
    }
  start(i);
  return true;
}

SmallVector<unsigned> Grouper::orderOf(Operation *op) {
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

void Grouper::addIndex(Group &g, Operation *op, unsigned d) {
  g.extents.push_back(getExtents(op).getResult(d));
  g.names.push_back(cast<StringAttr>(getIndices(op)[d]).getValue().str());
}

bool Grouper::tryJoin(int64_t i) {
  Operation *op = ops_[i];
  auto scatter = dyn_cast<ScatterOp>(op);
  if (!(scatter ? scatter.getAnyOrder() || scatter.isUnique() : isPlain(op)) || hasOwnLaunch(op) || isBehindParts(op))
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
    return !scatter && joinSibling(i);
  if (scatter && !canScatterFrom(scatter, candidate))
    return false;
  return join(i, candidate, reads);
}

bool Grouper::join(int64_t i, int64_t candidate, ArrayRef<ReadOp> reads) {
  Operation *op = ops_[i];
  Group &g = groups_[candidate];
  if (isInBlock(ops_[g.ops.front()]))
    return false;
  if (g.isReverse && (findScanOf(op) || !isa<FoldOp, RecurrenceOp>(op)))
    return joinScan(i, candidate, reads);
  if (std::optional<Scan> scan = findScanOf(op))
    return joinRows(i, candidate, reads, *scan);
  if (isa<FoldOp, RecurrenceOp>(op) || isa<RecurrenceOp>(ops_[g.ops.front()]))
    return false;
  if (auto reader = dyn_cast<ReduceOp>(op))
    if (std::optional<ProductChain> chain = findChain(reader, target_, facts_))
      return joinLoop(i, candidate, {{chain->producer, chain->first}}, chain->walked, {*chain});
  if (std::optional<ProductWalk> walk = findJoinedWalk(op, target_, facts_))
    return joinLoop(i, candidate, walk->firsts(), walk->walked, walk->products);
  bool product = isContractionGroup(g);
  auto reduce = dyn_cast<ReduceOp>(op);
  if (product && !isa<ComputeOp, ScatterOp>(op) && (!reduce || reduce.isArg()))
    return false; // a product's tile stays a tile
  SmallVector<int64_t> map(getExtents(op).getNumResults(), -1);
  for (ReadOp read : reads) {
    int64_t producer = ordinal_[read.getTensor()];
    if (owner_[producer] != candidate)
      continue;
    bool isAdded = llvm::any_of(sets_, [&](ChainSet &set) { // (other blocks add the rest of such a sum)
      return llvm::any_of(set.added, [&](SetReader &r) { return r.op == ops_[producer]; });
    });
    if (isAdded || !hasAtOnce(g, ops_[producer]))
      return false;
    if (read.getBounds() != BoundsMode::InBounds || !unify(op, read, g, producer, map))
      return false;
  }
  // The grid's indices must all be indices of op, the same ones: parallel ones, or reduced ones of
  // which a product's tile has all points. (A cascade's result may lack columns of the others.)
  unsigned lacking = llvm::count_if(g.whole, [&](int64_t index) { return !llvm::is_contained(map, index); }), found = lacking;
  for (auto [d, index] : llvm::enumerate(map))
    if (index >= 0 && index < int64_t(g.grid)) {
      if (d >= getNumParallel(op) && !(product && fitsTile(getExtents(op).getResult(d))) && !isInTile(op))
        return false;
      ++found;
    }
  bool isSingle = isa<ComputeOp>(op) && map.empty(); // one value of one value
  if ((g.grid == 0 && !isSingle) || (found != g.grid && !(product && isBehindTile(g, op, map))))
    return false;
  if (!isa<ComputeOp>(op) && !product && !isInTile(op) && getNumParallel(op) != g.grid)
    return false;
  if (product && getExtents(op).getNumResults() != found - lacking)
    return false;
  // A second contraction in one launch would need operands of its own shape.
  if (reduce && findGeneralContraction(reduce))
    return false;
  adopt(i, candidate, map);
  return true;
}

bool Grouper::joinSibling(int64_t i) {
  Operation *op = ops_[i];
  if (std::optional<Scan> scan = findScanOf(op))
    return joinScanSibling(i, *scan);
  auto isReduction = [](Operation *o) {
    auto r = dyn_cast<ReduceOp>(o);
    return r && !findScan(r) && !findGeneralContraction(r);
  };
  if (!isa<ComputeOp>(op) && !isReduction(op))
    return false;
  for (auto [n, g] : llvm::enumerate(groups_)) {
    if (g.ops.size() >= kMostSiblings || g.grid != getNumParallel(op) || ArrayRef<AffineExpr>(g.extents) != getExtents(op).getResults())
      continue;
    bool alike = llvm::all_of(g.ops, [&](int64_t o) {
      Operation *other = ops_[o];
      if (!isPlain(other) || hasOwnLaunch(other) || isInBlock(other))
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

const Grouper::Reads &Grouper::readsOf(Operation *op) {
  auto [it, isNew] = reads_.try_emplace(op);
  if (isNew)
    op->walk([&](ReadOp read) {
      auto dims = llvm::map_to_vector<6>(read.getOperands_(), [&](Value v) { return findIndex(op, v); });
      it->second.insert({read.getTensor().getAsOpaquePointer(), read.getMapOrIdentity().getAsOpaquePointer(), std::move(dims)});
    });
  return it->second;
}

bool Grouper::readsInCommon(Operation *a, Operation *b) {
  const Reads &others = readsOf(b);
  return llvm::any_of(readsOf(a), [&](auto &read) { return others.count(read); });
}

bool Grouper::fitsTile(AffineExpr extent) {
  int64_t max = knownMax(extent, facts_);
  return max >= 0 && max <= target_.costs->chains.largestInTile;
}

bool Grouper::isBehindTile(const Group &g, Operation *op, ArrayRef<int64_t> map) {
  auto isReduced = [&](int64_t index) {
    return llvm::any_of(llvm::zip(g.ops, g.dims), [&](auto member) {
      Operation *other = ops_[std::get<0>(member)];
      return llvm::is_contained(ArrayRef<int64_t>(std::get<1>(member)).drop_front(getNumParallel(other)), index);
    });
  };
  return isa<ComputeOp>(op) &&
         llvm::all_of(llvm::seq<int64_t>(0, g.grid), [&](int64_t index) { return llvm::is_contained(map, index) || isReduced(index); });
}

bool Grouper::canScatterFrom(ScatterOp scatter, int64_t candidate) {
  const Group &g = groups_[candidate];
  auto isReduction = [&](int64_t o) { return isa<ReduceOp>(ops_[o]) && !findScanOf(ops_[o]); };
  bool isByData = llvm::any_of(scatter.getSubscripts(), [&](Value s) { return !findIndex(scatter, s); });
  if (!llvm::all_of(g.ops, isReduction) || (isByData && meetsInFew(scatter, facts_, facts_, target_.costs->scatters)))
    return false;
  Value init = scatter.getInit();
  if (!init)
    return true;                    // every element is written
  auto start = ordinal_.find(init); // (what memory holds, members of the launch may read)
  return start != ordinal_.end() && init.hasOneUse() && owner_[start->second] < candidate;
}

bool Grouper::isContractionGroup(const Group &g) {
  return llvm::any_of(g.ops, [&](int64_t o) {
    auto r = dyn_cast<ReduceOp>(ops_[o]);
    return r && findGeneralContraction(r).has_value();
  });
}

bool Grouper::hasAtOnce(const Group &g, Operation *op) {
  auto c = dyn_cast<ComputeOp>(op);
  return !isa<ScatterOp>(op) && (!c || (!c.getCondition() && !c.getYield().getCondition() && getNumParallel(op) == g.grid));
}

bool Grouper::unify(Operation *op, ReadOp read, Group &g, int64_t producer, SmallVectorImpl<int64_t> &map) {
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

void Grouper::adopt(int64_t i, int64_t group, SmallVector<int64_t> map) {
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
      addIndex(g, op, d);
    }
  }
  g.ops.push_back(i);
  g.dims.push_back(map);
  owner_[i] = group;
}

std::vector<LaunchPlan> Grouper::finish() {
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

/// Each for its last statement, but for parts of reductions that tiles have aside.
static void nameLaunches(std::vector<LaunchPlan> &launches, ArrayRef<Operation *> ops) {
  for (size_t n = 0; n < launches.size(); ++n) {
    LaunchPlan &l = launches[n];
    Operation *last = ops[l.ops.back()];
    for (int64_t o : llvm::reverse(l.ops))
      if (!isInTile(ops[o])) {
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

std::vector<LaunchPlan> groupStatements(KernelOp kernel, const Target &target, const SizeFacts &facts) {
  std::vector<LaunchPlan> launches = Grouper(kernel, target, facts).run();
  mergeLaunches(kernel, target, facts, launches);
  nameLaunches(launches, getDomainOps(kernel));
  return launches;
}

} // namespace kernelc::te
