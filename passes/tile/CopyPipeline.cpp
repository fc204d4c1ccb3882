// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands in rings that the threads of the product fill themselves.
#include "ir/cu/Cu.h"
#include "ir/cu/Marks.h"
#include "ir/tile/SlotLayout.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/tile/Access.h"
#include "passes/tile/Carried.h"
#include "passes/tile/Pipeliners.h"
#include "support/Target.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

namespace {

/// An operand of a dot on its way into a ring.
struct Staged {
  Value tile; ///< inside the loop
  Value ring;
  LoadOp direct; ///< set when a copy without registers will do
};

class LoopPipeliner {
public:
  LoopPipeliner(FuncOp func, scf::ForOp loop, ArrayRef<DotOp> dots) : func_(func), loop_(loop), dots_(dots), b_(loop) {}

  LogicalResult run() {
    slots_ = std::max<int64_t>(2, func_.getStages());
    Location loc = cu::unnamed(loop_.getLoc());
    stageOperands(loc);
    if (failed(startAhead(loc)))
      return failure();
    if (endsWithBarrier())
      awaitSlot(loc);
    makeRound(loc);
    // Nothing is left in flight when the loop is over, however short it was; where
    // another tile follows, its copies wait until this one's slots have been read.
    b_.setInsertionPointAfter(loop_);
    AsyncWaitOp::create(b_, loc, 0);
    if (loop_->getParentOfType<scf::ForOp>())
      BarrierOp::create(b_, loc);
    eraseUnused(loop_);
    stopUnusedCounts(loop_); // places that only the copies asked for
    eraseUnused(loop_);
    return success();
  }

private:
  /// Gives each operand its slots; what no round changes is there once.
  void stageOperands(Location loc) {
    for (DotOp dot : dots_) {
      dot_ = dot;
      auto &at = fed_.emplace_back();
      for (auto [operand, outer] : {std::pair(dot.getA(), dot.getM()), std::pair(dot.getB(), dot.getN())}) {
        if (operand == dot.getA() && isFedByDot(dot)) {
          at.push_back(func_.getUnit() == Unit::Simt ? slotOfRound(operand, outer) : operand);
          continue;
        }
        bool once = dots_.size() > 1 && loop_.isDefinedOutsideOfLoop(operand);
        Staged s = stage(operand, outer, once ? 1 : slots_);
        at.push_back(s.ring);
        if (once)
          fillOnce(s, loc);
        else
          staged_.push_back(s);
      }
    }
  }

  /// The slot through which CUDA cores pass what another product of the round has made.
  Value slotOfRound(Value operand, ArrayRef<int64_t> outer) {
    Value ring = stage(operand, outer, 1).ring;
    once_.push_back(ring); // (its number)
    made_.push_back(ring);
    return ring;
  }

  /// The first slots - 1 tiles are on their way before the loop starts. Where a tile is may hang on
  /// where the one before was (a search): those places run ahead of the loop's own.
  LogicalResult startAhead(Location loc) {
    SmallVector<Value> ahead;
    for (auto [i, init] : llvm::enumerate(loop_.getInitArgs()))
      if (init.getType().isIndex()) {
        places_.push_back(i);
        ahead.push_back(init);
      }
    if (places_.empty() && slots_ > 2) { // as a loop, which is unrolled: the slot's number is a constant again
      auto prologue = scf::ForOp::create(b_, loc, constant(0, loc), constant(slots_ - 1, loc), constant(1, loc));
      cu::kUnroll.putAllOn(prologue);
      prologue.getInductionVar().setLoc(named("first", loc));
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPoint(prologue.getBody()->getTerminator());
      fill(prologue.getInductionVar(), places_, {}, loc);
    } else {
      for (int64_t n = 0; n < slots_ - 1; ++n)
        ahead = fill(constant(n, loc), places_, ahead, loc);
    }
    if (places_.empty())
      return success();
    auto added = carry(loop_, ahead);
    if (failed(added))
      return failure();
    carried_ = *added;
    for (auto [i, arg] : llvm::zip(places_, carried_))
      arg.setLoc(NameLoc::get(b_.getStringAttr("ahead"), loop_.getRegionIterArg(i).getLoc()));
    return success();
  }

  /// Whether the wait for a round's slots stands at the end of the round before, where products of mma.sync can go on beside what is
  /// read of them (MmaToCu.cpp). A search for the next tile stays between two products.
  bool endsWithBarrier() { return func_.getUnit() == Unit::Mma && !func_.getFillLate() && dots_.size() == 1 && places_.empty(); }

  /// The next tile is here, and every thread has finished reading the one before it.
  void awaitSlot(Location loc) {
    AsyncWaitOp::create(b_, loc, slots_ - 2);
    BarrierOp::create(b_, loc);
  }

  /// In the loop: tile t is here; start tile t + slots - 1 in the slot that tile
  /// t - 1 has left, which the barrier says every thread has finished reading.
  void makeRound(Location loc) {
    b_.setInsertionPointToStart(loop_.getBody());
    Value t = loop_.getInductionVar();
    if (!endsWithBarrier())
      awaitSlot(loc);
    auto next = [&] {
      Value number = arith::AddIOp::create(b_, named("ahead", loc), t, constant(slots_ - 1, loc));
      SmallVector<Value> after = fill(number, places_, llvm::to_vector_of<Value>(carried_), loc);
      for (auto [arg, v] : llvm::zip(carried_, after))
        setCarried(arg, v);
    };
    if (!func_.getFillLate())
      next();
    for (auto [n, dot] : llvm::enumerate(dots_)) {
      DotOp now = feed(dot, fed_[n], t, loc);
      if (func_.getFillLate() && n + 1 == dots_.size())
        next();
      if (func_.getUnit() == Unit::Wgmma) { // which is done with the slot before the next round's barrier
        auto waited = DotWaitOp::create(b_, loc, now.getType(), now, 0);
        now.getResult().replaceAllUsesExcept(waited, waited);
      }
      DotOp(dot).erase();
    }
    if (endsWithBarrier()) {
      b_.setInsertionPoint(loop_.getBody()->getTerminator());
      awaitSlot(loc);
    }
  }

  /// `dot` on slots of round `t`, before it and in its place.
  DotOp feed(DotOp dot, ArrayRef<Value> at, Value t, Location loc) {
    b_.setInsertionPoint(dot);
    if (llvm::is_contained(made_, at[0]))
      RingStoreOp::create(b_, dot.getA().getLoc(), at[0], constant(0, loc), dot.getA());
    auto isOnce = [&](Value ring) { return llvm::is_contained(once_, ring); };
    auto numberOf = [&](Value ring) { return isOnce(ring) ? constant(0, loc) : t; };
    const bool isSlot = isa<RingType>(at[0].getType());
    Value ofA = isSlot && isOnce(at[0]) != isOnce(at[1]) ? numberOf(at[0]) : Value(), ofB = numberOf(at[1]);
    auto now = cast<DotOp>(b_.clone(*dot));
    if (isSlot)
      now.getAMutable().assign(at[0]);
    if (ofA)
      now.getANumberMutable().assign(ofA);
    now.getBMutable().assign(at[1]);
    now.getNumberMutable().assign(ofB);
    dot.replaceAllUsesWith(now.getResult());
    return now;
  }

  Value constant(int64_t v, Location loc) { return arith::ConstantIndexOp::create(b_, loc, v); }
  Location named(StringRef name, Location loc) { return NameLoc::get(b_.getStringAttr(name), cu::unnamed(loc)); }

  /// The name of an operand, or of the value that it was before it was cast or masked.
  static StringRef nameOf(Value operand) {
    for (Operation *op = operand.getDefiningOp(); op; op = op->getOperand(isa<arith::SelectOp>(op) ? 1 : 0).getDefiningOp()) {
      if (StringRef name = cu::findName(op->getLoc()); !name.empty())
        return name;
      if (!isa<arith::SelectOp, arith::TruncFOp, arith::ExtFOp, BroadcastOp>(op))
        break;
    }
    return "operand";
  }

  /// `outer`: the operand's rows (columns) of the product.
  Staged stage(Value operand, ArrayRef<int64_t> outer, int64_t slots) {
    auto type = cast<RankedTensorType>(operand.getType());
    Staged s{operand, {}, {}};
    int64_t contiguous = -1;
    if (auto load = operand.getDefiningOp<LoadOp>()) {
      contiguous = contiguousDim(func_, load.getBase(), load.getMap(), type.getShape());
      if (isCopyable(func_, load, contiguous))
        s.direct = load;
      if (s.direct && isCopiedAcross(load, contiguous, outer))
        contiguous = outer.back();
    }
    if (contiguous < 0) {
      // Computed operands: contiguous where their first load is.
      SetVector<Operation *> slice;
      BackwardSliceOptions options;
      options.filter = [&](Operation *op) { return loop_->isAncestor(op); };
      (void)getBackwardSlice(operand, &slice, options);
      for (Operation *op : slice)
        if (auto load = dyn_cast<LoadOp>(op); load && contiguous < 0)
          contiguous = contiguousRun(func_, load.getBase(), load.getMap(), type.getShape()).dim;
    }
    if (!s.direct && isReadByRows(type, outer)) {
      contiguous = outer.back();
      if (auto load = operand.getDefiningOp<LoadOp>(); load && isCopyable(func_, load, contiguous))
        s.direct = load;
    } else if (contiguous < 0 || !runsForUnit(type, contiguous)) {
      contiguous = dot_.getK().back();
      s.direct = {};
    }
    // CUDA cores read with plain loads, which the padding serves.
    int64_t bytes = std::max(1u, type.getElementTypeBitWidth() / 8);
    int64_t pad = func_.getUnit() == Unit::Simt ? paddingOf(type.getDimSize(contiguous), bytes) : kSwizzled;
    auto ring = RingType::get(b_.getContext(), type.getShape(), type.getElementType(), slots, contiguous, pad);
    s.ring = RingOp::create(b_, named(nameOf(operand), operand.getLoc()), ring);
    return s;
  }

  /// Warpgroup products find bytes and words only where these run along what is summed.
  bool runsForUnit(RankedTensorType type, int64_t contiguous) {
    return func_.getUnit() != Unit::Wgmma || type.getElementTypeBitWidth() == 16 || llvm::is_contained(dot_.getK(), contiguous);
  }

  /// Whether CUDA cores read an operand's slot in vectors of its rows (columns) `outer`, whatever runs along memory.
  bool isReadByRows(RankedTensorType operand, ArrayRef<int64_t> outer) {
    int64_t bits = operand.getElementTypeBitWidth();
    const Target *target = findTarget(absl::string_view(func_.getTarget().data(), func_.getTarget().size()));
    return func_.getUnit() == Unit::Simt && target && target->asyncCopy && bits >= 32 && !outer.empty() &&
           operand.getDimSize(outer.back()) * bits >= 128;
  }

  /// CUDA cores multiply vectors of rows by vectors of columns. An operand whose neighbours run along k is turned
  /// on its way, where elements can be copied one by one: in registers, vectors along k take as many registers for
  /// each of their k (f32 4096³ on an H200: 175 instead of 128, one block instead of two, 0.85 instead of 0.94 of cuBLAS).
  bool isCopiedAcross(LoadOp load, int64_t contiguous, ArrayRef<int64_t> outer) {
    return llvm::is_contained(dot_.getK(), contiguous) && isReadByRows(cast<RankedTensorType>(load.getResult().getType()), outer);
  }

  /// Fills the one slot of what no round changes, ahead of the first round's wait.
  void fillOnce(const Staged &s, Location loc) {
    once_.push_back(s.ring);
    Value zero = constant(0, loc);
    if (LoadOp load = s.direct)
      RingCopyOp::create(b_, load.getLoc(), s.ring, zero, load, load.getOffsets(), Value());
    else
      RingStoreOp::create(b_, s.tile.getLoc(), s.ring, zero, s.tile);
    AsyncCommitOp::create(b_, loc);
  }

  /// Starts filling all rings with tile `number`, if there is one. `before`: what the values that the
  /// loop carries as numbers `places` are at the start of its round. Returns what they are after it.
  SmallVector<Value> fill(Value number, ArrayRef<unsigned> places, ArrayRef<Value> before, Location loc) {
    IRMapping round;
    round.map(loop_.getInductionVar(), number);
    for (auto [i, v] : llvm::zip(places, before))
      round.map(loop_.getRegionIterArg(i), v);
    SmallVector<Value> after = llvm::map_to_vector(places, [&](unsigned i) { return getCarriedNext(loop_.getRegionIterArg(i)); });
    cloneSlice(after, round);
    Value exists = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::slt, number, loop_.getUpperBound());
    auto branch = scf::IfOp::create(b_, loc, exists, false);
    {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPoint(branch.thenBlock()->getTerminator());
      for (Staged &s : staged_) {
        IRMapping mapping(round);
        cloneSlice(s.direct ? llvm::to_vector_of<Value>(s.direct.getOffsets()) : SmallVector<Value>{s.tile}, mapping);
        if (s.direct) {
          SmallVector<Value> offsets;
          for (Value o : s.direct.getOffsets())
            offsets.push_back(mapping.lookupOrDefault(o));
          RingCopyOp::create(b_, s.direct.getLoc(), s.ring, number, s.direct, offsets, Value());
        } else {
          RingStoreOp::create(b_, s.tile.getLoc(), s.ring, number, mapping.lookupOrDefault(s.tile));
        }
      }
    }
    AsyncCommitOp::create(b_, loc);
    return llvm::map_to_vector(after, [&](Value v) { return round.lookupOrDefault(v); });
  }

  /// Clones what `values` need from the loop body, under `mapping`, and is not there already.
  void cloneSlice(SmallVector<Value> values, IRMapping &mapping) {
    SetVector<Operation *> slice;
    for (Value v : values) {
      BackwardSliceOptions options;
      options.inclusive = true;
      options.omitUsesFromAbove = false;
      options.filter = [&](Operation *op) { return op->getBlock() == loop_.getBody() && !isa<RingOp>(op); };
      (void)getBackwardSlice(v, &slice, options);
    }
    for (Operation &op : *loop_.getBody())
      if (slice.contains(&op) && !mapping.contains(op.getResult(0)))
        b_.clone(op, mapping);
  }

  FuncOp func_;
  scf::ForOp loop_;
  SmallVector<DotOp> dots_;
  DotOp dot_; ///< whose operands are staged
  OpBuilder b_;
  int64_t slots_ = 2;
  SmallVector<Staged, 2> staged_;
  SmallVector<SmallVector<Value, 2>> fed_; ///< per dot, where its operands are
  SmallVector<Value> once_;                ///< rings of one slot,
  SmallVector<Value> made_;                ///< and those of them that a round's own results go through
  SmallVector<unsigned> places_;           ///< what the loop carries of where tiles are
  SmallVector<BlockArgument> carried_;     ///< the same of the tile that is on its way
};

} // namespace

LogicalResult pipelineByCopies(FuncOp func, scf::ForOp loop, ArrayRef<DotOp> dots) { return LoopPipeliner(func, loop, dots).run(); }

} // namespace kernelc
