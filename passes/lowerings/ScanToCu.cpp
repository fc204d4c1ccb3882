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
//
// A scan that is held makes no results yet: each thread leaves its elements in a place of its own in shared memory, and its warp, whose
// rounds follow each other, what they come to. Results are made of these behind the look-back (lowerLookBack), whose wait other blocks
// fill: they have the registers.
//
// What is scanned is a state of one or more components, each an array of registers; states keep their order, since a scan by a
// program's own reducer need not commute. In reverse what has been combined stands behind.
#include "passes/lowerings/ThreadCode.h"

#include "ir/cu/Marks.h"
#include "ir/tile/Marks.h"
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
  using State = SmallVector<Value>; ///< a value, or an array, for each component

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
    carries_.reg = beside_;
    resultLayout_ = tile::getLayout(op_.getOut());
    totals_ = allocate(carries_.numRegisters(), "total");
    if (isHeld())
      leave();
    else
      makeAll();
    Layout total = tile::getLayout(op_.getTotal());
    total.reg = beside_;
    for (auto [out, array] : llvm::zip(op_.getTotals(), totals_))
      c_.tiles[out] = {total, array};
  }

  /// Whether results are made behind the look-back.
  bool isHeld() {
    auto isOuter = [&](const Digit &d) {
      return !isAlong(d) || llvm::all_of(rounds_, [&](const Digit &round) { return round.stride < d.stride; });
    };
    int64_t bytes = runLength() * elements().front().getIntOrFloatBitWidth() / 8;
    return tile::kHeld.isOn(op_) && elements().size() == 1 && beside_.empty() && hasLanes_ && llvm::all_of(layout_.warp, isOuter) &&
           llvm::isPowerOf2_64(uint64_t(bytes)) && bytes <= kAccess;
  }

  /// The results of a scan that is held.
  void makeHeld() {
    results_ = allocate(layout_.numRegisters(), resultName());
    cu::CommentOp::create(c_.b, loc_, "Scan what this thread has left in its places.");
    Value run = c_.allocate(runLength(), elements().front(), c_.named("run", loc_));
    OpenDigits open;
    walk(rounds_, open, beforeWarp_, [&](State soFar) {
      move(places_, placeOf(open), run, c_.index(0, loc_));
      State sum = walk(run_, open, identity(), [&](State before) {
        State next = combine(before, {memref::LoadOp::create(c_.b, loc_, run, c_.registerIndex(runLayout(), open, loc_))});
        store(op_.getExclusive() ? before : next, results_, c_.registerIndex(resultLayout_, open, loc_));
        return next;
      });
      State before = identity();
      scanLanes(sum, before);
      addBefore(combine(soFar, before), open);
      return combine(soFar, sum);
    });
    keepResults();
  }

private:
  static constexpr int64_t kAccess = 16; ///< bytes

  std::string resultName() {
    StringRef name = cu::findName(op_.getLoc());
    return c_.registerName(name.empty() ? "scan" : name, "_scan");
  }
  Layout runLayout() { return {run_, {}, {}}; }
  int64_t runLength() { return runLayout().numRegisters(); }

  void keepResults() {
    for (auto [out, array] : llvm::zip(op_.getOuts(), results_))
      c_.tiles[out] = {resultLayout_, array};
  }

  void makeAll() {
    results_ = allocate(layout_.numRegisters(), resultName());
    if (hasLanes_ || hasWarps_)
      acrossThreads();
    else
      withinThreads();
    keepResults();
  }

  /// Neighbours of a round lie side by side, those of neighbouring threads behind them.
  Value placeOf(const OpenDigits &open) {
    Value round = c_.registerIndex({rounds_, {}, {}}, open, loc_);
    Value thread = c_.add(c_.mul(round, 32 * layout_.numWarps(), loc_), c_.thread(loc_), loc_);
    return c_.mul(thread, runLength(), loc_);
  }
  void move(Value from, Value at, Value to, Value there) {
    if (runLength() > 1)
      cu::CopyOp::create(c_.b, loc_, from, at, to, there, runLength());
    else
      memref::StoreOp::create(c_.b, loc_, memref::LoadOp::create(c_.b, loc_, from, at), to, there);
  }

  /// What comes before the run at the open digits goes to its results.
  void addBefore(const State &before, OpenDigits &open) {
    c_.overDigits(run_, loc_, open, [&] {
      Value r = c_.registerIndex(resultLayout_, open, loc_);
      store(combine(before, load(results_, r)), results_, r);
    });
  }

  /// Elements to their places, and what is before this warp and in all of the tile.
  void leave() {
    cu::CommentOp::create(c_.b, loc_, "What each warp's rounds come to; the elements wait in places of their own.");
    Type type = elements().front();
    places_ = c_.sharedArray(32 * layout_.numWarps() * layout_.numRegisters(), type, loc_, "places");
    Value run = c_.allocate(runLength(), type, c_.named("run", loc_)), zero = c_.index(0, loc_);
    bool isOrdered = bool(op_.getIdentity()); // (others commute: lanes are combined once, behind all rounds)
    OpenDigits open;
    State sum = walk(rounds_, open, identity(), [&](State soFar) {
      State next = walk(run_, open, isOrdered ? identity() : soFar, [&](State before) {
        State mine = elementsOf(op_.getInputs(), open);
        memref::StoreOp::create(c_.b, loc_, mine.front(), run, c_.registerIndex(runLayout(), open, loc_));
        return combine(before, mine);
      });
      move(run, zero, places_, placeOf(open));
      if (!isOrdered)
        return next;
      State before = identity();
      scanLanes(next, before);
      return combine(soFar, next);
    });
    if (!isOrdered)
      sumLanes(sum);
    beforeWarp_ = elementsOf(op_.getCarries(), open);
    State total = combine(beforeWarp_, sum);
    if (hasWarps_) {
      State sums = allocate(1, "sums");
      store(sum, sums, zero);
      cu::CommentOp::create(c_.b, loc_, "Warps share their sums.");
      shareSums({}, sums);
      std::tie(beforeWarp_, total) = overWarps(beforeWarp_, zero);
    }
    store(total, totals_, zero);
  }

  /// `sum` becomes that of all lanes, of what commutes.
  void sumLanes(State &sum) {
    int64_t weight = 1;
    for (const Digit &d : layout_.lane) {
      if (isAlong(d))
        overSteps(c_, weight, d.size, sum, loc_, [&](Value, ValueRange mine, ValueRange theirs) { return combine(mine, theirs); });
      weight *= d.size;
    }
  }

  bool isAlong(const Digit &d) { return d.dim == int64_t(op_.getDim()) && d.size > 1; }
  SmallVector<Type> elements() {
    return llvm::map_to_vector(op_.getInputs(), [](Value v) { return cast<RankedTensorType>(v.getType()).getElementType(); });
  }
  State allocate(int64_t count, const llvm::Twine &name) {
    std::string text = name.str();
    return llvm::map_to_vector(elements(), [&](Type t) { return c_.allocate(count, t, c_.named(text, loc_)); });
  }
  /// Of states in the order of the scan.
  State combine(ValueRange a, ValueRange b) {
    if (!op_.getIdentity())
      return {te::combine(op_.getKind(), a[0], b[0], c_.b, loc_)};
    return op_.getReverse() ? combineBy(c_, op_.getCombine(), b, a, loc_) : combineBy(c_, op_.getCombine(), a, b, loc_);
  }
  State identity() {
    if (std::optional<ArrayAttr> own = op_.getIdentity())
      return llvm::map_to_vector(*own, [&](Attribute a) -> Value { return arith::ConstantOp::create(c_.b, loc_, cast<TypedAttr>(a)); });
    return te::identityState(op_.getKind(), elements().front(), 1, c_.b, loc_);
  }
  State load(ArrayRef<Value> arrays, Value at) {
    return llvm::map_to_vector(arrays, [&](Value array) -> Value { return memref::LoadOp::create(c_.b, loc_, array, at); });
  }
  void store(ValueRange state, ArrayRef<Value> arrays, Value at) {
    for (auto [v, array] : llvm::zip(state, arrays))
      memref::StoreOp::create(c_.b, loc_, v, array, at);
  }
  State elementsOf(ValueRange tiles, OpenDigits &open) {
    return llvm::map_to_vector(tiles, [&](Value v) { return c_.element(v, open, loc_); });
  }
  State select(Value condition, ValueRange a, ValueRange b) {
    State chosen;
    for (auto [x, y] : llvm::zip(a, b))
      chosen.push_back(arith::SelectOp::create(c_.b, loc_, condition, x, y));
    return chosen;
  }
  Value inOrder(Value i, int64_t count) {
    return op_.getReverse() ? Value(arith::SubIOp::create(c_.b, loc_, c_.index(count - 1, loc_), i)) : i;
  }

  /// `body` for the values of `digits` in the scan's order, the fastest innermost; it gets what has been carried so far and
  /// gives what comes next.
  State walk(ArrayRef<Digit> digits, OpenDigits &open, State carried, llvm::function_ref<State(State)> body) {
    if (digits.empty())
      return body(carried);
    const Digit &d = digits.back();
    auto loop = scf::ForOp::create(c_.b, loc_, c_.index(0, loc_), c_.index(d.size, loc_), c_.index(1, loc_), carried);
    loop.getInductionVar().setLoc(c_.named(c_.loopName(d), loc_));
    for (Value arg : loop.getRegionIterArgs())
      arg.setLoc(c_.named("before", loc_));
    OpBuilder::InsertionGuard guard(c_.b);
    c_.b.setInsertionPointToEnd(loop.getBody());
    open.digits.push_back({d, inOrder(loop.getInductionVar(), d.size)});
    State next = walk(digits.drop_back(), open, llvm::to_vector_of<Value>(loop.getRegionIterArgs()), body);
    open.digits.pop_back();
    scf::YieldOp::create(c_.b, loc_, next);
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  /// Scans the run at the open digits from `start` on; returns what it comes to.
  State scanRun(OpenDigits &open, State start) {
    return walk(run_, open, start, [&](State before) {
      State next = combine(before, elementsOf(op_.getInputs(), open));
      store(op_.getExclusive() ? before : next, results_, c_.registerIndex(resultLayout_, open, loc_));
      return next;
    });
  }

  void withinThreads() {
    OpenDigits open;
    c_.overDigits(beside_, loc_, open, [&] {
      State total = scanRun(open, elementsOf(op_.getCarries(), open));
      store(total, totals_, c_.registerIndex(carries_, open, loc_));
    });
  }

  void acrossThreads() {
    Layout runs{beside_, {}, {}}; // a register for each run of a thread
    runs.reg.append(rounds_.begin(), rounds_.end());
    cu::CommentOp::create(c_.b, loc_,
                          hasLanes_ ? "Scan each thread's runs, then what lanes have before them." : "Scan each thread's runs.");
    State sums = allocate(runs.numRegisters(), "sums"), lanesBefore = hasLanes_ ? allocate(runs.numRegisters(), "lanes_before") : State();
    OpenDigits open;
    c_.overDigits(runs.reg, loc_, open, [&] {
      State sum = scanRun(open, identity()), before = identity();
      Value at = c_.registerIndex(runs, open, loc_);
      scanLanes(sum, before);
      store(sum, sums, at);
      if (hasLanes_)
        store(before, lanesBefore, at);
    });
    if (hasWarps_) {
      cu::CommentOp::create(c_.b, loc_, "Warps share their sums.");
      shareSums(runs, sums);
    }
    cu::CommentOp::create(c_.b, loc_, "Add what is before each run.");
    c_.overDigits(beside_, loc_, open, [&] {
      State total = walk(rounds_, open, elementsOf(op_.getCarries(), open), [&](State soFar) {
        Value at = c_.registerIndex(runs, open, loc_);
        auto [before, next] = hasWarps_ ? overWarps(soFar, at) : std::pair(soFar, combine(soFar, load(sums, at)));
        if (hasLanes_)
          before = combine(before, load(lanesBefore, at));
        addBefore(before, open);
        return next;
      });
      store(total, totals_, c_.registerIndex(carries_, open, loc_));
    });
  }

  /// `sum` of this lane becomes that of all lanes along the dim, `before` that of those before this one.
  void scanLanes(State &sum, State &before) {
    OpBuilder &b = c_.b;
    SmallVector<std::tuple<int64_t, int64_t, int64_t>> digits; // stride along the dim, first mask, lanes
    int64_t weight = 1;
    for (const Digit &d : layout_.lane) {
      if (isAlong(d))
        digits.push_back({d.stride, weight, d.size});
      weight *= d.size;
    }
    llvm::sort(digits);
    for (auto [stride, mask, lanes] : digits) {
      State both = sum;
      both.append(before);
      overSteps(c_, mask, lanes, both, loc_, [&, mask = mask](Value step, ValueRange mine, ValueRange theirs) {
        size_t parts = mine.size() / 2;
        for (auto [i, v] : llvm::enumerate(mine))
          v.setLoc(c_.named(i < parts ? "run_sum" : "lanes_sum", loc_));
        State own(mine.take_front(parts)), behind(mine.drop_front(parts)), other(theirs.take_front(parts));
        Value number = arith::DivSIOp::create(b, loc_, c_.lane(loc_), c_.index(mask, loc_));
        Value bit = arith::RemSIOp::create(b, loc_, arith::ShRSIOp::create(b, loc_, number, step), c_.index(2, loc_));
        Value isBehind = arith::CmpIOp::create(b, loc_, arith::CmpIPredicate::eq, bit, c_.index(op_.getReverse() ? 0 : 1, loc_));
        behind = select(isBehind, combine(other, behind), behind);
        // A program's own reducer need not commute: the lanes that stand before come first.
        State next = op_.getIdentity() ? select(isBehind, combine(other, own), combine(own, other)) : combine(own, other);
        next.append(behind);
        return next;
      });
      sum.assign(both.begin(), both.begin() + sum.size());
      before.assign(both.begin() + sum.size(), both.end());
    }
  }

  /// Each warp leaves the sums of its runs in shared memory.
  void shareSums(const Layout &runs, const State &sums) {
    speakers_ = findSpeakers(c_, layout_.lane, [&](const Digit &d) { return isAlong(d); }, loc_);
    registers_ = runs.numRegisters();
    for (Type t : elements())
      shared_.push_back(c_.sharedArray(layout_.numWarps() * registers_ * speakers_.places, t, loc_, "warp_sums"));
    OpenDigits open;
    c_.inBranch(speakers_.speaks, loc_, [&] {
      c_.overDigits(runs.reg, loc_, open, [&] {
        Value at = c_.registerIndex(runs, open, loc_);
        store(load(sums, at), shared_, slot(c_.warp(loc_), at));
      });
    });
  }

  Value slot(Value warp, Value at) {
    Value s = c_.add(c_.mul(warp, registers_, loc_), at, loc_);
    return speakers_.place ? c_.add(c_.mul(s, speakers_.places, loc_), speakers_.place, loc_) : s;
  }

  /// From `soFar` over the warps along the dim, in the round that register `at` is of: what is before this warp, and behind all.
  std::pair<State, State> overWarps(const State &soFar, Value at) {
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
    State twice(soFar);
    twice.append(soFar.begin(), soFar.end());
    auto loop = scf::ForOp::create(b, loc_, c_.index(0, loc_), c_.index(count, loc_), c_.index(1, loc_), twice);
    loop.getInductionVar().setLoc(c_.named("w", loc_));
    constexpr int64_t kUnrolled = 4; // a predicate each round: there are seven
    if (count > kUnrolled)
      cu::kUnroll.putOn(loop, 1);
    size_t n = soFar.size();
    SmallVector<Value> args = llvm::to_vector_of<Value>(loop.getRegionIterArgs());
    for (auto [k, arg] : llvm::enumerate(args))
      arg.setLoc(c_.named(k < n ? "before" : "so_far", loc_));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    Value w = inOrder(loop.getInductionVar(), count);
    ArrayRef<Value> sum = ArrayRef(args).drop_front(n);
    Value isOwn = arith::CmpIOp::create(b, loc_, arith::CmpIPredicate::eq, w, own);
    State next = select(isOwn, sum, ArrayRef(args).take_front(n));
    llvm::append_range(next, combine(sum, load(shared_, slot(warpAt(w, warp, sizes, along), at))));
    scf::YieldOp::create(b, loc_, next);
    return {llvm::to_vector_of<Value>(loop.getResults().take_front(n)), llvm::to_vector_of<Value>(loop.getResults().drop_front(n))};
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
  Layout resultLayout_;
  State results_, totals_; ///< arrays of registers, one a component
  State shared_;           ///< the warps' sums
  Value places_;           ///< of a scan that is held: the elements
  State beforeWarp_;       ///< and what is before this warp's
  Speakers speakers_;      ///< a lane of each column
  int64_t registers_ = 1;
};

} // namespace

void lowerScan(ThreadCode &c, tile::ScanOp op) {
  auto scan = std::make_shared<ScanLowering>(c, op);
  scan->run();
  if (scan->isHeld())
    c.heldScans[op] = [scan] { scan->makeHeld(); };
}

} // namespace kernelc
