// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-plan: see Passes.td. Grouping.cpp decides what shares a launch, the scheduler (its parts: MemoryPlan,
// ProductPlan, ProductFeed, UnitCheck) gives each launch its tiles, warps and unit.
#include "passes/Passes.h"

#include "ir/te/Faults.h"
#include "ir/te/Hints.h"
#include "ir/te/Precision.h"
#include "ir/te/Scan.h"
#include "ir/te/ScheduleLoc.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Inouts.h"
#include "passes/analysis/Memories.h"
#include "passes/index/Requirements.h"
#include "passes/plan/Beside.h"
#include "passes/plan/ChainSets.h"
#include "passes/plan/ProductTime.h"
#include "passes/plan/Scheduler.h"
#include "passes/plan/StatementOrder.h"
#include "passes/plan/VerifyPlan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEPLAN
#include "passes/Passes.h.inc"

namespace te {

/// Whether a sum multiplies what it reads again for other results: two elements at least, each free of another parallel index.
static bool multipliesPointByPoint(ReduceOp reduce) {
  Operation *body = reduce.getYield().getValues()[0].getDefiningOp();
  if (reduce.getKind() != Combiner::Sum || !isa_and_nonnull<arith::MulFOp, arith::MulIOp>(body))
    return false;
  llvm::BitVector some(reduce.getNumParallel());
  unsigned reused = 0;
  reduce.walk([&](ReadOp read) {
    llvm::BitVector free = findSupport(read.getResult(), reduce.getNumDims());
    free.resize(reduce.getNumParallel());
    free.flip();
    reused += free.test(some);
    some |= free;
  });
  return reused > 1;
}

bool Scheduler::schedule(LaunchPlan &l) {
  uniform_.clear();
  unfed_.clear();
  if (std::vector<Sibling> products = siblingsOf(l, ops_); !products.empty()) {
    uniform_.assign(l.indices.size(), 0);
    return scheduleSiblings(l, products);
  }
  if (!l.loops.empty()) {
    uniform_.assign(l.indices.size(), 0);
    for (const ChainSet &set : findChainSets(kernel_, target_, facts_))
      if (!dimsOf(l, set.readers.front().op).empty())
        return scheduleChainSet(l, set);
    return scheduleChain(l);
  }
  if (isInBlock(ops_[l.ops.front()]))
    return scheduleBlock(l), true;
  if (auto scatter = dyn_cast<ScatterOp>(ops_[l.ops.front()])) // alone in its launch
    return scheduleScatter(l, scatter), true;
  if (isPointByPoint(ops_[l.ops.front()]))
    return schedulePoints(l), true;
  for (int64_t ordinal : l.ops)
    if (StringRef text = getLawText(ops_[ordinal]); !text.empty())
      remark(ops_[ordinal]) << text;
  if (auto fold = dyn_cast<FoldOp>(ops_[l.ops.front()]))
    return scheduleFold(l, fold), true;
  if (auto recurrence = dyn_cast<RecurrenceOp>(ops_[l.ops.front()]))
    return scheduleRecurrence(l, recurrence), true;
  if (scheduleBehindFew(l))
    return true;
  for (auto [n, ordinal] : llvm::enumerate(l.ops))
    if (auto reduce = dyn_cast<ReduceOp>(ops_[ordinal])) {
      if (findScannedIndex(l, ops_))
        return scheduleScan(l), true;
      if (auto c = findGeneralContraction(reduce)) {
        remarkOn(reduce, *c);
        uniform_ = uniformTiles(l, *c, l.dims[n]);
        scheduleContraction(l, reduce, *c, l.dims[n]);
        return true;
      } else if (getStreamedDims(reduce).empty() && multipliesPointByPoint(reduce)) {
        remark(reduce) << "this sum of products runs point by point on CUDA cores: it is no product of two factors that share a "
                          "summed index and each have a parallel index of their own";
      }
    }
  if (l.grid.size() == l.indices.size())
    scheduleElementwise(l);
  else if (!scheduleSegments(l))
    scheduleReduction(l);
  return true;
}

void Scheduler::emitRemarks() {
  for (const Fault &f : getFaults(kernel_))
    emitRemark(f.loc) << f.what
                      << " for some data: each call looks for the first such point, which takes a launch of its own; a "
                         "condition, 'min(max(.., 0), ..)' or a bounds form ('.pad(0)') saves it";
  for (Diagnostic &d : remarks_)
    kernel_->getContext()->getDiagEngine().emit(std::move(d));
  remarks_.clear();
}

SmallVector<int64_t> Scheduler::reducedInTile(const LaunchPlan &l, size_t n) {
  if (isAddedByBlocks(l, n, ops_))
    return {};
  ArrayRef<int64_t> dims = l.dims[n], kept = dims.take_front(getNumParallel(ops_[l.ops[n]])), reduced = dims.drop_front(kept.size());
  return llvm::to_vector(llvm::make_filter_range(
      reduced, [&](int64_t index) { return llvm::is_contained(l.grid, index) && !llvm::is_contained(kept, index); })); // (a scan's own is)
}

llvm::BitVector Scheduler::findInTile(const LaunchPlan &l) {
  llvm::BitVector found(l.indices.size());
  for (size_t n = 0; n < l.ops.size(); ++n)
    for (int64_t index : reducedInTile(l, n))
      found.set(unsigned(index));
  return found;
}

std::optional<Scheduler::CutReduction> Scheduler::findCutReduction(const LaunchPlan &l) {
  for (size_t n = 0; n < l.ops.size(); ++n)
    for (int64_t index : reducedInTile(l, n))
      if (int64_t max = extentMax(l, index); max < 0 || max > l.tiles[index])
        return CutReduction{cast<ReduceOp>(ops_[l.ops[n]]), index, max};
  return std::nullopt;
}

int64_t Scheduler::clampTile(const LaunchPlan &l, int64_t index, int64_t want) {
  int64_t max = extentMax(l, index);
  if (size_t(index) < uniform_.size() && uniform_[index])
    want = std::min(want, uniform_[index]);
  return max < 0 || max >= want ? want : std::min<int64_t>(want, llvm::PowerOf2Ceil(std::max<int64_t>(max, 1)));
}

void Scheduler::assign(LaunchPlan &l, ArrayRef<unsigned> list, ArrayRef<int64_t> dims, int64_t tile) {
  for (unsigned d : llvm::reverse(list)) {
    l.tiles[dims[d]] = clampTile(l, dims[d], tile);
    tile = std::max<int64_t>(1, tile / l.tiles[dims[d]]);
  }
}

void Scheduler::assignBest(LaunchPlan &l, ArrayRef<unsigned> list, ArrayRef<int64_t> dims, int64_t points,
                           llvm::function_ref<double(ArrayRef<int64_t>)> cost) {
  assign(l, list, dims, points); // the longest runs along memory, and what unknown extents get
  if (list.size() < 2 || llvm::any_of(list, [&](unsigned d) { return likelyExtent(l, dims[d]) < 1; }))
    return;
  SmallVector<int64_t> best = llvm::map_to_vector(list, [&](unsigned d) { return l.tiles[dims[d]]; }), tiles(list.size(), 1);
  double least = cost(best);
  std::function<void(size_t, int64_t)> choose = [&](size_t left, int64_t room) {
    if (left > 0) {
      for (int64_t t = clampTile(l, dims[list[left - 1]], room); t >= 1; t /= 2) {
        tiles[left - 1] = t;
        choose(left - 1, room / t);
      }
    } else if (double own = cost(tiles); own < least) {
      least = own;
      best = tiles;
    }
  };
  choose(list.size(), points);
  for (auto [d, tile] : llvm::zip(list, best))
    l.tiles[dims[d]] = tile;
}

void Scheduler::assignRounds(LaunchPlan &l, ArrayRef<unsigned> list, ArrayRef<int64_t> dims, int64_t points, int64_t least) {
  Count all = 1;
  for (unsigned d : list)
    all *= std::max<int64_t>(1, likelyExtent(l, dims[d]));
  assignBest(l, list, dims, points, [&](ArrayRef<int64_t> tiles) {
    Count rounds = 1, each = 1;
    for (auto [d, tile] : llvm::zip(list, tiles)) {
      rounds = rounds * ceilDiv(Count(likelyExtent(l, dims[d])), tile);
      each *= tile;
    }
    bool isShort = each < std::min<Count>(least, all);
    return isShort ? std::numeric_limits<double>::max() : double(int64_t(rounds)) * double(int64_t(each) + costs_.cores.roundPoints);
  });
}

void Scheduler::assignResults(LaunchPlan &l, ArrayRef<unsigned> list, ArrayRef<int64_t> dims, int64_t points, int64_t filledFor,
                              bool alongMemory) {
  const CoresCosts &costs = costs_.cores;
  llvm::BitVector inTile = findInTile(l);
  Count whole = 1; // points of a tile
  for (unsigned d : list)
    whole *= clampTile(l, dims[d], points);
  whole = std::min<Count>(whole, points);
  // Words side by side in memory: of what warps fill also rows that follow each other whole, and a pool's windows, whose indices stand
  // last.
  auto rowOf = [&](ArrayRef<int64_t> tiles) {
    Count row = tiles.back();
    for (size_t i = tiles.size() - 1; filledFor && i > 0 && tiles[i] >= likelyExtent(l, dims[list[i]]); --i)
      row *= tiles[i - 1];
    return int64_t(row);
  };
  int64_t longest = filledFor ? int64_t(whole) : clampTile(l, dims[list.back()], points);
  int64_t shortest = !alongMemory ? 1 : std::min(longest, filledFor ? shortestWordRow(filledFor, costs) : costs.shortestRow);
  // How long they take beside rows that lie in one piece.
  auto timeOfRows = [&](ArrayRef<int64_t> tiles, int64_t row) {
    double time = row == longest || !alongMemory ? 1 : filledFor ? timeOfWordRows(row, filledFor, costs) : costs.apartPercent / 100.0;
    for (int64_t tile : tiles.drop_back(std::min<size_t>(2, tiles.size())))
      time *= filledFor ? 1 + costs.wordFar * double(tile - 1) : tile > 1 ? costs.farPercent / 100.0 : 1;
    return time;
  };
  assignBest(l, list, dims, points, [&](ArrayRef<int64_t> tiles) {
    Count covered = 1, each = 1;
    bool isCut = false;
    for (auto [d, tile] : llvm::zip(list, tiles)) {
      covered = covered * ceilDiv(Count(likelyExtent(l, dims[d])), tile) * tile;
      each *= tile;
      isCut |= inTile[dims[d]] && tile < clampTile(l, dims[d], points);
    }
    int64_t row = rowOf(tiles);
    bool isShort = each < whole || row < shortest;
    return isShort || isCut ? std::numeric_limits<double>::max() : double(int64_t(covered)) * timeOfRows(tiles, row);
  });
}

int64_t Scheduler::tileProduct(const LaunchPlan &l, ArrayRef<unsigned> list, ArrayRef<int64_t> dims) {
  Count p = 1; // (tiles of a schedule may be anything)
  for (unsigned d : list)
    p *= l.tiles[dims[d]];
  return int64_t(p);
}

int64_t Scheduler::extentProduct(const LaunchPlan &l, ArrayRef<unsigned> list, ArrayRef<int64_t> dims, const SizeFacts &facts) {
  return knownPoints(l.extents, llvm::map_range(list, [&](unsigned d) { return unsigned(dims[d]); }), facts);
}

} // namespace te

using namespace te;

namespace {

/// A statement that would write before, or among, those that read what it overwrites, or that write what it overwrites; null
/// where all is well.
Operation *findHastyUpdate(KernelOp kernel, const std::vector<LaunchPlan> &launches, const SizeFacts &facts) {
  SmallVector<Operation *> ops = getDomainOps(kernel);
  llvm::DenseMap<Operation *, size_t> launchOf;
  for (auto [n, l] : llvm::enumerate(launches))
    for (int64_t ordinal : l.ops)
      launchOf[ops[ordinal]] = n;
  // What a launch makes for itself alone never is in memory.
  auto isLeft = [&](Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      return user->getParentOp() == kernel || launchOf.lookup(user->getParentOp()) != launchOf[op];
    });
  };
  Memories memories(kernel);
  for (const Memory &m : memories.all())
    for (auto [before, after] : llvm::zip(m.versions, ArrayRef(m.versions).drop_front())) {
      Operation *first = before.getDefiningOp(), *writer = after.getDefiningOp();
      bool together = first && launchOf[first] == launchOf[writer];
      if (first && (launchOf[first] > launchOf[writer] || (together && isLeft(first) && !writeApart(kernel, facts, first, writer))))
        return writer;
    }
  /// For each dim of a statement the index of its launch.
  auto dimsOf = [&](Operation *op) -> ArrayRef<int64_t> {
    const LaunchPlan &l = launches[launchOf[op]];
    for (auto [n, ordinal] : llvm::enumerate(l.ops))
      if (ops[ordinal] == op)
        return l.dims[n];
    return {};
  };
  for (Operation *reader : ops) {
    Operation *hasty = nullptr;
    reader->walk([&](ReadOp read) {
      Operation *writer = memories.findOverwriter(read, reader);
      if (!writer || launchOf[reader] < launchOf[writer])
        return;
      if (writer == reader || launchOf[reader] > launchOf[writer] ||
          findScannedIndex(launches[launchOf[reader]], ops) || // (tile by tile: what comes later is still to be read)
          !(isReadBeforeWritten(launches[launchOf[reader]].grid, dimsOf(reader), dimsOf(writer), read, reader, writer) ||
            isReadAtPointWritten(kernel, facts, launches[launchOf[reader]].grid, dimsOf(reader), dimsOf(writer), read, reader, writer)))
        hasty = writer;
    });
    if (hasty)
      return hasty;
  }
  return nullptr;
}

/// Whether a launch whose statements read each other in a block's memory has a block for each number of one.
LogicalResult checkBlocks(KernelOp kernel, const LaunchPlan &l) {
  if (!isInBlock(getDomainOps(kernel)[l.ops.front()]))
    return success();
  for (int64_t g : l.grid)
    if (l.tiles[g] != 1)
      return mlir::emitError(getScheduleLoc(kernel, kernel.getSymName(), l.name, {"tiles", l.indices[g]}))
             << "schedule of launch '" << l.name << "': its tiles have " << l.tiles[g] << " points of '" << l.indices[g]
             << "', each of which is a block that has memory of its own; it must be 1";
  if (l.cluster != 1)
    return mlir::emitError(getScheduleLoc(kernel, kernel.getSymName(), l.name, {"cluster"}))
           << "schedule of launch '" << l.name << "': clusters of " << l.cluster
           << " blocks, each of which has memory of its own; it must be 1";
  return success();
}

StringRef nameOfResult(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>("name");
  return name ? name.getValue() : "a result";
}

/// A row that another statement of the launch takes from registers, or what it comes to.
struct HeldResult {
  Operation *maker;
  int64_t index;
};

/// What is reduced over the rows of a scan and read at them, where a block does not have a row at once; nothing where there is none.
std::optional<HeldResult> findCutScan(ArrayRef<Operation *> ops, const LaunchPlan &l, int64_t along, const SizeFacts &facts) {
  int64_t most = knownMax(l.extents.getResult(along), facts);
  if (most >= 0 && most <= l.tiles[along])
    return std::nullopt;
  std::optional<HeldResult> found;
  for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims)) {
    if (!llvm::is_contained(dims, along))
      continue;
    ops[ordinal]->walk([&](ReadOp read) {
      for (size_t n = 0; n < l.ops.size(); ++n)
        if (read.getTensor().getDefiningOp() == ops[l.ops[n]] && isReducedOver(l, n, ops, along))
          found = HeldResult{ops[l.ops[n]], along};
    });
  }
  return found;
}

/// One of which a block does not have all at once; nothing where there is none.
std::optional<HeldResult> findCutRow(ArrayRef<Operation *> ops, const LaunchPlan &l, const SizeFacts &facts) {
  std::optional<HeldResult> found;
  if (std::optional<int64_t> along = findScannedIndex(l, ops))
    return findCutScan(ops, l, *along, facts);
  if (!l.loops.empty() || isInBlock(ops[l.ops.front()]))
    return found;
  for (int64_t ordinal : l.ops)
    ops[ordinal]->walk([&](ReadOp read) {
      auto maker = read.getTensor().getDefiningOp<ComputeOp>();
      auto at = maker ? llvm::find_if(l.ops, [&](int64_t o) { return ops[o] == maker; }) : l.ops.end();
      if (at == l.ops.end())
        return;
      for (int64_t index : l.dims[at - l.ops.begin()]) {
        int64_t most = knownMax(l.extents.getResult(index), facts);
        bool isWhole = most >= 0 && most <= l.tiles[index] && !(l.cluster > 1 && l.clusterIndex == index);
        if (!llvm::is_contained(l.grid, index) && !isWhole)
          found = HeldResult{maker, index};
      }
    });
  return found;
}

/// Fills plan.launches. What is reduced over more than the tile that its product is given gets a launch of its own, and so does a row that
/// others are to find in registers and that no tile has.
LogicalResult scheduleLaunches(KernelOp kernel, const Target &target, Merge merge, const SizeFacts &likely, KernelPlan &plan) {
  plan.launches = groupStatements(kernel, target, {plan.sizeDiv, plan.sizeMax});
  if (Operation *writer = findHastyUpdate(kernel, plan.launches, {plan.sizeDiv, plan.sizeMax})) {
    if (hasOwnLaunch(writer))
      return writer->emitError() << "writes to memory that others, or it itself elsewhere, read as it was; run te-copy-inouts first";
    setOwnLaunch(writer);
    return scheduleLaunches(kernel, target, merge, likely, plan);
  }
  Scheduler scheduler(kernel, target, plan, merge, likely);
  for (LaunchPlan &l : plan.launches) {
    l.dependent = target.dependentLaunch && &l != &plan.launches.front();
    if (!scheduler.schedule(l)) { // its products in launches of their own
      std::vector<Sibling> siblings = siblingsOf(l, getDomainOps(kernel));
      if (!siblings.empty()) // the others may do without the last of them
        siblings.back().op.setNoSibling(scheduler.whyApart());
      for (int64_t ordinal : siblings.empty() ? ArrayRef<int64_t>(l.ops) : ArrayRef<int64_t>())
        setOwnLaunch(getDomainOps(kernel)[ordinal]);
      return scheduleLaunches(kernel, target, merge, likely, plan);
    }
    if (std::optional<Scheduler::CutReduction> cut = scheduler.findCutReduction(l)) {
      setOwnLaunch(cut->op);
      return scheduleLaunches(kernel, target, merge, likely, plan);
    }
    if (std::optional<HeldResult> cut = findCutRow(getDomainOps(kernel), l, {plan.sizeDiv, plan.sizeMax})) {
      setOwnLaunch(cut->maker);
      return scheduleLaunches(kernel, target, merge, likely, plan);
    }
    if (failed(applySchedule(kernel, plan.target, l)))
      return failure();
    scheduler.settle(l);
    if (failed(scheduler.checkUnit(l)) || failed(checkBlocks(kernel, l)))
      return failure();
    if (std::optional<HeldResult> cut = findCutRow(getDomainOps(kernel), l, {plan.sizeDiv, plan.sizeMax}))
      return mlir::emitError(getScheduleLoc(kernel, kernel.getSymName(), l.name, {"tiles", l.indices[cut->index]}))
             << "schedule of launch '" << l.name << "': its tiles have " << l.tiles[cut->index] << " points of '" << l.indices[cut->index]
             << "', and a block needs whole rows of '" << nameOfResult(cut->maker)
             << "', which other statements of the launch take from registers";
    if (std::optional<Scheduler::CutReduction> cut = scheduler.findCutReduction(l))
      return mlir::emitError(getScheduleLoc(kernel, kernel.getSymName(), l.name, {"tiles", l.indices[cut->index]}))
             << "schedule of launch '" << l.name << "': its tiles have " << l.tiles[cut->index] << " points of '" << l.indices[cut->index]
             << "', and '" << cut->op.getName().value_or("a reduction") << "' is reduced over all " << cut->points << " of them in each";
  }
  scheduler.emitRemarks();
  return success();
}

struct TePlanPass : impl::TePlanBase<TePlanPass> {
  using Base::Base;
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    FailureOr<const Target *> known = getTarget(kernel, target);
    if (failed(known))
      return signalPassFailure();
    const Target *found = *known;
    if (failed(checkSizeFacts(kernel, llvm::to_vector_of<int64_t>(sizeDiv), llvm::to_vector_of<int64_t>(sizeMax))))
      return signalPassFailure();
    if (sizeLike.size() > kernel.getNumSizes()) {
      kernel.emitError() << "size-like has more entries than the kernel's " << kernel.getNumSizes() << " sizes";
      return signalPassFailure();
    }
    gatherReductions(kernel);
    startScattersEarly(kernel);
    KernelPlan plan;
    plan.target = target;
    plan.sizeDiv.assign(kernel.getNumSizes(), 1);
    plan.sizeMax.assign(kernel.getNumSizes(), -1);
    for (unsigned i = 0; i < kernel.getNumSizes(); ++i) {
      if (i < sizeDiv.size())
        plan.sizeDiv[i] = sizeDiv[i];
      if (i < sizeMax.size())
        plan.sizeMax[i] = sizeMax[i];
    }
    plan.sizeDiv = requiredDivisors(kernel, {plan.sizeDiv, plan.sizeMax});
    SmallVector<int64_t> like(plan.sizeMax);
    for (auto [i, n] : llvm::enumerate(sizeLike))
      if (n >= 0)
        like[i] = n;
    FailureOr<KernelSchedule> schedule = getKernelSchedule(kernel, target);
    if (failed(schedule) || failed(scheduleLaunches(kernel, *found, schedule->merge, {plan.sizeDiv, like}, plan)) ||
        failed(joinLaunches(kernel, *found, schedule->merge, {plan.sizeDiv, like}, plan)))
      return signalPassFailure();
    for (LaunchPlan &l : plan.launches)
      if (l.cluster > found->cluster) {
        mlir::emitError(getScheduleLoc(kernel, kernel.getSymName(), l.name, {"cluster"}))
            << "schedule of launch '" << l.name << "': a cluster of " << l.cluster << " blocks; " << found->name
            << (found->cluster > 1 ? " has smaller ones" : " has none");
        return signalPassFailure();
      }
    auto isShared = [](const LaunchPlan &l) { return l.cluster > 1 && !llvm::is_contained(l.grid, l.clusterIndex); };
    if (schedule->merge == Merge::Cluster && llvm::none_of(plan.launches, isShared))
      kernel.emitRemark() << "schedule: 'merge' is 'cluster', and no reduction is cut into parts that the blocks of a cluster could merge";
    if (failed(checkScheduledLaunches(kernel, plan)))
      return signalPassFailure();
    setPlan(kernel, plan);
    if (failed(getPlan(kernel)) || // a schedule that no launch can have
        failed(verifyPlan(kernel)))
      return signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
