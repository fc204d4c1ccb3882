// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-skew-dots: see Passes.td.
#include "passes/Passes.h"

#include "ir/tile/Marks.h"
#include "ir/tile/Tile.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "passes/index/Affine.h"
#include "passes/tile/Access.h"
#include "passes/tile/Carried.h"
#include "passes/tile/ExactFirst.h"
#include "support/TargetRates.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILESKEWDOTS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

constexpr int64_t kWarpgroup = 4; // warps

/// A product of a round whose factor in registers is made of what the round's first products give, and which adds to what the loop
/// carries.
struct Second {
  DotOp dot;
  DotWaitOp wait;
  unsigned carried; ///< the loop's value that it gives the next round
};

/// A loop that can be skewed. Each operation of a round but the terminator is in one of the lists, each in the round's order.
struct Round {
  SmallVector<Second> seconds;
  SmallVector<Operation *> start; ///< up to the last of the first products
  SmallVector<Operation *> work;  ///< from their waits to what the second products need, but for `pack`
  SmallVector<Operation *> pack;  ///< what writes registers that second products read, or waits for what they give
  SmallVector<Operation *> late;  ///< the second products, with what waits for their slots and lets go of them
  SmallVector<DotWaitOp> firstWaits;
};

/// Whether the loop goes round once at least.
bool hasRound(FuncOp func, scf::ForOp loop) {
  std::function<bool(Value)> isPositive = [&](Value v) -> bool {
    if (std::optional<int64_t> constant = getConstantIntValue(v))
      return *constant > 0;
    if (auto most = v.getDefiningOp<arith::MaxSIOp>())
      return isPositive(most.getLhs()) || isPositive(most.getRhs());
    auto apply = v.getDefiningOp<ApplyOp>();
    if (apply && apply.getLeast() > 0)
      return true;
    return apply && apply.getOperands_().empty() && te::knownPositive(apply.getMap().getResult(0), {func.getSizeDiv(), func.getSizeMax()});
  };
  return getConstantIntValue(loop.getLowerBound()) == 0 && getConstantIntValue(loop.getStep()) == 1 && isPositive(loop.getUpperBound());
}

class RoundFinder {
public:
  explicit RoundFinder(scf::ForOp loop) : loop_(loop), body_(*loop.getBody()) {}

  std::optional<Round> find() {
    SmallVector<DotOp> firsts;
    for (auto dot : body_.getOps<DotOp>())
      if (!addSecond(dot))
        firsts.push_back(dot);
    if (round_.seconds.empty() || firsts.empty())
      return std::nullopt;
    for (DotOp dot : firsts) {
      if (isGoneOnFrom(dot)) // waited for with the one that adds to it
        continue;
      DotWaitOp wait = waitOf(dot);
      if (!wait || !wait->isBeforeInBlock(round_.seconds.front().dot))
        return std::nullopt;
      round_.firstWaits.push_back(wait);
    }
    if (!sort(firsts.back()))
      return std::nullopt;
    packFirst();
    return std::move(round_);
  }

private:
  /// The one wait for a product of the round.
  static DotWaitOp waitOf(DotOp dot) {
    auto wait = dot->hasOneUse() ? dyn_cast<DotWaitOp>(*dot->user_begin()) : DotWaitOp();
    return wait && wait.getPending() == 0 && wait->getBlock() == dot->getBlock() ? wait : DotWaitOp();
  }

  static bool isGoneOnFrom(DotOp dot) {
    auto next = dot->hasOneUse() ? dyn_cast<DotOp>(*dot->user_begin()) : DotOp();
    return next && next.getAcc() == dot.getResult() && next->getBlock() == dot->getBlock();
  }

  bool addSecond(DotOp dot) {
    DotWaitOp wait = waitOf(dot);
    Operation *packed = dot.getA().getDefiningOp();
    if (!wait || !packed || packed->getBlock() != &body_ || !isa<RankedTensorType>(dot.getA().getType()) || !packed->hasOneUse() ||
        !wait->hasOneUse() || *wait->user_begin() != body_.getTerminator())
      return false;
    unsigned carried = wait->use_begin()->getOperandNumber();
    BlockArgument before = loop_.getRegionIterArg(carried);
    // What it adds to is the carried value, moved or not.
    if (!isMadeOf(dot.getAcc(), before))
      return false;
    round_.seconds.push_back({dot, wait, carried});
    return true;
  }

  bool isMadeOf(Value v, BlockArgument arg) {
    if (v == arg)
      return true;
    Operation *op = v.getDefiningOp();
    return op && op->getBlock() == &body_ && llvm::any_of(op->getOperands(), [&](Value operand) { return isMadeOf(operand, arg); });
  }

  static bool uses(Operation &op, llvm::function_ref<bool(Operation *)> isOne) {
    return usesAny(op, [&](Value v) { return v.getDefiningOp() && isOne(v.getDefiningOp()); });
  }

  bool usesCarriedSum(Operation &op) {
    return usesAny(op, [&](Value v) {
      return llvm::any_of(round_.seconds, [&](Second &s) { return Value(loop_.getRegionIterArg(s.carried)) == v; });
    });
  }

  /// Puts every operation into its list. False where an order would be lost.
  bool sort(DotOp lastFirst) {
    llvm::DenseSet<Operation *> late, pack;
    DotOp first = round_.seconds.front().dot;
    DotWaitOp last = round_.seconds.back().wait;
    for (Second &s : round_.seconds) {
      late.insert(s.dot);
      late.insert(s.wait);
      pack.insert(s.dot.getA().getDefiningOp());
    }
    // Waits for slots right before the first of them, and what lets go of slots right behind the last.
    for (Operation *op = first->getPrevNode(); isa_and_nonnull<AwaitOp>(op); op = op->getPrevNode())
      late.insert(op);
    for (Operation *op = first; op != last; op = op->getNextNode())
      if (isa<AwaitOp, ReleaseOp>(op))
        late.insert(op);
    for (Operation *op = last->getNextNode(); isa_and_nonnull<ReleaseOp>(op); op = op->getNextNode())
      late.insert(op);
    for (Operation &op : body_.without_terminator()) {
      if (late.contains(&op)) {
        if (uses(op, [&](Operation *def) {
              return def->getBlock() == &body_ && !isIndexMath(def) && !pack.contains(def) && !late.contains(def);
            }))
          return false;
        round_.late.push_back(&op);
      } else if (pack.contains(&op) || usesCarriedSum(op) || uses(op, [&](Operation *def) { return pack.contains(def); })) {
        pack.insert(&op);
        round_.pack.push_back(&op);
      } else if (isa<scf::ForOp, scf::IfOp>(op) || uses(op, [&](Operation *def) { return late.contains(def); })) {
        return false;
      } else {
        bool starts = &op == lastFirst || op.isBeforeInBlock(lastFirst);
        if (starts && isa<DotWaitOp>(op))
          return false;
        (starts ? round_.start : round_.work).push_back(&op);
      }
    }
    return true;
  }

  /// Puts the factors of second products ahead of what mostly leaves sums as they are: that is a branch, which instructions do not cross,
  /// and what makes factors would be alone beside it.
  void packFirst() {
    if (llvm::none_of(round_.pack, llvm::IsaPred<ScaleOp>))
      return;
    llvm::stable_sort(round_.pack, [&](Operation *a, Operation *b) { return isFreeFactor(a) && !isFreeFactor(b); });
  }

  /// Whether `op` makes a factor, of nothing that waits for sums.
  bool isFreeFactor(Operation *op) {
    return llvm::any_of(round_.seconds, [&](Second &s) { return DotOp(s.dot).getA().getDefiningOp() == op; }) &&
           llvm::none_of(op->getOperands(), [&](Value v) { return llvm::is_contained(round_.pack, v.getDefiningOp()); });
  }

  static bool isIndexMath(Operation *op) {
    return llvm::all_of(op->getResultTypes(), [](Type t) { return t.isIndex(); }) && isPure(op);
  }

  scf::ForOp loop_;
  Block &body_;
  Round round_;
};

/// The number of a round among all that a block goes through; null where it awaits no slot.
Value numberOf(const Round &round) {
  auto await = llvm::find_if(round.start, llvm::IsaPred<AwaitOp>);
  return await == round.start.end() ? Value() : cast<AwaitOp>(*await).getNumber();
}

/// Writes the skewed loop in place of one that goes round n times: the first round without its second products, n - 1 rounds that each
/// do those of the round before, and these of the last round.
class Skewer {
public:
  /// `order`: that of the warpgroups' turns, if they take any.
  Skewer(scf::ForOp loop, Round round, Value order) : loop_(loop), round_(std::move(round)), order_(order), b_(loop) {}

  void run() {
    Location loc = loop_.getLoc();
    Value one = arith::ConstantIndexOp::create(b_, loc, 1);
    // The first round.
    IRMapping first;
    first.map(loop_.getInductionVar(), loop_.getLowerBound());
    for (auto [arg, init] : llvm::zip(loop_.getRegionIterArgs(), loop_.getInitArgs()))
      first.map(arg, init);
    cloneStart(first);
    passTurn(first);
    clone(round_.work, first);
    clone(round_.pack, first);
    SmallVector<Value> inits = carriedBy(first);
    // The others.
    auto skewed = scf::ForOp::create(b_, loc, one, loop_.getUpperBound(), loop_.getStep(), inits);
    skewed.getInductionVar().setLoc(loop_.getInductionVar().getLoc());
    skewed->setDiscardableAttrs(loop_->getDiscardableAttrDictionary());
    b_.setInsertionPointToStart(skewed.getBody());
    IRMapping now, before;
    now.map(loop_.getInductionVar(), skewed.getInductionVar());
    unsigned count = loop_.getNumRegionIterArgs();
    for (unsigned i = 0; i < count; ++i)
      now.map(loop_.getRegionIterArg(i), skewed.getRegionIterArg(i));
    cloneStart(now);
    Location named = loop_.getInductionVar().getLoc();
    before.map(loop_.getInductionVar(), arith::SubIOp::create(b_, named, skewed.getInductionVar(), one));
    setLate(before, skewed.getRegionIterArgs());
    cloneLate(before, [](Operation *op) { return !isa<DotWaitOp, ReleaseOp>(op); });
    passTurn(now);
    for (DotWaitOp wait : round_.firstWaits)
      wait.setPending(wait.getPending() + round_.seconds.size());
    clone(round_.work, now);
    cloneLate(before, [](Operation *op) { return isa<DotWaitOp, ReleaseOp>(op); });
    for (Second &s : round_.seconds)
      now.map(loop_.getRegionIterArg(s.carried), before.lookup(s.wait.getResult()));
    clone(round_.pack, now);
    scf::YieldOp::create(b_, loc, carriedBy(now));
    // What the last round has left. Slots that the first products alone read are let go of before it.
    b_.setInsertionPointAfter(skewed);
    releaseBefore(skewed);
    IRMapping last;
    last.map(loop_.getInductionVar(), arith::SubIOp::create(b_, named, loop_.getUpperBound(), one));
    setLate(last, skewed.getResults());
    cloneLate(last, [](Operation *) { return true; });
    for (unsigned i = 0; i < count; ++i)
      loop_.getResult(i).replaceAllUsesWith(skewed.getResult(i));
    for (Second &s : round_.seconds)
      skewed.getResult(s.carried).replaceUsesWithIf(last.lookup(s.wait.getResult()), [&](OpOperand &use) {
        return use.getOwner() != last.lookup(s.dot.getResult()).getDefiningOp();
      });
    loop_.erase();
  }

private:
  void clone(ArrayRef<Operation *> ops, IRMapping &mapping) {
    for (Operation *op : ops)
      b_.clone(*op, mapping);
  }

  /// Up to the first products, which a warpgroup starts in its turn.
  void cloneStart(IRMapping &mapping) {
    bool started = false;
    for (Operation *op : round_.start) {
      if (order_ && isa<DotOp>(op) && !std::exchange(started, true))
        TakeTurnOp::create(b_, loop_.getLoc(), order_, mapping.lookupOrDefault(numberOf(round_)));
      b_.clone(*op, mapping);
    }
  }

  void passTurn(IRMapping &mapping) {
    if (order_)
      PassTurnOp::create(b_, loop_.getLoc(), order_, mapping.lookupOrDefault(numberOf(round_)));
  }

  /// What goes from round to round: what the loop carries, of second products what they will add to, and their factors.
  SmallVector<Value> carriedBy(IRMapping &mapping) {
    SmallVector<Value> values;
    for (Value v : loop_.getBody()->getTerminator()->getOperands())
      values.push_back(mapping.lookupOrDefault(v));
    for (Second &s : round_.seconds) {
      values[s.carried] = mapping.lookupOrDefault(s.dot.getAcc());
      values.push_back(mapping.lookup(s.dot.getA()));
    }
    return values;
  }

  /// Has second products take what was carried.
  void setLate(IRMapping &mapping, ValueRange carried) {
    for (auto [n, s] : llvm::enumerate(round_.seconds)) {
      mapping.map(s.dot.getAcc(), carried[s.carried]);
      mapping.map(s.dot.getA(), carried[loop_.getNumRegionIterArgs() + n]);
    }
  }

  /// Clones those of the late operations, with the index arithmetic that they need.
  void cloneLate(IRMapping &mapping, llvm::function_ref<bool(Operation *)> isWanted) {
    for (Operation *op : round_.late) {
      if (!isWanted(op))
        continue;
      for (Value v : op->getOperands())
        cloneIndex(v, mapping);
      b_.clone(*op, mapping);
    }
  }

  /// Moves what lets go of slots behind the loop to where the builder stands, if no second product reads these slots.
  void releaseBefore(scf::ForOp skewed) {
    Operation *next = loop_->getNextNode();
    for (Operation *op = next; isa_and_nonnull<DotWaitOp, ReleaseOp>(op); op = next) {
      next = op->getNextNode();
      if (auto release = dyn_cast<ReleaseOp>(op); release && !readsOf(release.getChannel())) {
        release->moveBefore(loop_);
        b_.setInsertionPointAfter(release);
      }
    }
  }

  /// Whether a second product reads slots that `channel` says are full.
  bool readsOf(Value channel) {
    return llvm::any_of(channel.getUsers(), [&](Operation *user) {
      auto copy = dyn_cast<RingCopyOp>(user);
      return copy &&
             llvm::any_of(round_.seconds, [&](Second &s) { return s.dot.getA() == copy.getRing() || s.dot.getB() == copy.getRing(); });
    });
  }

  void cloneIndex(Value v, IRMapping &mapping) {
    Operation *def = v.getDefiningOp();
    if (!def || def->getBlock() != loop_.getBody() || mapping.contains(v))
      return;
    for (Value operand : def->getOperands())
      cloneIndex(operand, mapping);
    b_.clone(*def, mapping);
  }

  scf::ForOp loop_;
  Round round_;
  Value order_;
  OpBuilder b_;
};

struct TileSkewDotsPass : impl::TileSkewDotsBase<TileSkewDotsPass> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (func.getInFlight() <= 1)
      return;
    SmallVector<scf::ForOp> loops;
    func.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (hasRound(func, loop))
        if (std::optional<Round> round = RoundFinder(loop).find()) {
          Value order = variesByTile(loop) && takesTurns(func, *round) ? makeOrder(func, loop) : Value();
          Skewer(loop, std::move(*round), order).run();
        }
    SmallVector<ReduceOp> asked;
    func.walk([&](ReduceOp reduce) {
      if (kAskedAbove.isOn(reduce))
        asked.push_back(reduce);
    });
    llvm::for_each(asked, makeExact);
  }

  /// Whether the rounds of a tile depend on where it lies, as those of causal rows and of windows do. Where all tiles have as many,
  /// warpgroups are half a round apart by themselves, and turns only hold them up.
  static bool variesByTile(scf::ForOp loop) {
    llvm::SetVector<Operation *> slice;
    for (Value bound : {loop.getLowerBound(), loop.getUpperBound()})
      (void)getBackwardSlice(bound, &slice);
    return llvm::any_of(slice, llvm::IsaPred<ProgramIdOp>);
  }

  /// Whether warpgroups start products in turns: where exponentials take as long as products (heads of 64 columns), so that the unit has
  /// those of one while another's scores are worked on.
  static bool takesTurns(FuncOp func, const Round &round) {
    const TargetRates *rates = findTargetRates(absl::string_view(func.getTarget().data(), func.getTarget().size()));
    if (!rates || func.getUnit() != Unit::Wgmma || func.getPingpong() > 1 || func.getWarps() == kWarpgroup || !numberOf(round))
      return false;
    int64_t special = 0, products = 0;
    for (Operation *op : round.work)
      for (Type type : op->getResultTypes())
        if (auto tile = dyn_cast<RankedTensorType>(type);
            tile && (isa<arith::DivFOp>(op) || isa_and_nonnull<math::MathDialect>(op->getDialect())) && !isa<math::FmaOp>(op))
          special += tile.getNumElements();
    auto count = [&](Operation *op) {
      if (auto dot = dyn_cast<DotOp>(op))
        products += dot.getResult().getType().getNumElements() * depthOf(dot);
    };
    llvm::for_each(round.start, count);
    llvm::for_each(round.late, count);
    return special * rates->matrix16 >= products * rates->special;
  }

  /// Points of a product's sum.
  static int64_t depthOf(DotOp dot) {
    auto ring = dyn_cast<RingType>(dot.getB().getType());
    return ring ? pointsOf(ring.getShape(), dot.getK()) : pointsOf(cast<RankedTensorType>(dot.getB().getType()).getShape(), dot.getK());
  }

  static Value makeOrder(FuncOp func, scf::ForOp loop) {
    OpBuilder b = OpBuilder::atBlockBegin(&func.getBlock());
    return OrderOp::create(b, loop.getLoc(), OrderType::get(b.getContext(), func.getWarps() / kWarpgroup));
  }
};

} // namespace
} // namespace kernelc
