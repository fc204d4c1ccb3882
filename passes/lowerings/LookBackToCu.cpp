// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile.ticket and tile.look_back: what goes from block to block through global memory.
//
// A tile says what it comes to, then asks for the nodes to its left at each level, of which the block's threads take equal parts. A
// block waits for tiles of lower tickets alone, whose blocks have started; and it says what it has before it waits, so that no two wait
// for each other. The last tile of a node says what that comes to once it has what is to its left.
//
// A node is as many tiles as a device has under way at a time, so that a tile seldom waits for one that waits itself.
#include "passes/lowerings/LookBack.h"
#include "passes/lowerings/ThreadCode.h"

#include "passes/analysis/Reduction.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {

namespace {

class LookBackLowering {
public:
  using State = SmallVector<Value>;

  LookBackLowering(ThreadCode &c, tile::LookBackOp op)
      : c_(c), b_(c.b), op_(op), loc_(cu::unnamed(op.getLoc())), levels_(int64_t(op.getLevels())) {
    for (Value total : op.getTotals())
      types_.push_back(cast<RankedTensorType>(total.getType()).getElementType());
    for (Type t : types_)
      parts_ += tile::LookBackOp::wordsOf(t);
  }

  void run() {
    words_ = c_.bases.lookup(op_.getWords());
    auto base = cast<BlockArgument>(op_.getWords());
    AffineExpr rowLength = c_.func.getArgShape(base.getArgNumber()).getResults().back();
    row_ = arith::MulIOp::create(b_, c_.named("row_words", loc_), c_.scalars.lookup(op_.getRow()), c_.expand(rowLength, {}, loc_));
    number_ = c_.scalars.lookup(op_.getNumber());
    State own; // all threads have it
    for (Value total : op_.getTotals())
      own.push_back(c_.element(total, {}, loc_));
    for (Type t : types_)
      left_.push_back(c_.sharedArray(levels_ * warps(), t, loc_, "left_nodes"));
    Value isFirst = isZero(c_.thread(loc_), "speaks"), zero = c_.index(0, loc_);
    c_.inBranch(isFirst, loc_, [&] { tell(own, c_.index(1, loc_), number_); });
    askAll();
    SmallVector<State> levels = llvm::map_to_vector(llvm::seq(levels_), [&](int64_t l) { return ofWarps(l); });
    State before = identity();
    for (const State &nodes : levels)
      before = combine(nodes, before);
    if (levels_ > 1)
      c_.inBranch(arith::AndIOp::create(b_, c_.named("ends_nodes", loc_), isFirst, isLast(digitOf(number_))), loc_,
                  [&] { tellUpper(own, levels); });
    for (auto [k, result] : llvm::enumerate(op_.getResults())) {
      Value array = c_.allocate(1, types_[k], c_.named("before", loc_));
      memref::StoreOp::create(b_, loc_, before[k], array, zero);
      c_.tiles[result] = {tile::getLayout(result), array};
    }
  }

private:
  Value isZero(Value v, StringRef name) {
    return arith::CmpIOp::create(b_, c_.named(name, loc_), arith::CmpIPredicate::eq, v, c_.index(0, loc_));
  }
  /// How many nodes of its parent are to the left of a node.
  Value digitOf(Value node) { return arith::RemSIOp::create(b_, c_.named("left", loc_), node, c_.index(kLookBackNode, loc_)); }
  Value isLast(Value digit) {
    return arith::CmpIOp::create(b_, c_.named("is_last", loc_), arith::CmpIPredicate::eq, digit, c_.index(kLookBackNode - 1, loc_));
  }
  State load(ArrayRef<Value> arrays, Value at) {
    return llvm::map_to_vector(arrays, [&](Value array) -> Value { return memref::LoadOp::create(b_, loc_, array, at); });
  }
  /// Of states in the order of the scan.
  State combine(ValueRange a, ValueRange b) {
    if (op_.getCombine().empty())
      return {te::combine(op_.getKind(), a[0], b[0], b_, loc_)};
    return op_.getReverse() ? combineBy(c_, op_.getCombine(), b, a, loc_) : combineBy(c_, op_.getCombine(), a, b, loc_);
  }
  State identity() {
    return llvm::map_to_vector(op_.getIdentity(),
                               [&](Attribute a) -> Value { return arith::ConstantOp::create(b_, loc_, cast<TypedAttr>(a)); });
  }
  State select(Value condition, ValueRange a, ValueRange b) {
    State chosen;
    for (auto [x, y] : llvm::zip(a, b))
      chosen.push_back(arith::SelectOp::create(b_, loc_, condition, x, y));
    return chosen;
  }

  /// The word where node `node` begins, of a level whose first node has `first` nodes of the row before it (and the ticket).
  Value place(Value first, Value node) { return c_.add(row_, c_.mul(c_.add(first, node, loc_), parts_, loc_), loc_); }

  Value bits(Value v) { // as i32 or i64
    Type t = v.getType();
    unsigned width = t.getIntOrFloatBitWidth();
    if (isa<FloatType>(t))
      return arith::BitcastOp::create(b_, loc_, b_.getIntegerType(width), v);
    return width < 32 ? Value(arith::ExtUIOp::create(b_, loc_, b_.getI32Type(), v)) : v;
  }
  Value ofBits(Value v, Type t) {
    if (isa<FloatType>(t))
      return arith::BitcastOp::create(b_, loc_, t, v);
    return t == v.getType() ? v : arith::TruncIOp::create(b_, loc_, t, v);
  }

  void tell(ValueRange state, Value first, Value node) {
    Value at = place(first, node);
    int64_t word = 0;
    auto say = [&](Value v) { cu::TellOp::create(b_, loc_, v, words_, c_.add(at, c_.index(word++, loc_), loc_)); };
    for (Value v : state) {
      Value all = bits(v);
      if (all.getType().isInteger(32)) {
        say(all);
        continue;
      }
      Value half = arith::ConstantIntOp::create(b_, loc_, b_.getI64Type(), 32);
      say(arith::TruncIOp::create(b_, loc_, b_.getI32Type(), all));
      say(arith::TruncIOp::create(b_, loc_, b_.getI32Type(), arith::ShRUIOp::create(b_, loc_, all, half)));
    }
  }

  State ask(Value first, Value node) {
    Value at = place(first, node);
    int64_t word = 0;
    auto hear = [&]() -> Value {
      return cu::AskOp::create(b_, c_.named("theirs", loc_), b_.getI32Type(), words_, c_.add(at, c_.index(word++, loc_), loc_));
    };
    State state;
    for (Type t : types_) {
      Value low = hear();
      if (t.getIntOrFloatBitWidth() > 32) {
        Value half = arith::ConstantIntOp::create(b_, loc_, b_.getI64Type(), 32), high = hear();
        low = arith::OrIOp::create(b_, loc_, arith::ExtUIOp::create(b_, loc_, b_.getI64Type(), low),
                                   arith::ShLIOp::create(b_, loc_, arith::ExtUIOp::create(b_, loc_, b_.getI64Type(), high), half));
      }
      state.push_back(ofBits(low, t));
    }
    return state;
  }

  int64_t warps() { return int64_t(c_.func.getWarps()); }
  bool isOrdered() { return !op_.getCombine().empty(); }

  /// Leaves what each warp's nodes to the left come to at each level in shared memory.
  void askAll() {
    Value node = number_, nodes = c_.scalars.lookup(op_.getCount()), first = c_.index(1, loc_), to = c_.index(kLookBackNode, loc_);
    for (int64_t l = 0; l < levels_; ++l) {
      State state = askLevel(first, node);
      overSteps(c_, 1, kLanes, state, loc_, [&](Value step, ValueRange own, ValueRange other) {
        if (!isOrdered())
          return combine(own, other);
        Value bit = arith::RemSIOp::create(b_, loc_, arith::ShRSIOp::create(b_, loc_, c_.lane(loc_), step), c_.index(2, loc_));
        Value isBehind = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::eq, bit, c_.index(1, loc_));
        return select(isBehind, combine(other, own), combine(own, other));
      });
      c_.ifZero(c_.lane(loc_), "first_lane", loc_, [&] {
        for (auto [v, array] : llvm::zip(state, left_))
          memref::StoreOp::create(b_, loc_, v, array, c_.add(c_.index(l * warps(), loc_), c_.warp(loc_), loc_));
      });
      first = c_.add(first, nodes, loc_);
      node = arith::DivSIOp::create(b_, loc_, node, to);
      nodes = arith::DivSIOp::create(b_, loc_, nodes, to);
    }
  }

  /// What this thread's part of the nodes left of `node` comes to: every so many of them, or neighbours where the order counts.
  State askLevel(Value first, Value node) {
    int64_t threads = kLanes * warps(), part = llvm::divideCeil(kLookBackNode, threads);
    Value left = digitOf(node), from = c_.thread(loc_), end = left;
    if (isOrdered()) {
      from = c_.mul(from, part, loc_);
      end = arith::MinSIOp::create(b_, loc_, left, c_.add(from, c_.index(part, loc_), loc_));
    }
    auto loop = scf::ForOp::create(b_, loc_, from, end, c_.index(isOrdered() ? 1 : threads, loc_), identity());
    loop.getInductionVar().setLoc(c_.named("asked", loc_));
    for (Value arg : loop.getRegionIterArgs())
      arg.setLoc(c_.named("nodes_left", loc_));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(loop.getBody());
    State heard = ask(first, arith::SubIOp::create(b_, loc_, c_.add(node, loop.getInductionVar(), loc_), left));
    scf::YieldOp::create(b_, loc_, combine(llvm::to_vector_of<Value>(loop.getRegionIterArgs()), heard));
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  /// What is to the left at a level, of all warps.
  State ofWarps(int64_t level) {
    State state = load(left_, c_.index(level * warps(), loc_));
    for (int64_t w = 1; w < warps(); ++w)
      state = combine(state, load(left_, c_.index(level * warps() + w, loc_)));
    return state;
  }

  /// The nodes of the second level and above that end with this tile.
  void tellUpper(State own, ArrayRef<State> left) {
    Value node = number_, nodes = c_.scalars.lookup(op_.getCount()), first = c_.index(1, loc_), to = c_.index(kLookBackNode, loc_), ends;
    for (int64_t l = 0; l + 1 < levels_; ++l) {
      Value last = isLast(digitOf(node));
      ends = ends ? Value(arith::AndIOp::create(b_, c_.named("ends", loc_), ends, last)) : last;
      own = combine(left[size_t(l)], own);
      first = c_.add(first, nodes, loc_);
      node = arith::DivSIOp::create(b_, loc_, node, to);
      nodes = arith::DivSIOp::create(b_, loc_, nodes, to);
      c_.inBranch(ends, loc_, [&] { tell(own, first, node); });
    }
  }

  static constexpr int64_t kLanes = 32;
  ThreadCode &c_;
  OpBuilder &b_;
  tile::LookBackOp op_;
  Location loc_;
  int64_t levels_, parts_ = 0;
  SmallVector<Type> types_; ///< of a state's components
  SmallVector<Value> left_; ///< what each warp has of what is to the left at each level, in shared memory
  Value words_, row_, number_;
};

} // namespace

void lowerLookBack(ThreadCode &c, tile::LookBackOp op) {
  LookBackLowering(c, op).run();
  if (auto held = c.heldScans.find(op.getTotals().front().getDefiningOp()); held != c.heldScans.end())
    held->second();
}

void lowerTicket(ThreadCode &c, tile::TicketOp op) {
  Location loc = cu::unnamed(op.getLoc());
  Value zero = c.index(0, loc), shared = c.sharedArray(1, c.b.getI32Type(), loc, "ticket");
  c.ifZero(c.thread(loc), "takes", loc, [&] {
    Value number = cu::TakeNumberOp::create(c.b, c.named("number", loc), c.b.getI32Type(), c.bases.lookup(op.getWords()), zero);
    memref::StoreOp::create(c.b, loc, number, shared, zero);
  });
  Value taken = memref::LoadOp::create(c.b, loc, shared, zero);
  c.scalars[op] = arith::IndexCastOp::create(c.b, op.getLoc(), c.b.getIndexType(), taken);
}

} // namespace kernelc
