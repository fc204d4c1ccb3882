// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile.scan: each thread its own run of neighbours, then what lanes, and then warps, have before it.
//
// Along the scanned dim a layout's digits are, from the fastest on: registers (a run of neighbours in a thread), lanes, warps,
// and registers again (the rounds in which the block covers the tile). The scan goes up these levels in their order, so that
// two runs agree bit for bit:
//
//   runs     each thread scans its run of each round, from the neutral element
//   lanes    by shuffles: the sum of a warp's runs, and of those before the thread's own
//   warps    leave their sums in shared memory; each thread adds them up, round by round, from the carry on
//   results  what is before a run, with what the run has up to there
//
// Where a thread has all of the tile along the dim, its run starts from the carry, and nothing else is left to do.
#include "passes/lowerings/ThreadCode.h"

#include "passes/analysis/Reduction.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;
using tile::Digits;
using tile::Layout;

namespace {

class ScanLowering {
public:
  ScanLowering(ThreadCode &c, tile::ScanOp op) : c_(c), op_(op), loc_(cu::unnamed(op.getLoc())), layout_(tile::getLayout(op.getInput())) {
    int64_t first = std::numeric_limits<int64_t>::max(); // stride of the fastest digit that threads have
    for (const Digits *list : {&layout_.lane, &layout_.warp})
      for (const Digit &d : *list)
        if (isAlong(d))
          first = std::min(first, d.stride);
    for (const Digit &d : layout_.reg)
      (!isAlong(d) ? beside_ : d.stride < first ? run_ : rounds_).push_back(d);
    for (Digits *list : {&run_, &rounds_})
      llvm::sort(*list, [](const Digit &a, const Digit &b) { return a.stride < b.stride; });
    hasLanes_ = llvm::any_of(layout_.lane, [&](const Digit &d) { return isAlong(d); });
    hasWarps_ = llvm::any_of(layout_.warp, [&](const Digit &d) { return isAlong(d); });
  }

  void run() {
    StringRef name = cu::findName(op_.getLoc());
    result_ = {tile::getLayout(op_.getResult()), allocate(layout_.numRegisters(), c_.registerName(name.empty() ? "scan" : name, "_scan"))};
    carries_.reg = beside_;
    total_ = {tile::getLayout(op_.getTotal()), allocate(carries_.numRegisters(), "total")};
    total_.layout.reg = beside_;
    if (hasLanes_ || hasWarps_)
      acrossThreads();
    else
      withinThreads();
    c_.tiles[op_.getResult()] = result_;
    c_.tiles[op_.getTotal()] = total_;
  }

private:
  bool isAlong(const Digit &d) { return d.dim == int64_t(op_.getDim()) && d.size > 1; }
  Type element() { return cast<RankedTensorType>(op_.getInput().getType()).getElementType(); }
  Value allocate(int64_t count, const llvm::Twine &name) { return c_.allocate(count, element(), c_.named(name, loc_)); }
  Value combine(Value a, Value b) { return te::combine(op_.getKind(), a, b, c_.b, loc_); }
  Value identity() { return te::identityState(op_.getKind(), element(), 1, c_.b, loc_).front(); }
  Value load(Value array, Value at) { return memref::LoadOp::create(c_.b, loc_, array, at); }
  void store(Value v, Value array, Value at) { memref::StoreOp::create(c_.b, loc_, v, array, at); }
  Value inOrder(Value i, int64_t count) {
    return op_.getReverse() ? Value(arith::SubIOp::create(c_.b, loc_, c_.index(count - 1, loc_), i)) : i;
  }

  /// `body` for the values of `digits` in the scan's order, the fastest innermost; it gets what has been carried so far and
  /// gives what comes next.
  Value walk(ArrayRef<Digit> digits, OpenDigits &open, Value carried, llvm::function_ref<Value(Value)> body) {
    if (digits.empty())
      return body(carried);
    const Digit &d = digits.back();
    auto loop = scf::ForOp::create(c_.b, loc_, c_.index(0, loc_), c_.index(d.size, loc_), c_.index(1, loc_), carried);
    loop.getInductionVar().setLoc(c_.named(c_.loopName(d), loc_));
    loop.getRegionIterArg(0).setLoc(c_.named("before", loc_));
    OpBuilder::InsertionGuard guard(c_.b);
    c_.b.setInsertionPointToEnd(loop.getBody());
    open.digits.push_back({d, inOrder(loop.getInductionVar(), d.size)});
    Value next = walk(digits.drop_back(), open, loop.getRegionIterArg(0), body);
    open.digits.pop_back();
    scf::YieldOp::create(c_.b, loc_, next);
    return loop.getResult(0);
  }

  /// Scans the run at the open digits from `start` on; returns what it comes to.
  Value scanRun(OpenDigits &open, Value start) {
    return walk(run_, open, start, [&](Value before) {
      Value next = combine(before, c_.element(op_.getInput(), open, loc_));
      store(op_.getExclusive() ? before : next, result_.array, c_.registerIndex(result_.layout, open, loc_));
      return next;
    });
  }

  void withinThreads() {
    OpenDigits open;
    c_.overDigits(beside_, loc_, open, [&] {
      Value total = scanRun(open, c_.element(op_.getCarry(), open, loc_));
      store(total, total_.array, c_.registerIndex(carries_, open, loc_));
    });
  }

  void acrossThreads() {
    Layout runs{beside_, {}, {}}; // a register for each run of a thread
    runs.reg.append(rounds_.begin(), rounds_.end());
    Value sums = allocate(runs.numRegisters(), "sums"), lanesBefore = hasLanes_ ? allocate(runs.numRegisters(), "lanes_before") : Value();
    OpenDigits open;
    c_.overDigits(runs.reg, loc_, open, [&] {
      Value sum = scanRun(open, identity()), before = identity(), at = c_.registerIndex(runs, open, loc_);
      scanLanes(sum, before);
      store(sum, sums, at);
      if (hasLanes_)
        store(before, lanesBefore, at);
    });
    if (hasWarps_)
      shareSums(runs, sums);
    c_.overDigits(beside_, loc_, open, [&] {
      Value total = walk(rounds_, open, c_.element(op_.getCarry(), open, loc_), [&](Value soFar) {
        Value at = c_.registerIndex(runs, open, loc_);
        auto [before, next] = hasWarps_ ? overWarps(soFar, at) : std::pair(soFar, combine(soFar, load(sums, at)));
        if (hasLanes_)
          before = combine(before, load(lanesBefore, at));
        c_.overDigits(run_, loc_, open, [&, before = before] {
          Value r = c_.registerIndex(result_.layout, open, loc_);
          store(combine(before, load(result_.array, r)), result_.array, r);
        });
        return next;
      });
      store(total, total_.array, c_.registerIndex(carries_, open, loc_));
    });
  }

  /// `sum` of this lane becomes that of all lanes along the dim, `before` that of those before this one.
  void scanLanes(Value &sum, Value &before) {
    OpBuilder &b = c_.b;
    SmallVector<std::pair<int64_t, int64_t>> steps; // stride along the dim, mask
    int64_t weight = 1;
    for (const Digit &d : layout_.lane) {
      if (isAlong(d))
        for (int64_t n = 1; n < d.size; n *= 2)
          steps.push_back({d.stride * n, weight * n});
      weight *= d.size;
    }
    llvm::sort(steps);
    for (auto [stride, mask] : steps) {
      Value other = cu::ShuffleXorOp::create(b, loc_, sum.getType(), sum, mask);
      Value bit = arith::RemSIOp::create(b, loc_, arith::DivSIOp::create(b, loc_, c_.lane(loc_), c_.index(mask, loc_)), c_.index(2, loc_));
      Value isBehind = arith::CmpIOp::create(b, loc_, arith::CmpIPredicate::eq, bit, c_.index(op_.getReverse() ? 0 : 1, loc_));
      before = arith::SelectOp::create(b, loc_, isBehind, combine(other, before), before);
      sum = combine(sum, other);
    }
  }

  /// Each warp leaves the sums of its runs in shared memory.
  void shareSums(const Layout &runs, Value sums) {
    SmallVector<int64_t> all = llvm::map_to_vector(layout_.lane, [](const Digit &d) { return d.size; });
    Value speaks;
    for (auto [i, d] : llvm::enumerate(layout_.lane)) {
      if (d.size == 1)
        continue;
      Value digit = c_.digitOf(c_.lane(loc_), all, i, loc_);
      if (!isAlong(d) && d.dim >= 0) {
        place_ = c_.add(place_, c_.mul(digit, places_, loc_), loc_);
        places_ *= d.size;
        continue;
      }
      Value first = arith::CmpIOp::create(c_.b, c_.named("speaks", loc_), arith::CmpIPredicate::eq, digit, c_.index(0, loc_));
      speaks = speaks ? Value(arith::AndIOp::create(c_.b, c_.named("speaks", loc_), speaks, first)) : first;
    }
    registers_ = runs.numRegisters();
    shared_ = c_.sharedArray(layout_.numWarps() * registers_ * places_, element(), loc_, "warp_sums");
    OpenDigits open;
    c_.inBranch(speaks, loc_, [&] {
      c_.overDigits(runs.reg, loc_, open, [&] {
        Value at = c_.registerIndex(runs, open, loc_);
        store(load(sums, at), shared_, slot(c_.warp(loc_), at));
      });
    });
  }

  Value slot(Value warp, Value at) {
    Value s = c_.add(c_.mul(warp, registers_, loc_), at, loc_);
    return place_ ? c_.add(c_.mul(s, places_, loc_), place_, loc_) : s;
  }

  /// From `soFar` over the warps along the dim, in the round that register `at` is of: what is before this warp, and behind all.
  std::pair<Value, Value> overWarps(Value soFar, Value at) {
    OpBuilder &b = c_.b;
    SmallVector<int64_t> sizes = llvm::map_to_vector(layout_.warp, [](const Digit &d) { return d.size; }), along;
    for (const Digit &d : layout_.warp)
      if (isAlong(d))
        along.push_back(d.size);
    int64_t count = llvm::product_of(along);
    Value own, warp = c_.warp(loc_);
    int64_t weight = 1;
    for (auto [i, d] : llvm::enumerate(layout_.warp))
      if (isAlong(d)) {
        own = c_.add(own, c_.mul(c_.digitOf(warp, sizes, i, loc_), weight, loc_), loc_);
        weight *= d.size;
      }
    auto loop = scf::ForOp::create(b, loc_, c_.index(0, loc_), c_.index(count, loc_), c_.index(1, loc_), ValueRange{soFar, soFar});
    loop.getInductionVar().setLoc(c_.named("w", loc_));
    loop->setAttr(cu::kUnrollAttr, b.getI64IntegerAttr(1)); // a predicate each round: there are seven
    loop.getRegionIterArg(0).setLoc(c_.named("before", loc_));
    loop.getRegionIterArg(1).setLoc(c_.named("so_far", loc_));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    Value w = inOrder(loop.getInductionVar(), count), sum = loop.getRegionIterArg(1);
    Value isOwn = arith::CmpIOp::create(b, loc_, arith::CmpIPredicate::eq, w, own);
    Value before = arith::SelectOp::create(b, loc_, isOwn, sum, loop.getRegionIterArg(0));
    scf::YieldOp::create(b, loc_, ValueRange{before, combine(sum, load(shared_, slot(warpAt(w, warp, sizes, along), at)))});
    return {loop.getResult(0), loop.getResult(1)};
  }

  /// The warp whose digits along the dim are those of `w`, and the rest those of `warp`.
  Value warpAt(Value w, Value warp, ArrayRef<int64_t> sizes, ArrayRef<int64_t> along) {
    Value number;
    int64_t weight = 1;
    size_t taken = 0;
    for (auto [i, d] : llvm::enumerate(layout_.warp)) {
      Value digit = isAlong(d) ? c_.digitOf(w, along, taken++, loc_) : c_.digitOf(warp, sizes, i, loc_);
      number = c_.add(number, c_.mul(digit, weight, loc_), loc_);
      weight *= d.size;
    }
    return number;
  }

  ThreadCode &c_;
  tile::ScanOp op_;
  Location loc_;
  Layout layout_, carries_;
  Digits run_, rounds_, beside_; ///< of registers: along the dim within a run, and between runs; of other dims
  bool hasLanes_, hasWarps_;
  RegTile result_, total_;
  Value shared_, place_; ///< the warps' sums; the place of a lane's column among theirs
  int64_t places_ = 1, registers_ = 1;
};

} // namespace

void lowerScan(ThreadCode &c, tile::ScanOp op) { ScanLowering(c, op).run(); }

} // namespace kernelc
