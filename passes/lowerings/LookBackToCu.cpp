// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile.ticket and tile.look_back: what goes from block to block through global memory.
//
// A tile says what it comes to, then asks for the nodes to its left: a warp for each level, a lane for each node. A block waits for
// tiles of lower tickets alone, whose blocks have started; and it says what it has before it waits, so that no two wait for each
// other. The last tile of a node says what that comes to: of the first level as soon as it has its neighbours, of the others once
// all levels are there.
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
      left_.push_back(c_.sharedArray(levels_, t, loc_, "left_nodes"));
    Value isFirst = isZero(c_.thread(loc_), "speaks"), zero = c_.index(0, loc_);
    c_.inBranch(isFirst, loc_, [&] { tell(own, c_.index(1, loc_), number_); });
    // A warp may have several levels, where the block has few.
    int64_t warps = int64_t(c_.func.getWarps());
    Value level = c_.warp(loc_);
    for (int64_t done = 0; done < levels_; done += warps) {
      Value mine = c_.add(level, c_.index(done, loc_), loc_);
      c_.inBranch(arith::CmpIOp::create(b_, c_.named("asks", loc_), arith::CmpIPredicate::slt, mine, c_.index(levels_, loc_)), loc_,
                  [&] { askLevel(mine, own); });
    }
    State before = identity();
    for (int64_t l = 0; l < levels_; ++l)
      before = combine(load(left_, c_.index(l, loc_)), before);
    if (levels_ > 2)
      c_.inBranch(arith::AndIOp::create(b_, c_.named("ends_nodes", loc_), isFirst, isLast(digitOf(number_))), loc_,
                  [&] { tellUpper(own); });
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

  /// (first, node) of this tile at `level`, whose number is no constant.
  std::pair<Value, Value> walkTo(Value level) {
    State init{c_.index(1, loc_), number_, c_.scalars.lookup(op_.getCount())};
    auto loop = scf::ForOp::create(b_, loc_, c_.index(0, loc_), level, c_.index(1, loc_), init);
    loop.getInductionVar().setLoc(c_.named("below", loc_));
    for (auto [arg, name] : llvm::zip(loop.getRegionIterArgs(), ArrayRef<StringRef>{"level_first", "node", "nodes"}))
      arg.setLoc(c_.named(name, loc_));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(loop.getBody());
    ValueRange args = loop.getRegionIterArgs();
    Value to = c_.index(kLookBackNode, loc_);
    scf::YieldOp::create(b_, loc_,
                         ValueRange{c_.add(args[0], args[2], loc_), arith::DivSIOp::create(b_, loc_, args[1], to),
                                    arith::DivSIOp::create(b_, loc_, args[2], to)});
    return {loop.getResult(0), loop.getResult(1)};
  }

  /// Leaves what the nodes to the left come to at a level in shared memory.
  void askLevel(Value level, const State &own) {
    Value lane = c_.lane(loc_), zero = c_.index(0, loc_);
    auto [first, node] = walkTo(level);
    Value digit = digitOf(node);
    State theirs;
    for (auto [t, v] : llvm::zip(types_, identity())) {
      theirs.push_back(c_.allocate(1, t, c_.named("state", loc_)));
      memref::StoreOp::create(b_, loc_, v, theirs.back(), zero);
    }
    Value isLeft = arith::CmpIOp::create(b_, c_.named("has_node", loc_), arith::CmpIPredicate::slt, lane, digit);
    c_.inBranch(isLeft, loc_, [&, first = first, node = node] {
      State heard = ask(first, arith::SubIOp::create(b_, loc_, c_.add(node, lane, loc_), digit));
      for (auto [v, array] : llvm::zip(heard, theirs))
        memref::StoreOp::create(b_, loc_, v, array, zero);
    });
    State state = llvm::map_to_vector(
        theirs, [&](Value array) -> Value { return memref::LoadOp::create(b_, c_.named("nodes_left", loc_), array, zero); });
    overSteps(c_, 1, kLookBackNode, state, loc_, [&](Value step, ValueRange own, ValueRange other) {
      Value bit = arith::RemSIOp::create(b_, loc_, arith::ShRSIOp::create(b_, loc_, lane, step), c_.index(2, loc_));
      Value isBehind = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::eq, bit, c_.index(1, loc_));
      return op_.getCombine().empty() ? combine(own, other) : select(isBehind, combine(other, own), combine(own, other));
    });
    c_.ifZero(lane, "first_lane", loc_, [&] {
      for (auto [v, array] : llvm::zip(state, left_))
        memref::StoreOp::create(b_, loc_, v, array, level);
      if (levels_ == 1)
        return;
      Value endsNode = arith::AndIOp::create(b_, c_.named("ends_node", loc_), isZero(level, "is_lowest"), isLast(digit));
      c_.inBranch(endsNode, loc_, [&] {
        Value next = c_.add(c_.scalars.lookup(op_.getCount()), c_.index(1, loc_), loc_);
        tell(combine(state, own), next, arith::DivSIOp::create(b_, loc_, number_, c_.index(kLookBackNode, loc_)));
      });
    });
  }

  /// The nodes of the third level and above that end with this tile.
  void tellUpper(State own) {
    Value node = number_, nodes = c_.scalars.lookup(op_.getCount()), first = c_.index(1, loc_), to = c_.index(kLookBackNode, loc_), ends;
    for (int64_t l = 0; l + 1 < levels_; ++l) {
      Value last = isLast(digitOf(node));
      ends = ends ? Value(arith::AndIOp::create(b_, c_.named("ends", loc_), ends, last)) : last;
      own = combine(load(left_, c_.index(l, loc_)), own);
      first = c_.add(first, nodes, loc_);
      node = arith::DivSIOp::create(b_, loc_, node, to);
      nodes = arith::DivSIOp::create(b_, loc_, nodes, to);
      if (l > 0)
        c_.inBranch(ends, loc_, [&] { tell(own, first, node); });
    }
  }

  ThreadCode &c_;
  OpBuilder &b_;
  tile::LookBackOp op_;
  Location loc_;
  int64_t levels_, parts_ = 0;
  SmallVector<Type> types_; ///< of a state's components
  SmallVector<Value> left_; ///< what is to the left at each level, in shared memory
  Value words_, row_, number_;
};

} // namespace

void lowerLookBack(ThreadCode &c, tile::LookBackOp op) { LookBackLowering(c, op).run(); }

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
