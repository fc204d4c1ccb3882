// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-roll: see Passes.td.
#include "ir/cu/Marks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/Passes.h"
#include "passes/cu/AlikeParts.h"
#include "passes/cu/PartBegins.h"

#include <set>

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUROLL
#include "passes/Passes.h.inc"

namespace {

/// Lines that a loop saves at least: fewer read better as they stand.
constexpr int64_t kLeastSaved = 8;

/// Whether a tensor copy of results is started in a statement.
bool storesBox(Operation *op) {
  return op->walk([](cu::TmaStoreOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// `count` parts of `length` statements each, from a block's statement `start` on.
struct Run {
  unsigned start, length, count;
};

/// Parts of one run, written as a loop.
class RunRoller {
public:
  RunRoller(ArrayRef<Operation *> statements, const Run &run) : run_(run), block_(statements.front()->getBlock()), alike_(block_) {
    for (unsigned part = 0; part < run.count; ++part)
      parts_.emplace_back(statements.slice(run.start + part * run.length, run.length));
  }

  bool canRoll() {
    for (unsigned i = 0; i < run_.length; ++i)
      if (!alike_.areAlike(statement(i)))
        return false;
    for (unsigned part = 0; part < run_.count; ++part)
      for (Operation *op : parts_[part])
        for (Value result : op->getResults())
          if (!isOnlyUsedIn(result, part))
            return false;
    for (auto &[first, arrays] : alike_.arrays())
      if (auto chain = alike_.chains().find(first); chain != alike_.chains().end()) {
        if (!canGoOnInPlace(arrays, chain->second))
          return false;
      } else if (areSharedByParts(arrays) || (!areOwn(arrays) && !llvm::all_of(arrays, canBePartOfArray)))
        return false;
    return true;
  }

  void roll() {
    for (auto &[first, arrays] : alike_.arrays())
      if (!alike_.chains().contains(first) && !areOwn(arrays))
        join(first, arrays);
    for (auto &[first, distance] : alike_.shared())
      joinShared(first, distance);
    Operation *last = parts_.back().back();
    OpBuilder b(last->getContext());
    b.setInsertionPointAfter(last);
    Location loc = cu::unnamed(parts_.front().front()->getLoc());
    if (llvm::any_of(parts_.front(), storesBox))
      cu::CommentOp::create(b, loc, "Epilogue: the results part by part, through a slot.");
    auto index = [&](int64_t n) { return arith::ConstantIndexOp::create(b, loc, n); };
    auto loop = scf::ForOp::create(b, loc, index(0), index(run_.count), index(1));
    cu::kUnroll.putAllOn(loop);
    loop.getInductionVar().setLoc(NameLoc::get(b.getStringAttr("part"), loc));
    part_ = loop.getInductionVar();
    b.setInsertionPoint(loop.getBody()->getTerminator());
    made_.emplace_back();
    for (unsigned i = 0; i < run_.length; ++i) {
      makeArrays(b, parts_.front()[i]);
      make(b, statement(i));
    }
    for (auto &[first, written] : alike_.chains())
      Value(written.back()).replaceAllUsesWith(first); // (but for the statements that go)
    erase(loop);
  }

private:
  Ops statement(unsigned i) {
    return Ops(llvm::map_range(parts_, [&](ArrayRef<Operation *> part) { return part[i]; }));
  }

  /// The statement of a part that `op` is or is in.
  bool isIn(Operation *op, unsigned part) {
    Operation *here = block_->findAncestorOpInBlock(*op);
    return here && llvm::is_contained(parts_[part], here);
  }

  /// Whether statements of the part alone read `v`, itself or what is computed from it.
  bool isOnlyUsedIn(Value v, unsigned part) {
    llvm::SetVector<Value> reached;
    reached.insert(v);
    for (size_t i = 0; i < reached.size(); ++i)
      for (Operation *user : reached[i].getUsers()) {
        if (isIn(user, part))
          continue;
        if (user->getBlock() != block_ || !isScalarExpression(user))
          return false;
        reached.insert(user->result_begin(), user->result_end());
      }
    return true;
  }

  /// Whether nobody but its part reads or writes any of the arrays.
  bool areOwn(const Values &arrays) {
    return llvm::all_of(llvm::enumerate(arrays), [&](auto array) {
      return llvm::all_of(array.value().getUsers(), [&](Operation *user) { return isIn(user, array.index()); });
    });
  }

  /// Whether a part reads or writes the array that is another part's own: all parts that array, say.
  bool areSharedByParts(const Values &arrays) {
    return llvm::any_of(llvm::enumerate(arrays), [&](auto array) {
      return llvm::any_of(array.value().getUsers(), [&](Operation *user) {
        return llvm::any_of(llvm::seq<unsigned>(0, run_.count), [&](unsigned part) { return part != array.index() && isIn(user, part); });
      });
    });
  }

  /// Whether one array may take the place of those that parts hand on, of which part n reads `read[n]` and writes `written[n]`: each
  /// element is written once, where it alone may still be read.
  bool canGoOnInPlace(const Values &read, const Values &written) {
    Operation *begin = parts_.front().front();
    if (!read.front().getDefiningOp()->isBeforeInBlock(begin))
      return false;
    for (Operation *user : read.front().getUsers())
      if (Operation *here = block_->findAncestorOpInBlock(*user); !here || !(isIn(user, 0) || here->isBeforeInBlock(begin)))
        return false;
    for (unsigned part = 0; part < run_.count; ++part) {
      bool isLast = part + 1 == run_.count;
      SmallVector<memref::StoreOp> stores;
      for (Operation *user : written[part].getUsers()) {
        if (auto store = dyn_cast<memref::StoreOp>(user); store && isIn(user, part)) {
          stores.push_back(store);
          continue;
        }
        Operation *here = block_->findAncestorOpInBlock(*user);
        if (isLast ? !here || !parts_[part].back()->isBeforeInBlock(here) : !isIn(user, part + 1) || !isa<memref::LoadOp>(user))
          return false;
      }
      if (stores.size() != 1 || !isReadBefore(read[part], stores.front(), part))
        return false;
    }
    return true;
  }

  /// Whether a part reads `array` before it stores, or in the very round that stores the element.
  bool isReadBefore(Value array, memref::StoreOp store, unsigned part) {
    if (store.getIndices().size() != 1)
      return false;
    Operation *top = block_->findAncestorOpInBlock(*store);
    auto loop = dyn_cast<scf::ForOp>(top);
    bool isOneElement = top == store && getConstantIntValue(store.getIndices()[0]);
    if (!isOneElement && !(loop && store->getBlock() == loop.getBody() && store.getIndices()[0] == loop.getInductionVar()))
      return false;
    return llvm::all_of(array.getUsers(), [&](Operation *user) {
      if (!isIn(user, part))
        return true; // (of the part before, or before all)
      auto load = dyn_cast<memref::LoadOp>(user);
      if (!load)
        return false;
      if (load->getBlock() == store->getBlock())
        return load->isBeforeInBlock(store) && load.getIndices() == store.getIndices();
      return block_->findAncestorOpInBlock(*load)->isBeforeInBlock(top);
    });
  }

  static bool canBePartOfArray(Value array) {
    return llvm::all_of(array.getUsers(), [&](Operation *user) {
      auto uses = arrayUsesOf(user);
      return uses && llvm::count(user->getOperands(), array) ==
                         llvm::count_if(*uses, [&](const ArrayUse &use) { return user->getOperand(use.array) == array; });
    });
  }

  /// One array of all parts' registers, in order.
  void join(Value first, const Values &arrays) {
    Operation *earliest = first.getDefiningOp();
    for (Value v : arrays)
      earliest = v.getDefiningOp()->isBeforeInBlock(earliest) ? v.getDefiningOp() : earliest;
    OpBuilder b(earliest);
    auto type = cast<MemRefType>(first.getType());
    int64_t size = type.getNumElements();
    Value joined = memref::AllocaOp::create(b, first.getLoc(), MemRefType::Builder(type).setShape({size * int64_t(run_.count)}));
    joined_[first] = joined;
    for (auto [part, array] : llvm::enumerate(arrays))
      for (Operation *user : llvm::make_early_inc_range(array.getUsers()))
        if (!isIn(user, part))
          moveInto(user, array, joined,
                   [&](OpBuilder &b, Value subscript) { return addNumber(b, subscript, size * int64_t(part), user->getLoc()); });
  }

  /// One array of all that parts have in shared memory.
  void joinShared(Value first, const Progression &distance) {
    auto own = first.getDefiningOp<cu::SharedOp>();
    OpBuilder b(own);
    auto type = cast<MemRefType>(first.getType());
    MemRefType all = MemRefType::Builder(type).setShape({type.getNumElements() + distance.most(run_.count)});
    joined_[first] = cu::SharedOp::create(b, own.getLoc(), Type(all), own.getOffset());
  }

  /// How far a part's elements lie from the first part's in an array of all.
  Value distance(OpBuilder &b, Value first, Location loc) {
    auto known = alike_.shared().find(first);
    if (known != alike_.shared().end())
      return add(b, {}, known->second, loc);
    return scale(b, part_, cast<MemRefType>(first.getType()).getNumElements(), loc);
  }

  static Value addNumber(OpBuilder &b, Value v, int64_t number, Location loc) {
    Sum sum = sumOf(v);
    if (number == 0)
      return v;
    Value constant = arith::ConstantIndexOp::create(b, loc, sum.addend + number);
    return sum.rest ? Value(arith::AddIOp::create(b, v.getLoc(), sum.rest, constant)) : constant;
  }

  /// Lets `user` take elements of `joined` where it takes those of `array`: at other subscripts.
  static void moveInto(Operation *user, Value array, Value joined, llvm::function_ref<Value(OpBuilder &, Value)> move) {
    OpBuilder b(user);
    auto uses = arrayUsesOf(user);
    for (const ArrayUse &use : *uses)
      if (user->getOperand(use.array) == array) {
        user->setOperand(use.array, joined);
        for (unsigned s : use.subscripts)
          user->setOperand(s, move(b, user->getOperand(s)));
      }
  }

  /// The arrays that a part has to itself and begins to use in `statement`.
  void makeArrays(OpBuilder &b, Operation *statement) {
    for (auto &[first, arrays] : alike_.arrays())
      if (!joined_.contains(first) && !alike_.chains().contains(first) && !find(arrays) &&
          llvm::any_of(first.getUsers(), [&](Operation *user) { return statement->isAncestor(user); }))
        made_.back()[keyOf(arrays)] = b.clone(*first.getDefiningOp())->getResult(0);
  }

  /// The loop's statement for what are `statements` of the parts.
  void make(OpBuilder &b, const Ops &statements) {
    Operation *first = statements.front(), *op = first->cloneWithoutRegions();
    for (unsigned i = 0; i < first->getNumOperands(); ++i)
      op->setOperand(i, make(b, Values(llvm::map_range(statements, [&](Operation *s) { return s->getOperand(i); })), first->getLoc()));
    b.insert(op);
    for (auto &[array, joined] : joined_) // (the first part's, the array of all)
      if (llvm::is_contained(op->getOperands(), joined)) {
        moveInto(op, joined, joined, [&, first = array](OpBuilder &before, Value subscript) {
          return before.createOrFold<arith::AddIOp>(op->getLoc(), subscript, distance(before, first, op->getLoc()));
        });
      }
    for (unsigned r = 0; r < first->getNumRegions(); ++r)
      if (!first->getRegion(r).empty())
        makeRegion(op->getRegion(r), statements, r);
    for (auto [from, to] : llvm::zip(first->getResults(), op->getResults()))
      made_.back()[keyOf(Values(llvm::map_range(
          statements, [n = cast<OpResult>(from).getResultNumber()](Operation *s) { return Value(s->getResult(n)); })))] = to;
  }

  void makeRegion(Region &region, const Ops &statements, unsigned number) {
    Region &first = statements.front()->getRegion(number);
    Block &block = region.emplaceBlock();
    OpBuilder b = OpBuilder::atBlockEnd(&block);
    made_.emplace_back();
    for (auto [i, argument] : llvm::enumerate(first.getArguments()))
      made_.back()[keyOf(
          Values(llvm::map_range(statements, [&, i = i](Operation *s) { return Value(s->getRegion(number).getArgument(i)); })))] =
          block.addArgument(argument.getType(), argument.getLoc());
    auto lists = llvm::map_to_vector(statements, [&](Operation *s) { return innerStatementsOf(s->getRegion(number).front()); });
    for (unsigned i = 0; i < lists.front().size(); ++i)
      make(b, Ops(llvm::map_range(lists, [&](const SmallVector<Operation *> &list) { return list[i]; })));
    made_.pop_back();
  }

  static Value scale(OpBuilder &b, Value v, int64_t by, Location loc) {
    return by == 1 ? v : Value(arith::MulIOp::create(b, cu::unnamed(loc), v, arith::ConstantIndexOp::create(b, loc, by)));
  }

  /// What is added to `base` in this round, if anything.
  Value add(OpBuilder &b, Value base, Progression numbers, Location loc) {
    Value v = base;
    Location plain = cu::unnamed(loc);
    if (numbers.halves) {
      Value part = arith::ShRSIOp::create(b, plain, arith::ConstantIndexOp::create(b, plain, numbers.base), part_);
      return v ? Value(arith::AddIOp::create(b, loc, v, part)) : part;
    }
    if (numbers.step) {
      Value part = part_;
      if (numbers.period == 2 && numbers.step < 0) { // the second of two slots comes first
        part = arith::AddIOp::create(b, plain, part, arith::ConstantIndexOp::create(b, plain, 1));
        numbers = {numbers.base + numbers.step, -numbers.step, 2};
      }
      if (numbers.period)
        part = arith::RemSIOp::create(b, plain, part, arith::ConstantIndexOp::create(b, plain, numbers.period));
      part = scale(b, part, numbers.step, plain);
      v = v ? Value(arith::AddIOp::create(b, loc, v, part)) : part;
    }
    if (!numbers.base && v)
      return v;
    Value constant = arith::ConstantIndexOp::create(b, plain, numbers.base);
    return v ? Value(arith::AddIOp::create(b, loc, v, constant)) : constant;
  }

  /// The loop's value for what are `values` of the parts.
  Value make(OpBuilder &b, const Values &values, Location loc) {
    if (alike_.isOneValue(values))
      return values.front();
    if (Value known = find(values))
      return known;
    return made_.back()[keyOf(values)] = compute(b, values, loc);
  }

  using Key = std::vector<const void *>;
  static Key keyOf(const Values &values) {
    Key key;
    for (Value v : values)
      key.push_back(v.getAsOpaquePointer());
    return key;
  }
  Value find(const Values &values) {
    Key key = keyOf(values);
    for (auto &scope : llvm::reverse(made_))
      if (auto known = scope.find(key); known != scope.end())
        return known->second;
    return {};
  }

  Value compute(OpBuilder &b, const Values &values, Location loc) {
    for (auto &[first, written] : alike_.chains())
      if (values == written || values.front() == first)
        return first;
    if (Value joined = joined_.lookup(values.front()))
      return joined;
    if (std::optional<Progression> numbers = alike_.numbersOf(values))
      return add(b, {}, *numbers, loc);
    if (auto parted = alike_.withoutAddends(values))
      return add(b, make(b, parted->first, loc), parted->second, values.back().getLoc());
    std::optional<Ops> ops = alike_.expressionsOf(values);
    assert(ops && "values that are not alike");
    SmallVector<Value> operands = llvm::map_to_vector(llvm::seq<unsigned>(0, ops->front()->getNumOperands()),
                                                      [&](unsigned i) { return make(b, operandsOf(*ops, i), loc); });
    Operation *op = b.clone(*ops->front());
    op->setOperands(operands);
    return op->getResult(0);
  }

  /// Takes away what the loop does now, from the last part's end back to the first's start.
  void erase(scf::ForOp loop) {
    llvm::SmallPtrSet<Operation *, 32> statements;
    for (ArrayRef<Operation *> part : parts_)
      statements.insert(part.begin(), part.end());
    for (Operation *op = loop->getPrevNode(); op;) {
      Operation *before = op->getPrevNode();
      bool isUnused = op->use_empty() && (isScalarExpression(op) || isa<memref::AllocaOp, cu::SharedOp>(op));
      if (statements.contains(op) || isUnused)
        op->erase();
      op = before;
    }
  }

  const Run run_;
  Block *block_;
  SmallVector<SmallVector<Operation *>> parts_;
  AlikeParts alike_;
  Value part_;
  llvm::MapVector<Value, Value> joined_;   ///< the first part's array → the array of all
  SmallVector<std::map<Key, Value>> made_; ///< by block, outermost first: values of the parts → the loop's
};

/// Finds what a block has several times in a row, most lines first.
class RunFinder {
public:
  explicit RunFinder(Block &block) : statements_(statementsOf(block)) {
    for (Operation *op : statements_) {
      shapes_.push_back(shapeOf(op));
      products_.push_back(isProduct(op));
      lines_.push_back(linesOf(op));
    }
    unsigned longest = std::min<unsigned>(statements_.size() / 2, kLongest);
    for (unsigned length = 1; length <= longest; ++length)
      for (unsigned i = 0; i + length < statements_.size(); ++i) {
        unsigned start = i;
        while (i + length < statements_.size() && isSame(i, i + length))
          ++i;
        for (unsigned shift = 0; shift < length && start + shift + length <= i; ++shift) {
          unsigned count = (i - start - shift) / length + 1;
          note(start + shift, length, count);
          noteBegin(start + shift, length, count);
        }
      }
  }

  /// Writes one run as a loop; false where there is none.
  bool rollOne() {
    for (int tries = 0; tries < kTries && !runs_.empty(); ++tries) {
      auto [saved, start, length, count] = *runs_.begin();
      runs_.erase(runs_.begin());
      Run run{unsigned(start), unsigned(length), unsigned(count)};
      PartBegins begins;
      RunRoller roller(statements_, run);
      if (beginAlike(run, begins) && roller.canRoll()) {
        begins.fill(statements_[run.start]);
        roller.roll();
        return true;
      }
      begins.undo();
      note(start, length, count - 1);
      note(start + length, length, count - 1);
    }
    return false;
  }

private:
  static constexpr unsigned kLongest = 64; ///< statements of a part
  static constexpr int kTries = 256;

  bool isSame(unsigned i, unsigned j) const { return shapes_[i] == shapes_[j] && !products_[i] && !products_[j]; }

  /// Makes a run's first part like the others where it is not; false where it is still unlike them.
  bool beginAlike(const Run &run, PartBegins &begins) const {
    return llvm::all_of(llvm::seq(run.start, run.start + run.length),
                        [&](unsigned i) { return isSame(i, i + run.length) || begins.add(statements_[i], statements_[i + run.length]); });
  }

  /// Notes a run together with the part before it, if that may store what the others add up.
  void noteBegin(unsigned start, unsigned length, unsigned count) {
    auto mayBegin = [&](unsigned i) {
      return isSame(i, i + length) || (!products_[i] && !products_[i + length] && lines_[i] < lines_[i + length] &&
                                       statements_[i]->getName() == statements_[i + length]->getName());
    };
    if (start >= length && llvm::all_of(llvm::seq(start - length, start), mayBegin))
      note(start - length, length, count + 1);
  }

  void note(int64_t start, int64_t length, int64_t count) {
    int64_t lines = 0;
    for (int64_t i = start; i < start + length; ++i)
      lines += lines_[i];
    if (int64_t saved = (count - 1) * lines; count > 1 && saved >= kLeastSaved)
      runs_.insert({-saved, start, length, count});
  }

  SmallVector<Operation *> statements_;
  SmallVector<llvm::hash_code> shapes_;
  SmallVector<bool> products_;
  SmallVector<int64_t> lines_;
  std::set<std::tuple<int64_t, int64_t, int64_t, int64_t>> runs_; ///< −lines saved, start, length, count
};

struct CuRollPass : impl::CuRollBase<CuRollPass> {
  void runOnOperation() override { visit(getOperation().getBlock()); }

private:
  static void visit(Block &block) {
    while (RunFinder(block).rollOne()) {
    }
    for (Operation &op : block)
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          visit(inner);
  }
};

} // namespace
} // namespace kernelc
