// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-split-rounds: see Passes.td.
#include "passes/Passes.h"

#include "ir/cu/Cu.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "passes/index/Affine.h"
#include "passes/tile/RoundMasks.h"
#include "passes/tile/TileForms.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILESPLITROUNDS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

/// A mask of a round that holds at all points of its tile where `rest + step * round` is not negative.
struct Mask {
  Value condition;
  AffineExpr rest;       ///< over what is known outside the loop
  int64_t step;          ///< below zero: the mask holds in the rounds before some round; above: from some round on
  FindWhereOp find = {}; ///< where data pick tiles, ever later ones: the same of the number that it gives in place of the round
};

class Splitter {
public:
  Splitter(FuncOp func, scf::ForOp loop) : func_(func), loop_(loop), forms_(func, loop.getInductionVar()), b_(loop) {}

  void run() {
    for (Operation &op : loop_.getBody()->without_terminator()) {
      if (auto condition = dyn_cast<arith::CmpIOp>(op))
        add(condition, forms_.excessOf(condition));
      else if (auto inside = dyn_cast<InsideOp>(op); inside && inside.getMask().size() == 1)
        add(inside.getResult(), roomOf(inside));
    }
    if (masks_.empty())
      return;
    Value begin = loop_.getLowerBound(), end = loop_.getUpperBound(), first = begin, last = end;
    for (const Mask &mask : masks_) {
      if (endsBefore(mask))
        continue;
      if (mask.step > 0 && isAtMost((-mask.rest).ceilDiv(mask.step), begin))
        continue;
      if (mask.find)
        last = arith::MinSIOp::create(b_, named("_full"), last, countUpTo(mask));
      else if (mask.step > 0)
        first = arith::MaxSIOp::create(b_, named("_first"), first, emit((-mask.rest).ceilDiv(mask.step), "_first"));
      else
        last = arith::MinSIOp::create(b_, named("_full"), last, emit(mask.rest.floorDiv(-mask.step) + 1, "_full"));
    }
    if (first != begin)
      first = arith::MinSIOp::create(b_, named("_first"), first, end);
    if (last != end)
      last = arith::MaxSIOp::create(b_, named("_full"), last, first);
    splitAt(first, last);
    for (const Mask &mask : masks_)
      foldTrue(mask.condition);
    dropDead(loop_);
  }

private:
  Location named(StringRef suffix) {
    auto name = dyn_cast<NameLoc>(loop_.getInductionVar().getLoc());
    return NameLoc::get(b_.getStringAttr((name ? name.getName().getValue() : "round") + suffix), cu::unnamed(loop_.getLoc()));
  }

  /// How many points lie behind one and inside the index's extent.
  AffineExpr roomOf(InsideOp inside) {
    unsigned d = inside.getMask().front();
    AffineExpr at = forms_.formOf(inside.getOffsets()[d]);
    if (func_.getTiles()[d] > 1)
      at = at + forms_.placeOf(d);
    return func_.getExtent(d) - 1 - at;
  }

  /// Whether `form` is a number, `limit` one too, and not less.
  bool isAtMost(AffineExpr form, Value limit) {
    auto number = dyn_cast<AffineConstantExpr>(forms_.simplify(form));
    std::optional<int64_t> most = getConstantIntValue(limit);
    return number && most && number.getValue() <= *most;
  }

  /// Whether the loop ends where the mask does: at `n`, or at the larger of `n` and a number that the loop begins at or behind.
  bool endsBefore(const Mask &mask) {
    auto most = loop_.getUpperBound().getDefiningOp<arith::MaxSIOp>();
    std::optional<int64_t> begin = getConstantIntValue(loop_.getLowerBound());
    if (mask.find || mask.step != -1 || !most || !begin)
      return false;
    for (auto [n, other] : {std::pair(most.getLhs(), most.getRhs()), std::pair(most.getRhs(), most.getLhs())})
      if (std::optional<int64_t> least = getConstantIntValue(other);
          least && *least <= *begin && forms_.simplify(mask.rest + 1 - forms_.formOf(n)) == 0)
        return true;
    return false;
  }

  void add(Value condition, AffineExpr excess) {
    if (!excess)
      return;
    excess = forms_.simplify(excess);
    DenseMap<AffineExpr, AffineExpr> least{{b_.getAffineDimExpr(0), b_.getAffineConstantExpr(0)}};
    std::optional<int64_t> step = te::linearCoefficient(excess, 0);
    for (unsigned d = 0; d < func_.getRank(); ++d) {
      std::optional<int64_t> factor = te::linearCoefficient(excess, 1 + d);
      if (!factor)
        return;
      least[forms_.placeOf(d)] = b_.getAffineConstantExpr(*factor < 0 ? func_.getTiles()[d] - 1 : 0);
    }
    AffineExpr rest = forms_.simplify(excess.replace(least));
    if (step && *step == 0 && addPicked(condition, rest))
      return;
    bool isOutside = llvm::all_of(
        forms_.others(), [&](auto &other) { return !rest.isFunctionOfDim(other.second) || loop_.isDefinedOutsideOfLoop(other.first); });
    if (step && *step != 0 && isOutside)
      masks_.push_back({condition, rest, *step});
  }

  /// The search that gives `v`, or less where it finds nothing.
  FindWhereOp searchOf(Value v) {
    if (auto kept = v.getDefiningOp<arith::MinSIOp>())
      v = kept.getLhs().getDefiningOp<FindWhereOp>() ? kept.getLhs() : kept.getRhs();
    auto find = v.getDefiningOp<FindWhereOp>();
    if (!find || find->getBlock() != loop_.getBody() || find.getFound() || !loop_.isDefinedOutsideOfLoop(find.getEnd()))
      return {};
    auto from = dyn_cast<BlockArgument>(find.getFrom());
    if (!from || from.getOwner() != loop_.getBody() || from == loop_.getInductionVar())
      return {};
    // Each round searches behind what the one before has found, and the condition is of no round.
    Value next = loop_.getYieldedValues()[from.getArgNumber() - 1];
    auto behind = next.getDefiningOp<arith::AddIOp>();
    bool isBehind = behind && ((behind.getLhs() == find && getConstantIntValue(behind.getRhs()) == 1) ||
                               (behind.getRhs() == find && getConstantIntValue(behind.getLhs()) == 1));
    bool isOfRound = find.getCondition()
                         .walk([&](Operation *op) {
                           bool isOutside = llvm::all_of(op->getOperands(), [&](Value operand) {
                             return find.getCondition().isAncestor(operand.getParentRegion()) || loop_.isDefinedOutsideOfLoop(operand);
                           });
                           return isOutside ? WalkResult::advance() : WalkResult::interrupt();
                         })
                         .wasInterrupted();
    return isBehind && !isOfRound ? find : FindWhereOp();
  }

  /// A mask that holds where what one search of the round finds is not too large.
  bool addPicked(Value condition, AffineExpr rest) {
    FindWhereOp find;
    AffineExpr found;
    for (auto [value, dim] : forms_.others()) {
      if (!rest.isFunctionOfDim(dim) || loop_.isDefinedOutsideOfLoop(value))
        continue;
      if (found || !(find = searchOf(value)))
        return false;
      found = b_.getAffineDimExpr(dim);
    }
    std::optional<int64_t> step = found ? te::linearCoefficient(rest, cast<AffineDimExpr>(found).getPosition()) : std::nullopt;
    if (!step || *step >= 0)
      return false;
    masks_.push_back({condition, forms_.simplify(rest - *step * found), *step, find});
    return true;
  }

  /// How many rounds find a number with which the mask holds.
  Value countUpTo(const Mask &mask) {
    Value end =
        arith::MinSIOp::create(b_, named("_end"), emit(mask.rest.floorDiv(-mask.step) + 1, "_end"), FindWhereOp(mask.find).getEnd());
    auto count = CountWhereOp::create(b_, named("_full"), b_.getIndexType(), end);
    IRMapping mapping;
    FindWhereOp(mask.find).getCondition().cloneInto(&count.getCondition(), mapping);
    return count;
  }

  Value emit(AffineExpr form, StringRef suffix) {
    SmallVector<Value> operands;
    DenseMap<AffineExpr, AffineExpr> places;
    for (auto [value, dim] : forms_.others())
      if (form.isFunctionOfDim(dim)) {
        places[b_.getAffineDimExpr(dim)] = b_.getAffineDimExpr(operands.size());
        operands.push_back(value);
      }
    AffineMap map = AffineMap::get(operands.size(), func_.getSizes().size(), form.replace(places));
    return ApplyOp::create(b_, named(suffix), b_.getIndexType(), map, operands);
  }

  /// Leaves the rounds [first, last) to the loop, and those before and behind to copies of it.
  void splitAt(Value first, Value last) {
    if (first != loop_.getLowerBound()) {
      auto head = cast<scf::ForOp>(b_.clone(*loop_));
      head.setUpperBound(first);
      loop_.setLowerBound(first);
      loop_.getInitArgsMutable().assign(head.getResults());
    }
    if (last != loop_.getUpperBound()) {
      b_.setInsertionPointAfter(loop_);
      auto tail = cast<scf::ForOp>(b_.clone(*loop_));
      loop_.getResults().replaceAllUsesWith(tail.getResults());
      tail.getInitArgsMutable().assign(loop_.getResults());
      tail.setLowerBound(last);
      loop_.setUpperBound(last);
    }
  }

  FuncOp func_;
  scf::ForOp loop_;
  TileForms forms_;
  OpBuilder b_;
  SmallVector<Mask> masks_;
};

struct TileSplitRoundsPass : impl::TileSplitRoundsBase<TileSplitRoundsPass> {
  void runOnOperation() override {
    if (getOperation().getInFlight() <= 1)
      return;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (llvm::range_size(loop.getBody()->getOps<DotOp>()) > 1)
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      Splitter(getOperation(), loop).run();
  }
};

} // namespace
} // namespace kernelc
