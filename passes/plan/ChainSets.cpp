// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/ChainSets.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/plan/Chain.h"
#include "passes/plan/Schedule.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace kernelc::te {
namespace {

/// A product of 16-bit factors whose sum stays in the unit's accumulators.
bool isPlain(ReduceOp op, const Contraction &c, const Target &target) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  return form && (form->type.isF16() || form->type.isBF16()) && !c.where && c.partScales.empty() && c.ownK.empty() && c.k.size() == 1 &&
         (op.getInSet() || (!op.getInit() && !op.getOutMap())) && !hasOwnLaunch(op) &&
         !mostInAccumulators(getKernel(op), form->type, target);
}

/// One that slots alone feed, with all of its terms.
bool isProducer(ReduceOp op, const Target &target) {
  std::optional<Contraction> c = findContraction(op);
  if (!c || !isPlain(op, *c, target))
    return false;
  std::optional<WarpgroupForm> form = findWarpgroupForm(*c);
  return !form->aInRegisters && !form->bInRegisters && !c->isAMasked() && !c->isBMasked() && !c->resultWhere;
}

std::optional<SetReader> findReader(ReduceOp op, const Target &target) {
  std::optional<Contraction> c = findContraction(op);
  std::optional<WarpgroupForm> form = c && isPlain(op, *c, target) ? findWarpgroupForm(*c) : std::nullopt;
  if (!form || (!form->aInRegisters && !form->bInRegisters))
    return std::nullopt;
  SetReader reader{op, *c, form->bInRegisters, c->k.front(), {}, {}};
  if (!findOperandRead(reader.other()) || reader.columns().size() != 1 || reader.rows().size() != 1)
    return std::nullopt;
  for (ReadOp read : findReads(reader.fromB ? c->b : c->a)) {
    auto producer = read.getTensor().getDefiningOp<ReduceOp>();
    if (!producer || !findContraction(producer))
      continue;
    SmallVector<int64_t> dims;
    llvm::BitVector seen(op.getNumDims());
    for (Value v : read.getOperands_()) {
      std::optional<unsigned> d = findIndex(op, v);
      if (!d || seen[*d])
        return std::nullopt;
      seen.set(*d);
      dims.push_back(*d);
    }
    bool isOwnPoint = read.getMapOrIdentity().isIdentity() && read.getBounds() == BoundsMode::InBounds && seen[reader.walked] &&
                      !seen[reader.columns().front()] && int64_t(seen.count()) == int64_t(op.getNumDims()) - 1;
    if (!isProducer(producer, target) || !isOwnPoint || (!reader.producers.empty() && dims != reader.dims))
      return std::nullopt;
    reader.dims = dims;
    if (!llvm::is_contained(reader.producers, producer))
      reader.producers.push_back(producer);
  }
  if (reader.producers.empty())
    return std::nullopt;
  llvm::sort(reader.producers, [](ReduceOp x, ReduceOp y) { return x->isBeforeInBlock(y); });
  return reader;
}

/// Whether both stand in one launch: the same dims, of which they walk the same, and some producer in common.
bool isAlike(SetReader &x, SetReader &y) {
  bool shares = llvm::any_of(x.producers, [&](ReduceOp p) { return llvm::is_contained(y.producers, p); });
  return shares && x.dims == y.dims && x.walked == y.walked && x.columns() == y.columns() && x.op.getExtents() == y.op.getExtents() &&
         x.op.getCondition() == y.op.getCondition();
}

/// Whether a set's launch makes all that `sum` takes, in the tiles that it takes: it walks what the readers have in rows, and has what they
/// walk, and its order is free.
bool isAlong(ChainSet &set, SetReader &sum) {
  SetReader &first = set.readers.front();
  if (!sum.op.getAnyOrder() || !sum.op.getResult().getType().getElementType().isF32() || sum.op.getKind() != Combiner::Sum ||
      sum.dims.size() != first.dims.size() ||
      !llvm::all_of(sum.producers, [&](ReduceOp p) { return llvm::is_contained(set.producers, p); }))
    return false;
  SmallVector<int64_t> dims = set.dimsOfAdded(sum);
  for (auto [d, own] : llvm::enumerate(dims))
    if (sum.op.getExtents().getResult(d) != first.op.getExtents().getResult(own))
      return false;
  std::optional<IntegerSet> asked = getCondition(first.op), own = getCondition(sum.op);
  SmallVector<AffineExpr> moved = llvm::map_to_vector(dims, [&](int64_t d) { return getAffineDimExpr(d, sum.op.getContext()); });
  auto isAskedFor = [&] {
    using Constraint = std::pair<AffineExpr, bool>; // and whether it is an equation
    SmallVector<Constraint> owned, wanted;
    for (auto [e, isEquation] : llvm::zip(own->getConstraints(), own->getEqFlags()))
      owned.emplace_back(e.replaceDims(moved), isEquation);
    for (auto [e, isEquation] : llvm::zip(asked->getConstraints(), asked->getEqFlags()))
      wanted.emplace_back(e, isEquation);
    auto isSame = [&](const Constraint &x, const Constraint &y) {
      return x.second == y.second && simplifyAffineExpr(x.first - y.first, dims.size(), sum.op.getExtents().getNumSymbols()) == 0;
    };
    return std::is_permutation(owned.begin(), owned.end(), wanted.begin(), wanted.end(), isSame);
  };
  bool isAsked = asked.has_value() == own.has_value() && (!own || isAskedFor());
  return isAsked && dims[sum.walked] == int64_t(first.rows().front()) && dims[sum.rows().front()] == int64_t(first.walked);
}

/// How many vectors along what a set walks its readers load beside products' results.
int64_t vectorsAlong(const ChainSet &set) {
  llvm::DenseSet<Value> vectors;
  for (const SetReader &r : set.readers)
    for (ReadOp read : findReads(r.fromB ? r.product.b : r.product.a)) {
      llvm::BitVector support = findSupport(read.getResult(), ReduceOp(r.op).getNumDims());
      bool alongRows = llvm::any_of(r.rows(), [&](unsigned d) { return support[d]; });
      if (support[r.walked] && !alongRows)
        vectors.insert(read.getTensor());
    }
  return int64_t(vectors.size());
}

/// How many operands lie in slots: that a tile has once, and that each round brings.
std::pair<int64_t, int64_t> countOperands(const ChainSet &set) {
  const SetReader &first = set.readers.front();
  llvm::SmallPtrSet<Value, 4> rows, walked;
  auto add = [&](Value factor, bool isWalked) { (isWalked ? walked : rows).insert(findOperandRead(factor).getTensor()); };
  for (ReduceOp producer : set.producers) {
    Contraction c = *findContraction(producer);
    auto isWalked = [&](unsigned d) { return first.dims[d] == int64_t(first.walked); };
    add(c.a, llvm::any_of(c.m, isWalked));
    add(c.b, llvm::any_of(c.n, isWalked));
  }
  for (const SetReader &r : set.readers)
    add(r.other(), true);
  for (const SetReader &r : set.added)
    add(r.other(), false);
  return {int64_t(rows.size()), int64_t(walked.size())};
}

/// Why the smallest tiles that such a launch has do not hold a set: its columns and what its producers sum are one index, registers hold
/// the sums and shared memory two stages. Empty where they do.
std::string whyNotHeld(const ChainSet &set, const Target &target, const SizeFacts &facts) {
  constexpr int64_t kRows = 128, kWalked = 64, kThreads = 256, kProducers = 128, kBytes = 2, kPart = 16;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!llvm::all_of(set.producers, [&](ReduceOp p) { return isOneIndex(set, p, target, facts); })) {
    os << "what the first products sum and the columns of the others are no one index, of known extent, up to "
       << target.costs->chains.mostColumns;
    return text;
  }
  const SetReader &first = set.readers.front();
  int64_t n = tileOfOneIndex(knownMax(ReduceOp(first.op).getExtents().getResult(first.columns().front()), facts));
  auto [rows, walked] = countOperands(set);
  int64_t once = (rows * n + int64_t(set.added.size()) * kWalked) * kRows * kBytes, each = walked * kWalked * n * kBytes;
  int64_t staged = 2 * int64_t(set.readers.size()) * kRows * kPart * kBytes;
  int64_t registers = registersOf(set, kRows, n, kWalked, kThreads, target.costs->chains),
          share = shareRegisters(target, kProducers, kThreads, 1, target.costs->chains.fewestRegisters).consumer;
  int64_t bytes = once + 2 * each + staged + kBesideSlots;
  // Of an added sum the warpgroups share out the columns, in whole panels of a slot's rows.
  constexpr int64_t kPanel = 64, kGroups = kThreads / 128;
  if (!set.added.empty() && n % (kGroups * kPanel))
    os << "warpgroups have " << n / kGroups << " columns each of a sum that is added, and take " << kPanel;
  else if (registers > share)
    os << "tiles of " << kRows << " rows, " << n << " columns and " << kWalked << " terms need " << registers << " registers a thread, and "
       << share << " are left";
  else if (bytes > target.maxSharedPerBlock)
    os << "tiles of " << kRows << " rows, " << n << " columns and " << kWalked << " terms need " << bytes << " bytes of shared memory of "
       << target.maxSharedPerBlock;
  return text;
}

double pointsIn(ReduceOp op, ArrayRef<unsigned> dims, const SizeFacts &facts) {
  return double(int64_t(pointsOf(op.getExtents(), dims, facts)));
}

/// How long the launch of a set takes. Its sums that are added travel beside its products; before it they are zeroed, and read behind it.
double timeOfSet(ChainSet &set, const Target &target, const SizeFacts &facts) {
  constexpr double kWord = 4;
  SetReader &first = set.readers.front();
  double rows = pointsIn(first.op, first.rows(), facts), batch = pointsIn(first.op, first.product.batch, facts),
         walked = pointsIn(first.op, first.walked, facts), columns = pointsIn(first.op, first.columns(), facts);
  double tilesOfRows = batch * std::ceil(rows / target.costs->chains.tileRows), ownColumns = columns;
  if (llvm::all_of(set.producers, [&](ReduceOp p) { return isOneIndex(set, p, target, facts); }))
    columns = double(tileOfOneIndex(int64_t(columns)));
  double ofEach = columns * double(set.readers.size() + set.added.size());
  for (ReduceOp producer : set.producers)
    ofEach += pointsIn(producer, findContraction(producer)->k, facts);
  double time = workOfLoop(tilesOfRows, walked, ofEach, target) / target.chainRate + target.partRates.launch;
  if (set.added.empty())
    return time;
  double bytes = walked * ownColumns * kWord * double(set.added.size());
  return std::max(time, tilesOfRows * bytes / target.partRates.adds) +
         2 * (batch * bytes / target.partRates.memory + target.partRates.launch);
}

/// Has sets that sum what others have in rows stand in their launches, those of each pair that take less time so, where that is less than
/// both take apart (or `isGiven`): they compute their producers once.
void addTurned(std::vector<ChainSet> &sets, bool isGiven, const Target &target, const SizeFacts &facts) {
  for (size_t x = 0; x < sets.size(); ++x)
    for (size_t y = 0; y < sets.size(); ++y) {
      if (x == y || !sets[x].added.empty() || !sets[y].added.empty() ||
          !llvm::all_of(sets[y].readers, [&](SetReader &r) { return isAlong(sets[x], r); }))
        continue;
      ChainSet joint = sets[x], other = sets[y]; // the other way round
      joint.added = sets[y].readers;
      other.added = sets[x].readers;
      double time = timeOfSet(joint, target, facts);
      bool isBest =
          !llvm::all_of(sets[x].readers, [&](SetReader &r) { return isAlong(sets[y], r); }) || time <= timeOfSet(other, target, facts);
      bool pays = isGiven || time < timeOfSet(sets[x], target, facts) + timeOfSet(sets[y], target, facts);
      if (!isBest || !pays || !whyNotHeld(joint, target, facts).empty())
        continue;
      sets[x] = std::move(joint);
      sets.erase(sets.begin() + y);
      return addTurned(sets, isGiven, target, facts);
    }
}

} // namespace

SmallVector<int64_t> ChainSet::dimsOfAdded(const SetReader &sum) const {
  const SetReader &first = readers.front();
  SmallVector<int64_t> dims(ReduceOp(sum.op).getNumDims(), int64_t(first.columns().front()));
  for (auto [own, d] : llvm::zip(sum.dims, first.dims))
    dims[own] = d;
  return dims;
}

bool isAddedByBlocks(const LaunchPlan &l, size_t n, ArrayRef<Operation *> ops) {
  auto sum = dyn_cast<ReduceOp>(ops[l.ops[n]]);
  return sum && sum.getInSet() && sum.getAnyOrder() && sum.getInit() &&
         llvm::any_of(ArrayRef<int64_t>(l.dims[n]).drop_front(sum.getNumParallel()),
                      [&](int64_t index) { return llvm::is_contained(l.grid, index); });
}

// Rows of a fragment, columns of one, and rows of the largest tile that blocks add.
constexpr int64_t kFragmentRows = 64, kFragmentColumns = 8, kRowsAdded = 128;

AddedLayout layoutOfAdded(ReduceOp sum, unsigned row, unsigned column) {
  MLIRContext *context = sum.getContext();
  unsigned rank = sum.getNumParallel(), symbols = sum.getExtents().getNumSymbols();
  AffineExpr r = getAffineDimExpr(row, context), c = getAffineDimExpr(column, context);
  // A warp has 16 rows: a thread two of them, eight apart, by two columns.
  constexpr int64_t kWarpRows = 16, kThreadRows = 8, kThreadColumns = 2, kThread = 4, kRowThreads = 4, kWarp = 32;
  AffineExpr thread = (r % kThreadRows) * kRowThreads + (c % kFragmentColumns).floorDiv(kThreadColumns);
  AffineExpr element = (r % kWarpRows).floorDiv(kThreadRows) * kThreadColumns + c % kThreadColumns;
  SmallVector<AffineExpr> shape, subscripts;
  for (unsigned d = 0; d < rank; ++d) {
    AffineExpr extent = sum.getExtents().getResult(d), dim = getAffineDimExpr(d, context);
    shape.push_back(d == row      ? extent.ceilDiv(kRowsAdded) * (kRowsAdded / kFragmentRows)
                    : d == column ? extent.ceilDiv(kFragmentColumns)
                                  : extent);
    subscripts.push_back(d == row ? dim.floorDiv(kFragmentRows) : d == column ? dim.floorDiv(kFragmentColumns) : dim);
  }
  shape.push_back(getAffineConstantExpr(kFragmentRows * kFragmentColumns, context));
  subscripts.push_back(((r % kFragmentRows).floorDiv(kWarpRows) * kWarp + thread) * kThread + element);
  return {AffineMap::get(0, symbols, shape, context), AffineMap::get(rank, symbols, subscripts, context)};
}

bool hasRoomForTiles(ReduceOp sum, unsigned dim, int64_t points) {
  std::optional<AffineMap> out = sum.getOutMap();
  AffineExpr rows = getAffineDimExpr(dim, sum.getContext()).floorDiv(kFragmentRows);
  return out && llvm::is_contained(out->getResults(), rows) && kRowsAdded % points == 0;
}

int64_t registersOf(const ChainSet &set, int64_t m, int64_t n, int64_t j, int64_t threads, const ChainCosts &costs) {
  // Sums of both kinds and the vectors along what is walked that go with a round, then half of these and one operand.
  // Where a sum is added, the producers' results are no more.
  int64_t ofRound = std::max(m * j * int64_t(set.producers.size()), set.added.empty() ? 0 : j * n + m * j / 2);
  int64_t kept = (m * n * int64_t(set.readers.size()) + ofRound) / threads;
  int64_t vectors = j / 4 * vectorsAlong(set);
  return kept + std::max(vectors, vectors / 2 + m * j / 2 / threads) + costs.besideSets;
}

int64_t tileOfOneIndex(int64_t points) { return int64_t(llvm::PowerOf2Ceil(uint64_t(std::max<int64_t>(points, 16)))); }

bool isOneIndex(const ChainSet &set, ReduceOp producer, const Target &target, const SizeFacts &facts) {
  const SetReader &reader = set.readers.front();
  AffineExpr columns = ReduceOp(reader.op).getExtents().getResult(reader.columns().front());
  int64_t points = knownMax(columns, facts);
  return columns == producer.getExtents().getResult(producer.getNumParallel()) && points >= 16 &&
         knownDivisor(columns, facts) % points == 0 && points <= target.costs->chains.mostColumns;
}

std::vector<ChainSet> findChainSets(KernelOp kernel, const Target &target, const SizeFacts &facts, bool unmarked,
                                    std::vector<std::pair<Operation *, std::string>> *refused) {
  std::vector<ChainSet> sets;
  std::vector<SetReader> added; // te-chain-products has found that they are
  if (!target.wgmma || !target.chainRate)
    return sets;
  for (ReduceOp op : kernel.getBlock().getOps<ReduceOp>()) {
    std::optional<SetReader> reader = unmarked || op.getInSet() ? findReader(op, target) : std::nullopt;
    int64_t columns = reader ? knownMax(op.getExtents().getResult(reader->columns().front()), facts) : -1;
    if (columns < 16 || columns > target.costs->chains.mostColumns || columns % 8)
      continue;
    if (op.getInit()) {
      added.push_back(std::move(*reader));
      continue;
    }
    auto own = llvm::find_if(sets, [&](ChainSet &set) { return isAlike(set.readers.front(), *reader); });
    if (own == sets.end())
      own = sets.insert(sets.end(), ChainSet());
    for (ReduceOp p : reader->producers)
      if (!llvm::is_contained(own->producers, p))
        own->producers.push_back(p);
    own->readers.push_back(std::move(*reader));
  }
  for (SetReader &sum : added)
    if (auto own = llvm::find_if(sets, [&](ChainSet &set) { return isAlong(set, sum); }); own != sets.end())
      own->added.push_back(std::move(sum));
  // A set counts where all that read its producers are readers of sets, so that nothing is left to be written.
  auto isReader = [&](Operation *op) {
    return llvm::any_of(sets, [&](ChainSet &set) {
      return llvm::any_of(llvm::concat<SetReader>(set.readers, set.added), [&](SetReader &r) { return r.op == op; });
    });
  };
  auto isLeft = [&](ReduceOp producer) {
    return llvm::any_of(producer->getUsers(), [&](Operation *user) { return !isReader(user->getParentOp()); });
  };
  llvm::erase_if(sets, [&](ChainSet &set) { return llvm::any_of(set.producers, isLeft); });
  FailureOr<KernelSchedule> schedule = unmarked ? getKernelSchedule(kernel, target.name) : KernelSchedule();
  if (unmarked && succeeded(schedule) && schedule->merge != Merge::Launch && target.partRates.adds)
    addTurned(sets, schedule->addsInMemory, target, facts);
  llvm::erase_if(sets, [&](ChainSet &set) {
    if (set.readers.size() + set.added.size() + set.producers.size() < 3)
      return true;
    std::string why = unmarked ? whyNotHeld(set, target, facts) : "";
    if (!why.empty() && refused)
      refused->push_back({set.readers.front().op, why});
    return !why.empty();
  });
  for (ChainSet &set : sets)
    llvm::sort(set.producers, [](ReduceOp x, ReduceOp y) { return x->isBeforeInBlock(y); });
  return sets;
}

bool paysAsSets(std::vector<ChainSet *> sets, const Target &target, const SizeFacts &facts) {
  constexpr double kWord = 4;
  llvm::DenseSet<Operation *> counted;
  double together = 0, apart = 0, traffic = 0;
  for (ChainSet *set : sets) {
    SetReader &first = set->readers.front();
    double rows = pointsIn(first.op, first.rows(), facts), batch = pointsIn(first.op, first.product.batch, facts),
           walked = pointsIn(first.op, first.walked, facts);
    double tilesOfRows = batch * std::ceil(rows / target.costs->chains.tileRows), columns = pointsIn(first.op, first.columns(), facts);
    if (llvm::all_of(set->producers, [&](ReduceOp p) { return isOneIndex(*set, p, target, facts); }))
      columns = double(tileOfOneIndex(int64_t(columns)));
    double results = batch * rows * walked;
    for (ReduceOp producer : set->producers) {
      if (!counted.insert(producer).second)
        continue;
      double summed = pointsIn(producer, findContraction(producer)->k, facts);
      apart += workOf(tilesOfRows, walked, target.costs->chains.tileColumns, summed, target) / target.productRate + target.partRates.launch;
      traffic += results * kWord;
    }
    for (SetReader &r : llvm::concat<SetReader>(set->readers, set->added)) {
      apart += workOf(tilesOfRows, columns, std::min<double>(columns, target.costs->chains.tileRows), walked, target) / target.productRate +
               target.partRates.launch;
      traffic += results * kWord * double(r.producers.size());
    }
    together += timeOfSet(*set, target, facts);
  }
  return together < apart + traffic / target.partRates.memory;
}

} // namespace kernelc::te
