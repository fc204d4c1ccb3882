// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-pipeline: see Passes.td.
#include "passes/Passes.h"

#include "ir/cu/Cu.h"
#include "ir/te/ScheduleLoc.h"
#include "ir/tile/SlotLayout.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/tile/Access.h"
#include "passes/tile/Box.h"
#include "passes/tile/Carried.h"
#include "support/Target.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILEPIPELINE
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

/// Removes what only the old dot needed.
void eraseUnused(scf::ForOp loop) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*loop.getBody())))
    if (isOpTriviallyDead(&op) || (isa<LoadOp>(op) && op.use_empty()))
      op.erase();
}

/// `dot` with its operands in slots `number` of rings, or the first as it is.
DotOp feed(OpBuilder &b, DotOp dot, Value first, Value second, Value number) {
  auto fed = cast<DotOp>(b.clone(*dot));
  fed.getAMutable().assign(first);
  fed.getBMutable().assign(second);
  fed.getNumberMutable().assign(number);
  return fed;
}

/// An operand of a dot on its way into a ring.
struct Staged {
  Value tile; ///< inside the loop
  Value ring;
  LoadOp direct; ///< set when a copy without registers will do
};

class LoopPipeliner {
public:
  LoopPipeliner(FuncOp func, scf::ForOp loop, DotOp dot) : func_(func), loop_(loop), dot_(dot), b_(loop) {}

  LogicalResult run() {
    slots_ = std::max<int64_t>(2, func_.getStages());
    for (auto [operand, outer] : {std::pair(dot_.getA(), dot_.getM()), std::pair(dot_.getB(), dot_.getN())}) {
      FailureOr<Staged> s = stage(operand, outer);
      if (failed(s))
        return failure();
      staged_.push_back(*s);
    }
    Location loc = cu::unnamed(loop_.getLoc());
    // The first slots - 1 tiles are on their way before the loop starts. Where a tile is may hang on
    // where the one before was (a search): those places run ahead of the loop's own.
    SmallVector<unsigned> places;
    SmallVector<Value> ahead;
    for (auto [i, init] : llvm::enumerate(loop_.getInitArgs()))
      if (init.getType().isIndex()) {
        places.push_back(i);
        ahead.push_back(init);
      }
    if (places.empty() && slots_ > 2) { // as a loop, which is unrolled: the slot's number is a constant again
      auto prologue = scf::ForOp::create(b_, loc, constant(0, loc), constant(slots_ - 1, loc), constant(1, loc));
      prologue->setAttr(cu::kUnrollAttr, b_.getUnitAttr());
      prologue.getInductionVar().setLoc(named("first", loc));
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPoint(prologue.getBody()->getTerminator());
      fill(prologue.getInductionVar(), places, {}, loc);
    } else {
      for (int64_t n = 0; n < slots_ - 1; ++n)
        ahead = fill(constant(n, loc), places, ahead, loc);
    }
    SmallVector<BlockArgument> carried;
    if (!places.empty()) {
      auto added = carry(loop_, ahead);
      if (failed(added))
        return failure();
      carried = *added;
      for (auto [i, arg] : llvm::zip(places, carried))
        arg.setLoc(NameLoc::get(b_.getStringAttr("ahead"), loop_.getRegionIterArg(i).getLoc()));
    }
    // In the loop: tile t is here; start tile t + slots - 1 in the slot that tile
    // t - 1 has left, which the barrier says every thread has finished reading.
    b_.setInsertionPointToStart(loop_.getBody());
    Value t = loop_.getInductionVar();
    AsyncWaitOp::create(b_, loc, slots_ - 2);
    BarrierOp::create(b_, loc);
    auto next = [&] {
      Value number = arith::AddIOp::create(b_, named("ahead", loc), t, constant(slots_ - 1, loc));
      SmallVector<Value> after = fill(number, places, llvm::to_vector_of<Value>(carried), loc);
      for (auto [arg, v] : llvm::zip(carried, after))
        setCarried(arg, v);
    };
    if (!func_.getFillLate())
      next();
    b_.setInsertionPoint(dot_);
    DotOp fed = feed(b_, dot_, staged_[0].ring, staged_[1].ring, t);
    dot_.replaceAllUsesWith(fed.getResult());
    if (func_.getFillLate())
      next();
    if (func_.getUnit() == "wgmma") { // which is done with the slot before the next round's barrier
      auto waited = DotWaitOp::create(b_, loc, fed.getType(), fed, 0);
      fed.getResult().replaceAllUsesExcept(waited, waited);
    }
    dot_.erase();
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
  Value constant(int64_t v, Location loc) { return arith::ConstantIndexOp::create(b_, loc, v); }
  Location named(StringRef name, Location loc) { return NameLoc::get(b_.getStringAttr(name), cu::unnamed(loc)); }

  /// What an operand is called: by itself, or before it was cast and masked.
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
  FailureOr<Staged> stage(Value operand, ArrayRef<int64_t> outer) {
    auto type = cast<RankedTensorType>(operand.getType());
    Staged s{operand, {}, {}};
    int64_t contiguous = -1;
    if (auto load = operand.getDefiningOp<LoadOp>()) {
      contiguous = contiguousDim(func_, load.getBase(), load.getMap(), type.getShape());
      if (isCopyable(load, contiguous))
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
    if (contiguous < 0 || !runsForUnit(type, contiguous)) {
      contiguous = dot_.getK().back();
      s.direct = {};
    }
    // CUDA cores read with plain loads, which the padding serves.
    int64_t bytes = std::max(1u, type.getElementTypeBitWidth() / 8);
    int64_t pad = func_.getUnit() == "simt" ? paddingOf(type.getDimSize(contiguous), bytes) : kSwizzled;
    auto ring = RingType::get(b_.getContext(), type.getShape(), type.getElementType(), slots_, contiguous, pad);
    s.ring = RingOp::create(b_, named(nameOf(operand), operand.getLoc()), ring);
    return s;
  }

  /// Warpgroup products find bytes and words only where these run along what is summed.
  bool runsForUnit(RankedTensorType type, int64_t contiguous) {
    return func_.getUnit() != "wgmma" || type.getElementTypeBitWidth() == 16 || llvm::is_contained(dot_.getK(), contiguous);
  }

  /// CUDA cores multiply vectors of rows by vectors of columns. An operand whose neighbours run along k is turned
  /// on its way, where elements can be copied one by one: in registers, vectors along k take as many registers for
  /// each of their k (f32 4096³ on an H200: 175 instead of 128, one block instead of two, 0.85 instead of 0.94 of cuBLAS).
  bool isCopiedAcross(LoadOp load, int64_t contiguous, ArrayRef<int64_t> outer) {
    auto type = cast<RankedTensorType>(load.getResult().getType());
    int64_t bits = type.getElementTypeBitWidth();
    const Target *target = findTarget(absl::string_view(func_.getTarget().data(), func_.getTarget().size()));
    return func_.getUnit() == "simt" && target && target->asyncCopy && bits >= 32 && llvm::is_contained(dot_.getK(), contiguous) &&
           !outer.empty() && type.getDimSize(outer.back()) * bits >= 128;
  }

  /// Neighbours of at least 4 bytes, and zero for what lies outside.
  bool isCopyable(LoadOp load, int64_t dim) {
    if (dim < 0 || !load.getIndexTiles().empty())
      return false;
    auto mode = load.getBounds();
    // A vector must not straddle the border along its own dim.
    if (mode == te::BoundsMode::Pad)
      for (AffineExpr e : load.getMap().getResults())
        if (e.isFunctionOfDim(dim) && !isa<AffineDimExpr>(e))
          return false;
    if (mode != te::BoundsMode::InBounds && mode != te::BoundsMode::Assume && !isZeroPadded(load))
      return false;
    auto type = cast<RankedTensorType>(load.getResult().getType());
    int64_t bytes = std::max(1u, type.getElementTypeBitWidth() / 8);
    int64_t v = provableVector(func_, load.getBase(), load.getMap(), dim, llvm::is_contained(load.getMask(), dim),
                               std::min<int64_t>(16 / bytes, type.getDimSize(dim)));
    return v * bytes >= 4;
  }

  /// Starts filling both rings with tile `number`, if there is one. `before`: what the values that the
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
          RingCopyOp::create(b_, s.direct.getLoc(), s.ring, number, s.direct.getBase(), s.direct.getMap(), offsets, Value(), false,
                             s.direct.getMask(), s.direct.getBounds(), /*rounded=*/false, s.direct.getStreaming());
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
  DotOp dot_;
  OpBuilder b_;
  int64_t slots_ = 2;
  SmallVector<Staged, 2> staged_;
};

/// Rings filled by tensor copies: the filling warp waits for `empty`, the reading warps wait for
/// `full`; there is no barrier of the block.
class ChannelPipeliner {
public:
  ChannelPipeliner(FuncOp func, scf::ForOp loop, DotOp dot) : func_(func), loop_(loop), dot_(dot), b_(loop) {}

  LogicalResult run() {
    Location loc = loop_.getLoc();
    int64_t slots = std::max<int64_t>(2, func_.getStages());
    liftScalars();
    // What travels by tensor copies: an operand as it lies in memory, or what the first is computed from.
    // Masks of what lies in memory are applied in the slots.
    SmallVector<MaskOp> masks{takeMask(dot_.getAMutable()), takeMask(dot_.getBMutable())};
    SmallVector<LoadOp> loads;
    bool direct = isBox(dot_.getA()), inRegisters = !direct || needsRegisters(dot_.getA().getDefiningOp<LoadOp>());
    if (direct)
      loads.push_back(dot_.getA().getDefiningOp<LoadOp>());
    else
      loads = boxesBehind(dot_.getA());
    if (loads.empty() || !isBox(dot_.getB()))
      return mlir::emitError(te::getScheduleLoc(dot_))
             << "this product needs operands that are loaded as they stand, the first perhaps computed from such: producer warps only copy";
    if (!direct && dot_.getARounded())
      return mlir::emitError(te::getScheduleLoc(dot_)) << "this product rounds a first operand that is computed: only tensor copies round";
    if (!direct && func_.getUnit() != "wgmma")
      return mlir::emitError(te::getScheduleLoc(dot_))
             << "this product computes its first operand, which unit " << func_.getUnit()
             << " takes from shared memory: no warp that only copies can fill it; use the unit wgmma, or no producer "
                "warps";
    loads.push_back(dot_.getB().getDefiningOp<LoadOp>());
    // Rings are read by warps themselves where their elements pass through registers.
    int64_t reader = func_.getUnit() == "wgmma" && !inRegisters ? 128 : 32;
    OpBuilder setup = OpBuilder::atBlockBegin(&func_.getBlock());
    SmallVector<Value> rings;
    int64_t bytes = 0;
    for (LoadOp load : loads) {
      auto type = load.getResult().getType();
      int64_t contiguous = contiguousRun(func_, load.getBase(), load.getMap(), type.getShape()).dim;
      if (contiguous < 0)
        return mlir::emitError(te::getScheduleLoc(load))
               << "no tensor copy can bring this operand to producer warps' slots: it is contiguous along no index";
      SmallVector<int64_t> box = boxShape(load.getMap(), type.getShape());
      // Vectors along rows of slots meet each bank once as they are.
      bool isPlain = func_.getUnit() == "simt" && !llvm::is_contained(dot_.getK(), contiguous);
      auto ring = RingType::get(b_.getContext(), box, type.getElementType(), slots, contiguous, isPlain ? 0 : kSwizzled);
      rings.push_back(RingOp::create(setup, load.getLoc(), ring));
      bytes += llvm::product_of(box) * type.getElementTypeBitWidth() / 8;
    }
    Value channel = ChannelOp::create(setup, loc, ChannelType::get(b_.getContext(), slots, reader));
    FailureOr<Value> before = countBefore(loc);
    if (failed(before))
      return failure();
    b_.setInsertionPoint(*llvm::min_element(loads, [](LoadOp x, LoadOp y) { return x->isBeforeInBlock(y); }));
    Value number = loop_.getInductionVar();
    if (*before)
      number = arith::AddIOp::create(b_, named("number", loc), *before, number);
    AcquireOp::create(b_, loc, channel, number, bytes);
    for (auto [load, ring] : llvm::zip(loads, rings)) {
      auto copy = RingCopyOp::create(b_, load.getLoc(), ring, number, load.getBase(), load.getMap(), load.getOffsets(), channel, false,
                                     load.getMask(), load.getBounds(), /*rounded=*/false, load.getStreaming());
      std::string why;
      std::optional<Box> box = findBox(func_, copy, why);
      if (!box)
        return mlir::emitError(te::getScheduleLoc(load)) << "no tensor copy can bring this operand to producer warps' slots: " << why;
      // What every block of a cluster reads, each brings a part of.
      int64_t blocks = func_.getCluster();
      bool isB = load == loads.back();
      copy.setRounded(isB ? dot_.getBRounded() : direct && dot_.getARounded());
      copy.setMulticast(blocks > 1 && !load.getMap().isFunctionOfDim(func_.getClusterIndex()) && canShareBox(*box, blocks));
    }
    AwaitOp::create(b_, loc, channel, number);
    Value a = rings.front();
    if (!direct) {
      for (auto [load, ring] : llvm::zip(ArrayRef(loads).drop_back(), rings)) {
        LoadOp from = load;
        from.getResult().replaceAllUsesWith(RingLoadOp::create(b_, from.getLoc(), from.getResult().getType(), ring, number).getResult());
      }
      a = dot_.getA();
    }
    b_.setInsertionPoint(dot_);
    SmallVector<Value> masked{rings.front(), rings.back()};
    for (auto [mask, ring] : llvm::zip(masks, masked))
      if (mask) {
        auto slot = RingMaskOp::create(b_, mask.getLoc(), ring, number, mask.getOffsets(), mask.getAll());
        slot.getCondition().takeBody(mask.getCondition());
        mask.erase();
      }
    if (direct && inRegisters)
      a = RingLoadOp::create(b_, loads.front().getLoc(), dot_.getA().getType(), rings.front(), number);
    DotOp fed = feed(b_, dot_, a, rings.back(), number);
    fed.setARounded(false); // tensor copies have rounded
    fed.setBRounded(false);
    // What of this round the next one is free to run beside: the product where its accumulators are
    // carried on and its operands lie in slots. Registers are written anew: their product has been waited for.
    bool overlaps = func_.getUnit() != "simt" && !inRegisters && !dot_.getAcc().getDefiningOp<arith::ConstantOp>();
    bool inChunks = allRounds() != loop_;
    Value waited = DotWaitOp::create(b_, loc, fed.getType(), fed, overlaps ? 1 : 0);
    if (overlaps) { // the one before has been waited for, and its slot is free
      Value first = inChunks ? loop_.getLowerBound() : constant(0, loc);
      releaseIf(arith::CmpIOp::create(b_, named("has_previous", loc), arith::CmpIPredicate::sgt, loop_.getInductionVar(), first),
                arith::SubIOp::create(b_, named("previous", loc), number, constant(1, loc)), channel, loc);
    } else
      ReleaseOp::create(b_, loc, channel, number, /*taken=*/inRegisters && isTakenBy(fed));
    auto result = llvm::find_if(loop_.getResults(), [&](OpResult r) { return r.getType() == fed.getType(); });
    dot_.replaceAllUsesWith(waited);
    dot_.erase();
    eraseUnused(loop_);

    auto finish = [&](scf::ForOp loop, Value acc) { // where the product, or a chunk of it, ends
      b_.setInsertionPointAfter(loop);
      auto done = DotWaitOp::create(b_, loc, acc.getType(), acc, 0);
      acc.replaceAllUsesExcept(done, done);
    };
    if (inChunks)
      finish(allRounds(), allRounds().getResult(0));
    finish(loop_, *result);
    if ((*before || inChunks) && overlaps) { // the last slot too, for the tile or chunk that follows
      Value end = loop_.getUpperBound(), next = *before ? arith::AddIOp::create(b_, named("next", loc), *before, end).getResult() : end;
      Value holdsOne = arith::CmpIOp::create(b_, named("has_last", loc), arith::CmpIPredicate::sgt, end, constant(0, loc));
      releaseIf(holdsOne, arith::SubIOp::create(b_, named("last", loc), next, constant(1, loc)), channel, loc);
    }
    return success();
  }

private:
  Value constant(int64_t v, Location loc) { return arith::ConstantIndexOp::create(b_, loc, v); }
  Location named(StringRef name, Location loc) { return NameLoc::get(b_.getStringAttr(name), cu::unnamed(loc)); }

  /// Whether a tensor copy can bring an operand as it stands.
  static bool isBox(Value operand) {
    auto load = operand.getDefiningOp<LoadOp>();
    return load && load.getIndexTiles().empty() && (!load.getPadding() || isZeroPadded(load));
  }

  /// Whether warpgroup products do not find an operand in slots: words that run along rows, not along what is summed.
  bool needsRegisters(LoadOp load) {
    auto type = load.getResult().getType();
    return func_.getUnit() == "wgmma" && type.getElementTypeBitWidth() == 32 &&
           !llvm::is_contained(dot_.getK(), contiguousDim(func_, load.getBase(), load.getMap(), type.getShape()));
  }

  /// Whether all that this loop reads of slots for the first operand of a product goes into that alone, so that
  /// the product has taken it when it has been waited for.
  bool isTakenBy(DotOp dot) {
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [&](Operation *op) { return op->getBlock() == loop_.getBody(); };
    (void)getBackwardSlice(dot.getA(), &slice, options);
    return llvm::all_of(slice, [&](Operation *op) {
      bool isTile = llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
      return !isTile || llvm::all_of(op->getUsers(), [&](Operation *user) { return user == dot || user == dot_ || slice.contains(user); });
    });
  }

  /// Takes a mask of a box off an operand; null where there is none.
  static MaskOp takeMask(OpOperand &operand) {
    auto mask = operand.get().getDefiningOp<MaskOp>();
    if (mask)
      operand.set(mask.getValue());
    return mask;
  }

  /// The loads in this loop that an operand is computed from and that have as many points.
  SmallVector<LoadOp> boxesBehind(Value operand) {
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.filter = [&](Operation *op) { return op->getBlock() == loop_.getBody(); };
    (void)getBackwardSlice(operand, &slice, options);
    SmallVector<LoadOp> loads;
    for (Operation &op : *loop_.getBody())
      if (auto load = dyn_cast<LoadOp>(op); load && slice.contains(load) && isBox(load) &&
                                            load.getResult().getType().getShape() == cast<RankedTensorType>(operand.getType()).getShape())
        loads.push_back(load);
    return loads;
  }

  /// Index arithmetic first, so that the filling warp starts all copies of a round at one place.
  void liftScalars() {
    Operation *front = nullptr; // the first that is none
    for (Operation &op : llvm::make_early_inc_range(loop_.getBody()->without_terminator())) {
      if (!isScalarCode(&op))
        front = front ? front : &op;
      else if (front)
        op.moveBefore(front);
    }
  }

  /// The loop over all rounds: the one around this one, where this one walks a chunk of its rounds at a time.
  scf::ForOp allRounds() {
    auto chunks = dyn_cast<scf::ForOp>(loop_->getParentOp());
    return chunks && loop_.getLowerBound() == chunks.getInductionVar() ? chunks : loop_;
  }

  /// How many tiles the earlier rounds of the loop around this one have put into the
  /// rings, carried by that loop; null when there is none.
  FailureOr<Value> countBefore(Location loc) {
    Operation *parent = allRounds()->getParentOp();
    if (parent == func_)
      return Value();
    auto outer = dyn_cast<scf::ForOp>(parent);
    if (!outer || outer->getParentOp() != func_ || outer.getNumResults())
      return loop_.emitOpError() << "stands in a loop whose rounds cannot be counted";
    return carryCount(outer, "filled", loc, [&](OpBuilder &b, Value filled) -> Value {
      return arith::AddIOp::create(b, named("next", loc), filled, allRounds().getUpperBound());
    });
  }

  void releaseIf(Value condition, Value number, Value channel, Location loc) {
    auto branch = scf::IfOp::create(b_, loc, condition, false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(branch.thenBlock()->getTerminator());
    ReleaseOp::create(b_, loc, channel, number);
  }

  FuncOp func_;
  scf::ForOp loop_;
  DotOp dot_;
  OpBuilder b_;
};

struct TilePipelinePass : impl::TilePipelineBase<TilePipelinePass> {
  void runOnOperation() override {
    SmallVector<DotOp> dots;
    getOperation().walk([&](DotOp dot) {
      if (!dot.getNumber())
        dots.push_back(dot);
    });
    for (DotOp dot : dots) {
      auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
      if (!loop) {
        dot.emitOpError() << "stands in no loop over its reduced indices";
        return signalPassFailure();
      }
      FuncOp func = getOperation();
      if (failed(func.getProducerWarps() ? ChannelPipeliner(func, loop, dot).run() : LoopPipeliner(func, loop, dot).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
} // namespace kernelc
