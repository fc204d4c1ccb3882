// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-split-rounds: see Passes.td.
#include "passes/Passes.h"

#include "ir/cu/Cu.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
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
  AffineExpr rest; ///< over what is known outside the loop
  int64_t step;    ///< below zero: the mask holds in the rounds before some round; above: from some round on
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
      if (mask.step > 0 && isAtMost((-mask.rest).ceilDiv(mask.step), begin))
        continue;
      if (mask.step > 0)
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
    bool isOutside = llvm::all_of(
        forms_.others(), [&](auto &other) { return !rest.isFunctionOfDim(other.second) || loop_.isDefinedOutsideOfLoop(other.first); });
    if (step && *step != 0 && isOutside)
      masks_.push_back({condition, rest, *step});
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
