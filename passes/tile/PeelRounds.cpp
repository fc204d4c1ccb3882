// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-peel-rounds: see Passes.td.
#include "passes/Passes.h"

#include "ir/cu/Cu.h"
#include "ir/cu/Marks.h"
#include "ir/tile/Marks.h"
#include "ir/tile/States.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/index/Affine.h"
#include "passes/tile/FullRounds.h"
#include "passes/tile/RoundMasks.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILEPEELROUNDS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

/// What stands in a loop whose rounds only read, compute and write: nothing that counts rounds, waits or is in flight.
bool isPlain(Operation &op) { return isStraight(&op) && !isa<DotOp>(op) && (isa<LoadOp, StoreOp>(op) || isMemoryEffectFree(&op)); }

/// The offsets and the mask of an access, or of a question for what is inside.
std::pair<ValueRange, ArrayRef<int64_t>> maskOf(Operation &op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return {load.getOffsets(), load.getMask()};
  if (auto store = dyn_cast<StoreOp>(op))
    return {store.getOffsets(), store.getMask()};
  if (auto inside = dyn_cast<InsideOp>(op))
    return {inside.getOffsets(), inside.getMask()};
  return {{}, {}};
}

/// `v` is no more than the extent of index `d`.
bool isAtMostExtent(FuncOp func, Value v, unsigned d) {
  AffineExpr extent = func.getExtent(d);
  if (auto least = v.getDefiningOp<arith::MinSIOp>())
    return isAtMostExtent(func, least.getLhs(), d) || isAtMostExtent(func, least.getRhs(), d);
  if (auto apply = v.getDefiningOp<ApplyOp>())
    return apply.getOperands_().empty() && apply.getMap().getResult(0) == extent;
  auto constant = dyn_cast<AffineConstantExpr>(extent);
  return constant && getConstantIntValue(v) == constant.getValue();
}

/// What the full rounds of a loop do without.
struct Peeled {
  int64_t dim = -1;                        ///< the index that the loop walks; -1: nothing is to be peeled
  bool masks = false;                      ///< masks along it
  SmallVector<arith::CmpIOp> conditions{}; ///< a domain's bounds
  SmallVector<LoadOp> padded{};            ///< loads whose reads might leave the tensor beyond these
};

/// The index that the loop walks, a tile or more at a time; -1 if there is none.
int64_t findWalked(FuncOp func, scf::ForOp loop) {
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!step || !llvm::all_of(loop.getBody()->without_terminator(), isPlain))
    return -1;
  for (Operation &op : *loop.getBody()) {
    ValueRange offsets = maskOf(op).first;
    if (auto at = llvm::find(offsets, loop.getInductionVar()); at != offsets.end())
      return func.getTiles()[at - offsets.begin()] <= *step ? at - offsets.begin() : -1;
  }
  return -1;
}

Peeled findPeeled(FuncOp func, scf::ForOp loop) {
  Peeled found{findWalked(func, loop)};
  if (found.dim < 0 || func.isAlignedAlong(unsigned(found.dim))) // (whose first round is not full either)
    return {};
  FullRounds rounds(func, loop, unsigned(found.dim));
  bool fromZero = getConstantIntValue(loop.getLowerBound()) == 0;
  for (Operation &op : *loop.getBody()) {
    auto [offsets, mask] = maskOf(op);
    found.masks |= llvm::is_contained(mask, found.dim) && offsets[found.dim] == loop.getInductionVar() &&
                   isAtMostExtent(func, loop.getUpperBound(), unsigned(found.dim));
    if (auto condition = dyn_cast<arith::CmpIOp>(op); condition && rounds.alwaysHolds(condition))
      found.conditions.push_back(condition);
    if (auto load = dyn_cast<LoadOp>(op); load && load.getBounds() == te::BoundsMode::Pad && fromZero && rounds.staysInside(load))
      found.padded.push_back(load);
  }
  // What holds in the last round, too, is no reason for one.
  if (!found.masks && found.conditions.empty())
    found.dim = -1;
  return found;
}

/// Drops `d` from the masks of a round in which all points along it are inside.
void dropMasks(scf::ForOp loop, int64_t d) {
  for (Operation &op : *loop.getBody()) {
    auto [offsets, mask] = maskOf(op);
    if (!llvm::is_contained(mask, d) || offsets[d] != loop.getInductionVar())
      continue;
    SmallVector<int64_t> left = llvm::filter_to_vector(mask, [&](int64_t m) { return m != d; });
    if (auto load = dyn_cast<LoadOp>(op))
      load.setMask(left);
    else if (auto store = dyn_cast<StoreOp>(op))
      store.setMask(left);
    else if (!left.empty())
      cast<InsideOp>(op).setMask(left);
    else
      foldTrue(op.getResult(0));
  }
}

/// A sum of products that a condition stood between.
void fuseProducts(scf::ForOp loop) {
  for (CombineOp combine : llvm::make_early_inc_range(loop.getBody()->getOps<CombineOp>())) {
    auto product = combine.getNumResults() == 1 ? combine.getInputs()[1].getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    if (!product || combine.getKind() != te::Combiner::Sum)
      continue;
    OpBuilder b(combine);
    combine.getResult(0).replaceAllUsesWith(
        math::FmaOp::create(b, combine.getLoc(), product.getLhs(), product.getRhs(), combine.getInputs()[0]));
  }
}

/// Where the rounds that are not full begin: behind as many whole steps as leave room for a tile before the end.
Value emitSplit(FuncOp func, scf::ForOp loop, int64_t d) {
  OpBuilder b(loop);
  Location plain = cu::unnamed(loop.getLoc());
  auto named = NameLoc::get(b.getStringAttr(cast<StringAttr>(func.getIndices()[d]).getValue() + "_full"), plain);
  int64_t step = *getConstantIntValue(loop.getStep()), tile = func.getTiles()[d];
  Value begin = loop.getLowerBound(), end = loop.getUpperBound();
  unsigned symbols = func.getSizes().size();
  if (getConstantIntValue(begin) == 0 && step == tile && !end.getDefiningOp<arith::MinSIOp>() && isAtMostExtent(func, end, unsigned(d))) {
    auto split =
        ApplyOp::create(b, named, b.getIndexType(), AffineMap::get(0, symbols, func.getExtent(d).floorDiv(tile) * tile), ValueRange());
    int64_t most = te::knownMax(func.getExtent(d), {func.getSizeDiv(), func.getSizeMax()});
    cu::kMost.putOn(split, most > 0 ? most : cu::kFits32);
    return split;
  }
  Value room = arith::SubIOp::create(b, plain, end, begin);
  if (step > tile)
    room = arith::AddIOp::create(b, plain, room, arith::ConstantIndexOp::create(b, plain, step - tile));
  room = arith::MaxSIOp::create(b, plain, room, arith::ConstantIndexOp::create(b, plain, 0));
  AffineExpr whole = b.getAffineDimExpr(0).floorDiv(step) * step;
  Value full = ApplyOp::create(b, named, b.getIndexType(), AffineMap::get(1, symbols, whole), ValueRange(room));
  return arith::AddIOp::create(b, named, begin, full);
}

void peel(FuncOp func, scf::ForOp loop, const Peeled &peeled) {
  Value split = emitSplit(func, loop, peeled.dim);
  OpBuilder b(loop);
  b.setInsertionPointAfter(loop);
  auto last = cast<scf::ForOp>(b.clone(*loop));
  loop.getResults().replaceAllUsesWith(last.getResults());
  last.getInitArgsMutable().assign(loop.getResults());
  last.setLowerBound(split);
  kLastRound.putOn(last);
  loop.setUpperBound(split);
  if (peeled.masks)
    dropMasks(loop, peeled.dim);
  for (arith::CmpIOp condition : peeled.conditions)
    foldTrue(condition);
  for (LoadOp load : peeled.padded) {
    load.setBounds(te::BoundsMode::InBounds);
    load.getPaddingMutable().clear();
  }
  fuseProducts(loop);
  dropDead(loop);
}

struct TilePeelRoundsPass : impl::TilePeelRoundsBase<TilePeelRoundsPass> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (!func.getPeel())
      return;
    SmallVector<scf::ForOp> loops;
    func.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (Peeled peeled = findPeeled(func, loop); peeled.dim >= 0 && !kLastRound.isOn(loop))
        peel(func, loop, peeled);
  }
};

} // namespace
} // namespace kernelc
