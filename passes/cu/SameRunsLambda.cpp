// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The lambda of statements that are the same in several places, and the calls of it. What the same is: SameRuns.cpp.
#include "passes/cu/SameRuns.h"

#include "ir/cu/Marks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace kernelc {

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

/// What an argument without a name is: where in an array of a thread's registers, or of shared memory, a lambda begins.
static std::string placeNamed(Value argument) {
  llvm::SetVector<Value> reached, arrays;
  reached.insert(argument);
  for (size_t i = 0; i < reached.size(); ++i)
    for (OpOperand &use : reached[i].getUses()) {
      Operation *user = use.getOwner();
      if (isScalarExpression(user))
        reached.insert(user->result_begin(), user->result_end());
      else if (auto uses = arrayUsesOf(user))
        for (const ArrayUse &array : *uses)
          if (llvm::is_contained(array.subscripts, use.getOperandNumber()))
            arrays.insert(user->getOperand(array.array));
    }
  if (!arrays.empty() && llvm::all_of(arrays, [](Value array) { return cu::spaceOf(array) == cu::Private; }))
    return "first_reg";
  StringRef name = arrays.size() == 1 ? cu::findName(arrays.front().getLoc()) : "";
  name.consume_back("_slots");
  return name.empty() ? "start" : (name + "_start").str();
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
  for (BlockArgument argument : body.getArguments())
    if (cu::findName(argument.getLoc()) == "start")
      argument.setLoc(NameLoc::get(b.getStringAttr(placeNamed(argument)), loc));
  for (unsigned place = 0; place < runs_.size(); ++place)
    call(place, lambda);
  return lambda;
}

} // namespace kernelc
