// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands in rings that warps which only fill bring, by tensor copies or element by element: they wait for `empty`, the
// reading warps wait for `full`; there is no barrier of the block.
#include "ir/cu/Cu.h"
#include "ir/te/ScheduleLoc.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "passes/tile/Access.h"
#include "passes/tile/ByData.h"
#include "passes/tile/FillNumbers.h"
#include "passes/tile/Pipeliners.h"
#include "passes/tile/Supplies.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

namespace {

/// Where a box lies, from its load's place on.
struct Slot {
  Value ring;
  AcquireOp filled; ///< stands where it is filled, and says by which number (loops that carry more have other arguments)

  Value channel() { return filled.getChannel(); }
  Value number() { return filled.getNumber(); }
};

/// Index arithmetic first, so that the filling warp starts all copies of a round at one place.
void liftScalars(scf::ForOp loop) {
  Operation *front = nullptr; // the first that is none
  for (Operation &op : llvm::make_early_inc_range(loop.getBody()->without_terminator())) {
    if (!isScalarCode(&op))
      front = front ? front : &op;
    else if (front)
      op.moveBefore(front);
  }
}

class ChannelPipeliner {
public:
  ChannelPipeliner(FuncOp func) : func_(func), b_(func.getContext()), supplies_(func), numbers_(func, b_) {}

  LogicalResult run(ArrayRef<DotOp> dots) {
    llvm::SmallSetVector<Operation *, 4> loops;
    for (DotOp dot : dots)
      loops.insert(dot->getParentOp());
    for (Operation *loop : loops)
      liftScalars(cast<scf::ForOp>(loop));
    if (failed(supplies_.find(dots)))
      return failure();
    for (auto [n, supply] : llvm::enumerate(supplies_.all()))
      if (failed(pipeline(supply, n)))
        return failure();
    for (LoadOp load : once_)
      if (load->use_empty())
        load->erase();
    return success();
  }

private:
  Value constant(int64_t v, Location loc) { return arith::ConstantIndexOp::create(b_, loc, v); }
  Location named(StringRef name, Location loc) { return NameLoc::get(b_.getStringAttr(name), cu::unnamed(loc)); }

  /// Loads what lies in a slot before the loop in which `fed` reads it, and lets go of the slot.
  Value holdInRegisters(LoadOp load, Slot slot, DotOp fed) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(slot.filled->getBlock()->findAncestorOpInBlock(*fed));
    Value held = RingLoadOp::create(b_, load.getLoc(), load.getResult().getType(), slot.ring, slot.number());
    ReleaseOp::create(b_, slot.filled.getLoc(), slot.channel(), slot.number());
    released_.insert(load);
    return held;
  }

  /// The slot to which the threads that multiply write the first operand of `dot`, which is `fed` of it: each has a part that others read.
  /// It is free once all have waited for the product of the round before, and the unit reads what all have written. Its rows run along
  /// the dot's own, as registers do.
  void writeAcross(DotOp dot, DotOp fed) {
    Location loc = cu::unnamed(dot.getLoc());
    auto type = cast<RankedTensorType>(dot.getA().getType());
    auto several = [&](int64_t d) { return type.getDimSize(d) > 1; };
    auto rows = llvm::find_if(llvm::reverse(dot.getM()), several);
    int64_t along = rows == llvm::reverse(dot.getM()).end() ? dot.getM().back() : *rows;
    auto ring = RingType::get(func_.getContext(), type.getShape(), type.getElementType(), 1, along, kSwizzled);
    OpBuilder setup = OpBuilder::atBlockBegin(&func_.getBlock());
    Value slot = RingOp::create(setup, dot.getA().getLoc(), ring);
    b_.setInsertionPoint(fed);
    Value number = constant(0, loc);
    BarrierOp::create(b_, loc);
    RingStoreOp::create(b_, loc, slot, number, dot.getA());
    AsyncWaitOp::create(b_, loc, 0);
    BarrierOp::create(b_, loc);
    fed.getAMutable().assign(slot);
    fed.getANumberMutable().assign(number);
  }

  /// Product number `n`: its operands into slots, itself onto them, its result waited for, and the slots let go.
  LogicalResult pipeline(Supply &s, size_t n) {
    SmallVector<Supply *> together = supplies_.sideBySide(s);
    bool isWaitedForLater = supplies_.findNext(s) || (together.size() > 1 && together.back() != &s); // behind the last of them
    if (failed(bring(s, together)))
      return failure();
    DotOp dot = s.dot, fed = feed(s);
    scf::ForOp loop = s.loop();
    Location loc = loop.getLoc();
    b_.setInsertionPointAfter(fed);
    if (isWaitedForLater) {
      dot.replaceAllUsesWith(fed.getResult());
      dot.erase();
      s.dot = fed;
      return success();
    }
    bool alone = llvm::all_of(loop.getOps<DotOp>(), [&](DotOp other) { return other == dot || other == fed; });
    bool overlaps = supplies_.runsOn(s) && (alone || together.size() > 1);
    SmallVector<Value> finished; // sums of this round that are waited for now
    for (Supply *other : ArrayRef(together).drop_back()) {
      DotOp before = other->dot;
      auto waited = DotWaitOp::create(b_, loc, before.getType(), before, int64_t(together.size()));
      before.getResult().replaceAllUsesExcept(waited, waited);
      finished.push_back(waited);
    }
    Value waited = DotWaitOp::create(b_, loc, fed.getType(), fed, overlaps ? int64_t(together.size()) : 0);
    finished.push_back(waited);
    if (overlaps)
      releasePrevious(s);
    else
      releaseIn(loop.getBody(), s, n, s.inRegisters && isTakenBy(fed, dot), loc);
    dot.replaceAllUsesWith(waited);
    dot.erase();
    s.dot = fed;
    eraseUnused(loop, [&](Operation *op) { // masks of products whose turn comes yet are applied in their slots
      return isa<MaskOp>(op) && llvm::any_of(supplies_.all().drop_front(n + 1), [&](const Supply &other) {
               return cast<MaskOp>(op) == other.aMask || cast<MaskOp>(op) == other.bMask;
             });
    });
    for (Value sum : finished)
      finish(loop, sum, loc);
    if (overlaps)
      releaseLast(s);
    releaseOnce(s, n);
    return success();
  }

  /// Brings what `s` is the first to read. What is filled at one place and read first by one product, or by products side by side
  /// (`together`), is filled together.
  LogicalResult bring(Supply &s, ArrayRef<Supply *> together) {
    llvm::MapVector<Block *, SmallVector<LoadOp>> places;
    for (Supply *other : together)
      for (LoadOp load : other->loads())
        if (!slots_.count(load) && !llvm::is_contained(places[load->getBlock()], load))
          places[load->getBlock()].push_back(load);
    if (places.count(s.loop().getBody()))
      llvm::append_range(places[s.loop().getBody()], supplies_.vectorsOf(s));
    for (Supply *next = supplies_.findFilledWith(s); next; next = supplies_.findFilledWith(*next))
      for (LoadOp load : next->loads())
        if (!slots_.count(load) && places.count(load->getBlock()) && !llvm::is_contained(places[load->getBlock()], load))
          places[load->getBlock()].push_back(load);
    for (auto &[block, loads] : places) // (a block may be another one by then)
      if (failed(fill(s, loads)))
        return failure();
    return success();
  }

  /// The product of `s` on slots, before it; its masks are applied there.
  DotOp feed(Supply &s) {
    DotOp dot = s.dot;
    Slot second = slots_.lookup(s.second);
    b_.setInsertionPoint(dot);
    for (auto [mask, load] : {std::pair(s.aMask, s.first.empty() ? LoadOp() : s.first.front()), std::pair(s.bMask, s.second)})
      if (mask) {
        Slot at = slots_.lookup(load);
        auto slot = RingMaskOp::create(b_, mask.getLoc(), at.ring, at.number(), mask.getOffsets(), mask.getAll());
        slot.getCondition().takeBody(mask.getCondition());
        mask.erase();
      }
    auto fed = cast<DotOp>(b_.clone(*dot));
    fed.getBMutable().assign(second.ring);
    fed.getNumberMutable().assign(second.number());
    if (s.direct) {
      Slot first = slots_.lookup(s.first.front());
      Value a = first.ring;
      if (s.held) {
        a = holdInRegisters(s.first.front(), first, fed);
      } else if (s.inRegisters) {
        b_.setInsertionPoint(fed);
        a = RingLoadOp::create(b_, s.first.front().getLoc(), dot.getA().getType(), first.ring, first.number());
      }
      fed.getAMutable().assign(a);
      if (isa<RingType>(a.getType()) && first.number() != second.number())
        fed.getANumberMutable().assign(first.number());
    }
    if (s.across)
      writeAcross(dot, fed);
    fed.setARounded(false); // tensor copies have rounded
    fed.setBRounded(false);
    return fed;
  }

  /// Lets go of the slot of the round before, whose product has been waited for. The builder stands in the loop.
  void releasePrevious(Supply &s) {
    scf::ForOp loop = s.loop();
    Location loc = loop.getLoc();
    Slot second = slots_.lookup(s.second);
    Value first = allRounds(loop) != loop ? loop.getLowerBound() : constant(0, loc);
    releaseIf(arith::CmpIOp::create(b_, named("has_previous", loc), arith::CmpIPredicate::sgt, loop.getInductionVar(), first),
              arith::SubIOp::create(b_, named("previous", loc), second.number(), constant(1, loc)), second.channel(), loc);
  }

  /// Lets go of the last round's slot, too, for the tile or chunk that follows. The builder stands behind the loop.
  void releaseLast(Supply &s) {
    scf::ForOp loop = s.loop();
    Location loc = loop.getLoc();
    Value before = numbers_.beforeIn(loop);
    if (!before && allRounds(loop) == loop)
      return;
    Slot second = slots_.lookup(s.second);
    Value end = loop.getUpperBound();
    Value next = before ? arith::AddIOp::create(b_, named("next", loc), before, end).getResult() : end;
    Value holdsOne = arith::CmpIOp::create(b_, cu::unnamed(loc), arith::CmpIPredicate::sgt, end, constant(0, loc));
    releaseIf(holdsOne, arith::SubIOp::create(b_, named("last", loc), next, constant(1, loc)), second.channel(), loc);
  }

  /// Lets go of what is filled once for all rounds.
  void releaseOnce(Supply &s, size_t n) {
    scf::ForOp loop = s.loop();
    for (Block *block = loop->getBlock(); block; block = block->getParentOp()->getBlock()) {
      Operation *end = block->findAncestorOpInBlock(*s.dot);
      while (isa_and_nonnull<DotWaitOp>(end->getNextNode()))
        end = end->getNextNode();
      b_.setInsertionPointAfter(end);
      releaseIn(block, s, n, /*taken=*/false, loop.getLoc());
      if (block->getParentOp() == func_)
        break;
    }
  }

  /// The slots that loads of one block are brought to together.
  struct Filled {
    SmallVector<RingType> types{};
    SmallVector<bool> byThreads{};
    int64_t bytes = 0; ///< that tensor copies bring
    SmallVector<Value> rings{};
    Value channel{}, number{};
  };

  FailureOr<Filled> describeSlots(DotOp dot, ArrayRef<LoadOp> loads) {
    Filled f;
    for (LoadOp load : loads) {
      RingType ring = supplies_.ringOf(load, dot);
      if (!ring)
        return mlir::emitError(te::getScheduleLoc(load))
               << "no tensor copy can bring this operand to producer warps' slots: it is contiguous along no index";
      f.types.push_back(ring);
      f.byThreads.push_back(supplies_.isCopiedByThreads(load, dot));
      if (!f.byThreads.back())
        f.bytes += llvm::product_of(ring.getShape()) * load.getResult().getType().getElementTypeBitWidth() / 8;
    }
    return f;
  }

  /// Whether all threads that multiply meet once each has read `load` from its slot: an operand that is made of it is written across.
  bool isReadBeforeMeeting(LoadOp load) {
    return llvm::any_of(supplies_.all(), [&](Supply &other) {
      if (!other.across || other.loop().getBody() != load->getBlock())
        return false;
      llvm::SetVector<Operation *> made;
      made.insert(other.dot.getA().getDefiningOp());
      for (size_t i = 0; i < made.size(); ++i)
        for (Value operand : made[i] ? made[i]->getOperands() : ValueRange())
          if (Operation *def = operand.getDefiningOp(); def && def->getBlock() == load->getBlock())
            made.insert(def);
      return made.contains(load);
    });
  }

  ChannelType channelOf(const Filled &f, ArrayRef<LoadOp> loads) {
    // Rings are read by warps themselves where their elements pass through registers.
    bool byWarps = func_.getUnit() != Unit::Wgmma ||
                   llvm::any_of(loads, [&](LoadOp load) { return supplies_.isVector(load) && !isReadBeforeMeeting(load); }) ||
                   llvm::any_of(supplies_.all(), [&](const Supply &other) {
                     return (other.inRegisters || other.held) &&
                            llvm::any_of(loads, [&](LoadOp load) { return llvm::is_contained(other.first, load); });
                   });
    int64_t fillers = llvm::is_contained(f.byThreads, true) ? int64_t(func_.getProducerWarps()) * 32 : 0;
    return ChannelType::get(b_.getContext(), RingType(f.types.front()).getSlots(), byWarps ? 32 : 128, fillers);
  }

  /// Rings, a channel and the number by which `place` fills them: those of a loop before it where they may be the same.
  LogicalResult makeSlots(Filled &f, ArrayRef<LoadOp> loads, Operation *place, bool eachRound, Location loc) {
    OpBuilder setup = OpBuilder::atBlockBegin(&func_.getBlock());
    ChannelType channelType = channelOf(f, loads);
    FillNumbers::Family *before = numbers_.findFamily(place, f.types, channelType);
    for (auto [n, type] : llvm::enumerate(f.types))
      f.rings.push_back(RingOp::create(setup, LoadOp(loads[n]).getLoc(), type, before ? before->rings[n] : Value()));
    f.channel = before ? before->channel : Value(ChannelOp::create(setup, loc, channelType));
    if (before) // (rings come behind those in which they lie)
      for (Value ring : llvm::reverse(f.rings))
        ring.getDefiningOp()->moveAfter(before->rings.back().getDefiningOp());
    FailureOr<Value> number = before ? FailureOr<Value>(numbers_.numberBehind(*before, place, loc)) : numbers_.numberAt(place, loc);
    if (failed(number))
      return failure();
    f.number = *number;
    if (before)
      before->last = cast<scf::ForOp>(place->getParentOp());
    else if (eachRound)
      numbers_.add({f.types, channelType, f.rings, f.channel, cast<scf::ForOp>(place->getParentOp())});
    return success();
  }

  /// Has a tensor copy bring what `copy` stands for.
  LogicalResult makeTensorCopy(RingCopyOp copy, LoadOp load) {
    std::string why;
    std::optional<Box> box = findBox(func_, copy, why);
    if (!box)
      return mlir::emitError(te::getScheduleLoc(load)) << "no tensor copy can bring this operand to producer warps' slots: " << why;
    // What every block of a cluster reads, each brings a part of.
    int64_t blocks = func_.getCluster();
    copy.setRounded(supplies_.isRounded(load));
    copy.setMulticast(blocks > 1 && !load.getMap().isFunctionOfDim(func_.getClusterIndex()) && canShareBox(*box, blocks));
    return success();
  }

  /// Brings `loads`, which stand in one block, to slots from where the first of them stands.
  LogicalResult fill(const Supply &s, ArrayRef<LoadOp> loads) {
    DotOp dot = s.dot;
    Location loc = dot->getParentOp()->getLoc();
    bool eachRound = loads.front()->getBlock() == dot->getBlock();
    FailureOr<Filled> f = describeSlots(dot, loads);
    Operation *place = *llvm::min_element(loads, [](LoadOp x, LoadOp y) { return x->isBeforeInBlock(y); });
    if (failed(f) || failed(makeSlots(*f, loads, place, eachRound, loc)))
      return failure();
    llvm::DenseMap<Operation *, SmallVector<Value>> byData; // asked for before slots are waited for
    for (LoadOp load : loads)
      byData[load] = makeByPieces(b_, func_, load);
    auto filled = AcquireOp::create(b_, loc, f->channel, f->number, f->bytes);
    for (auto [from, ring, isByThreads] : llvm::zip(loads, f->rings, f->byThreads)) {
      LoadOp load = from;
      slots_[load] = {ring, filled};
      if (!eachRound)
        once_.push_back(load);
      auto copy = RingCopyOp::create(b_, load.getLoc(), ring, f->number, load, load.getOffsets(), f->channel);
      copy.getIndicesMutable().assign(byData[load]);
      if (size_t each = load.getIndexTiles().size(); each && byData[load].size() > each)
        copy.setAlong(findPieces(load.getMap(), load.getResult().getType().getShape())->along);
      copy.setByThreads(isByThreads);
      if (!isByThreads && failed(makeTensorCopy(copy, load)))
        return failure();
    }
    if (llvm::is_contained(f->byThreads, true))
      FilledOp::create(b_, loc, f->channel, f->number);
    AwaitOp::create(b_, loc, f->channel, f->number);
    for (auto [from, ring] : llvm::zip(loads, f->rings))
      if (supplies_.isVector(from))
        readWhereUsed(from, ring, f->number);
    for (auto [from, ring] : llvm::zip(loads, f->rings)) // (an operand that is one of them is masked in its slot first)
      if (LoadOp load = from; s.inRegisters && !s.direct && load != s.second) {
        Value v = load.getResult();
        v.replaceAllUsesWith(RingLoadOp::create(b_, load.getLoc(), v.getType(), ring, f->number));
      }
    return success();
  }

  /// Reads a vector from its slot where it is needed first.
  void readWhereUsed(LoadOp load, Value ring, Value number) {
    OpBuilder::InsertionGuard guard(b_);
    Operation *first = load->getBlock()->getTerminator();
    for (Operation *user : load->getUsers())
      if (Operation *own = load->getBlock()->findAncestorOpInBlock(*user); own->isBeforeInBlock(first))
        first = own;
    if (b_.getInsertionPoint() == load->getBlock()->end() || !first->isBeforeInBlock(&*b_.getInsertionPoint()))
      b_.setInsertionPoint(first);
    load.getResult().replaceAllUsesWith(RingLoadOp::create(b_, load.getLoc(), load.getResult().getType(), ring, number));
  }

  /// Releases what was filled in `block` and dot number `n` is the last to read. The builder stands in that block.
  void releaseIn(Block *block, const Supply &s, size_t n, bool taken, Location loc) {
    SmallVector<Value> released;
    SmallVector<LoadOp> all(s.over);
    llvm::append_range(all, s.loads());
    for (LoadOp load : all) {
      Slot slot = slots_.lookup(load);
      if (slot.filled->getBlock() != block || released_.contains(load) || supplies_.lastReaderOf(load) != n ||
          llvm::is_contained(released, slot.channel()))
        continue;
      released.push_back(slot.channel());
      ReleaseOp::create(b_, loc, slot.channel(), slot.number(), taken);
    }
  }

  /// Whether all that this loop reads of slots for the first operand of a product goes into that alone, so that
  /// the product has taken it when it has been waited for.
  static bool isTakenBy(DotOp fed, DotOp old) {
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [&](Operation *op) { return op->getBlock() == fed->getBlock(); };
    (void)getBackwardSlice(fed.getA(), &slice, options);
    return llvm::all_of(slice, [&](Operation *op) {
      bool isTile = llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
      return !isTile || llvm::all_of(op->getUsers(), [&](Operation *user) { return user == fed || user == old || slice.contains(user); });
    });
  }

  /// Where a product's sum, or a chunk of it, ends: behind the loop that carries it. The builder is left there.
  void finish(scf::ForOp loop, Value waited, Location loc) {
    std::optional<unsigned> position;
    for (auto [n, yielded] : llvm::enumerate(loop.getYieldedValues()))
      if (isMadeOf(yielded, waited))
        position = n;
    auto wait = [&](scf::ForOp after, Value acc) {
      b_.setInsertionPointAfter(after);
      auto done = DotWaitOp::create(b_, loc, acc.getType(), acc, 0);
      acc.replaceAllUsesExcept(done, done);
    };
    b_.setInsertionPointAfter(loop);
    if (!position)
      return;
    if (scf::ForOp all = allRounds(loop); all != loop)
      wait(all, all.getResult(0));
    wait(loop, loop.getResult(*position));
  }

  /// Whether `v` is `sum`, or elementwise code adds `sum` to something for it.
  static bool isMadeOf(Value v, Value sum) {
    if (v == sum)
      return true;
    Operation *op = v.getDefiningOp();
    return op && v.getType() == sum.getType() && op->hasTrait<OpTrait::Elementwise>() &&
           llvm::any_of(op->getOperands(), [&](Value operand) { return isMadeOf(operand, sum); });
  }

  void releaseIf(Value condition, Value number, Value channel, Location loc) {
    auto branch = scf::IfOp::create(b_, loc, condition, false);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(branch.thenBlock()->getTerminator());
    ReleaseOp::create(b_, loc, channel, number);
  }

  FuncOp func_;
  OpBuilder b_;
  Supplies supplies_;
  FillNumbers numbers_;
  llvm::DenseSet<Operation *> released_;    ///< loads whose slots are free before the loops that read them
  llvm::DenseMap<Operation *, Slot> slots_; ///< of a load (erased, perhaps)
  SmallVector<LoadOp> once_;                ///< loads that fill slots outside the loops of their products
};

} // namespace

LogicalResult pipelineThroughChannels(FuncOp func, ArrayRef<DotOp> dots) { return ChannelPipeliner(func).run(dots); }

} // namespace kernelc
