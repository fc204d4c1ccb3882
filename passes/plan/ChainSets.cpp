// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/ChainSets.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/plan/Chain.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;

namespace kernelc::te {
namespace {

/// A product of 16-bit factors whose sum stays in the unit's accumulators.
bool isPlain(ReduceOp op, const Contraction &c, const Target &target) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  return form && (form->type.isF16() || form->type.isBF16()) && !c.where && c.partScales.empty() && c.ownK.empty() && c.k.size() == 1 &&
         !op.getInit() && !op.getOutMap() && !hasOwnLaunch(op) && !mostInAccumulators(getKernel(op), form->type, target);
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
  int64_t producers = int64_t(set.producers.size()), readers = int64_t(set.readers.size());
  int64_t once = producers * kRows * n * kBytes, each = (producers + readers) * kWalked * n * kBytes;
  int64_t staged = 2 * readers * kRows * kPart * kBytes;
  int64_t registers = registersOf(set, kRows, n, kWalked, kThreads, target.costs->chains),
          share = shareRegisters(target, kProducers, kThreads, 1, target.costs->chains.fewestRegisters).consumer;
  int64_t bytes = once + 2 * each + staged + kBesideSlots;
  if (registers > share)
    os << "tiles of " << kRows << " rows, " << n << " columns and " << kWalked << " terms need " << registers << " registers a thread, and "
       << share << " are left";
  else if (bytes > target.maxSharedPerBlock)
    os << "tiles of " << kRows << " rows, " << n << " columns and " << kWalked << " terms need " << bytes << " bytes of shared memory of "
       << target.maxSharedPerBlock;
  return text;
}

} // namespace

int64_t registersOf(const ChainSet &set, int64_t m, int64_t n, int64_t j, int64_t threads, const ChainCosts &costs) {
  // Sums of both kinds and the vectors along what is walked that go with a round, then half of these and one operand.
  int64_t kept = (m * n * int64_t(set.readers.size()) + m * j * int64_t(set.producers.size())) / threads;
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
  if (!target.wgmma || !target.chainRate)
    return sets;
  for (ReduceOp op : kernel.getBlock().getOps<ReduceOp>()) {
    std::optional<SetReader> reader = unmarked || op.getInSet() ? findReader(op, target) : std::nullopt;
    int64_t columns = reader ? knownMax(op.getExtents().getResult(reader->columns().front()), facts) : -1;
    if (columns < 16 || columns > target.costs->chains.mostColumns || columns % 8)
      continue;
    auto own = llvm::find_if(sets, [&](ChainSet &set) { return isAlike(set.readers.front(), *reader); });
    if (own == sets.end())
      own = sets.insert(sets.end(), ChainSet());
    for (ReduceOp p : reader->producers)
      if (!llvm::is_contained(own->producers, p))
        own->producers.push_back(p);
    own->readers.push_back(std::move(*reader));
  }
  // A set counts where all that read its producers are readers of sets, so that nothing is left to be written.
  auto isReader = [&](Operation *op) {
    return llvm::any_of(sets, [&](ChainSet &set) { return llvm::any_of(set.readers, [&](SetReader &r) { return r.op == op; }); });
  };
  auto isLeft = [&](ReduceOp producer) {
    return llvm::any_of(producer->getUsers(), [&](Operation *user) { return !isReader(user->getParentOp()); });
  };
  llvm::erase_if(sets, [&](ChainSet &set) { return llvm::any_of(set.producers, isLeft); });
  llvm::erase_if(sets, [&](ChainSet &set) {
    if (set.readers.size() + set.producers.size() < 3)
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
  auto points = [&](ReduceOp op, ArrayRef<unsigned> dims) { return double(int64_t(pointsOf(op.getExtents(), dims, facts))); };
  constexpr double kWord = 4;
  llvm::DenseSet<Operation *> counted;
  double together = 0, apart = 0, traffic = 0;
  for (ChainSet *set : sets) {
    SetReader &first = set->readers.front();
    double rows = points(first.op, first.rows()), batch = points(first.op, first.product.batch), walked = points(first.op, first.walked);
    double tilesOfRows = batch * std::ceil(rows / target.costs->chains.tileRows), columns = points(first.op, first.columns());
    if (llvm::all_of(set->producers, [&](ReduceOp p) { return isOneIndex(*set, p, target, facts); }))
      columns = double(tileOfOneIndex(int64_t(columns)));
    double ofEach = columns * double(set->readers.size()), results = batch * rows * walked;
    for (ReduceOp producer : set->producers) {
      double summed = points(producer, findContraction(producer)->k);
      ofEach += summed;
      if (!counted.insert(producer).second)
        continue;
      apart += workOf(tilesOfRows, walked, target.costs->chains.tileColumns, summed, target) / target.productRate + target.partRates.launch;
      traffic += results * kWord;
    }
    for (SetReader &r : set->readers) {
      apart += workOf(tilesOfRows, columns, std::min<double>(columns, target.costs->chains.tileRows), walked, target) / target.productRate +
               target.partRates.launch;
      traffic += results * kWord * double(r.producers.size());
    }
    together += workOfLoop(tilesOfRows, walked, ofEach, target) / target.chainRate + target.partRates.launch;
  }
  return together < apart + traffic / target.partRates.memory;
}

} // namespace kernelc::te
