// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/Chain.h"

#include "ir/te/TeShape.h"
#include "passes/plan/Grouping.h"
#include "support/Saturating.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;

namespace kernelc::te {
namespace {

/// Whether nothing but its product is there to be computed in a round: no choice of tiles, no scales of blocks, no sums that leave the
/// unit's accumulators.
bool isPlain(Operation *op, const Contraction &c, const Target &target) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  auto reduce = dyn_cast<ReduceOp>(op);
  return form && (form->type.isF16() || form->type.isBF16()) && !c.where && c.partScales.empty() && c.ownK.empty() && c.k.size() == 1 &&
         !(reduce && (reduce.getInit() || reduce.getOutMap())) && !op->hasAttr(kOwnLaunch) &&
         !mostInAccumulators(getKernel(op), form->type, target);
}

/// Whether slots alone feed a plain product, and all of its results are sums of all terms.
bool canBeFirst(ReduceOp op, const Contraction &c, const Target &target) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  return isPlain(op, c, target) && !form->aInRegisters && !form->bInRegisters && !c.isAMasked() && !c.isBMasked() && !c.resultWhere;
}

/// The product among what `reads` read, at its own indices as they are; null where there is none, or several, or it is read at several
/// places.
ReadOp findProducerRead(ArrayRef<ReadOp> reads) {
  ReadOp found;
  for (ReadOp read : reads) {
    auto producer = read.getTensor().getDefiningOp<ReduceOp>();
    if (!producer || !findContraction(producer))
      continue;
    bool isPlainRead = read.getMapOrIdentity().isIdentity() && read.getBounds() == BoundsMode::InBounds;
    if (!isPlainRead || (found && (found.getTensor() != read.getTensor() || !llvm::equal(found.getOperands_(), read.getOperands_()))))
      return {};
    found = read;
  }
  return found;
}

/// The walk of the product that `read` reads along dim `walked` of `statement`, where that is one side of the product alone and no other
/// dim of the statement stands twice; `seen`: the statement's dims that are indices of the product.
std::optional<ProductWalk> walkAlong(Operation *statement, ReadOp read, unsigned walked, const Target &target, llvm::BitVector &seen) {
  auto producer = read.getTensor().getDefiningOp<ReduceOp>();
  ProductWalk walk{producer, *findContraction(producer), read, walked, 0};
  if (!canBeFirst(producer, walk.first, target))
    return std::nullopt;
  for (auto [at, v] : llvm::enumerate(read.getOperands_())) {
    std::optional<unsigned> d = findIndex(statement, v);
    if (!d || seen[*d])
      return std::nullopt;
    seen.set(*d);
    if (*d == walked)
      walk.walkedOfS = at;
  }
  auto isAlone = [&](ArrayRef<unsigned> side) { return side == ArrayRef<unsigned>{walk.walkedOfS}; };
  bool walksAlone = isAlone(walk.first.m) || isAlone(walk.first.n);
  return seen[walked] && walksAlone ? std::optional(walk) : std::nullopt;
}

} // namespace

Count pointsOf(AffineMap extents, ArrayRef<unsigned> dims, const SizeFacts &facts) {
  Count points = 1;
  for (unsigned d : dims) {
    int64_t most = knownMax(extents.getResult(d), facts);
    points *= most < 0 ? (int64_t(1) << 40) : std::max<int64_t>(most, 1);
  }
  return points;
}

double workOf(double tilesOfRows, double columns, double tileColumns, double summed, const Target &target) {
  return std::ceil(tilesOfRows * std::ceil(columns / tileColumns) / target.smCount) * kTileRows * tileColumns * summed;
}

double workOfLoop(double tilesOfRows, double walked, double points, const Target &target) {
  return std::ceil(tilesOfRows / target.smCount) * kTileRows * walked * points;
}

namespace {

/// In microseconds.
struct ChainTimes {
  double together, apart;
};

/// What one launch takes, and several: results that stay in registers are not written and read, but a tile's rows are
/// multiplied in pieces of a round, and blocks are no more than there are tiles of rows.
ChainTimes timesOf(ReduceOp reader, ProductChain &c, ChainUse use, const Target &target, const SizeFacts &facts) {
  auto points = [&](ReduceOp op, ArrayRef<unsigned> dims) { return double(int64_t(pointsOf(op.getExtents(), dims, facts))); };
  double rows = points(reader, c.rows()), batch = points(reader, c.second.batch), walked = points(reader, c.walked);
  double columns = points(reader, c.columns()), summed = points(c.producer, c.first.k);
  double tilesOfRows = batch * std::ceil(rows / kTileRows);
  double chained = workOfLoop(tilesOfRows, walked, summed + columns, target) / target.chainRate;
  double first = use == ChainUse::Shared ? 0 : workOf(tilesOfRows, walked, kTileColumns, summed, target);
  double second = workOf(tilesOfRows, columns, std::min<double>(columns, kTileRows), walked, target);
  // Bytes of an element: others than the reader need more than what rounds to 16 bits, and those of a cascade read it once more.
  double bytes = use == ChainUse::Alone ? 2 * 2 : use == ChainUse::Shared ? 2 * 4 : 3 * 4;
  double traffic = batch * rows * walked * bytes / target.partRates.memory;
  double launches = use == ChainUse::InCascade ? 2 : 1;
  return {chained, first / target.productRate + second / target.productRate + traffic + launches * target.partRates.launch};
}

bool pays(ReduceOp reader, ProductChain &c, ChainUse use, const Target &target, const SizeFacts &facts) {
  ChainTimes times = timesOf(reader, c, use, target, facts);
  return times.together < times.apart;
}

/// `second`, of `statement`, as the product of a chain: each index of s is one of the statement's rows, of its batch, or what it sums,
/// each once.
std::optional<ProductChain> matchChain(Operation *statement, const Contraction &second, const Target &target) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(second);
  if (!form || (!form->aInRegisters && !form->bInRegisters) || second.k.size() != 1)
    return std::nullopt;
  ProductChain chain;
  chain.fromB = form->bInRegisters;
  chain.second = second;
  ReadOp read = findProducerRead(findReads(chain.fromB ? second.b : second.a));
  if (!read || !findOperandRead(chain.other()) || chain.columns().size() != 1)
    return std::nullopt;
  llvm::BitVector seen(getExtents(statement).getNumResults());
  std::optional<ProductWalk> walk = walkAlong(statement, read, second.k.front(), target, seen);
  if (!walk || seen[chain.columns().front()] || !llvm::all_of(chain.rows(), [&](unsigned d) { return seen[d]; }))
    return std::nullopt;
  chain.producer = walk->producer;
  chain.first = walk->first;
  chain.walked = walk->walked;
  return chain;
}

/// Whether a tile can have all columns of the chain.
bool hasFewColumns(Operation *statement, ProductChain &chain, const SizeFacts &facts) {
  int64_t columns = int64_t(pointsOf(getExtents(statement), chain.columns(), facts));
  return columns >= 16 && columns <= kMostColumns && columns % 8 == 0;
}

/// The components of `cascade` that are products; nothing where one does not take its factor from registers.
std::optional<std::vector<ProductChain>> findProducts(CascadeOp cascade, const Target &target, const SizeFacts &facts) {
  std::vector<ProductChain> products;
  for (unsigned k = 0; k < cascade.getNumComponents(); ++k) {
    std::optional<Contraction> c = findContraction(cascade, k);
    if (!c)
      continue;
    std::optional<ProductChain> chain = isPlain(cascade, *c, target) ? matchChain(cascade, *c, target) : std::nullopt;
    if (!chain || !c->sumScales.empty() || c->resultWhere || !hasFewColumns(cascade, *chain, facts))
      return std::nullopt;
    products.push_back(std::move(*chain));
  }
  return products;
}

} // namespace

std::optional<ProductWalk> findWalk(Operation *statement, const Target &target, const SizeFacts &facts) {
  auto reduce = dyn_cast<ReduceOp>(statement);
  auto cascade = dyn_cast<CascadeOp>(statement);
  bool isKnown = cascade || (reduce && !reduce.isArg() && !reduce.getInit() && !reduce.getOutMap());
  if (!target.chainRate || !isKnown)
    return std::nullopt;
  unsigned parallel = getNumParallel(statement);
  if (getExtents(statement).getNumResults() != parallel + 1 || statement->hasAttr(kOwnLaunch) || getYield(statement).getCondition() ||
      (reduce && findGeneralContraction(reduce)))
    return std::nullopt;
  std::optional<std::vector<ProductChain>> products = cascade ? findProducts(cascade, target, facts) : std::vector<ProductChain>();
  if (!products || (!products->empty() && !target.wgmma))
    return std::nullopt;
  SmallVector<ReadOp> reads;
  statement->walk([&](ReadOp read) {
    if (llvm::none_of(*products, [&](ProductChain &c) { return findOperandRead(c.other()) == read; }))
      reads.push_back(read);
  });
  ReadOp read = findProducerRead(reads);
  // The statement has the rows and the batch of s, each index once, beside columns of its products, and reduces one side of it.
  llvm::BitVector seen(parallel + 1);
  std::optional<ProductWalk> walk = read ? walkAlong(statement, read, parallel, target, seen) : std::nullopt;
  if (!walk)
    return std::nullopt;
  for (ProductChain &c : *products) {
    if (c.producer != walk->producer || seen[c.columns().front()])
      return std::nullopt;
    seen.set(c.columns().front());
  }
  walk->products = std::move(*products);
  return seen.all() ? walk : std::nullopt;
}

bool isReadBy(ReduceOp producer, Operation *reader) {
  return llvm::all_of(producer->getUsers(), [&](Operation *user) { return user->getParentOp() == reader; });
}

bool paysToWalk(ProductWalk &walk, const Target &target, const SizeFacts &facts) {
  bool feedsProduct = false;
  for (Operation *user : walk.producer->getUsers()) {
    Operation *statement = user->getParentOp();
    auto reader = dyn_cast<ReduceOp>(statement);
    bool takes = reader && findChain(reader, target, facts, ChainUse::InCascade);
    if (!isa<ReadOp>(user) || !(takes || findWalk(statement, target, facts)))
      return false;
    feedsProduct |= takes;
  }
  AffineMap extents = walk.producer.getExtents();
  SmallVector<unsigned> others;
  for (unsigned d = 0; d < walk.producer.getNumParallel(); ++d)
    if (d != walk.walkedOfS)
      others.push_back(d);
  auto points = [&](ArrayRef<unsigned> dims) { return double(int64_t(pointsOf(extents, dims, facts))); };
  double rows = points(others), walked = points(walk.walkedOfS), summed = points(walk.first.k), tilesOfRows = std::ceil(rows / kTileRows);
  double together = workOfLoop(tilesOfRows, walked, summed, target) / target.chainRate;
  double apart = workOf(tilesOfRows, walked, kTileColumns, summed, target) / target.productRate;
  double traffic = rows * walked * 4 * 2 / target.partRates.memory;
  // (Short rows alone are reduced in the product's tile.)
  return (walked > kLargestInTile || feedsProduct) && together < apart + traffic + target.partRates.launch;
}

std::optional<ProductChain> findChain(ReduceOp reader, const Target &target, const SizeFacts &facts, ChainUse use) {
  if (!target.wgmma || !target.chainRate)
    return std::nullopt;
  std::optional<Contraction> second = findContraction(reader);
  if (!second || !isPlain(reader, *second, target))
    return std::nullopt;
  std::optional<ProductChain> chain = matchChain(reader, *second, target);
  bool isAlone = chain && isReadBy(chain->producer, reader);
  if (!chain || (!isAlone && use == ChainUse::Alone) || !hasFewColumns(reader, *chain, facts) ||
      !pays(reader, *chain, isAlone ? ChainUse::Alone : use, target, facts))
    return std::nullopt;
  return chain;
}

std::string whyApart(ReduceOp reader, const Target &target, const SizeFacts &facts) {
  std::string text;
  llvm::raw_string_ostream os(text);
  std::optional<Contraction> second = target.wgmma && target.chainRate ? findContraction(reader) : std::nullopt;
  std::optional<ProductChain> chain = second && isPlain(reader, *second, target) ? matchChain(reader, *second, target) : std::nullopt;
  if (!chain)
    return text;
  ChainUse use = isReadBy(chain->producer, reader) ? ChainUse::Alone : ChainUse::Shared;
  int64_t columns = knownMax(reader.getExtents().getResult(chain->columns().front()), facts);
  if (columns < 0) {
    os << "how many columns it has is not known, and one tile has to have all of them";
  } else if (!hasFewColumns(reader, *chain, facts)) {
    os << "one tile has to have all of its columns, a multiple of 8 from 16 to " << kMostColumns << ", and they are " << columns;
  } else if (ChainTimes times = timesOf(reader, *chain, use, target, facts); times.together >= times.apart) {
    bool isKnown = times.together < 1e9;
    os << "in one launch both " << (isKnown ? "would take " : "may take longer where sizes that are not known are large");
    if (isKnown)
      os << llvm::format("%.0f us, apart %.0f us", times.together, times.apart);
  }
  return text;
}

std::optional<ProductWalk> findJoinedWalk(Operation *statement, const Target &target, const SizeFacts &facts) {
  std::optional<ProductWalk> walk = findWalk(statement, target, facts);
  bool joins = walk && isReadBy(walk->producer, statement) && (isa<CascadeOp>(statement) || paysToWalk(*walk, target, facts));
  return joins ? std::move(walk) : std::nullopt;
}

bool isChained(Operation *op, const Target &target, const SizeFacts &facts) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if ((reduce && findChain(reduce, target, facts)) || findJoinedWalk(op, target, facts))
    return true;
  return reduce && llvm::any_of(reduce->getUsers(), [&](Operation *user) {
           Operation *statement = user->getParentOp();
           if (std::optional<ProductWalk> walk = findJoinedWalk(statement, target, facts))
             return walk->producer == reduce;
           auto reader = dyn_cast<ReduceOp>(statement);
           std::optional<ProductChain> chain = reader ? findChain(reader, target, facts) : std::nullopt;
           return chain && chain->producer == reduce;
         });
}

} // namespace kernelc::te
