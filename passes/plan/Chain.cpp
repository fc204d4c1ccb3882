// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/Chain.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/Runs.h"
#include "passes/index/TileCondition.h"
#include "passes/plan/ChainUnit.h"
#include "passes/plan/Grouping.h"
#include "passes/plan/WalkParts.h"
#include "support/Saturating.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;

namespace kernelc::te {
namespace {

/// Whether a condition on data only bounds points: it picks no tiles.
bool onlyBounds(Value where) {
  return !where || llvm::all_of(splitConjuncts(where), [](Value part) { return findLinearBound(part).has_value(); });
}

/// Whether nothing but its product is there to be computed in a round: no choice of tiles, no scales of blocks, no sums that leave the
/// unit's accumulators.
bool isPlain(Operation *op, const Contraction &c, const Target &target) {
  std::optional<WarpgroupForm> form = findChainForm(c);
  auto reduce = dyn_cast<ReduceOp>(op);
  bool cores = isOnCores(c), isTaken = form && (cores || form->type.isF16() || form->type.isBF16());
  return isTaken && onlyBounds(c.where) && c.partScales.empty() && c.ownK.empty() && c.k.size() == 1 &&
         !(reduce && (reduce.getInit() || reduce.getOutMap())) && !hasOwnLaunch(op) &&
         (cores || !mostInAccumulators(getKernel(op), form->type, target));
}

/// Whether tiles of the rows that `factor` is read by end where the rows do: of heads that lie beside each other in one row (`h * 40 + d`)
/// a tile of whole rows of a slot would go on into the next head, unless the copy has a dim for heads. (Where a row begins, which
/// te-store-operands asks, the subscript's terms say; where it ends, the extent: of rows with padding these are two numbers.)
bool endsWithRows(Operation *op, Value factor, const Target &target, const SizeFacts &facts) {
  ReadOp read = findOperandRead(factor);
  AffineMap map = read ? read.getMapOrIdentity() : AffineMap();
  if (!read || map.getNumResults() == 0)
    return true;
  AffineExpr last = map.getResults().back();
  SmallVector<unsigned> along; // places among the operands
  for (auto [n, v] : llvm::enumerate(read.getOperands_()))
    if (last.isFunctionOfDim(n) && findIndex(op, v))
      along.push_back(n);
  if (along.size() < 2)
    return true;
  unsigned column = *llvm::max_element(
      along, [&](unsigned a, unsigned b) { return *findIndex(op, read.getOperands_()[a]) < *findIndex(op, read.getOperands_()[b]); });
  int64_t bits = read.getResult().getType().getIntOrFloatBitWidth(), ofSlot = target.costs->copies.elementsOfRow(bits);
  return knownDivisor(getExtents(op).getResult(*findIndex(op, read.getOperands_()[column])), facts) % ofSlot == 0 ||
         findRun(last, column, map.getNumDims(), map.getNumSymbols(), bits / 8, facts);
}

/// Whether slots alone feed a plain product, and all of its results are sums of all terms.
bool canBeFirst(ReduceOp op, const Contraction &c, const Target &target, const SizeFacts &facts) {
  std::optional<WarpgroupForm> form = findChainForm(c);
  if (!isPlain(op, c, target) || c.isAMasked() || c.isBMasked() || c.resultWhere)
    return false;
  if (isOnCores(c)) { // whose threads copy
    int64_t summed = knownMax(op.getExtents().getResult(c.k.front()), facts);
    return findOperandRead(c.a) && findOperandRead(c.b) && summed >= 0 && summed <= unitOfChain(c, target).mostSummed;
  }
  return !form->aInRegisters && !form->bInRegisters && endsWithRows(op, c.a, target, facts) && endsWithRows(op, c.b, target, facts);
}

/// The products among what `reads` read, each at one place, all at the same one, with its own indices as they are, in the products'
/// order; nothing where there is none, or one is read elsewhere.
SmallVector<ReadOp> findProducerReads(ArrayRef<ReadOp> reads) {
  SmallVector<ReadOp> found;
  for (ReadOp read : reads) {
    auto producer = read.getTensor().getDefiningOp<ReduceOp>();
    if (!producer || !findContraction(producer))
      continue;
    bool isPlainRead = read.getMapOrIdentity().isIdentity() && read.getBounds() == BoundsMode::InBounds;
    if (!isPlainRead || (!found.empty() && !llvm::equal(found.front().getOperands_(), read.getOperands_())))
      return {};
    if (llvm::none_of(found, [&](ReadOp other) { return other.getTensor() == read.getTensor(); }))
      found.push_back(read);
  }
  llvm::sort(found, [](ReadOp a, ReadOp b) { return a.getTensor().getDefiningOp()->isBeforeInBlock(b.getTensor().getDefiningOp()); });
  return found;
}

/// The walk of the products that `reads` read along dim `walked` of `statement`, where that is one side of each product alone and no other
/// dim of the statement stands twice; `seen`: the statement's dims that are indices of the products.
std::optional<ProductWalk> walkAlong(Operation *statement, ArrayRef<ReadOp> reads, unsigned walked, const Target &target,
                                     const SizeFacts &facts, llvm::BitVector &seen) {
  if (reads.empty())
    return std::nullopt;
  ReadOp read = reads.front();
  auto producer = read.getTensor().getDefiningOp<ReduceOp>();
  ProductWalk walk{producer, *findContraction(producer), read, walked, 0};
  for (ReadOp other : reads.drop_front()) {
    auto op = other.getTensor().getDefiningOp<ReduceOp>();
    walk.beside.push_back({op, *findContraction(op)});
  }
  for (auto [at, v] : llvm::enumerate(read.getOperands_())) {
    std::optional<unsigned> d = findIndex(statement, v);
    if (!d || seen[*d])
      return std::nullopt;
    seen.set(*d);
    if (*d == walked)
      walk.walkedOfS = at;
  }
  // (Beside parts of what is walked, of which a block has one.)
  auto isAlone = [&](ArrayRef<unsigned> side) { return !side.empty() && side.back() == walk.walkedOfS; };
  bool walksAlone = llvm::all_of(walk.firsts(), [&](const FirstProduct &f) {
    bool isSame = isOnCores(f.product) == isOnCores(walk.first) && findWarpgroupType(f.product) == findWarpgroupType(walk.first) &&
                  f.product.batch == walk.first.batch;
    return isSame && canBeFirst(f.op, f.product, target, facts) && (isAlone(f.product.m) || isAlone(f.product.n));
  });
  return seen[walked] && walksAlone ? std::optional(walk) : std::nullopt;
}

} // namespace

std::vector<FirstProduct> join(FirstProduct first, ArrayRef<FirstProduct> others) {
  std::vector<FirstProduct> all{std::move(first)};
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

Count countOf(int64_t bound) { return bound < 0 ? int64_t(1) << 40 : std::max<int64_t>(bound, 1); }

Count pointsOf(AffineMap extents, ArrayRef<unsigned> dims, const SizeFacts &facts) {
  Count points = 1;
  for (unsigned d : dims)
    points *= countOf(knownMax(extents.getResult(d), facts));
  return points;
}

ArrayRef<unsigned> rowsOf(const ProductWalk &walk) {
  return llvm::is_contained(walk.first.m, walk.walkedOfS) ? walk.first.n : walk.first.m;
}

double summedOf(ArrayRef<FirstProduct> products, const SizeFacts &facts) {
  double terms = 0;
  for (FirstProduct f : products)
    terms += double(int64_t(pointsOf(f.op.getExtents(), f.product.k, facts)));
  return terms;
}

double workOf(double tilesOfRows, double columns, double tileColumns, double summed, const Target &target) {
  return std::ceil(tilesOfRows * std::ceil(columns / tileColumns) / target.smCount) * target.costs->chains.tileRows * tileColumns * summed;
}

double workOfLoop(double tilesOfRows, double walked, double points, const Target &target) {
  return std::ceil(tilesOfRows / target.smCount) * target.costs->chains.tileRows * walked * points;
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
  double columns = points(reader, c.columns()), summed = summedOf(c.firsts(), facts);
  const ChainUnit unit = unitOfChain(c.second, target);
  double tilesOfRows = batch * std::ceil(rows / unit.tileRows) * unit.tileRows / target.costs->chains.tileRows;
  // Of few rows a tile has 64, and memory is what products wait for.
  double height = !unit.onCores && rows <= double(target.costs->chains.tileRows) / 2 ? 0.5 : 1,
         memory = target.partRates.memory / double(unit.bytes);
  double ofFirst = batch * (rows + walked) * summed / memory, ofSecond = batch * walked * columns / memory;
  double chained = height * workOfLoop(tilesOfRows, walked, summed + columns, target) / unit.chain;
  if (use == ChainUse::InCascade) { // whose parts may fill the device where rows do not
    int64_t known = knownMax(reader.getExtents().getResult(c.walked), facts);
    double column = height * target.costs->chains.tileRows * (summed + columns) / unit.chain;
    chained = std::min(chained, shareOutWalk(tilesOfRows, known, column, columns + 2, target).time);
  }
  chained = std::max(chained, ofFirst + ofSecond);
  double first =
      use == ChainUse::Shared ? 0 : workOf(tilesOfRows, walked, target.costs->chains.tileColumns, summed, target) * height / unit.product;
  double second =
      workOf(tilesOfRows, columns, std::min<double>(columns, target.costs->chains.tileRows), walked, target) * height / unit.product;
  double apart = (use == ChainUse::Shared ? 0 : std::max(first, ofFirst)) + std::max(second, ofSecond);
  // Bytes of an element: others than the reader need more than what rounds to 16 bits, and those of a cascade read it once more.
  double bytes = use == ChainUse::Alone ? 2 * double(unit.bytes) : use == ChainUse::Shared ? 2 * 4 : 3 * 4;
  double traffic = batch * rows * walked * bytes / target.partRates.memory;
  double launches = use == ChainUse::InCascade ? 2 : 1;
  return {chained, apart + traffic + launches * target.partRates.launch};
}

bool pays(ReduceOp reader, ProductChain &c, ChainUse use, const Target &target, const SizeFacts &facts) {
  ChainTimes times = timesOf(reader, c, use, target, facts);
  return times.together < times.apart;
}

/// `second`, of `statement`, as the product of a chain: each index of s is one of the statement's rows, of its batch, or what it sums,
/// each once.
std::optional<ProductChain> matchChain(Operation *statement, const Contraction &second, const Target &target, const SizeFacts &facts) {
  std::optional<WarpgroupForm> form = findChainForm(second);
  if (!form || (!form->aInRegisters && !form->bInRegisters) || second.k.size() != 1)
    return std::nullopt;
  ProductChain chain;
  chain.fromB = form->bInRegisters;
  chain.second = second;
  if (isOnCores(second) && isTied(second, !chain.fromB))
    return std::nullopt; // what lies in memory is copied as it is: nothing would say which of its elements are excluded
  SmallVector<ReadOp> reads = findProducerReads(findReads(chain.fromB ? second.b : second.a));
  if (reads.empty() || !findOperandRead(chain.other()) || chain.columns().size() != 1 ||
      !(isOnCores(second) || endsWithRows(statement, chain.other(), target, facts)))
    return std::nullopt;
  llvm::BitVector seen(getExtents(statement).getNumResults());
  std::optional<ProductWalk> walk = walkAlong(statement, reads, second.k.front(), target, facts, seen);
  if (!walk || seen[chain.columns().front()] || !llvm::all_of(chain.rows(), [&](unsigned d) { return seen[d]; }) ||
      isOnCores(second) != isOnCores(walk->first))
    return std::nullopt;
  chain.producer = walk->producer;
  chain.first = walk->first;
  chain.beside = walk->beside;
  chain.walked = walk->walked;
  return chain;
}

/// The columns that a tile can have. On mma.sync a warp has 16 rows, and of each column half a register, and as much of its operand.
int64_t mostColumns(const ProductChain &chain, const Target &target) {
  const ChainUnit unit = unitOfChain(chain.second, target);
  return target.wgmma || unit.onCores ? unit.mostColumns : std::min<int64_t>(unit.mostColumns, target.accumulatorRegisters);
}

/// Whether a tile can have all columns of the chain.
bool hasFewColumns(Operation *statement, ProductChain &chain, const Target &target, const SizeFacts &facts) {
  int64_t columns = int64_t(pointsOf(getExtents(statement), chain.columns(), facts));
  return columns >= unitOfChain(chain.second, target).fewestColumns && columns <= mostColumns(chain, target) && columns % 8 == 0;
}

/// The components of `cascade` that are products; nothing where one does not take its factor from registers.
std::optional<std::vector<ProductChain>> findProducts(CascadeOp cascade, const Target &target, const SizeFacts &facts) {
  std::vector<ProductChain> products;
  for (unsigned k = 0; k < cascade.getNumComponents(); ++k) {
    std::optional<Contraction> c = findContraction(cascade, k);
    if (!c)
      continue;
    std::optional<ProductChain> chain = isPlain(cascade, *c, target) ? matchChain(cascade, *c, target, facts) : std::nullopt;
    if (!chain || !c->sumScales.empty() || c->resultWhere || !hasFewColumns(cascade, *chain, target, facts))
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
  if (getExtents(statement).getNumResults() != parallel + 1 || hasOwnLaunch(statement) || (reduce && findGeneralContraction(reduce)))
    return std::nullopt;
  std::optional<std::vector<ProductChain>> products = cascade ? findProducts(cascade, target, facts) : std::vector<ProductChain>();
  if (!products)
    return std::nullopt;
  SmallVector<ReadOp> reads;
  statement->walk([&](ReadOp read) {
    if (llvm::none_of(*products, [&](ProductChain &c) { return findOperandRead(c.other()) == read; }))
      reads.push_back(read);
  });
  SmallVector<ReadOp> producers = findProducerReads(reads);
  // The statement has the rows and the batch of s, each index once, beside columns of its products, and reduces one side of it.
  llvm::BitVector seen(parallel + 1);
  std::optional<ProductWalk> walk = walkAlong(statement, producers, parallel, target, facts, seen);
  if (!walk)
    return std::nullopt;
  for (ProductChain &c : *products) {
    bool isOfWalk = llvm::all_of(c.firsts(), [&](const FirstProduct &f) { return walk->has(f.op); });
    if (!isOfWalk || seen[c.columns().front()])
      return std::nullopt;
    seen.set(c.columns().front());
  }
  walk->products = std::move(*products);
  return seen.all() ? walk : std::nullopt;
}

bool isReadBy(ReduceOp producer, Operation *reader) {
  return llvm::all_of(producer->getUsers(), [&](Operation *user) { return user->getParentOp() == reader; });
}

bool isReadBy(const ProductWalk &walk, Operation *reader) {
  return llvm::all_of(walk.firsts(), [&](const FirstProduct &f) { return isReadBy(f.op, reader); });
}

/// In microseconds, and how many columns are walked.
struct WalkTimes {
  double together, product, traffic, walked;
};

/// What a walk takes where its product is, what the product takes alone, and its results on their way through memory.
static WalkTimes timesOf(ProductWalk &walk, const Target &target, const SizeFacts &facts) {
  AffineMap extents = walk.producer.getExtents();
  SmallVector<unsigned> others;
  for (unsigned d = 0; d < walk.producer.getNumParallel(); ++d)
    if (d != walk.walkedOfS)
      others.push_back(d);
  auto points = [&](ArrayRef<unsigned> dims) { return double(int64_t(pointsOf(extents, dims, facts))); };
  double rows = points(others), walked = points(walk.walkedOfS), summed = summedOf(walk.firsts(), facts),
         tilesOfRows = std::ceil(rows / target.costs->chains.tileRows);
  int64_t known = knownMax(extents.getResult(walk.walkedOfS), facts);
  return {shareOutWalk(tilesOfRows, known, timeOfColumn(summed, target), 2, target).time,
          workOf(tilesOfRows, walked, target.costs->chains.tileColumns, summed, target) / target.productRate,
          rows * walked * 4 * 2 / target.partRates.memory, walked};
}

bool paysToWalk(ProductWalk &walk, const Target &target, const SizeFacts &facts) {
  bool feedsProduct = false;
  for (FirstProduct f : walk.firsts())
    for (Operation *user : f.op->getUsers()) {
      Operation *statement = user->getParentOp();
      auto reader = dyn_cast<ReduceOp>(statement);
      bool takes = reader && findChain(reader, target, facts, ChainUse::InCascade);
      if (!isa<ReadOp>(user) || !(takes || findWalk(statement, target, facts)))
        return false;
      feedsProduct |= takes;
    }
  return feedsProduct || paysToWalkAlone(walk, target, facts); // (with a product that takes them it has been found to pay)
}

bool paysToWalkAlone(ProductWalk &walk, const Target &target, const SizeFacts &facts) {
  if (isOnCores(walk.first)) // which take chains, and walk a product's results for nothing else
    return false;
  WalkTimes t = timesOf(walk, target, facts);
  // (Short rows alone are reduced in the product's tile.)
  return t.walked > target.costs->chains.largestInTile && t.together < t.product + t.traffic + target.partRates.launch;
}

bool paysToWalkAgain(ProductWalk &walk, const Target &target, const SizeFacts &facts) {
  if (isOnCores(walk.first))
    return false;
  WalkTimes t = timesOf(walk, target, facts); // (apart the product runs once, and another launch reads its results)
  return t.walked > target.costs->chains.largestInTile && t.together < t.traffic;
}

std::optional<ProductChain> findChain(ReduceOp reader, const Target &target, const SizeFacts &facts, ChainUse use) {
  std::optional<Contraction> second = target.chainRate ? findContraction(reader) : std::nullopt;
  if (!second || !isPlain(reader, *second, target))
    return std::nullopt;
  // (once more for a chain: not measured on CUDA cores)
  if (isOnCores(*second) ? use == ChainUse::Shared : !target.wgmma && use != ChainUse::InCascade)
    return std::nullopt;
  std::optional<ProductChain> chain = matchChain(reader, *second, target, facts);
  bool isAlone = chain && isReadBy(chain->producer, reader);
  if (!chain || (!chain->beside.empty() && use != ChainUse::InCascade) || (!isAlone && use == ChainUse::Alone) ||
      !hasFewColumns(reader, *chain, target, facts) || !pays(reader, *chain, isAlone ? ChainUse::Alone : use, target, facts))
    return std::nullopt;
  return chain;
}

std::string whyApart(ReduceOp reader, const Target &target, const SizeFacts &facts) {
  std::string text;
  llvm::raw_string_ostream os(text);
  std::optional<Contraction> second = target.wgmma && target.chainRate ? findContraction(reader) : std::nullopt;
  std::optional<ProductChain> chain =
      second && isPlain(reader, *second, target) ? matchChain(reader, *second, target, facts) : std::nullopt;
  if (!chain)
    return text;
  ChainUse use = isReadBy(chain->producer, reader) ? ChainUse::Alone : ChainUse::Shared;
  if (isOnCores(chain->second) && use == ChainUse::Shared)
    return text;
  int64_t columns = knownMax(reader.getExtents().getResult(chain->columns().front()), facts);
  if (columns < 0) {
    os << "how many columns it has is not known, and one tile has to have all of them; fix that size (--set, or a number in the text)";
  } else if (!hasFewColumns(reader, *chain, target, facts)) {
    os << "one tile has to have all of its columns, a multiple of 8 from " << unitOfChain(chain->second, target).fewestColumns << " to "
       << mostColumns(*chain, target) << ", and they are " << columns;
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
  // (mma.sync and CUDA cores take chains, and walk a product's results for nothing else)
  bool joins = walk && isReadBy(*walk, statement) && ((target.wgmma && !isOnCores(walk->first)) || !walk->products.empty()) &&
               (isa<CascadeOp>(statement) || paysToWalk(*walk, target, facts));
  return joins ? std::move(walk) : std::nullopt;
}

bool isChained(Operation *op, const Target &target, const SizeFacts &facts) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if ((reduce && findChain(reduce, target, facts)) || findJoinedWalk(op, target, facts))
    return true;
  return reduce && llvm::any_of(reduce->getUsers(), [&](Operation *user) {
           Operation *statement = user->getParentOp();
           if (std::optional<ProductWalk> walk = findJoinedWalk(statement, target, facts))
             return walk->has(reduce);
           auto reader = dyn_cast<ReduceOp>(statement);
           std::optional<ProductChain> chain = reader ? findChain(reader, target, facts) : std::nullopt;
           return chain && chain->producer == reduce;
         });
}

} // namespace kernelc::te
