// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Folds as tile values. A thread takes in the points of a result one after another, in their order. Where the order is free, a
// tile may have several points of a reduced index: each place of it has a state of its own, and all of them meet at the end.
#include "passes/lowerings/LaunchEmitter.h"

#include "ir/te/InternalError.h"
#include "ir/te/Marks.h"
#include "ir/tile/Marks.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace kernelc {

using namespace te;

SmallVector<Value> LaunchEmitter::startOfFold(FoldOp op, ArrayRef<int64_t> shape, Location loc) {
  SmallVector<Value> state;
  for (Attribute a : op.getIdentity()) {
    auto type = RankedTensorType::get(shape, cast<TypedAttr>(a).getType());
    state.push_back(arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, a)));
  }
  return state;
}

SmallVector<Value> LaunchEmitter::combineTiles(FoldOp op, ValueRange state, ValueRange element, ArrayRef<int64_t> shape) {
  BodyToTiles rule(b_, c_, op, {});
  Block &combine = op.getCombine().front();
  for (auto [arg, tile] : llvm::zip(combine.getArguments(), llvm::concat<Value>(llvm::to_vector(state), llvm::to_vector(element))))
    rule.bind(arg, tile);
  SmallVector<Value> next;
  for (Value v : op.getCombined().getValues()) {
    Value tile = rule.evaluate(v);
    if (!tile)
      return {};
    next.push_back(rule.broadcast(tile, shape));
  }
  return next;
}

bool LaunchEmitter::findElement(FoldOp op, ArrayRef<int64_t> dims, std::optional<IntegerSet> set, ArrayRef<int64_t> shape, Values &element,
                                Value &condition, Location loc) {
  BodyToTiles body(b_, c_, op, dims);
  condition = set ? body.evaluateSet(*set, loc) : Value();
  if (op.getYield().getCondition()) {
    Value asked = body.evaluate(op.getYield().getCondition());
    if (!asked)
      return false;
    condition = body.conjunction(condition, asked, loc);
  }
  condition = body.conjunction(condition, body.inside(dims.drop_front(op.getNumParallel()), loc), loc);
  for (Value v : op.getYield().getValues()) {
    Value tile = body.evaluate(v);
    if (!tile)
      return false;
    element.push_back(body.broadcast(tile, shape));
  }
  if (condition)
    condition = body.broadcast(condition, shape);
  return true;
}

SmallVector<Value> LaunchEmitter::takeTile(FoldOp op, ArrayRef<int64_t> dims, std::optional<IntegerSet> set, ValueRange state, bool behind,
                                           Location loc) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(state[0].getType()).getShape();
  Values element;
  Value condition;
  if (!findElement(op, dims, set, shape, element, condition, loc))
    return {};
  Values next = behind ? combineTiles(op, element, state, shape) : combineTiles(op, state, element, shape);
  if (condition)
    for (auto [n, before] : llvm::zip(next, state))
      n = arith::SelectOp::create(b_, loc, condition, n, before);
  return next;
}

void copyCombine(OpBuilder &b, FoldOp op, Region &region, bool turned, Location loc) {
  OpBuilder::InsertionGuard guard(b);
  Block &from = op.getCombine().front(), &to = region.emplaceBlock();
  IRMapping mapping;
  for (BlockArgument a : from.getArguments())
    to.addArgument(a.getType(), loc);
  unsigned n = from.getNumArguments();
  for (unsigned k = 0; k < n; ++k)
    mapping.map(from.getArgument(k), to.getArgument(turned ? (k + n / 2) % n : k));
  b.setInsertionPointToEnd(&to);
  for (Operation &o : from) {
    for (Value v : o.getOperands()) // constants that statements share
      if (Operation *def = v.getDefiningOp(); def && def->getBlock() != &from && !mapping.contains(v))
        b.clone(*def, mapping);
    if (!isa<YieldOp>(o)) {
      b.clone(o, mapping);
      continue;
    }
    tile::StateOp::create(b, loc, llvm::map_to_vector(o.getOperands(), [&](Value v) { return mapping.lookupOrDefault(v); }));
  }
}

/// Decides of the choices of a fold's combine that only what several steps come to needs. A walk that takes in `oneStep` at a time makes
/// none, unless all of a state is wanted: that is of a part of the steps, to be composed with what comes before.
static void settleChoices(FoldOp op, bool oneStep) {
  bool isFromFirst = op.getFields().size() < op.getIdentity().size();
  for (auto choice : llvm::make_early_inc_range(op.getCombine().getOps<arith::SelectOp>())) {
    if (!kOfManySteps.isOn(choice))
      continue;
    kOfManySteps.removeFrom(choice);
    if (!oneStep || !isFromFirst)
      continue;
    choice.replaceAllUsesWith(choice.getFalseValue());
    choice.erase();
  }
}

LogicalResult LaunchEmitter::emitFold(FoldOp op, ArrayRef<int64_t> dims) {
  Location loc = NameLoc::get(b_.getStringAttr(nameOf(op)), op.getLoc());
  ArrayRef<int64_t> kept = dims.take_front(op.getNumParallel()), reduced = dims.drop_front(op.getNumParallel());
  bool meets = llvm::any_of(reduced, [&](int64_t i) { return l_.tiles[i] > 1; });
  if (meets && !op.getCommutative())
    return emitInternalError(op) << "a fold whose order is not free has tiles of several points";
  settleChoices(op, /*oneStep=*/!meets);
  BodyToTiles shaper(b_, c_, op, dims);
  SmallVector<int64_t> shape = shaper.shapeOf(meets ? dims : kept), keptShape = shaper.shapeOf(kept);
  bool ok = true;
  SmallVector<Value> states = loopNest(loopsOf(dims), op.getCondition(), dims, startOfFold(op, shape, loc), loc, [&](Values carried) {
    Values next = takeTile(op, dims, op.getCondition(), carried, /*behind=*/false, loc);
    ok &= !next.empty();
    return ok ? next : carried;
  });
  if (!ok)
    return failure();
  if (meets) {
    SmallVector<Type> types;
    for (Value v : states)
      types.push_back(RankedTensorType::get(keptShape, cast<RankedTensorType>(v.getType()).getElementType()));
    SmallVector<int64_t> sorted(reduced);
    llvm::sort(sorted);
    auto meeting = tile::ReduceOp::create(b_, loc, types, Combiner::Custom, states, sorted, op.getIdentityAttr());
    copyCombine(b_, op, meeting.getCombine(), /*turned=*/false, loc);
    states.assign(meeting.getResults().begin(), meeting.getResults().end());
  }
  keepFold(op, states, kept, shaper);
  return success();
}

void LaunchEmitter::keepFold(FoldOp op, ValueRange state, ArrayRef<int64_t> kept, BodyToTiles &body) {
  for (auto [field, result] : llvm::zip(op.getFields(), op.getResults())) {
    Value value = state[size_t(field)];
    c_.results[result] = value;
    if (isStored(result))
      store(value, result, op.getOutMapOrIdentity(), kept, {}, body, op.getLoc());
  }
}

LogicalResult LaunchEmitter::emitFoldScan(FoldOp op, const Scan &scan, ArrayRef<int64_t> dims, MutableArrayRef<Value> state) {
  Location loc = NameLoc::get(b_.getStringAttr(nameOf(op)), op.getLoc());
  std::optional<IntegerSet> where = scan.where.empty() ? std::nullopt : std::optional(select(*op.getCondition(), scan.where));
  BodyToTiles body(b_, c_, op, dims);
  ArrayRef<int64_t> results = dims.take_front(op.getNumParallel());
  int64_t along = dims[scan.along];
  settleChoices(op, /*oneStep=*/l_.tiles[along] == 1 && !scan.behind);
  if (l_.tiles[along] == 1) {
    Values next = takeTile(op, dims, where, state, scan.behind, loc);
    if (next.empty())
      return failure();
    keepFold(op, scan.exclusive ? Values(state.begin(), state.end()) : next, results, body);
    llvm::copy(next, state.begin());
    return success();
  }
  if (!op.getMonoid())
    return emitInternalError(op) << "a fold that is no monoid has tiles of several points";
  SmallVector<int64_t> shape = body.shapeOf(dims);
  Values element;
  Value condition;
  if (!findElement(op, dims, where, shape, element, condition, loc))
    return failure();
  if (condition)
    for (auto [v, none] : llvm::zip(element, startOfFold(op, shape, loc)))
      v = arith::SelectOp::create(b_, loc, condition, v, none);
  SmallVector<Type> types(ValueRange(element).getTypes()), totals(ValueRange(state).getTypes());
  auto made = tile::ScanOp::create(b_, loc, types, totals, Combiner::Custom, element, state, uint64_t(along), scan.reverse, scan.exclusive,
                                   op.getIdentityAttr());
  if (holdsScans())
    tile::kHeld.putOn(made);
  copyCombine(b_, op, made.getCombine(), op.getDescending(), loc);
  Values outs(made.getOuts().begin(), made.getOuts().end());
  if (findLookBack()) {
    Values before = lookBack(op, Combiner::Custom, made.getTotals(), scan.reverse, loc);
    for (Value &v : before)
      v = body.broadcast(v, shape);
    bool isBehind = scan.reverse && !op.getDescending();
    outs = isBehind ? combineTiles(op, outs, before, shape) : combineTiles(op, before, outs, shape);
    if (outs.empty())
      return failure();
  }
  keepFold(op, outs, results, body);
  llvm::copy(made.getTotals(), state.begin());
  return success();
}

} // namespace kernelc
