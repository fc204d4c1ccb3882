// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operands in rings that warps which only fill bring by tensor copies: they wait for `empty`, the reading warps
// wait for `full`; there is no barrier of the block.
#include "ir/cu/Cu.h"
#include "ir/te/ScheduleLoc.h"
#include "ir/tile/SlotLayout.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/tile/Access.h"
#include "passes/tile/ByData.h"
#include "passes/tile/Carried.h"
#include "passes/tile/Pipeliners.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

namespace {

/// What a dot takes by way of slots.
struct Supply {
  DotOp dot;
  SmallVector<LoadOp> first; ///< what travels for a: itself, or what it is computed from (nothing, where that is another product)
  LoadOp second;
  bool direct = false;      ///< a is what travels for it
  bool inRegisters = false; ///< a passes through registers
  bool held = false;        ///< a is loaded to registers once, before the loop
  MaskOp aMask, bMask;      ///< applied in the slots
  SmallVector<LoadOp> over; ///< what is filled together with its own for dots before it: those slots are free when its own are

  scf::ForOp loop() const { return cast<scf::ForOp>(DotOp(dot)->getParentOp()); }
  SmallVector<LoadOp> loads() const {
    SmallVector<LoadOp> all(first);
    all.push_back(second);
    return all;
  }
};

/// Where a box lies, from its load's place on.
struct Slot {
  Value ring;
  AcquireOp filled; ///< stands where it is filled, and says by which number (loops that carry more have other arguments)

  Value channel() { return filled.getChannel(); }
  Value number() { return filled.getNumber(); }
};

/// Whether a tensor copy can bring an operand as it stands.
bool isBox(Value operand) {
  auto load = operand.getDefiningOp<LoadOp>();
  return load && isSameInPieces(load) && (!load.getPadding() || isZeroPadded(load));
}

/// Takes a mask of a box off an operand; null where there is none.
MaskOp takeMask(OpOperand &operand) {
  auto mask = operand.get().getDefiningOp<MaskOp>();
  if (mask)
    operand.set(mask.getValue());
  return mask;
}

bool holdsDot(Operation *op) {
  return op->walk([](DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

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

/// The loop over all rounds: the one around this one, where this one walks a chunk of its rounds at a time.
scf::ForOp allRounds(scf::ForOp loop) {
  auto chunks = dyn_cast<scf::ForOp>(loop->getParentOp());
  return chunks && loop.getLowerBound() == chunks.getInductionVar() ? chunks : loop;
}

/// Whether the rounds of `loop` count 0, 1, 2, ..
bool countsRounds(scf::ForOp loop) {
  return getConstantIntValue(allRounds(loop).getLowerBound()) == 0 && getConstantIntValue(loop.getStep()) == 1;
}

class ChannelPipeliner {
public:
  ChannelPipeliner(FuncOp func) : func_(func), b_(func.getContext()) {}

  LogicalResult run(ArrayRef<DotOp> dots) {
    llvm::SmallSetVector<Operation *, 4> loops;
    for (DotOp dot : dots)
      loops.insert(dot->getParentOp());
    for (Operation *loop : loops)
      liftScalars(cast<scf::ForOp>(loop));
    for (DotOp dot : dots) {
      FailureOr<Supply> supply = supplyOf(dot);
      if (failed(supply))
        return failure();
      supplies_.push_back(*supply);
    }
    for (auto [n, supply] : llvm::enumerate(supplies_)) {
      for (LoadOp load : supply.loads())
        lastReader_[load] = n;
      if (DotOp(supply.dot).getBRounded())
        rounded_.insert(supply.second);
      if (supply.direct && DotOp(supply.dot).getARounded())
        rounded_.insert(supply.first.front());
    }
    isCrowded_ = isCrowded();
    handOver();
    for (Supply &s : supplies_)
      s.held = canHold(s);
    for (auto [n, supply] : llvm::enumerate(supplies_))
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

  /// What travels by tensor copies: an operand as it lies in memory, or what the first is computed from.
  FailureOr<Supply> supplyOf(DotOp dot) {
    Supply s{dot};
    s.aMask = takeMask(dot.getAMutable());
    s.bMask = takeMask(dot.getBMutable());
    s.direct = isBox(dot.getA());
    s.inRegisters = !s.direct || needsRegisters(dot);
    bool fromProduct = false;
    if (s.direct)
      s.first.push_back(dot.getA().getDefiningOp<LoadOp>());
    else
      s.first = boxesBehind(dot, fromProduct);
    if (fromProduct) // what no tensor copy brings beside the other product's results is loaded by those who multiply
      llvm::erase_if(s.first, [&](LoadOp load) { return !canTravel(load, dot); });
    auto refuse = [&] { return mlir::emitError(te::getScheduleLoc(dot)); };
    if ((s.first.empty() && !fromProduct) || !isBox(dot.getB()))
      return refuse()
             << "this product needs operands that are loaded as they stand, the first perhaps computed from such: producer warps only copy";
    if (!s.direct && dot.getARounded())
      return refuse() << "this product rounds a first operand that is computed: only tensor copies round";
    if (!s.direct && func_.getUnit() != "wgmma")
      return refuse() << "this product computes its first operand, which unit " << func_.getUnit()
                      << " takes from shared memory: no warp that only copies can fill it; use the unit wgmma, or no producer "
                         "warps";
    s.second = dot.getB().getDefiningOp<LoadOp>();
    // (a mask is one round's, and one product's)
    for (auto [mask, load] : {std::pair(s.aMask, s.first.empty() ? LoadOp() : s.first.front()), std::pair(s.bMask, s.second)})
      if (mask && (load->getBlock() != dot->getBlock() ||
                   llvm::any_of(load->getUsers(), [&](Operation *user) { return user != mask && user != dot; })))
        return refuse() << "this product masks an operand in its slot that other rounds or products read, too";
    return s;
  }

  /// The ring that a load's boxes come to; null where it is contiguous along no index.
  RingType ringOf(LoadOp load, DotOp dot) {
    auto type = load.getResult().getType();
    int64_t contiguous = contiguousRun(func_, load.getBase(), load.getMap(), type.getShape()).dim;
    if (contiguous < 0)
      return {};
    bool eachRound = load->getBlock() == dot->getBlock();
    int64_t slots = eachRound ? std::max<int64_t>(2, func_.getStages()) : 1;
    // Vectors along rows of slots meet each bank once as they are.
    bool isPlain = func_.getUnit() == "simt" && !llvm::is_contained(dot.getK(), contiguous);
    return RingType::get(b_.getContext(), boxShape(load.getMap(), type.getShape()), type.getElementType(), slots, contiguous,
                         isPlain ? 0 : kSwizzled);
  }

  bool canTravel(LoadOp load, DotOp dot) {
    RingType ring = ringOf(load, dot);
    std::string why;
    return ring && ring.getElementType().getIntOrFloatBitWidth() >= 8 &&
           findBox(func_, load.getBase(), load.getMap(), load.getBounds(), ring, why);
  }

  /// Whether warpgroup products do not find a in slots: words that run along rows, not along what is summed.
  bool needsRegisters(DotOp dot) {
    auto load = dot.getA().getDefiningOp<LoadOp>();
    auto type = load.getResult().getType();
    return func_.getUnit() == "wgmma" && type.getElementTypeBitWidth() == 32 &&
           !llvm::is_contained(dot.getK(), contiguousDim(func_, load.getBase(), load.getMap(), type.getShape()));
  }

  /// The loads beside `dot` that its first operand is computed from and that have as many points. `fromProduct`: whether it is computed
  /// from what another dot leaves in registers.
  static SmallVector<LoadOp> boxesBehind(DotOp dot, bool &fromProduct) {
    SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.filter = [&](Operation *op) { return op->getBlock() == dot->getBlock() && !holdsDot(op); };
    (void)getBackwardSlice(dot.getA(), &slice, options);
    auto isLeft = [](Value v) { return v.getDefiningOp() && holdsDot(v.getDefiningOp()); };
    fromProduct = isLeft(dot.getA()) || llvm::any_of(slice, [&](Operation *op) { return llvm::any_of(op->getOperands(), isLeft); });
    SmallVector<LoadOp> loads;
    for (Operation &op : *dot->getBlock())
      if (auto load = dyn_cast<LoadOp>(op);
          load && slice.contains(load) && isBox(load) &&
          load.getResult().getType().getShape() == cast<RankedTensorType>(dot.getA().getType()).getShape())
        loads.push_back(load);
    return loads;
  }

  /// Whether the next round may run beside the product: its accumulators are carried on, and its operands lie in slots. (Registers
  /// are written anew: their product has been waited for.)
  bool runsOn(const Supply &s) { return func_.getUnit() != "simt" && !s.inRegisters && isa<BlockArgument>(DotOp(s.dot).getAcc()); }

  /// Whether the first operand of `s` may be loaded to registers once, before the loop of its rounds: nothing else is brought with it.
  bool canHold(Supply &s) {
    if (!func_.getHeld() || func_.getUnit() != "wgmma" || !isPlain(s) || s.dot.getARounded() || !s.over.empty() || findFilledWith(s) ||
        sideBySide(s).size() > 1)
      return false;
    LoadOp load = s.first.front();
    return load->getBlock() != s.dot->getBlock() && s.second->getBlock() == s.dot->getBlock() &&
           load.getResult().getType().getElementTypeBitWidth() == 16 &&
           llvm::count_if(supplies_, [&](const Supply &other) { return llvm::is_contained(other.loads(), load); }) == 1;
  }

  /// Loads what lies in a slot before the loop in which `fed` reads it, and lets go of the slot.
  Value holdInRegisters(LoadOp load, Slot slot, DotOp fed) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(slot.filled->getBlock()->findAncestorOpInBlock(*fed));
    Value held = RingLoadOp::create(b_, load.getLoc(), load.getResult().getType(), slot.ring, slot.number());
    ReleaseOp::create(b_, slot.filled.getLoc(), slot.channel(), slot.number());
    released_.insert(load);
    return held;
  }

  /// The products of a round, where the next round may run beside all of them: they are issued one after the other and waited for
  /// together. Else no product but `s`.
  SmallVector<Supply *> sideBySide(Supply &s) {
    SmallVector<Supply *> all;
    for (Supply &other : supplies_)
      if (other.loop() == s.loop())
        all.push_back(&other);
    bool together = all.size() > 1 && llvm::all_of(all, [&](Supply *other) { return runsOn(*other) && !other->aMask && !other->bMask; });
    return together ? all : SmallVector<Supply *>{&s};
  }

  static bool isPlain(const Supply &x) { return x.direct && !x.inRegisters && !x.aMask && !x.bMask; }

  /// The product of the same round that adds to the sum of `s` and to nothing else; null where there is none. Both are issued one behind
  /// the other, and waited for together.
  Supply *findNext(Supply &s) {
    DotOp dot = s.dot;
    auto next = dot->hasOneUse() ? dyn_cast<DotOp>(*dot->user_begin()) : DotOp();
    if (!next || next.getAcc() != dot.getResult() || next->getBlock() != dot->getBlock() || func_.getUnit() != "wgmma" || !isPlain(s))
      return nullptr;
    auto found = llvm::find_if(supplies_, [&](Supply &other) { return other.dot == next; });
    return found != supplies_.end() && isPlain(*found) ? &*found : nullptr;
  }

  /// The product of the same round whose operands are filled together with those of `s`: the one that goes on from it, or where there are
  /// too few warps to fill all by themselves, the next one that starts from zero as it does.
  Supply *findFilledWith(Supply &s) {
    Supply *next = findNext(s);
    if (next || !isCrowded_ || !isPlain(s))
      return next;
    auto startsAfresh = [&](Supply &x) { return x.dot->getBlock() == s.dot->getBlock() && isPlain(x) && isZeroTile(x.dot.getAcc()); };
    auto after = llvm::find_if(llvm::make_range(&s + 1, supplies_.data() + supplies_.size()), startsAfresh);
    return after != supplies_.data() + supplies_.size() ? &*after : nullptr;
  }

  /// Whether more sets of slots are filled than there are warps that fill.
  bool isCrowded() {
    llvm::SmallPtrSet<Operation *, 8> seen, behind;
    size_t channels = 0;
    for (Supply &s : supplies_) {
      llvm::SmallPtrSet<Block *, 2> places;
      for (LoadOp load : s.loads())
        if (seen.insert(load).second)
          places.insert(load->getBlock());
      channels += behind.contains(s.dot) ? 0 : places.size();
      if (Supply *next = findNext(s))
        behind.insert(next->dot);
    }
    return channels > size_t(func_.getProducerWarps());
  }

  /// Gives what is filled together to the last product that reads of it, to let go of.
  void handOver() {
    for (auto [n, s] : llvm::enumerate(supplies_))
      if (Supply *next = findFilledWith(s)) {
        for (LoadOp load : llvm::concat<LoadOp>(s.over, s.loads())) {
          size_t &last = lastReader_[load];
          last = std::max(last, size_t(next - supplies_.data()));
          next->over.push_back(load);
        }
      }
  }

  LogicalResult pipeline(Supply &s, size_t n) {
    DotOp dot = s.dot;
    scf::ForOp loop = s.loop();
    Location loc = loop.getLoc();
    // What is filled at one place and read first by one product, or by products side by side, is filled together.
    llvm::MapVector<Block *, SmallVector<LoadOp>> places;
    SmallVector<Supply *> together = sideBySide(s);
    for (Supply *other : together)
      for (LoadOp load : other->loads())
        if (!slots_.count(load) && !llvm::is_contained(places[load->getBlock()], load))
          places[load->getBlock()].push_back(load);
    Supply *goesOn = findNext(s);
    for (Supply *next = findFilledWith(s); next; next = findFilledWith(*next))
      for (LoadOp load : next->loads())
        if (!slots_.count(load) && places.count(load->getBlock()) && !llvm::is_contained(places[load->getBlock()], load))
          places[load->getBlock()].push_back(load);
    for (auto &[block, loads] : places) // (a block may be another one by then)
      if (failed(fill(s, loads)))
        return failure();
    Slot second = slots_.lookup(s.second);
    b_.setInsertionPoint(dot);
    for (auto [mask, load] : {std::pair(s.aMask, s.first.empty() ? LoadOp() : s.first.front()), std::pair(s.bMask, s.second)})
      if (mask) {
        Slot at = slots_.lookup(load);
        auto slot = RingMaskOp::create(b_, mask.getLoc(), at.ring, at.number(), mask.getOffsets(), mask.getAll());
        slot.getCondition().takeBody(mask.getCondition());
        mask.erase();
      }
    SmallVector<Value> finished; // sums of this round that are waited for now
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
    fed.setARounded(false); // tensor copies have rounded
    fed.setBRounded(false);
    b_.setInsertionPointAfter(fed);
    bool alone = llvm::all_of(loop.getOps<DotOp>(), [&](DotOp other) { return other == dot || other == fed; });
    bool overlaps = runsOn(s) && (alone || together.size() > 1);
    if (goesOn || (together.size() > 1 && together.back() != &s)) { // waited for behind the last of them
      dot.replaceAllUsesWith(fed.getResult());
      dot.erase();
      s.dot = fed;
      return success();
    }
    for (Supply *other : ArrayRef(together).drop_back()) {
      DotOp before = other->dot;
      auto waited = DotWaitOp::create(b_, loc, before.getType(), before, int64_t(together.size()));
      before.getResult().replaceAllUsesExcept(waited, waited);
      finished.push_back(waited);
    }
    Value waited = DotWaitOp::create(b_, loc, fed.getType(), fed, overlaps ? int64_t(together.size()) : 0);
    finished.push_back(waited);
    bool inChunks = allRounds(loop) != loop;
    if (overlaps) { // the one before has been waited for, and its slot is free
      Value first = inChunks ? loop.getLowerBound() : constant(0, loc);
      releaseIf(arith::CmpIOp::create(b_, named("has_previous", loc), arith::CmpIPredicate::sgt, loop.getInductionVar(), first),
                arith::SubIOp::create(b_, named("previous", loc), second.number(), constant(1, loc)), second.channel(), loc);
    } else {
      releaseIn(loop.getBody(), s, n, s.inRegisters && isTakenBy(fed, dot), loc);
    }
    dot.replaceAllUsesWith(waited);
    dot.erase();
    s.dot = fed;
    eraseUnused(loop, [&](Operation *op) { // masks of products whose turn comes yet are applied in their slots
      return isa<MaskOp>(op) && llvm::any_of(ArrayRef(supplies_).drop_front(n + 1), [&](const Supply &other) {
               return cast<MaskOp>(op) == other.aMask || cast<MaskOp>(op) == other.bMask;
             });
    });
    for (Value sum : finished)
      finish(loop, sum, loc);
    Value before = beforeIn(loop);
    if (overlaps && (before || inChunks)) { // the last slot too, for the tile or chunk that follows
      Value end = loop.getUpperBound();
      Value next = before ? arith::AddIOp::create(b_, named("next", loc), before, end).getResult() : end;
      Value holdsOne = arith::CmpIOp::create(b_, named("has_last", loc), arith::CmpIPredicate::sgt, end, constant(0, loc));
      releaseIf(holdsOne, arith::SubIOp::create(b_, named("last", loc), next, constant(1, loc)), second.channel(), loc);
    }
    // What is filled once for all rounds.
    for (Block *block = loop->getBlock(); block; block = block->getParentOp()->getBlock()) {
      Operation *end = block->findAncestorOpInBlock(*fed);
      while (isa_and_nonnull<DotWaitOp>(end->getNextNode()))
        end = end->getNextNode();
      b_.setInsertionPointAfter(end);
      releaseIn(block, s, n, /*taken=*/false, loc);
      if (block->getParentOp() == func_)
        break;
    }
    return success();
  }

  /// Brings `loads`, which stand in one block, to slots from where the first of them stands.
  LogicalResult fill(const Supply &s, ArrayRef<LoadOp> loads) {
    DotOp dot = s.dot;
    Location loc = dot->getParentOp()->getLoc();
    bool eachRound = loads.front()->getBlock() == dot->getBlock();
    OpBuilder setup = OpBuilder::atBlockBegin(&func_.getBlock());
    SmallVector<RingType> types;
    int64_t bytes = 0;
    for (LoadOp load : loads) {
      RingType ring = ringOf(load, dot);
      if (!ring)
        return mlir::emitError(te::getScheduleLoc(load))
               << "no tensor copy can bring this operand to producer warps' slots: it is contiguous along no index";
      types.push_back(ring);
      bytes += llvm::product_of(ring.getShape()) * load.getResult().getType().getElementTypeBitWidth() / 8;
    }
    int64_t slots = types.front().getSlots();
    // Rings are read by warps themselves where their elements pass through registers.
    bool byWarps = func_.getUnit() != "wgmma" || llvm::any_of(supplies_, [&](const Supply &other) {
                     return (other.inRegisters || other.held) &&
                            llvm::any_of(loads, [&](LoadOp load) { return llvm::is_contained(other.first, load); });
                   });
    auto channelType = ChannelType::get(b_.getContext(), slots, byWarps ? 32 : 128);
    Operation *place = *llvm::min_element(loads, [](LoadOp x, LoadOp y) { return x->isBeforeInBlock(y); });
    Family *before = findFamily(place, types, channelType);
    SmallVector<Value> rings;
    for (auto [n, type] : llvm::enumerate(types))
      rings.push_back(RingOp::create(setup, LoadOp(loads[n]).getLoc(), type, before ? before->rings[n] : Value()));
    Value channel = before ? before->channel : Value(ChannelOp::create(setup, loc, channelType));
    if (before) // (rings come behind those in which they lie)
      for (Value ring : llvm::reverse(rings))
        ring.getDefiningOp()->moveAfter(before->rings.back().getDefiningOp());
    FailureOr<Value> number = before ? FailureOr<Value>(numberBehind(*before, place, loc)) : numberAt(place, loc);
    if (failed(number))
      return failure();
    if (before)
      before->last = cast<scf::ForOp>(place->getParentOp());
    else if (eachRound)
      families_.push_back({types, channelType, rings, channel, cast<scf::ForOp>(place->getParentOp())});
    llvm::DenseMap<Operation *, SmallVector<Value>> byData; // asked for before slots are waited for
    for (LoadOp load : loads)
      byData[load] = makeByPieces(b_, func_, load);
    auto filled = AcquireOp::create(b_, loc, channel, *number, bytes);
    for (auto [from, ring] : llvm::zip(loads, rings)) {
      LoadOp load = from;
      auto copy = RingCopyOp::create(b_, load.getLoc(), ring, *number, load, load.getOffsets(), channel);
      copy.getIndicesMutable().assign(byData[load]);
      if (size_t each = load.getIndexTiles().size(); each && byData[load].size() > each)
        copy.setAlong(findPieces(load.getMap(), load.getResult().getType().getShape())->along);
      std::string why;
      std::optional<Box> box = findBox(func_, copy, why);
      if (!box)
        return mlir::emitError(te::getScheduleLoc(load)) << "no tensor copy can bring this operand to producer warps' slots: " << why;
      // What every block of a cluster reads, each brings a part of.
      int64_t blocks = func_.getCluster();
      copy.setRounded(rounded_.contains(load));
      copy.setMulticast(blocks > 1 && !load.getMap().isFunctionOfDim(func_.getClusterIndex()) && canShareBox(*box, blocks));
      slots_[load] = {ring, filled};
      if (!eachRound)
        once_.push_back(load);
    }
    AwaitOp::create(b_, loc, channel, *number);
    for (auto [from, ring] : llvm::zip(loads, rings)) // (an operand that is one of them is masked in its slot first)
      if (LoadOp load = from; s.inRegisters && !s.direct && load != s.second) {
        Value v = load.getResult();
        v.replaceAllUsesWith(RingLoadOp::create(b_, load.getLoc(), v.getType(), ring, *number));
      }
    return success();
  }

  /// Rings that a loop fills, and loops that follow it beside it.
  struct Family {
    SmallVector<RingType> types;
    ChannelType channelType;
    SmallVector<Value> rings;
    Value channel;
    scf::ForOp last;
  };

  /// The rings of an earlier loop that lies beside the one around `place`, where their slots are as those that it needs.
  Family *findFamily(Operation *place, ArrayRef<RingType> types, ChannelType channel) {
    auto loop = dyn_cast<scf::ForOp>(place->getParentOp());
    auto hasSlotsOf = [](RingType x, RingType y) {
      auto tiled = [](RingType ring) {
        return SmallVector<int64_t>(llvm::make_filter_range(ring.getShape(), [](int64_t n) { return n > 1; }));
      };
      auto isInner = [](RingType ring) {
        return llvm::all_of(ring.getShape().drop_front(ring.getContiguous() + 1), [](int64_t n) { return n == 1; });
      };
      return tiled(x) == tiled(y) && tiled(x).size() == 2 && isInner(x) == isInner(y) && x.getElementType() == y.getElementType() &&
             x.getSlots() == y.getSlots() && x.getPad() == y.getPad();
    };
    for (Family &f : families_)
      if (loop && loop != f.last && loop->getBlock() == f.last->getBlock() && f.last->isBeforeInBlock(loop) && countsRounds(loop) &&
          countsRounds(f.last) && allRounds(loop) == loop && allRounds(f.last) == f.last && channel == f.channelType &&
          llvm::equal(types, f.types, hasSlotsOf))
        return &f;
    return nullptr;
  }

  /// The number of what is filled at `place`, where the loop before it has filled the same slots. The builder is left there.
  Value numberBehind(Family &f, Operation *place, Location loc) {
    auto loop = cast<scf::ForOp>(place->getParentOp());
    Value before = beforeIn(f.last);
    b_.setInsertionPoint(loop);
    Value start = f.last.getUpperBound();
    if (before) {
      start = arith::AddIOp::create(b_, named("filled", loc), before, start);
      BlockArgument count = cast<BlockArgument>(countOf(before));
      OpBuilder atEnd(count.getOwner()->getTerminator());
      setCarried(count, arith::AddIOp::create(atEnd, named("next", loc), getCarriedNext(count), loop.getUpperBound()));
    }
    b_.setInsertionPoint(place);
    numbers_.push_back(arith::AddIOp::create(b_, named("number", loc), start, loop.getInductionVar()));
    return numbers_.back();
  }

  /// The count that a loop around carries, of which `before` is a later value.
  static Value countOf(Value before) {
    while (auto add = before.getDefiningOp<arith::AddIOp>())
      before = add.getLhs();
    return before;
  }

  /// The number of what is filled at `place`, once in each round of its loop. The builder is left there.
  FailureOr<Value> numberAt(Operation *place, Location loc) {
    auto loop = dyn_cast<scf::ForOp>(place->getParentOp());
    FailureOr<Value> before = Value();
    if (loop && countsRounds(loop)) {
      before = beforeIn(loop);
      if (!*before)
        before = countBefore(loop, loc);
      if (failed(before))
        return failure();
    } else if (loop) {
      before = countThrough(loop, loc, [&](OpBuilder &b, Value filled) -> Value {
        return arith::AddIOp::create(b, named("next", loc), filled, arith::ConstantIndexOp::create(b, loc, 1));
      });
      b_.setInsertionPoint(place);
      return before;
    }
    b_.setInsertionPoint(place); // (loops that carry a count are other ops now)
    if (!loop)
      return constant(0, loc);
    if (!*before)
      return Value(loop.getInductionVar());
    numbers_.push_back(arith::AddIOp::create(b_, named("number", loc), *before, loop.getInductionVar()));
    return Value(numbers_.back());
  }

  /// How often `loop`, which fills slots, did so before; null where it has not been counted.
  Value beforeIn(scf::ForOp loop) {
    auto number = llvm::find_if(numbers_, [&](arith::AddIOp add) { return add->getParentOp() == loop; });
    return number == numbers_.end() ? Value() : number->getLhs();
  }

  /// How many rounds of `loop` the earlier rounds of the loops around it have had; null where there are none around it.
  FailureOr<Value> countBefore(scf::ForOp loop, Location loc) {
    scf::ForOp rounds = allRounds(loop);
    if (rounds->getParentOp() == func_)
      return Value();
    auto outer = dyn_cast<scf::ForOp>(rounds->getParentOp());
    if (!outer)
      return loop.emitOpError() << "stands in a loop whose rounds cannot be counted";
    return countThrough(outer, loc, [&](OpBuilder &b, Value filled) -> Value {
      return arith::AddIOp::create(b, named("next", loc), filled, rounds.getUpperBound());
    });
  }

  /// A count that starts at 0 and is `next` of itself after each round of `loop`, whatever loops stand around it.
  FailureOr<Value> countThrough(scf::ForOp loop, Location loc, llvm::function_ref<Value(OpBuilder &, Value)> next) {
    FailureOr<BlockArgument> count = carryInto(loop, loc);
    if (failed(count))
      return failure();
    OpBuilder atEnd(loop.getBody()->getTerminator());
    setCarried(*count, next(atEnd, *count));
    return Value(*count);
  }

  /// A value that `loop` carries, 0 at first, and from one of its runs to the next.
  FailureOr<BlockArgument> carryInto(scf::ForOp &loop, Location loc) {
    auto outer = dyn_cast<scf::ForOp>(loop->getParentOp());
    if (!outer && loop->getParentOp() != func_)
      return loop.emitOpError() << "stands in a loop whose rounds cannot be counted";
    FailureOr<BlockArgument> around = outer ? carryInto(outer, loc) : FailureOr<BlockArgument>(BlockArgument());
    if (failed(around))
      return failure();
    OpBuilder before(loop);
    Value init = outer ? Value(*around) : arith::ConstantIndexOp::create(before, loc, 0);
    auto carried = carry(loop, init);
    if (failed(carried))
      return failure();
    carried->front().setLoc(NameLoc::get(b_.getStringAttr("filled"), loc));
    if (outer)
      setCarried(*around, loop.getResults().back());
    return carried->front();
  }

  /// Releases what was filled in `block` and dot number `n` is the last to read. The builder stands in that block.
  void releaseIn(Block *block, const Supply &s, size_t n, bool taken, Location loc) {
    SmallVector<Value> released;
    SmallVector<LoadOp> all(s.over);
    llvm::append_range(all, s.loads());
    for (LoadOp load : all) {
      Slot slot = slots_.lookup(load);
      if (slot.filled->getBlock() != block || released_.contains(load) || lastReader_.lookup(load) != n ||
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
  SmallVector<Supply> supplies_;
  llvm::DenseMap<Operation *, size_t> lastReader_; ///< of a load: the number of a dot
  llvm::DenseSet<Operation *> released_;           ///< loads whose slots are free before the loops that read them
  llvm::DenseMap<Operation *, Slot> slots_;        ///< of a load (erased, perhaps)
  llvm::DenseSet<Operation *> rounded_;            ///< loads whose elements products take as the unit rounds them
  SmallVector<LoadOp> once_;                       ///< loads that fill slots outside the loops of their products
  SmallVector<Family> families_;
  bool isCrowded_ = false;
  SmallVector<arith::AddIOp> numbers_; ///< of what loops within loops fill: how often they did before, and their round
};

} // namespace

LogicalResult pipelineThroughChannels(FuncOp func, ArrayRef<DotOp> dots) { return ChannelPipeliner(func).run(dots); }

} // namespace kernelc
