// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/Chain.h"

#include "ir/te/TeShape.h"
#include "passes/plan/Grouping.h"
#include "support/Saturating.h"

#include <cmath>

using namespace mlir;

namespace kernelc::te {
namespace {

/// Whether nothing but its product is there to be computed in a round: no choice of tiles, no scales of blocks, no sums that leave the
/// unit's accumulators.
bool isPlain(ReduceOp op, const Contraction &c, const Target &target) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  return form && (form->type.isF16() || form->type.isBF16()) && !c.where && c.partScales.empty() && c.ownK.empty() && c.k.size() == 1 &&
         !op.getInit() && !op.getOutMap() && !op->hasAttr(kOwnLaunch) && !mostInAccumulators(getKernel(op), form->type, target);
}

/// The first product behind `factor`, read where each of its own indices is an index of the reader; null where there is none or several.
ReadOp findProducerRead(Value factor) {
  ReadOp found;
  for (ReadOp read : findReads(factor)) {
    auto producer = read.getTensor().getDefiningOp<ReduceOp>();
    if (!producer || !findContraction(producer))
      continue;
    if (found && (found.getTensor() != read.getTensor() || !llvm::equal(found.getOperands_(), read.getOperands_())))
      return {};
    found = read;
  }
  return found && found.getMapOrIdentity().isIdentity() && found.getBounds() == BoundsMode::InBounds ? found : ReadOp();
}

/// Whether `producer` is made for `reader` alone.
bool isReadBy(ReduceOp producer, ReduceOp reader) {
  return llvm::all_of(producer->getUsers(), [&](Operation *user) { return user->getParentOp() == reader; });
}

Count pointsOf(AffineMap extents, ArrayRef<unsigned> dims, const SizeFacts &facts) {
  Count points = 1;
  for (unsigned d : dims) {
    int64_t most = knownMax(extents.getResult(d), facts);
    points *= most < 0 ? (int64_t(1) << 40) : std::max<int64_t>(most, 1);
  }
  return points;
}

/// Whether one launch takes less time than two: results that stay in registers are not written and read, but a tile's rows are
/// multiplied in pieces of a round, and blocks are no more than there are tiles of rows. `again`: the first product is computed elsewhere,
/// too.
bool pays(ReduceOp reader, ProductChain &c, bool again, const Target &target, const SizeFacts &facts) {
  AffineMap extents = reader.getExtents();
  double rows = double(int64_t(pointsOf(extents, c.rows(), facts))), batch = double(int64_t(pointsOf(extents, c.second.batch, facts)));
  double walked = double(int64_t(pointsOf(extents, c.walked, facts))), columns = double(int64_t(pointsOf(extents, c.columns(), facts)));
  double summed = double(int64_t(pointsOf(c.producer.getExtents(), c.first.k, facts)));
  constexpr int64_t kRows = 128;
  auto waves = [&](double tiles) { return std::ceil(tiles / target.smCount); };
  double tilesOfRows = batch * std::ceil(rows / kRows);
  double chained = waves(tilesOfRows) * kRows * walked * (summed + columns) / target.chainRate;
  double first = again ? 0 : waves(tilesOfRows * std::ceil(walked / 256)) * kRows * 256 * summed;
  double second = waves(tilesOfRows * std::ceil(columns / 128)) * kRows * std::min(columns, 128.0) * walked;
  double traffic = batch * rows * walked * (again ? 4 : 2) * 2 / target.partRates.memory; // (others need more than what rounds to 16 bits)
  return chained < first / target.productRate + second / target.productRate + traffic + target.partRates.launch;
}

} // namespace

std::optional<ProductWalk> findWalk(Operation *statement, const Target &target, const SizeFacts &facts) {
  auto reduce = dyn_cast<ReduceOp>(statement);
  bool isKnown = isa<CascadeOp>(statement) || (reduce && !reduce.isArg() && !reduce.getInit() && !reduce.getOutMap());
  unsigned parallel = getNumParallel(statement);
  if (!target.chainRate || !isKnown || getExtents(statement).getNumResults() != parallel + 1 || statement->hasAttr(kOwnLaunch) ||
      getYield(statement).getCondition() || (reduce && findGeneralContraction(reduce)))
    return std::nullopt;
  ProductWalk walk;
  walk.walked = parallel;
  bool bad = false;
  statement->walk([&](ReadOp read) {
    auto producer = read.getTensor().getDefiningOp<ReduceOp>();
    if (!producer || !findContraction(producer))
      return;
    bad |= walk.read && (walk.read.getTensor() != read.getTensor() || !llvm::equal(walk.read.getOperands_(), read.getOperands_()));
    bad |= !read.getMapOrIdentity().isIdentity() || read.getBounds() != BoundsMode::InBounds;
    walk.read = read;
  });
  if (bad || !walk.read)
    return std::nullopt;
  walk.producer = walk.read.getTensor().getDefiningOp<ReduceOp>();
  walk.first = *findContraction(walk.producer);
  std::optional<WarpgroupForm> slots = findWarpgroupForm(walk.first);
  if (!isPlain(walk.producer, walk.first, target) || slots->aInRegisters || slots->bInRegisters || walk.first.isAMasked() ||
      walk.first.isBMasked() || walk.first.resultWhere)
    return std::nullopt;
  // The statement has the rows and the batch of s, each index once, and reduces one side of it.
  llvm::BitVector seen(parallel + 1);
  for (auto [at, v] : llvm::enumerate(walk.read.getOperands_())) {
    std::optional<unsigned> d = findIndex(statement, v);
    if (!d || seen[*d])
      return std::nullopt;
    seen.set(*d);
    if (*d == walk.walked)
      walk.walkedOfS = at;
  }
  bool walksAlone =
      (walk.first.m.size() == 1 && walk.first.m[0] == walk.walkedOfS) || (walk.first.n.size() == 1 && walk.first.n[0] == walk.walkedOfS);
  return seen.all() && walksAlone ? std::optional(walk) : std::nullopt;
}

bool paysToWalk(ProductWalk &walk, const Target &target, const SizeFacts &facts) {
  for (Operation *user : walk.producer->getUsers()) {
    Operation *statement = user->getParentOp();
    auto reader = dyn_cast<ReduceOp>(statement);
    if (!isa<ReadOp>(user) || !(findWalk(statement, target, facts) || (reader && findChain(reader, target, facts, /*shared=*/true))))
      return false;
  }
  AffineMap extents = walk.producer.getExtents();
  SmallVector<unsigned> others;
  for (unsigned d = 0; d < walk.producer.getNumParallel(); ++d)
    if (d != walk.walkedOfS)
      others.push_back(d);
  double rows = double(int64_t(pointsOf(extents, others, facts))), walked = double(int64_t(pointsOf(extents, walk.walkedOfS, facts)));
  double summed = double(int64_t(pointsOf(extents, walk.first.k, facts)));
  constexpr double kRows = 128;
  auto waves = [&](double tiles) { return std::ceil(tiles / target.smCount); };
  double together = waves(std::ceil(rows / kRows)) * kRows * walked * summed / target.chainRate;
  double apart = waves(std::ceil(rows / kRows) * std::ceil(walked / 256)) * kRows * 256 * summed / target.productRate;
  double traffic = rows * walked * 4 * 2 / target.partRates.memory;
  return walked > kLargestInTile && together < apart + traffic + target.partRates.launch;
}

std::optional<ProductChain> findChain(ReduceOp reader, const Target &target, const SizeFacts &facts, bool shared) {
  if (!target.wgmma || !target.chainRate)
    return std::nullopt;
  std::optional<Contraction> second = findContraction(reader);
  if (!second || !isPlain(reader, *second, target))
    return std::nullopt;
  std::optional<WarpgroupForm> form = findWarpgroupForm(*second);
  if (!form->aInRegisters && !form->bInRegisters)
    return std::nullopt;
  ProductChain chain;
  chain.fromB = form->bInRegisters;
  chain.second = *second;
  ReadOp read = findProducerRead(chain.fromB ? second->b : second->a);
  if (!read || !findOperandRead(chain.other()) || chain.columns().size() != 1)
    return std::nullopt;
  chain.producer = read.getTensor().getDefiningOp<ReduceOp>();
  chain.first = *findContraction(chain.producer);
  std::optional<WarpgroupForm> slots = findWarpgroupForm(chain.first);
  if (!isPlain(chain.producer, chain.first, target) || slots->aInRegisters || slots->bInRegisters || chain.first.isAMasked() ||
      chain.first.isBMasked() || chain.first.resultWhere)
    return std::nullopt;
  bool again = !isReadBy(chain.producer, reader);
  if (again && !shared)
    return std::nullopt;
  // Each index of s is one of the reader's rows, of its batch, or what it sums, each once.
  llvm::BitVector seen(reader.getNumDims());
  chain.walked = chain.second.k.front();
  bool found = false;
  for (auto [at, v] : llvm::enumerate(read.getOperands_())) {
    std::optional<unsigned> d = findIndex(reader, v);
    if (!d || seen[*d] || llvm::is_contained(chain.columns(), *d))
      return std::nullopt;
    seen.set(*d);
    if (*d == chain.walked) {
      chain.walkedOfS = at;
      found = true;
    }
  }
  bool walksAlone = (chain.first.m.size() == 1 && chain.first.m[0] == chain.walkedOfS) ||
                    (chain.first.n.size() == 1 && chain.first.n[0] == chain.walkedOfS);
  bool hasRows = llvm::all_of(chain.rows(), [&](unsigned d) { return seen[d]; });
  int64_t columns = int64_t(pointsOf(reader.getExtents(), chain.columns(), facts));
  if (!found || !walksAlone || !hasRows || columns < 16 || columns > kMostColumns || columns % 8 ||
      !pays(reader, chain, again, target, facts))
    return std::nullopt;
  return chain;
}

bool isChained(Operation *op, const Target &target, const SizeFacts &facts) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce)
    return findWalk(op, target, facts).has_value();
  if (findChain(reduce, target, facts))
    return true;
  for (Operation *user : reduce->getUsers())
    if (isa<CascadeOp>(user->getParentOp()) && findWalk(user->getParentOp(), target, facts))
      return true;
    else if (auto reader = dyn_cast<ReduceOp>(user->getParentOp()); reader && isa<ReadOp>(user))
      if (std::optional<ProductChain> chain = findChain(reader, target, facts))
        return chain->producer == reduce;
  return false;
}

} // namespace kernelc::te
