// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cu/SameRuns.h"

#include "ir/cu/Marks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace kernelc {

bool isMovable(Operation *op) { return isScalarExpression(op) && !isa<cu::ShuffleXorOp, cu::WarpgroupOp>(op); }

SmallVector<Operation *> comparedIn(Block &block) {
  SmallVector<Operation *> list;
  for (Operation &op : block)
    if (!isMovable(&op) && !isa<cu::CommentOp>(op))
      list.push_back(&op);
  return list;
}

/// `v` ahead of where `b` writes.
static Value computeAt(OpBuilder &b, Value v, DominanceInfo &dominance) {
  if (dominance.properlyDominates(v, &*b.getInsertionPoint()))
    return v;
  Operation *op = v.getDefiningOp()->clone();
  for (OpOperand &operand : op->getOpOperands())
    operand.set(computeAt(b, operand.get(), dominance));
  b.insert(op);
  return op->getResult(0);
}

/// Whether 32 bits hold an index.
static bool isNarrow(Value v) {
  Operation *op = v.getDefiningOp();
  if (std::optional<int64_t> number = getConstantIntValue(v))
    return llvm::isInt<32>(*number);
  return cu::kNarrow.isOn(op ? op : v.getParentBlock()->getParentOp());
}

static Value addNarrow(OpBuilder &b, Location loc, Value x, Value y, bool isNarrow) {
  auto sum = arith::AddIOp::create(b, loc, x, y);
  if (isNarrow)
    cu::kNarrow.putOn(sum);
  return sum;
}

/// Whether ops are the same but for operands and what stands in them. (Attributes last: they are gathered for the question.)
static bool haveOneForm(Operation *x, Operation *y) {
  return x->getName() == y->getName() && x->getNumRegions() == y->getNumRegions() && x->getResultTypes() == y->getResultTypes() &&
         x->getOperandTypes() == y->getOperandTypes() && x->getAttrDictionary() == y->getAttrDictionary();
}

/// The innermost block that all of `ops` stand in.
static Block *findCommonBlock(const Ops &ops) {
  Block *common = ops.front()->getBlock();
  while (!llvm::all_of(ops, [&](Operation *op) { return common->findAncestorOpInBlock(*op); }))
    common = common->getParentOp()->getBlock();
  return common;
}

SameRuns::SameRuns(ArrayRef<SmallVector<Operation *>> runs, DominanceInfo &dominance)
    : runs_(runs), dominance_(dominance), used_(runs.front().size()) {
  Ops first = statement(0);
  place_ = findCommonBlock(first)->findAncestorOpInBlock(*first.front());
  // What it is about is said ahead of it.
  while (Operation *before = place_->getPrevNode()) {
    if (!isa<cu::CommentOp, arith::ConstantOp>(before))
      break;
    place_ = before;
  }
}

Ops SameRuns::statement(unsigned i) const {
  return Ops(llvm::map_range(runs_, [&](ArrayRef<Operation *> run) { return run[i]; }));
}

bool SameRuns::isInRun(Operation *op, unsigned place) const {
  Operation *here = runs_[place].front()->getBlock()->findAncestorOpInBlock(*op);
  return here && llvm::is_contained(runs_[place], here);
}

bool SameRuns::isOnlyUsedInRun(Value v, unsigned place) const {
  llvm::SetVector<Value> reached;
  reached.insert(v);
  for (size_t i = 0; i < reached.size(); ++i)
    for (Operation *user : reached[i].getUsers()) {
      if (isInRun(user, place))
        continue;
      if (user->getBlock() != runs_[place].front()->getBlock() || !isMovable(user))
        return false;
      reached.insert(user->result_begin(), user->result_end());
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

std::optional<unsigned> SameRuns::findDifference() {
  for (unsigned i = 0; i < used_.size(); ++i) {
    if (!areSame(statement(i), i))
      return i;
    for (unsigned place = 0; place < runs_.size(); ++place)
      for (Value result : runs_[place][i]->getResults())
        if (!isOnlyUsedInRun(result, place))
          return i;
  }
  return std::nullopt;
}

bool SameRuns::areSame(const Ops &statements, unsigned top) {
  Operation *first = statements.front();
  if (!llvm::all_of(ArrayRef(statements).drop_front(), [&](Operation *op) { return haveOneForm(op, first); }))
    return false;
  for (unsigned i = 0; i < first->getNumOperands(); ++i) {
    Values operands = operandsOf(statements, i);
    if (classify(operands).kind == Kind::Different)
      return false;
    use(operands, top);
  }
  for (unsigned r = 0; r < first->getNumRegions(); ++r)
    if (!areSame(statements, r, top))
      return false;
  for (unsigned i = 0; i < first->getNumResults(); ++i)
    bind(Values(llvm::map_range(statements, [&](Operation *op) { return Value(op->getResult(i)); })));
  return true;
}

bool SameRuns::areSame(const Ops &statements, unsigned region, unsigned top) {
  Region &first = statements.front()->getRegion(region);
  if (first.empty())
    return llvm::all_of(statements, [&](Operation *op) { return op->getRegion(region).empty(); });
  SmallVector<SmallVector<Operation *>> lists;
  SmallVector<Block *> &blocks = blocks_[&first.front()];
  for (Operation *op : statements) {
    Region &own = op->getRegion(region);
    if (!own.hasOneBlock() || own.getArgumentTypes() != first.getArgumentTypes())
      return false;
    blocks.push_back(&own.front());
    lists.push_back(comparedIn(own.front()));
    if (lists.back().size() != lists.front().size())
      return false;
  }
  for (unsigned i = 0; i < first.getNumArguments(); ++i)
    bind(Values(llvm::map_range(statements, [&](Operation *op) { return Value(op->getRegion(region).getArgument(i)); })));
  return llvm::all_of(llvm::seq<size_t>(0, lists.front().size()), [&](size_t i) {
    return areSame(Ops(llvm::map_range(lists, [&](ArrayRef<Operation *> list) { return list[i]; })), top);
  });
}

void SameRuns::bind(const Values &values) {
  made_[values.front()] = values;
  inside_.insert(values.begin(), values.end());
}

/// Notes what the lambda needs for `values`.
void SameRuns::use(const Values &values, unsigned top) {
  Known known = classify(values);
  if (known.kind == Kind::Argument && !llvm::is_contained(arguments_, values))
    arguments_.push_back(values);
  if (known.kind != Kind::Expression && known.kind != Kind::Sum)
    return;
  if (known.kind == Kind::Sum) {
    const SumOf &sum = sums_.at(values);
    use(sum.own, top);
    for (const Values &common : sum.common)
      use(common, top);
  } else {
    Ops ops = *expressionsOf(values);
    for (unsigned i = 0; i < ops.front()->getNumOperands(); ++i)
      use(operandsOf(ops, i), top);
  }
  Operation *first = values.front().getDefiningOp();
  if (!first || !(isMovable(first) || isa<cu::SharedOp>(first))) // (a sum of what is there anyway)
    return;
  if (!llvm::is_contained(used_[top], values))
    used_[top].push_back(values);
  if (SmallVector<Values> &all = expressions_[first]; !llvm::is_contained(all, values))
    all.push_back(values);
}

SameRuns::Known SameRuns::classify(const Values &values) {
  if (auto made = made_.find(values.front()); made != made_.end() && made->second == values)
    return {Kind::Made};
  if (llvm::any_of(values, [&](Value v) { return inside_.contains(v); }))
    return {Kind::Different};
  if (auto known = known_.find(values); known != known_.end())
    return known->second;
  Known known = compare(values);
  if (known.kind != Kind::Made) // (an array that is made now is found by made_)
    known_[values] = known;
  return known;
}

SameRuns::Known SameRuns::compare(const Values &values) {
  Value first = values.front();
  auto isThere = [&](Value v) { return dominance_.properlyDominates(v, place_); };
  if (llvm::all_equal(values) && isThere(first) && !first.getDefiningOp<arith::ConstantOp>())
    return {Kind::Captured, true};
  Known expression{Kind::Different};
  if (std::optional<Ops> ops = expressionsOf(values)) {
    bool isOne = true, isSame = stayInPlace(*ops);
    unsigned arguments = 0;
    for (unsigned i = 0; i < ops->front()->getNumOperands(); ++i) {
      Known operand = classify(operandsOf(*ops, i));
      isOne &= operand.isOne;
      isSame &= operand.kind != Kind::Different;
      arguments += operand.arguments;
    }
    if (isSame && isOne && isThere(first) && !first.getDefiningOp<arith::ConstantOp>())
      return {Kind::Captured, true};
    if (isSame)
      expression = {Kind::Expression, isOne, arguments};
    if (isSame && arguments < 2)
      return expression;
  }
  if (compareSums(values))
    return {Kind::Sum, false, 1};
  if (expression.kind == Kind::Expression)
    return expression;
  if (areOwnArrays(values)) {
    bind(values);
    return {Kind::Made};
  }
  bool arePassed = first.getType().isIntOrIndexOrFloat() && llvm::all_of(llvm::enumerate(values), [&](auto v) {
                     return v.value().getType() == first.getType() && isKnownAt(v.value(), runs_[v.index()].front());
                   });
  return arePassed ? Known{Kind::Argument, false, 1} : Known{Kind::Different};
}

/// Whether `other`, of a place, is what `first` is in the first one, whatever the places differ by.
bool SameRuns::isSame(Value first, Value other, unsigned place) const {
  if (auto made = made_.find(first); made != made_.end())
    return made->second[place] == other;
  if (first == other)
    return true;
  Operation *a = first.getDefiningOp(), *b = other.getDefiningOp();
  return a && b && isMovable(a) && haveOneForm(a, b) && llvm::all_of(llvm::zip(a->getOperands(), b->getOperands()), [&](auto pair) {
           return isSame(std::get<0>(pair), std::get<1>(pair), place);
         });
}

/// What a sum adds up, but for what `taken` has.
static void collectAddends(Value v, const llvm::DenseSet<Value> &taken, SmallVector<Value> &addends) {
  auto sum = v.getDefiningOp<arith::AddIOp>();
  if (taken.contains(v) || (!sum && getConstantIntValue(v) == 0))
    return;
  if (!sum)
    return addends.push_back(v);
  collectAddends(sum.getLhs(), taken, addends);
  collectAddends(sum.getRhs(), taken, addends);
}

/// The part of the sum `in` that is what `first` is in the first place, if nothing of it is taken.
Value SameRuns::findSame(Value first, Value in, unsigned place, const llvm::DenseSet<Value> &taken) const {
  if (taken.contains(in))
    return {};
  auto sum = in.getDefiningOp<arith::AddIOp>();
  bool isWhole = !sum || !(taken.contains(sum.getLhs()) || taken.contains(sum.getRhs()));
  if (isWhole && isSame(first, in, place))
    return in;
  if (!sum)
    return {};
  Value left = findSame(first, sum.getLhs(), place, taken);
  return left ? left : findSame(first, sum.getRhs(), place, taken);
}

/// Takes what all places have of `first`, itself or its addends.
void SameRuns::takeCommon(Value first, const Values &values, SumOf &sum, std::vector<llvm::DenseSet<Value>> &taken) const {
  Values tuple = {first};
  for (unsigned place = 1; place < values.size() && tuple.size() == place; ++place)
    if (Value same = findSame(first, values[place], place, taken[place]))
      tuple.push_back(same);
  if (tuple.size() == values.size()) {
    sum.common.push_back(tuple);
    for (auto [v, own] : llvm::zip(tuple, taken))
      own.insert(v);
  } else if (auto parts = first.getDefiningOp<arith::AddIOp>()) {
    takeCommon(parts.getLhs(), values, sum, taken);
    takeCommon(parts.getRhs(), values, sum, taken);
  }
}

/// Whether values are sums that have addends in common, and one place or another has more.
bool SameRuns::compareSums(const Values &values) {
  bool areSums = values.front().getType().isIndex() && llvm::any_of(values, [](Value v) { return !!v.getDefiningOp<arith::AddIOp>(); });
  if (!areSums)
    return false;
  SumOf sum;
  std::vector<llvm::DenseSet<Value>> taken(values.size());
  takeCommon(values.front(), values, sum, taken);
  SmallVector<SmallVector<Value>> addends(values.size());
  for (auto [v, own, rest] : llvm::zip(values, taken, addends))
    collectAddends(v, own, rest);
  bool haveCommon = llvm::all_of(sum.common, [&](const Values &common) { return classify(common).kind != Kind::Different; });
  if (sum.common.empty() || !haveCommon || llvm::all_of(addends, [](ArrayRef<Value> rest) { return rest.empty(); }))
    return false;
  for (auto [place, rest] : llvm::enumerate(addends))
    if (!llvm::all_of(rest, [&, place = place](Value v) { return isKnownAt(v, runs_[place].front()); }))
      return false;
  sum.own = makeRest(addends);
  if (classify(sum.own).kind == Kind::Different)
    return false;
  sums_[values] = sum;
  return true;
}

/// One value for what each place adds, ahead of it.
Values SameRuns::makeRest(ArrayRef<SmallVector<Value>> addends) {
  Values rest;
  for (auto [place, all] : llvm::enumerate(addends)) {
    std::vector<const void *> key;
    for (Value v : all)
      key.push_back(v.getAsOpaquePointer());
    Value &known = rests_[{unsigned(place), key}];
    if (!known) {
      OpBuilder b(runs_[place].front());
      Location loc = cu::unnamed(runs_[place].front()->getLoc());
      known = all.empty() ? Value(arith::ConstantIndexOp::create(b, loc, 0)) : computeAt(b, all.front(), dominance_);
      for (Value v : ArrayRef(all).drop_front(all.empty() ? 0 : 1))
        known = addNarrow(b, loc, known, computeAt(b, v, dominance_), llvm::all_of(all, isNarrow));
    }
    rest.push_back(known);
  }
  return rest;
}

std::optional<Ops> SameRuns::expressionsOf(const Values &values) const {
  Ops ops;
  for (Value v : values) {
    Operation *op = v.getDefiningOp();
    if (!op || op->getNumResults() != 1 || !(isMovable(op) || isa<cu::SharedOp>(op)))
      return std::nullopt;
    ops.push_back(op);
  }
  bool same = llvm::all_of(ArrayRef(ops).drop_front(), [&](Operation *op) { return op == ops[0] || haveOneForm(op, ops[0]); });
  return same ? std::optional(ops) : std::nullopt;
}

/// Whether no place computes what it did not before, where that may fail: a quotient under a condition that the divisor is not 0.
bool SameRuns::stayInPlace(const Ops &ops) const {
  if (llvm::all_of(ops, [](Operation *op) { return isSpeculatable(op); }))
    return true;
  bool areOutside = llvm::all_of(llvm::enumerate(ops), [&](auto op) { return !isInRun(op.value(), op.index()); });
  auto blocks = blocks_.find(ops.front()->getBlock());
  return areOutside || (blocks != blocks_.end() && llvm::all_of(llvm::zip(ops, blocks->second), [](auto pair) {
                          return std::get<0>(pair)->getBlock() == std::get<1>(pair);
                        }));
}

bool SameRuns::areOwnArrays(const Values &values) const {
  return llvm::all_of(llvm::enumerate(values), [&](auto v) {
    auto array = v.value().template getDefiningOp<memref::AllocaOp>();
    return array && array.getType() == values.front().getType() && array->getBlock() == runs_[v.index()].front()->getBlock() &&
           llvm::all_of(array->getUsers(), [&](Operation *user) { return isInRun(user, v.index()); });
  });
}

bool SameRuns::isKnownAt(Value v, Operation *place) const {
  if (dominance_.properlyDominates(v, place))
    return true;
  Operation *op = v.getDefiningOp();
  return op && isMovable(op) && isSpeculatable(op) && llvm::all_of(op->getOperands(), [&](Value x) { return isKnownAt(x, place); });
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Value SameRuns::find(OpBuilder &b, const Values &values) {
  if (auto written = written_.find(values); written != written_.end())
    return written->second;
  if (sums_.count(values))
    return makeSum(b, values);
  assert(classify(values).kind == Kind::Captured && "a value that the lambda has not made");
  return values.front();
}

Value SameRuns::makeSum(OpBuilder &b, const Values &values) {
  const SumOf &sum = sums_.at(values);
  bool fits = llvm::all_of(values, isNarrow);
  Location loc = values.front().getLoc(), plain = cu::unnamed(loc);
  Value common = find(b, sum.common.front());
  for (const Values &more : ArrayRef(sum.common).drop_front())
    common = addNarrow(b, plain, common, find(b, more), fits);
  return addNarrow(b, loc, find(b, sum.own), common, fits);
}

Value SameRuns::makeExpression(OpBuilder &b, const Values &values) {
  if (sums_.count(values))
    return makeSum(b, values);
  Ops ops = *expressionsOf(values);
  Operation *op = ops.front()->clone();
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    op->setOperand(i, find(b, operandsOf(ops, i)));
  b.insert(op);
  return op->getResult(0);
}

/// Makes an expression of what stands around the statements.
void SameRuns::makeOutside(OpBuilder &b, const Values &values) {
  if (!written_.count(values) && !isInRun(values.front().getDefiningOp(), 0))
    written_[values] = makeExpression(b, values);
}

void SameRuns::makeStatement(OpBuilder &b, const Ops &statements) {
  Operation *first = statements.front(), *op = first->cloneWithoutRegions();
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    op->setOperand(i, find(b, operandsOf(statements, i)));
  b.insert(op);
  for (unsigned r = 0; r < first->getNumRegions(); ++r) {
    if (first->getRegion(r).empty())
      continue;
    Block &from = first->getRegion(r).front(), &block = op->getRegion(r).emplaceBlock();
    for (BlockArgument argument : from.getArguments())
      written_[made_[argument]] = block.addArgument(argument.getType(), argument.getLoc());
    SmallVector<SmallVector<Operation *>> lists =
        llvm::map_to_vector(statements, [&](Operation *s) { return comparedIn(s->getRegion(r).front()); });
    OpBuilder inner = OpBuilder::atBlockEnd(&block);
    size_t next = 0;
    for (Operation &each : from)
      if (isMovable(&each))
        for (const Values &values : expressions_.lookup(&each))
          written_[values] = makeExpression(inner, values);
      else if (isa<cu::CommentOp>(each))
        inner.clone(each);
      else
        makeStatement(inner, Ops(llvm::map_range(lists, [n = next++](ArrayRef<Operation *> list) { return list[n]; })));
  }
  for (auto [from, to] : llvm::zip(first->getResults(), op->getResults()))
    written_[made_[from]] = to;
}

/// What places call an argument: what its values are steps from.
StringAttr SameRuns::nameOfArgument(const Values &values) const {
  StringRef name;
  for (Value v : values) {
    Value base = sumOf(v).rest;
    if (StringRef own = cu::findName((base ? base : v).getLoc()); !own.empty())
      name = own; // the loop's rather than the prologue's
  }
  if (name.empty())
    name = values.front().getType().isInteger(1) ? "exists" : "start";
  return StringAttr::get(values.front().getContext(), name);
}

void SameRuns::call(unsigned place, cu::LambdaOp lambda) {
  Operation *first = runs_[place].front(), *last = runs_[place].back();
  OpBuilder b(first);
  SmallVector<Value> arguments = llvm::map_to_vector(arguments_, [&](const Values &v) { return computeAt(b, v[place], dominance_); });
  cu::CallOp::create(b, cu::unnamed(first->getLoc()), lambda.getResult(), arguments);
  for (Operation *op = first; op != last;) {
    Operation *next = op->getNextNode();
    if (isa<cu::CommentOp>(op))
      op->erase();
    op = next;
  }
  for (Operation *op : llvm::reverse(runs_[place])) {
    op->dropAllUses();
    op->erase();
  }
}

/// What statements are there for: their name, and a line for the reader; nothing where that is not plain.
static std::pair<StringRef, StringRef> roleOf(ArrayRef<Operation *> statements) {
  bool fills = false, loads = false;
  for (Operation *statement : statements)
    statement->walk([&](Operation *op) {
      auto store = dyn_cast<memref::StoreOp>(op);
      auto copy = dyn_cast<cu::CopyOp>(op);
      Value target = store ? store.getMemRef() : copy ? copy.getTarget() : Value();
      fills |= isa<cu::CpAsyncOp, cu::TmaLoadOp>(op) || (target && cu::spaceOf(target) == cu::Shared);
      loads |= isa<cu::LdmatrixOp, cu::GatherOp>(op);
    });
  if (fills)
    return {"fill", "Brings a tile into its slot."};
  return loads ? std::pair<StringRef, StringRef>("load_fragments", "Loads what the next products multiply.")
               : std::pair<StringRef, StringRef>("part", "");
}

cu::LambdaOp SameRuns::outline() {
  OpBuilder b(place_);
  Location loc = cu::unnamed(runs_.front().front()->getLoc());
  SmallVector<Type> types = llvm::map_to_vector(arguments_, [](const Values &v) { return v.front().getType(); });
  auto [name, comment] = roleOf(runs_.front());
  if (!comment.empty())
    cu::CommentOp::create(b, loc, comment);
  auto lambda = cu::LambdaOp::create(b, NameLoc::get(b.getStringAttr(name), loc), b.getFunctionType(types, {}));
  Block &body = lambda.getBody().emplaceBlock();
  for (const Values &values : arguments_)
    written_[values] = body.addArgument(values.front().getType(), NameLoc::get(nameOfArgument(values), loc));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  for (unsigned i = 0; i < used_.size(); ++i) {
    Operation *first = runs_.front()[i];
    if (i)
      for (Operation *op = runs_.front()[i - 1]->getNextNode(); op != first; op = op->getNextNode())
        if (isa<cu::CommentOp>(op))
          inner.clone(*op);
    first->walk([&](Operation *op) {
      for (Value v : op->getOperands())
        if (auto made = made_.find(v);
            made != made_.end() && v.getDefiningOp<memref::AllocaOp>() && !written_.count(made->second) && !isInRun(v.getDefiningOp(), 0))
          written_[made->second] = inner.clone(*v.getDefiningOp())->getResult(0);
    });
    for (const Values &values : used_[i])
      makeOutside(inner, values);
    makeStatement(inner, statement(i));
  }
  for (unsigned place = 0; place < runs_.size(); ++place)
    call(place, lambda);
  return lambda;
}

} // namespace kernelc
