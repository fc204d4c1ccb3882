// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile.reduce and tile.convert_layout: what crosses threads.
//
// A reduction first combines a thread's own registers (where a loop has not: carriedLayout), then
// lanes by shuffles, then warps through shared memory; each step in a fixed order, so that two
// runs agree bit for bit.
#include "passes/lowerings/ThreadCode.h"

#include "ir/te/Te.h"
#include "ir/tile/Marks.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Reduction.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;
using tile::Digits;
using tile::Layout;

namespace {

/// Reduces `inputs` (key, and position for arg kinds) over `dims`.
class ReduceLowering {
public:
  ReduceLowering(ThreadCode &c, tile::ReduceOp op) : c_(c), op_(op), loc_(cu::unnamed(op.getLoc())) {
    layout_ = tile::getLayout(op.getInputs()[0]);
    if (auto held = c.tiles.find(op.getInputs()[0]); held != c.tiles.end())
      layout_ = held->second.layout;
    for (const Digit &d : layout_.reg)
      (isReduced(d) ? reducedReg_ : keptReg_).push_back(d);
  }

  void run() {
    kept_.reg = keptReg_;
    for (Value result : op_.getResults()) {
      RegTile t{tile::getLayout(result), c_.allocate(count(keptReg_), element(result), c_.named(nameOf(op_), loc_))};
      t.layout.reg = keptReg_;
      results_.push_back(t);
      c_.tiles[result] = t;
    }
    auto limit = tile::kAskedAbove.findOn(op_);
    c_.inBranch(limit ? isAbove(*limit) : Value(), loc_, [&] { overThreads(); });
    if (llvm::any_of(layout_.warp, [&](const Digit &d) { return isReduced(d); }))
      overWarps();
  }

private:
  /// Registers and lanes.
  void overThreads() {
    OpenDigits open;
    c_.overDigits(keptReg_, loc_, open, [&] {
      SmallVector<Value> partial = overRegisters(open);
      overLanes(partial);
      storeRow(partial, open);
    });
  }

  void storeRow(ValueRange values, const OpenDigits &open) {
    for (auto [t, v] : llvm::zip(results_, values))
      memref::StoreOp::create(c_.b, loc_, v, t.array, c_.registerIndex(kept_, open, loc_));
  }

  /// Whether some thread of the warp has a number above `limit`, or a condition that holds. Until then results are neutral. Numbers above
  /// one that is not negative are so as words, too, NaN without a sign among them; an instruction compares three of these.
  Value isAbove(int64_t limit) {
    constexpr int64_t kChains = 4; // of comparisons, none of which waits for another
    OpBuilder &b = c_.b;
    Type word = b.getI32Type();
    Value zero = c_.index(0, loc_);
    Value most = c_.allocate(kChains, word, c_.named("most_bits", loc_)), holds = c_.allocate(1, b.getI1Type(), c_.named("is_new", loc_));
    auto number = [&](int64_t v) -> Value { return arith::ConstantIntOp::create(b, loc_, v, 32); };
    for (int64_t chain = 0; chain < kChains; ++chain)
      memref::StoreOp::create(b, loc_, number(std::numeric_limits<int32_t>::min()), most, c_.index(chain, loc_));
    memref::StoreOp::create(b, loc_, arith::ConstantOp::create(b, loc_, b.getBoolAttr(false)), holds, zero);
    OpenDigits open;
    c_.overDigits(layout_.reg, loc_, open, [&] {
      Value bits = arith::BitcastOp::create(b, loc_, word, c_.element(op_.getInputs()[0], open, loc_));
      Value chain = arith::RemSIOp::create(b, loc_, c_.registerIndex(layout_, open, loc_), c_.index(kChains, loc_));
      Value before = memref::LoadOp::create(b, loc_, most, chain);
      memref::StoreOp::create(b, loc_, arith::MaxSIOp::create(b, loc_, before, bits), most, chain);
    });
    Value largest = memref::LoadOp::create(b, loc_, most, zero);
    for (int64_t chain = 1; chain < kChains; ++chain)
      largest = arith::MaxSIOp::create(b, loc_, largest, memref::LoadOp::create(b, loc_, most, c_.index(chain, loc_)));
    auto spread = op_.getInputs()[1].getDefiningOp<tile::BroadcastOp>();
    Value rows = spread ? spread.getInput() : op_.getInputs()[1];
    c_.overDigits(spread ? keptReg_ : layout_.reg, loc_, open, [&] {
      Value before = memref::LoadOp::create(b, loc_, holds, zero), here = c_.element(rows, open, loc_);
      memref::StoreOp::create(b, loc_, arith::OrIOp::create(b, loc_, before, here), holds, zero);
      if (spread)
        storeRow(identity(), open);
    });
    if (!spread)
      c_.overDigits(keptReg_, loc_, open, [&] { storeRow(identity(), open); });
    int32_t bits = llvm::bit_cast<int32_t>(float(limit));
    Value above = arith::CmpIOp::create(b, loc_, arith::CmpIPredicate::sgt, largest, number(bits));
    return anyLane(arith::OrIOp::create(b, loc_, above, memref::LoadOp::create(b, loc_, holds, zero)));
  }

  /// Whether `holds` does for a lane of the warp.
  Value anyLane(Value holds) {
    OpBuilder &b = c_.b;
    auto lanes = cu::FindWhereOp::create(b, c_.named("lane_above", loc_), b.getIndexType(), c_.index(0, loc_), c_.index(32, loc_), Value());
    {
      OpBuilder::InsertionGuard guard(b);
      Block &block = lanes.getCondition().emplaceBlock();
      block.addArgument(b.getIndexType(), c_.named("at", loc_));
      b.setInsertionPointToStart(&block);
      cu::HoldsOp::create(b, loc_, holds);
    }
    return arith::CmpIOp::create(b, loc_, arith::CmpIPredicate::slt, lanes, c_.index(32, loc_));
  }

  bool isReduced(const Digit &d) { return llvm::is_contained(op_.getDims(), d.dim); }
  static int64_t count(ArrayRef<Digit> digits) {
    int64_t n = 1;
    for (const Digit &d : digits)
      n *= d.size;
    return n;
  }
  static Type element(Value v) { return cast<RankedTensorType>(v.getType()).getElementType(); }
  std::string nameOf(tile::ReduceOp op) {
    StringRef name = cu::findName(op.getLoc());
    return c_.registerName(name.empty() ? stringifyCombiner(op.getKind()) : name, "_total");
  }

  /// Of what warps leave in shared memory.
  std::string partialsName() {
    StringRef name = cu::findName(op_.getLoc());
    return name.empty() ? "partials" : (name + "_partials").str();
  }

  SmallVector<Value> identity() {
    if (std::optional<ArrayAttr> own = op_.getIdentity())
      return llvm::map_to_vector(*own, [&](Attribute a) -> Value { return arith::ConstantOp::create(c_.b, loc_, cast<TypedAttr>(a)); });
    return te::identityState(op_.getKind(), element(op_.getInputs()[0]), op_.getInputs().size(), c_.b, loc_);
  }

  SmallVector<Value> combine(ValueRange a, ValueRange b, Location loc) {
    return op_.getIdentity() ? combineBy(c_, op_.getCombine(), a, b, loc) : te::combineStates(op_.getKind(), a, b, c_.b, loc);
  }

  /// The factors of what a sum is over, where that is a product which nothing else needs, and registers hold them.
  std::optional<std::pair<Value, Value>> findFactors() {
    auto product = op_.getKind() == te::Combiner::Sum ? op_.getInputs()[0].getDefiningOp<arith::MulFOp>() : arith::MulFOp();
    if (!product || !product->hasOneUse() || !element(product.getResult()).isF32())
      return std::nullopt;
    auto inRegisters = [&](Value v) -> Value {
      auto spread = v.getDefiningOp<tile::BroadcastOp>();
      return c_.tiles.contains(v) ? v : spread && c_.tiles.contains(spread.getInput()) ? spread.getInput() : Value();
    };
    Value a = inRegisters(product.getLhs()), b = inRegisters(product.getRhs());
    return a && b ? std::optional(std::pair(a, b)) : std::nullopt;
  }

  /// Loops over the reduced register digits carrying the partial result.
  SmallVector<Value> overRegisters(OpenDigits &open) { return nest(reducedReg_, open, {}); }

  SmallVector<Value> nest(ArrayRef<Digit> digits, OpenDigits &open, SmallVector<Value> carried) {
    if (digits.empty()) {
      if (std::optional<std::pair<Value, Value>> factors = findFactors(); factors && !carried.empty()) // (a sum of reals, rounded once)
        return {math::FmaOp::create(c_.b, loc_, c_.element(factors->first, open, loc_), c_.element(factors->second, open, loc_),
                                    carried.front())};
      SmallVector<Value> x;
      for (Value in : op_.getInputs())
        x.push_back(c_.element(in, open, loc_));
      return carried.empty() ? x : combine(carried, x, loc_);
    }
    if (carried.empty())
      carried = identity();
    const Digit &d = digits.back();
    auto loop = scf::ForOp::create(c_.b, loc_, c_.index(0, loc_), c_.index(d.size, loc_), c_.index(1, loc_), carried);
    loop.getInductionVar().setLoc(c_.named(c_.loopName(d), loc_));
    for (Value a : loop.getRegionIterArgs())
      a.setLoc(c_.named("partial", loc_));
    OpBuilder::InsertionGuard guard(c_.b);
    c_.b.setInsertionPointToEnd(loop.getBody());
    open.digits.push_back({d, loop.getInductionVar()});
    SmallVector<Value> next = nest(digits.drop_back(), open, llvm::to_vector_of<Value>(loop.getRegionIterArgs()));
    open.digits.pop_back();
    scf::YieldOp::create(c_.b, loc_, next);
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  void overLanes(SmallVector<Value> &partial) {
    int64_t stride = 1;
    for (const Digit &d : layout_.lane) {
      if (isReduced(d))
        overSteps(c_, stride, d.size, partial, loc_, [&](Value, ValueRange mine, ValueRange other) { return combine(mine, other, loc_); });
      stride *= d.size;
    }
  }

  /// Every warp leaves its partials in shared memory and reads those of the warps
  /// that differ from it in reduced digits only.
  void overWarps() {
    speakers_ = findSpeakers(c_, layout_.lane, [&](const Digit &d) { return isReduced(d); }, loc_);
    int64_t warps = layout_.numWarps(), registers = count(keptReg_), others = 1;
    for (Value result : op_.getResults())
      arrays_.push_back(c_.sharedArray(warps * registers * speakers_.places, element(result), loc_, partialsName()));
    Value warp = c_.warp(loc_);
    leavePartials(warp);
    for (const Digit &d : layout_.warp)
      if (isReduced(d))
        others *= d.size;
    Value reader = isOnlyStored(op_) ? c_.isFirstReplica(tile::getLayout(op_.getResults()[0]), loc_) : Value();
    constexpr int64_t kMostInTurn = 32;
    if (others == warps && registers * others > kMostInTurn)
      return shareOutPartials(reader);
    // The warp number with its reduced digits taken from the others.
    fillRegisters(reader, [&](Value r, const OpenDigits &) {
      return overPartials(others, arrays_, [&](Value w) { return slot(warpWith(w, warp), r); });
    });
  }

  /// Where the partials of register r of warp w are.
  Value slot(Value w, Value r) {
    Value s = c_.add(c_.mul(w, count(keptReg_), loc_), r, loc_);
    return speakers_.place ? c_.add(c_.mul(s, speakers_.places, loc_), speakers_.place, loc_) : s;
  }

  void leavePartials(Value warp) {
    OpenDigits open;
    c_.inBranch(speakers_.speaks, loc_, [&] {
      c_.overDigits(keptReg_, loc_, open, [&] {
        Value r = c_.registerIndex(kept_, open, loc_);
        for (auto [t, s] : llvm::zip(results_, arrays_))
          memref::StoreOp::create(c_.b, loc_, memref::LoadOp::create(c_.b, loc_, t.array, r), s, slot(warp, r));
      });
    });
  }

  /// The results of the threads for which `reader` holds: `valueOf` a register, and the digits that name it.
  void fillRegisters(Value reader, llvm::function_ref<SmallVector<Value>(Value, const OpenDigits &)> valueOf) {
    OpenDigits open;
    c_.inBranch(reader, loc_, [&] {
      c_.overDigits(keptReg_, loc_, open, [&] {
        Value r = c_.registerIndex(kept_, open, loc_);
        for (auto [t, v] : llvm::zip(results_, valueOf(r, open)))
          memref::StoreOp::create(c_.b, loc_, v, t.array, r);
      });
    });
  }

  /// Many partials a thread: all threads share them out.
  void shareOutPartials(Value reader) {
    OpBuilder &b = c_.b;
    WarpPartials partials;
    int64_t warps = layout_.numWarps();
    partials.elements = count(keptReg_) * speakers_.places;
    partials.combined = [lowering = *this, warps, elements = partials.elements](Value e) mutable {
      ThreadCode &c = lowering.c_;
      return lowering.overPartials(warps, lowering.arrays_,
                                   [&](Value w) { return c.add(c.mul(w, elements, lowering.loc_), e, lowering.loc_); });
    };
    partials.element = [lowering = *this](const OpenDigits &digits) mutable {
      ThreadCode &c = lowering.c_;
      const Speakers &s = lowering.speakers_;
      Value r = c.registerIndex(lowering.kept_, digits, lowering.loc_);
      return s.place ? c.add(c.mul(r, s.places, lowering.loc_), s.place, lowering.loc_) : r;
    };
    if (isFinishedByCluster()) {
      c_.partials[op_] = partials;
      return;
    }
    SmallVector<Value> totals;
    for (Value result : op_.getResults())
      totals.push_back(c_.sharedArray(partials.elements, element(result), loc_, "totals"));
    shareOut(c_, partials.elements, warps * 32, "e", loc_, [&](Value e) {
      for (auto [total, v] : llvm::zip(totals, partials.combined(e)))
        memref::StoreOp::create(b, loc_, v, total, e);
    });
    fillRegisters(reader, [&](Value, const OpenDigits &open) {
      Value e = partials.element(open);
      return llvm::map_to_vector(totals, [&](Value total) -> Value { return memref::LoadOp::create(b, loc_, total, e); });
    });
  }

  /// Whether only a merge in the first block of the cluster reads the results.
  bool isFinishedByCluster() {
    auto merge = dyn_cast<tile::ClusterReduceOp>(*op_->user_begin());
    return merge && merge.getInputs() == op_.getResults() && mergesInFirst(merge) &&
           llvm::all_of(op_->getUsers(), [&](Operation *user) { return user == merge; });
  }

  /// The partials at `place(w)` of each array, combined in the order of w < `count`.
  SmallVector<Value> overPartials(int64_t count, ArrayRef<Value> arrays, llvm::function_ref<Value(Value)> place) {
    OpBuilder &b = c_.b;
    auto loop = scf::ForOp::create(b, loc_, c_.index(0, loc_), c_.index(count, loc_), c_.index(1, loc_), identity());
    loop.getInductionVar().setLoc(c_.named("w", loc_));
    for (Value a : loop.getRegionIterArgs())
      a.setLoc(c_.named("total", loc_));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    Value at = place(loop.getInductionVar());
    SmallVector<Value> x = llvm::map_to_vector(arrays, [&](Value s) -> Value { return memref::LoadOp::create(b, loc_, s, at); });
    scf::YieldOp::create(b, loc_, combine(llvm::to_vector_of<Value>(loop.getRegionIterArgs()), x, loc_));
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  /// The warp number whose reduced digits are those of `others`, and the rest those of `warp`.
  Value warpWith(Value others, Value warp) {
    if (llvm::all_of(layout_.warp, [&](const Digit &d) { return d.size == 1 || isReduced(d); }))
      return others;
    SmallVector<int64_t> all, reduced;
    for (const Digit &d : layout_.warp) {
      all.push_back(d.size);
      if (isReduced(d))
        reduced.push_back(d.size);
    }
    Value w;
    int64_t weight = 1;
    size_t taken = 0;
    for (auto [i, d] : llvm::enumerate(layout_.warp)) {
      Value digit = isReduced(d) ? c_.digitOf(others, reduced, taken++, loc_) : c_.digitOf(warp, all, i, loc_);
      w = c_.add(w, c_.mul(digit, weight, loc_), loc_);
      weight *= d.size;
    }
    return w ? w : c_.index(0, loc_);
  }

  ThreadCode &c_;
  tile::ReduceOp op_;
  Location loc_;
  Layout layout_, kept_;
  Digits reducedReg_, keptReg_;
  RegTiles results_;
  // What warps leave for each other.
  Speakers speakers_;
  SmallVector<Value> arrays_;
};

} // namespace

/// The op by which a loop, or one in it that goes on from there, combines with its carried value `i`, or adds products to it, and does
/// nothing else; null if it is another.
static Operation *findStep(scf::ForOp loop, unsigned i) {
  BlockArgument arg = loop.getRegionIterArg(i);
  Value next = loop.getBody()->getTerminator()->getOperand(i);
  Operation *step = next.getDefiningOp();
  if (!step || step->getBlock() != loop.getBody() || !arg.hasOneUse() || !next.hasOneUse() || !loop.getResult(i).hasOneUse())
    return {};
  if (auto inner = dyn_cast<scf::ForOp>(step)) {
    unsigned k = cast<OpResult>(next).getResultNumber();
    return inner.getInitArgs()[k] == arg ? findStep(inner, k) : nullptr;
  }
  auto combine = dyn_cast<tile::CombineOp>(step);
  auto fma = dyn_cast<math::FmaOp>(step);
  bool carries = combine ? combine.getInputs()[cast<OpResult>(next).getResultNumber()] == arg : fma && fma.getC() == arg;
  return carries && step->getNumResults() == 1 ? step : nullptr;
}

/// The reduction that carried value `i` of a loop is for: the loop combines with it, from the neutral element on, and then, if there is
/// one, the last round behind it.
static tile::ReduceOp findReductionOf(scf::ForOp loop, unsigned i) {
  if (auto before = loop.getInitArgs()[i].getDefiningOp<scf::ForOp>(); before && tile::kLastRound.isOn(loop))
    return findReductionOf(before, cast<OpResult>(loop.getInitArgs()[i]).getResultNumber());
  if (auto start = dyn_cast<BlockArgument>(loop.getInitArgs()[i])) { // a loop around this one carries it
    auto around = dyn_cast<scf::ForOp>(loop->getParentOp());
    bool goesOn = around && start.getOwner() == around.getBody() && start.getArgNumber() > 0 &&
                  around.getYieldedValues()[start.getArgNumber() - 1] == loop.getResult(i);
    return goesOn ? findReductionOf(around, start.getArgNumber() - 1) : tile::ReduceOp();
  }
  Operation *step = findStep(loop, i);
  auto init = loop.getInitArgs()[i].getDefiningOp<arith::ConstantOp>();
  auto splat = init ? dyn_cast<SplatElementsAttr>(init.getValue()) : SplatElementsAttr();
  if (!step || !splat)
    return {};
  auto combine = dyn_cast<tile::CombineOp>(step);
  OpOperand *use = &*loop.getResult(i).use_begin();
  if (auto last = dyn_cast<scf::ForOp>(use->getOwner()); last && tile::kLastRound.isOn(last)) {
    unsigned k = use->getOperandNumber() - last.getNumControlOperands();
    Operation *again = findStep(last, k);
    auto other = dyn_cast_or_null<tile::CombineOp>(again);
    if (!again || (other ? other.getKind() : te::Combiner::Sum) != (combine ? combine.getKind() : te::Combiner::Sum))
      return {};
    use = &*last.getResult(k).use_begin();
  }
  auto reduce = dyn_cast<tile::ReduceOp>(use->getOwner());
  if (!reduce || reduce.getKind() != (combine ? combine.getKind() : te::Combiner::Sum))
    return {};
  OpBuilder b(loop.getContext());
  bool isNeutral = splat.getSplatValue<Attribute>() == te::identityOf(reduce.getKind(), splat.getElementType(), b);
  return isNeutral ? reduce : tile::ReduceOp();
}

Layout carriedLayout(scf::ForOp loop, unsigned i) {
  Layout layout = tile::getLayout(loop.getRegionIterArg(i));
  tile::ReduceOp reduce = findReductionOf(loop, i);
  if (!reduce)
    return layout;
  Layout shared{{}, layout.lane, layout.warp};
  auto isKept = [&](const Digit &d) { return !llvm::is_contained(reduce.getDims(), d.dim); };
  // A run of neighbours has sums of its own, unless there are enough of them that do not wait for each other.
  constexpr int64_t kChains = 8;
  int64_t chains = 1;
  for (const Digit &d : layout.reg)
    chains *= isKept(d) ? d.size : 1;
  bool keepsRun = chains < kChains;
  for (auto [n, d] : llvm::enumerate(layout.reg))
    if (bool isRun = n == 0 && d.stride == 1 && keepsRun; isRun || isKept(d))
      shared.reg.push_back(d);
  return shared;
}

bool isOnlyStored(Operation *op, llvm::function_ref<bool(tile::StoreOp)> stores) {
  for (Operation *user : op->getUsers()) {
    if (auto store = dyn_cast<tile::StoreOp>(user)) {
      if (!stores(store))
        return false;
      continue;
    }
    auto merge = dyn_cast<tile::ClusterReduceOp>(user);
    bool passes = merge ? mergesInFirst(merge) : user->hasTrait<OpTrait::Elementwise>() || isa<tile::ConvertOp>(user);
    if (!passes || !isOnlyStored(user, stores))
      return false;
  }
  return true;
}

SmallVector<Value> combineBy(ThreadCode &c, Region &region, ValueRange a, ValueRange b, Location loc) {
  Block &block = region.front();
  IRMapping mapping;
  for (auto [arg, v] : llvm::zip(block.getArguments(), llvm::concat<Value>(llvm::to_vector(a), llvm::to_vector(b))))
    mapping.map(arg, v);
  auto value = [&](Value v) { return mapping.contains(v) ? mapping.lookup(v) : c.scalars.lookup(v); }; // (a constant outside)
  for (Operation &op : block.without_terminator()) {
    for (Value v : op.getOperands())
      mapping.map(v, value(v));
    if (auto convert = dyn_cast<te::ConvertOp>(op))
      mapping.map(convert.getResult(),
                  cu::ConvertOp::create(c.b, loc, convert.getResult().getType(), value(convert.getInput()), convert.getToUnsigned()));
    else
      c.b.clone(op, mapping)->setLoc(loc);
  }
  return llvm::map_to_vector(block.getTerminator()->getOperands(), value);
}

void lowerReduce(ThreadCode &c, tile::ReduceOp op) { ReduceLowering(c, op).run(); }

void lowerConvertLayout(ThreadCode &c, tile::ConvertLayoutOp op) {
  Location loc = cu::unnamed(op.getLoc());
  OpBuilder &b = c.b;
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Layout from = tile::getLayout(op.getInput());
  RegTile to{tile::getLayout(op.getResult()), {}};
  Type element = type.getElementType();
  to.array = c.allocate(to.layout.numRegisters(), element, NameLoc::get(b.getStringAttr("turned"), loc));
  // Rows along the dim the reader is contiguous in, padded by one vector so that
  // neither side's accesses pile up on a bank.
  int64_t fast = to.layout.reg.empty() ? type.getRank() - 1 : to.layout.reg[0].dim;
  int64_t bytes = std::max(1u, element.isIndex() ? 8 : element.getIntOrFloatBitWidth() / 8);
  SmallVector<int64_t> strides(type.getRank(), 1);
  int64_t size = type.getDimSize(fast) + std::max<int64_t>(1, 4 / bytes);
  for (int64_t d = type.getRank() - 1; d >= 0; --d)
    if (d != fast) {
      strides[d] = size;
      size *= type.getDimSize(d);
    }
  Value shared = c.sharedArray(size, element, loc, "staging");
  auto slot = [&](const Layout &layout, const OpenDigits &open) {
    Value s;
    for (auto [d, v] : llvm::enumerate(c.coordinates(layout, open, type.getRank(), loc)))
      if (v)
        s = c.add(s, c.mul(v, strides[d], loc), loc);
    return s ? s : c.index(0, loc);
  };
  OpenDigits open;
  auto write = [&] {
    c.overDigits(from.reg, loc, open,
                 [&] { memref::StoreOp::create(b, loc, c.element(op.getInput(), open, loc), shared, slot(from, open)); });
  };
  if (Value first = c.isFirstReplica(from, loc)) {
    auto branch = scf::IfOp::create(b, loc, first, false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    write();
  } else {
    write();
  }
  c.overDigits(to.layout.reg, loc, open, [&] {
    memref::StoreOp::create(b, loc, memref::LoadOp::create(b, loc, shared, slot(to.layout, open)), to.array,
                            c.registerIndex(to.layout, open, loc));
  });
  c.tiles[op.getResult()] = to;
}

} // namespace kernelc
