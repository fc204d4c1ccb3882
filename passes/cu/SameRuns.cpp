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

} // namespace kernelc
