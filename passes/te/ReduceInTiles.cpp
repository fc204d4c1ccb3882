// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-reduce-in-tiles: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/Hints.h"
#include "ir/te/Precision.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/Affine.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/ProductTime.h"
#include "passes/plan/Sharing.h"
#include "passes/te/InTiles.h"
#include "passes/te/PointReaders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEREDUCEINTILES
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// The dim of `op` at each dim of `tensor`, where all that op reads of it is one element for each of its points.
std::optional<SmallVector<unsigned>> findPlaces(Operation *op, Value tensor) {
  std::optional<SmallVector<unsigned>> places;
  bool plain = true;
  op->walk([&](ReadOp read) {
    if (read.getTensor() != tensor)
      return;
    SmallVector<unsigned> here;
    for (AffineExpr e : read.getMapOrIdentity().getResults()) {
      auto d = dyn_cast<AffineDimExpr>(e);
      std::optional<unsigned> dim = d ? findIndex(op, read.getOperands_()[d.getPosition()]) : std::nullopt;
      plain &= dim && !llvm::is_contained(here, *dim);
      here.push_back(dim.value_or(0));
    }
    plain &= read.getBounds() == BoundsMode::InBounds && (!places || *places == here);
    places = here;
  });
  return plain ? places : std::nullopt;
}

/// A product and the reductions of its results.
class TileReducer {
public:
  TileReducer(KernelOp kernel, const Target &target, const SizeFacts &facts) : kernel_(kernel), target_(target), facts_(facts) {}

  LogicalResult run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (ReduceOp product : kernel_.getBlock().getOps<ReduceOp>())
        if (std::optional<ReducedProduct> tiled = findTiled(product)) {
          FailureOr<bool> done = reduceInTiles(kernel_, *tiled, facts_);
          if (failed(done))
            return failure();
          changed = *done;
          if (changed)
            break;
        }
    }
    return success();
  }

private:
  AffineExpr extentOf(ReduceOp product, unsigned d) { return product.getExtents().getResult(d); }

  /// Whether a block, or a cluster's, may hold all that one result of `op` is reduced from: a row of memory, of no more than registers
  /// take.
  bool mayHold(ReduceOp op, ArrayRef<unsigned> places) {
    Count length = 1;
    for (unsigned d = op.getNumParallel(); d < op.getNumDims(); ++d) {
      int64_t most = knownMax(op.getExtents().getResult(d), facts_);
      length *= most < 0 ? int64_t(1) : most;
    }
    return places.back() >= op.getNumParallel() && length <= Count(target_.costs->rows.largestHeld) * target_.cluster;
  }

  /// Whether `op` reduces rows, columns or both of the product, along the last index of each and others, which are parts as they stand,
  /// and reads no other result.
  bool isReductionOf(ReduceOp op, ReduceOp product, const Contraction &c, ArrayRef<unsigned> places) {
    bool alone = true;
    op->walk([&](ReadOp read) { alone &= isa<BlockArgument>(read.getTensor()) || read.getTensor() == product.getResult(); });
    // What combines the product's results with what they are reduced to walks them again: from a tile that has
    // all of them (te-plan), or from memory, once for both, where blocks hold what is reduced.
    // Where that is a reduction, memory is walked for it in any case, and this one goes along.
    for (Operation *user : op.getResult().getUsers())
      if (isa<ReadOp>(user) && (mayHold(op, places) || !isa<ComputeOp>(user->getParentOp())))
        user->getParentOp()->walk([&](ReadOp read) { alone &= read.getTensor() != product.getResult(); });
    if (!alone || op.isArg() || op.getInit() || op.getOutMap() || op.getCondition() || op.getYield().getCondition() || isInTile(op) ||
        op.getWalks() || op.getNumDims() != product.getNumParallel() || op.getNumParallel() == op.getNumDims() || findContraction(op))
      return false;
    auto isReduced = [&](unsigned d) { return places[d] >= op.getNumParallel(); };
    // Where a tile has all points that are reduced, whatever their indices, they are no parts.
    auto reducedDims = llvm::seq(op.getNumParallel(), op.getNumDims());
    int64_t points = knownPoints(op.getExtents(), reducedDims, facts_);
    bool few = points >= 0 && points <= target_.costs->chains.largestInTile;
    auto isPart = [&](ArrayRef<unsigned> side, unsigned d) { return llvm::is_contained(side, d) && isReduced(side.back()) && !few; };
    for (unsigned d = 0; d < places.size(); ++d)
      if (isReduced(d) && d != c.m.back() && d != c.n.back() && !isPart(c.m, d) && !isPart(c.n, d))
        return false;
    return true;
  }

  std::optional<ReducedProduct> findTiled(ReduceOp product) {
    std::optional<Contraction> found = findContraction(product);
    if (!found || product.getCondition() || product.getYield().getCondition())
      return std::nullopt;
    const Contraction &c = *found;
    unsigned rank = product.getNumParallel();
    ReducedProduct tiled{product, {}, SmallVector<int64_t>(rank, 0), {c.m.back(), c.n.back()}};
    llvm::SmallBitVector reduced(rank);
    llvm::SetVector<Operation *> readers;
    for (Operation *user : product.getResult().getUsers())
      if (isa<ReadOp>(user))
        readers.insert(user->getParentOp());
    for (Operation *reader : readers) {
      auto r = dyn_cast<ReduceOp>(reader);
      std::optional<SmallVector<unsigned>> places = r ? findPlaces(r, product.getResult()) : std::nullopt;
      if (!places || !isReductionOf(r, product, c, *places))
        continue;
      tiled.reductions.push_back({r, *places});
      for (unsigned d = 0; d < rank; ++d)
        if ((*places)[d] >= r.getNumParallel())
          reduced.set(d);
    }
    if (tiled.reductions.empty())
      return std::nullopt;
    bool isByRows =
        cutRows(product, c, reduced, tiled.radix) && llvm::all_of(llvm::seq(rank), [&](unsigned d) { return canSplit(tiled, d); });
    if (!isByRows && !chooseRadices(product, c, reduced, /*wholeTiles=*/true, tiled.radix) &&
        !chooseRadices(product, c, reduced, /*wholeTiles=*/false, tiled.radix))
      return std::nullopt;
    return canSplit(tiled) ? std::optional(tiled) : std::nullopt;
  }

  /// Whether the product's dim d can be split as its tiles have it.
  bool canSplit(const ReducedProduct &tiled, unsigned d) {
    int64_t radix = tiled.radix[d];
    return !radix || canSplitParallelDim(tiled.product, d, digitsOfTiles(extentOf(tiled.product, d), radix, facts_).endsEarly);
  }

  /// Whether all of its dims can; if only data is in the way, a remark says so.
  bool canSplit(const ReducedProduct &tiled) {
    ReduceOp product = tiled.product;
    for (unsigned d = 0; d < product.getNumParallel(); ++d) {
      if (canSplit(tiled, d))
        continue;
      if (canSplitParallelDim(product, d))
        for (const ReductionOfProduct &r : tiled.reductions)
          emitRemark(ReduceOp(r.op).getLoc())
              << "this reduction of a product has a launch of its own: its indices are not known to be multiples of a "
                 "tile's, and data says what it reads";
      return false;
    }
    return true;
  }

  /// The tiles that the product will probably have (te-plan), of which each must have all points of
  /// a reduced index, or of one of its digits. `radix`: 0 where one tile has the whole index. With `wholeTiles` only those
  /// that divide what is known of the extents.
  bool chooseRadices(ReduceOp product, const Contraction &c, const llvm::SmallBitVector &reduced, bool wholeTiles,
                     SmallVectorImpl<int64_t> &radix) {
    auto extentOfAll = [&](ArrayRef<unsigned> list) { return knownPoints(product.getExtents(), list, facts_); };
    auto fits = [&](unsigned d, int64_t tile) {
      int64_t max = knownMax(extentOf(product, d), facts_);
      return !wholeTiles || !reduced[d] || (max >= 0 && max <= tile) || knownDivisor(extentOf(product, d), facts_) % tile == 0;
    };
    unsigned row = c.m.back(), column = c.n.back();
    int64_t rows = 0, columns = 0;
    std::optional<WarpgroupForm> form = findWarpgroupForm(c);
    if (target_.wgmma && form) {
      // Where te-plan may have to turn to mma.sync, tiles are no more than what it takes.
      constexpr int64_t kLargestOfMma = 128;
      int64_t largest = wholeTiles || hasRowsOfCopies(c, facts_) ? std::numeric_limits<int64_t>::max() : kLargestOfMma;
      int64_t m = extentOfAll(c.m), n = extentOfAll(c.n), batch = std::max<int64_t>(1, extentOfAll(c.batch));
      bool inRegisters = form->aInRegisters || form->bInRegisters;
      bool swapped = inRegisters ? form->bInRegisters : m >= 0 && m < 64 && (n < 0 || n >= 64);
      bool byParts = !c.partScales.empty() || mostInAccumulators(kernel_, form->type, target_);
      double least = 0;
      for (const ProductTile &t : wgmmaTiles()) {
        int64_t tileRows = swapped ? t.n : t.m, tileColumns = swapped ? t.m : t.n;
        double time = swapped ? timeOf(t, n, m, batch, target_) : timeOf(t, m, n, batch, target_);
        // (te-plan takes more than 128 rows only where nothing is reduced in a tile)
        if (!llvm::isPowerOf2_64(t.n) || t.m > 128 || std::max(tileRows, tileColumns) > largest || !fits(row, tileRows) ||
            !fits(column, tileColumns) || (rows && time >= least) || !holdsAccumulators(t, byParts ? 2 : 1, target_))
          continue;
        std::tie(least, rows, columns) = std::tuple(time, tileRows, tileColumns);
      }
    } else {
      // What te-plan gives a product of words that warps feed; of other units the least that it gives.
      bool isFed = target_.feedsCores && !hasUnit(c, target_) && c.m.size() == 1 && c.n.size() == 1 && c.k.size() == 1 &&
                   c.aType.getIntOrFloatBitWidth() == 32 && c.bType.getIntOrFloatBitWidth() == 32;
      ProductTile chosen{64, 64, 100};
      if (isFed)
        chosen = chooseCoresTile(extentOfAll(c.m), extentOfAll(c.n), std::max<int64_t>(1, extentOfAll(c.batch)), target_);
      for (int64_t tile : {int64_t(chosen.m), int64_t(64)})
        if (!rows && fits(row, tile) && fits(column, tile))
          rows = columns = tile;
    }
    auto set = [&](unsigned d, int64_t tile) {
      int64_t max = knownMax(extentOf(product, d), facts_);
      radix[d] = reduced[d] && (max < 0 || max > tile) ? tile : 0;
    };
    if (!rows)
      return false;
    set(row, rows);
    set(column, columns);
    return true;
  }

  /// Of windows that CUDA cores multiply, whose rows end inside a tile: parts of rows of which fewer points lie beyond the end. A row of
  /// 46 points would leave 18 of a tile of 64 empty, of its parts of 16 points 2; the tile has several of other rows (te-plan). False where
  /// the row's tile is no worse.
  bool cutRows(ReduceOp product, const Contraction &c, const llvm::SmallBitVector &reduced, SmallVectorImpl<int64_t> &radix) {
    const CoresCosts &costs = target_.costs->cores;
    unsigned row = c.m.back(), column = c.n.back();
    if (!target_.feedsCores || hasUnit(c, target_) || c.aType.getIntOrFloatBitWidth() != 32 || c.bType.getIntOrFloatBitWidth() != 32 ||
        c.k.size() == 1 || reduced[row] == reduced[column])
      return false;
    ArrayRef<unsigned> side = reduced[row] ? c.m : c.n, other = reduced[row] ? c.n : c.m;
    int64_t length = knownMax(extentOf(product, side.back()), facts_), others = knownPoints(product.getExtents(), other, facts_);
    if (side.size() == 1 || length < 0)
      return false;
    int64_t filledFor = others < 0 ? 128 : std::clamp<int64_t>(others, 1, 128);
    int64_t whole = std::min<int64_t>(64, int64_t(llvm::PowerOf2Ceil(uint64_t(length)))), best = whole;
    auto timeOfPart = [&](int64_t part) {
      return double(llvm::divideCeil(length, part) * part) * (part < whole ? timeOfWordRows(part, filledFor, costs) : 1);
    };
    for (int64_t part = whole / 2; part >= shortestWordRow(filledFor, costs); part /= 2)
      if (timeOfPart(part) < timeOfPart(best))
        best = part;
    if (best == whole)
      return false;
    radix[side.back()] = best;
    return true;
  }

  KernelOp kernel_;
  const Target &target_;
  SizeFacts facts_;
};

struct TeReduceInTilesPass : impl::TeReduceInTilesBase<TeReduceInTilesPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<KnownTarget> known = getKnownTarget(getOperation(), target, sizeDiv, sizeMax);
    if (failed(known))
      return signalPassFailure();
    if (failed(TileReducer(getOperation(), *known->target, known->facts()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
