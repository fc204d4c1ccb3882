// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/StatementEmitter.h"

#include "absl/strings/str_cat.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "reference/Combine.h"
#include "reference/ErrorRules.h"
#include "reference/FoldEmitter.h"
#include "reference/LoopNest.h"
#include "reference/NarrowFloats.h"
#include "reference/RecurrenceEmitter.h"
#include "reference/ReducePlan.h"
#include "reference/ScatterEmitter.h"
#include "reference/SizeExprs.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

/// Points of a compute's innermost dim in one unit. Fixed, so that what LLVM
/// vectorises does not depend on the number of threads.
constexpr int64_t kInnerBlock = 4096;

class StatementEmitter {
public:
  StatementEmitter(Builder &b, FunctionEnv &env, int out, int number, const EmitOptions &options)
      : b(b), env(env), out_(out), number_(number), options_(options) {}

  absl::Status compute(te::ComputeOp op, Value begin, Value end, Step &step);
  absl::Status reduce(te::ReduceOp op, Value begin, Value end, Step &step);
  /// A scan, row by row: each result is stored on the way to the next one.
  absl::Status scan(te::ReduceOp op, const te::Scan &scan, Value begin, Value end, Step &step);

private:
  struct Point {
    SmallVector<Value> dims;
  };
  SmallVector<Value> addTerm(te::ReduceOp op, Accumulator &acc, ArrayRef<Value> dims, ValueRange state);
  absl::Status reducePoints(te::ReduceOp op, const ReducePlan &plan, ArrayRef<Point> points, int64_t lanes);
  absl::Status reduceTile(te::ReduceOp op, const ReducePlan &plan, ArrayRef<Value> base, ArrayRef<Value> upper);
  SmallVector<Value> delinearise(Value unit, ArrayRef<Value> counts);
  /// Lower and upper bound of every parallel dim, from the step's window.
  std::pair<SmallVector<Value>, SmallVector<Value>> window(const Step &step);
  SmallVector<Value> outIndices(AffineMap map, ValueRange dims);
  void reportBad(Value bad, Value condition) { kernelc::reference::reportBad(b, env, number_, bad, condition); }
  /// Remembers the first failure inside a callback; true when there is none here.
  bool keep(const absl::Status &s) {
    if (status_.ok())
      status_ = s;
    return s.ok();
  }

  Builder &b;
  FunctionEnv &env;
  int out_, number_;
  const EmitOptions &options_;
  absl::Status status_; ///< first failure inside a loop body callback
};

std::pair<SmallVector<Value>, SmallVector<Value>> StatementEmitter::window(const Step &step) {
  SmallVector<Value> lower, upper;
  for (int d = 0; d < step.parallel; ++d) {
    lower.push_back(env.word(step.window + 2 * d));
    upper.push_back(env.word(step.window + 2 * d + 1));
  }
  return {lower, upper};
}

/// How many units each of the step's unit dims has.
static SmallVector<Value> unitCounts(Builder &b, const Step &step, ArrayRef<Value> lower, ArrayRef<Value> upper) {
  SmallVector<Value> counts;
  for (auto [d, factor] : step.units) {
    Value length = arith::SubIOp::create(b, upper[d], lower[d]);
    counts.push_back(factor == 1 ? length : emitDivision(b, Division::SignedCeil, length, constI64(b, factor)));
  }
  return counts;
}

SmallVector<Value> StatementEmitter::outIndices(AffineMap map, ValueRange dims) {
  SmallVector<Value> result;
  for (AffineExpr e : map.getResults())
    result.push_back(emitAffine(b, e, dims, env.sizes()));
  return result;
}

/// The last of `counts` moves fastest. They are positive: no unit exists otherwise.
SmallVector<Value> StatementEmitter::delinearise(Value unit, ArrayRef<Value> counts) {
  SmallVector<Value> result(counts.size());
  for (unsigned i = counts.size(); i-- > 0;) {
    if (i == 0) {
      result[0] = unit;
      break;
    }
    result[i] = arith::RemUIOp::create(b, unit, counts[i]);
    unit = arith::DivUIOp::create(b, unit, counts[i]);
  }
  return result;
}

absl::Status StatementEmitter::compute(te::ComputeOp op, Value begin, Value end, Step &step) {
  unsigned n = op.getNumDims();
  for (unsigned d = 0; d < n; ++d)
    step.units.push_back({int(d), d + 1 == n ? kInnerBlock : 1});
  auto [from, to] = window(step);
  SmallVector<Value> counts = unitCounts(env.entry, step, from, to);
  AffineMap outMap = op.getOutMapOrIdentity();
  Type element = op.getResult().getType().getElementType();
  Value zero = constI64(env.entry, 0);

  emitFor(b, begin, end, {}, {}, [&, &from = from, &to = to](Value unit, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> dims = delinearise(unit, counts);
    SmallVector<LoopDim> loops;
    for (unsigned d = 0; d < n; ++d) {
      Value at = d + 1 == n ? Value(arith::MulIOp::create(b, dims[d], constI64(b, kInnerBlock))) : dims[d];
      dims[d] = arith::AddIOp::create(b, at, from[d]);
    }
    if (n > 0) {
      Value upper = minS(b, to.back(), arith::AddIOp::create(b, dims.back(), constI64(b, kInnerBlock)));
      loops.push_back({n - 1, dims.back(), upper, {}});
    } else {
      loops.push_back({0, zero, constI64(b, 1), {}});
      dims.push_back(zero);
    }
    LoopNest nest(b, op.getCondition() ? *op.getCondition() : IntegerSet(), env.sizes());
    nest.emit(loops, dims, {}, [&](ValueRange) -> SmallVector<Value> {
      ScalarEmitter body(b, env);
      for (unsigned d = 0; d < n; ++d)
        body.bind(op.getBlock().getArgument(d), {dims[d]});
      if (!keep(body.emit(op.getBlock())))
        return {};
      auto value = body.lookup(op.getYield().getValues()[0]);
      if (!keep(value.status()))
        return {};
      SmallVector<Value> at = outIndices(outMap, ArrayRef<Value>(dims).take_front(n));
      Value conditionValue = op.getYield().getCondition();
      if (!conditionValue) {
        reportBad(value->bad, {});
        body.store(out_, element, at, *value);
        return {};
      }
      auto condition = body.lookup(conditionValue);
      if (!keep(condition.status()))
        return {};
      reportBad(orMaybe(b, value->bad, condition->bad), condition->v);
      if (condition->e) { // either side may be what the device keeps
        Scalar old = body.load(out_, element, at);
        Scalar chosen{arith::SelectOp::create(b, condition->v, value->v, old.v), selectError(b, *condition, *value, old)};
        body.store(out_, element, at, chosen);
        return {};
      }
      emitIf(b, condition->v, {}, [&] {
        body.store(out_, element, at, *value);
        return SmallVector<Value>();
      });
      return {};
    });
    return {};
  });
  return status_;
}

absl::Status StatementEmitter::reducePoints(te::ReduceOp op, const ReducePlan &plan, ArrayRef<Point> points, int64_t lanes) {
  unsigned parallel = op.getNumParallel();
  AffineMap outMap = op.getOutMapOrIdentity();
  Type element = op.getResult().getType().getElementType();
  Accumulator acc(op, env, /*inLoop=*/lanes == 1);
  unsigned size = acc.stateSize();
  te::YieldOp yield = op.getYield();
  Value vectorIndex = lanes > 1 ? Value(op.getBlock().getArgument(*plan.vectorDim)) : Value();

  SmallVector<Value> state;
  SmallVector<SmallVector<Value>> at;
  for (const Point &p : points) {
    at.push_back(outIndices(outMap, ArrayRef<Value>(p.dims).take_front(parallel)));
    Scalar start;
    if (op.getInit())
      start = ScalarEmitter(b, env).load(out_, element, at.back(), lanes);
    state.append(acc.begin(b, lanes, op.getInit() ? &start : nullptr));
  }
  SmallVector<Value> dims = points[0].dims;
  SmallVector<LoopDim> loops;
  Value zero = constI64(b, 0);
  for (unsigned d : plan.reducedOrder)
    loops.push_back({d, zero, env.sizeExpr(op.getExtents().getResult(d)), {}});
  if (loops.empty()) { // a reduction over nothing: one term
    loops.push_back({op.getNumDims(), zero, constI64(b, 1), {}});
    dims.push_back(zero);
  }
  LoopNest nest(b, op.getCondition() ? *op.getCondition() : IntegerSet(), env.sizes());
  state = nest.emit(loops, dims, state, [&](ValueRange iters) -> SmallVector<Value> {
    SmallVector<Value> next = llvm::to_vector(iters);
    for (auto [k, p] : llvm::enumerate(points)) {
      ScalarEmitter body(b, env, lanes, vectorIndex);
      for (unsigned d = 0; d < op.getNumDims(); ++d)
        body.bind(op.getBlock().getArgument(d), {d < parallel ? p.dims[d] : dims[d]});
      if (!keep(body.emit(op.getBlock())))
        return next;
      auto value = body.lookup(yield.getValues()[0]);
      if (!keep(value.status()))
        return next;
      Term term{*value};
      if (yield.getCondition()) {
        auto condition = body.lookup(yield.getCondition());
        if (!keep(condition.status()))
          return next;
        term.condition = *condition;
      }
      reportBad(orMaybe(b, value->bad, term.condition.bad), term.condition.v);
      auto product = yield.getValues()[0].getDefiningOp<arith::MulFOp>();
      if (product && acc.takesFactors() && product->getBlock() == &op.getBlock()) {
        auto x = body.lookup(product.getLhs()), y = body.lookup(product.getRhs());
        if (x.ok() && y.ok()) {
          term.factor0 = *x;
          term.factor1 = *y;
        }
      }
      if (op.isArg())
        term.index = dims[plan.reducedOrder[0]];
      SmallVector<Value> updated = acc.add(b, ArrayRef<Value>(next).slice(k * size, size), term);
      std::copy(updated.begin(), updated.end(), next.begin() + k * size);
    }
    return next;
  });
  if (!status_.ok())
    return status_;
  for (auto [k, p] : llvm::enumerate(points))
    ScalarEmitter(b, env).store(out_, element, at[k], acc.finish(b, ArrayRef<Value>(state).slice(k * size, size)));
  return status_;
}

/// All points of the tile at `base` that lie below `upper`.
absl::Status StatementEmitter::reduceTile(te::ReduceOp op, const ReducePlan &plan, ArrayRef<Value> base, ArrayRef<Value> upper) {
  Type element = env.valueType(op.getYield().getValues()[0].getType());
  unsigned bytes = std::max(4u, element.getIntOrFloatBitWidth() / 8);
  int64_t lanes = plan.vectorDim ? options_.vectorBytes / bytes : 1;
  auto offset = [&](Value v, int64_t by) { return by ? Value(arith::AddIOp::create(b, v, constI64(b, by))) : v; };
  // Whole tile: every point at once, in registers.
  SmallVector<Point> points = {{llvm::to_vector(base)}};
  Value whole;
  auto spread = [&](unsigned d, int64_t count, int64_t stride) {
    SmallVector<Point> next;
    for (const Point &p : points)
      for (int64_t i = 0; i < count; ++i) {
        next.push_back(p);
        next.back().dims[d] = offset(p.dims[d], i * stride);
      }
    points = next;
    Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::sle, offset(base[d], count * stride), upper[d]);
    whole = whole ? Value(arith::AndIOp::create(b, whole, fits)) : fits;
  };
  for (auto [d, factor] : plan.jam)
    spread(d, factor, 1);
  if (plan.vectorDim)
    spread(*plan.vectorDim, plan.vectors, lanes);
  if (!whole)
    return reducePoints(op, plan, points, 1);
  emitIf(b, whole, {}, [&] {
    keep(reducePoints(op, plan, points, lanes));
    return SmallVector<Value>();
  });
  // Border tile: point by point, along the vector dim in vectors while they fit.
  Value border = arith::XOrIOp::create(b, whole, constInt(b, b.getI1Type(), 1));
  emitIf(b, border, {}, [&] {
    SmallVector<Value> dims = llvm::to_vector(base);
    SmallVector<LoopDim> loops;
    for (auto [d, factor] : plan.jam)
      loops.push_back({d, base[d], minS(b, upper[d], offset(base[d], factor)), {}});
    auto inner = [&](ValueRange) -> SmallVector<Value> {
      if (!plan.vectorDim) {
        keep(reducePoints(op, plan, {{dims}}, 1));
        return {};
      }
      unsigned v = *plan.vectorDim;
      Value last = minS(b, upper[v], offset(base[v], plan.vectors * lanes));
      Value length = arith::SubIOp::create(b, last, base[v]);
      Value vectorised = arith::AddIOp::create(
          b, base[v], arith::SubIOp::create(b, length, emitRemainder(b, Division::SignedTrunc, length, constI64(b, lanes))));
      auto points = [&](int64_t width) {
        return [&, width](Value iv, ValueRange) -> SmallVector<Value> {
          dims[v] = iv;
          keep(reducePoints(op, plan, {{dims}}, width));
          return {};
        };
      };
      emitFor(b, base[v], vectorised, constI64(b, lanes), {}, points(lanes));
      emitFor(b, vectorised, last, {}, {}, points(1));
      return {};
    };
    if (loops.empty())
      return inner({});
    return LoopNest(b, IntegerSet(), {}).emit(loops, dims, {}, inner);
  });
  return status_;
}

absl::Status StatementEmitter::reduce(te::ReduceOp op, Value begin, Value end, Step &step) {
  unsigned parallel = op.getNumParallel();
  ReducePlan plan = planReduce(op, env.withError());
  Type element = env.valueType(op.getYield().getValues()[0].getType());
  SmallVector<int64_t> factors(parallel, 1);
  if (plan.vectorDim)
    factors[*plan.vectorDim] = plan.vectors * options_.vectorBytes / std::max(4u, element.getIntOrFloatBitWidth() / 8);
  for (auto [d, f] : plan.jam)
    factors[d] = f;
  // Jammed dims move fastest, then the vector dim: a panel of the vector's operand stays in cache.
  SmallVector<unsigned> order;
  for (unsigned d = 0; d < parallel; ++d)
    if (factors[d] == 1)
      order.push_back(d);
  if (plan.vectorDim)
    order.push_back(*plan.vectorDim);
  for (auto [d, f] : plan.jam)
    order.push_back(d);

  for (unsigned d : order)
    step.units.push_back({int(d), factors[d]});
  auto [lower, upper] = window(step);
  SmallVector<Value> counts = unitCounts(env.entry, step, lower, upper);
  Value zero = constI64(env.entry, 0);
  emitFor(b, begin, end, {}, {}, [&, &lower = lower, &upper = upper](Value unit, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> tile = delinearise(unit, counts), base(op.getNumDims(), zero);
    for (auto [t, d] : llvm::zip(tile, order)) {
      Value at = factors[d] == 1 ? t : Value(arith::MulIOp::create(b, t, constI64(b, factors[d])));
      base[d] = arith::AddIOp::create(b, at, lower[d]);
    }
    keep(reduceTile(op, plan, base, upper));
    return {};
  });
  return status_;
}

/// `state` with the term at `dims`.
SmallVector<Value> StatementEmitter::addTerm(te::ReduceOp op, Accumulator &acc, ArrayRef<Value> dims, ValueRange state) {
  ScalarEmitter body(b, env);
  for (unsigned d = 0; d < op.getNumDims(); ++d)
    body.bind(op.getBlock().getArgument(d), {dims[d]});
  te::YieldOp yield = op.getYield();
  if (!keep(body.emit(op.getBlock())))
    return llvm::to_vector(state);
  auto value = body.lookup(yield.getValues()[0]);
  if (!keep(value.status()))
    return llvm::to_vector(state);
  Term term{*value};
  if (yield.getCondition()) {
    auto condition = body.lookup(yield.getCondition());
    if (!keep(condition.status()))
      return llvm::to_vector(state);
    term.condition = *condition;
  }
  reportBad(orMaybe(b, value->bad, term.condition.bad), term.condition.v);
  return acc.add(b, llvm::to_vector(state), term);
}

absl::Status StatementEmitter::scan(te::ReduceOp op, const te::Scan &scan, Value begin, Value end, Step &step) {
  SmallVector<unsigned> beside;
  for (unsigned d = 0; d < scan.reduced; ++d)
    if (d != scan.along) {
      beside.push_back(d);
      step.units.push_back({int(d), 1});
    }
  auto [from, to] = window(step);
  SmallVector<Value> counts = unitCounts(env.entry, step, from, to);
  Type element = op.getResult().getType().getElementType();
  AffineMap outMap = op.getOutMapOrIdentity();
  IntegerSet where; // what is asked beside the order
  SmallVector<AffineExpr> constraints;
  SmallVector<bool> equalities;
  for (unsigned c : scan.where) {
    constraints.push_back(op.getCondition()->getConstraint(c));
    equalities.push_back(op.getCondition()->isEq(c));
  }
  if (!constraints.empty())
    where = IntegerSet::get(op.getNumDims(), op.getCondition()->getNumSymbols(), constraints, equalities);
  Value zero = constI64(env.entry, 0), length = env.sizeExpr(op.getExtents().getResult(scan.along));
  emitFor(b, begin, end, {}, {}, [&, &from = from, &to = to](Value unit, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> dims(op.getNumDims(), zero);
    for (auto [d, at] : llvm::zip(beside, delinearise(unit, counts)))
      dims[d] = arith::AddIOp::create(b, at, from[d]);
    Accumulator acc(op, env, /*inLoop=*/true);
    Value first = from[scan.along], last = to[scan.along];
    Value rounds = scan.reverse ? Value(arith::SubIOp::create(b, length, first)) : last;
    emitFor(b, zero, rounds, {}, acc.begin(b, 1, nullptr), [&](Value round, ValueRange before) -> SmallVector<Value> {
      Value k = scan.reverse ? Value(arith::SubIOp::create(b, arith::SubIOp::create(b, length, constI64(b, 1)), round)) : round;
      dims[scan.along] = dims[scan.reduced] = k;
      SmallVector<Value> all(dims);
      all.push_back(zero);
      SmallVector<LoopDim> once{{op.getNumDims(), zero, constI64(b, 1), {}}};
      SmallVector<Value> after =
          LoopNest(b, where, env.sizes()).emit(once, all, before, [&](ValueRange state) { return addTerm(op, acc, dims, state); });
      Value isWanted = scan.reverse ? arith::CmpIOp::create(b, arith::CmpIPredicate::slt, k, last)
                                    : arith::CmpIOp::create(b, arith::CmpIPredicate::sge, k, first);
      emitIf(b, isWanted, {}, [&] {
        SmallVector<Value> result = scan.exclusive ? llvm::to_vector(before) : after;
        ScalarEmitter(b, env).store(out_, element, outIndices(outMap, ArrayRef<Value>(dims).take_front(scan.reduced)),
                                    acc.finish(b, result));
        return SmallVector<Value>();
      });
      return after;
    });
    return {};
  });
  return status_;
}

/// What the runner has to know of a statement to compute a part of it.
template <typename OpT> void describe(OpT op, const Program &program, const llvm::DenseMap<Value, int> &slotOf, Step &step) {
  int sizes = int(program.sizes.size());
  step.extents = toSizeExprs(op.getExtents());
  step.parallel = int(op.getNumParallel());
  step.operations = std::distance(op.getBlock().begin(), op.getBlock().end());
  if constexpr (std::is_same_v<OpT, te::ScatterOp>)
    step.outDims.assign(op.getShape().getNumResults(), -1);
  else if constexpr (std::is_same_v<OpT, te::RecurrenceOp>)
    step.outDims.assign(op.getResultShape().getNumResults(), -1); // each element may need all others
  else
    for (AffineExpr e : op.getOutMapOrIdentity().getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(e);
      step.outDims.push_back(dim ? int(dim.getPosition()) : -1);
    }
  op->walk([&](te::ReadOp read) {
    Step::Read r;
    auto slot = slotOf.find(read.getTensor());
    if (slot == slotOf.end())
      return;
    r.slot = slot->second;
    SmallVector<AffineExpr> dims;
    r.whole = read.getBounds() != te::BoundsMode::InBounds;
    for (Value v : read.getOperands_()) {
      auto arg = dyn_cast<BlockArgument>(v);
      r.whole |= !arg;
      dims.push_back(getAffineDimExpr(arg ? arg.getArgNumber() : 0, op.getContext()));
    }
    if (!r.whole)
      for (AffineExpr e : read.getMapOrIdentity().getResults())
        r.subscripts.push_back(toSizeExpr(e.replaceDims(dims), sizes));
    step.reads.push_back(std::move(r));
  });
}

/// The step's entry: loads the result's addresses and calls the body with them as
/// parameters that alias nothing, which is what lets LLVM vectorise.
void emitEntry(Builder &b, const Program &program, int out, LLVM::LLVMFuncOp entry, LLVM::LLVMFuncOp body) {
  Block *block = entry.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  auto pointer = [&](int index) -> Value {
    Value address =
        LLVM::GEPOp::create(b, block->getArgument(0).getType(), b.getI64Type(), block->getArgument(0), ArrayRef<LLVM::GEPArg>{index});
    Value word = LLVM::LoadOp::create(b, b.getI64Type(), address);
    return LLVM::IntToPtrOp::create(b, LLVM::LLVMPointerType::get(b.getContext()), word);
  };
  int base = program.slots[out].context;
  LLVM::CallOp::create(b, body,
                       ValueRange{block->getArgument(0), pointer(base), pointer(base + 1), block->getArgument(1), block->getArgument(2)});
  LLVM::ReturnOp::create(b, ValueRange());
}

} // namespace

absl::StatusOr<Step> emitStatement(ModuleOp module, Operation *op, Arithmetic arithmetic, const Program &program,
                                   const llvm::DenseMap<Value, int> &slotOf, int out, int number, const EmitOptions &options) {
  Builder b(op->getLoc(), OpBuilder::atBlockEnd(module.getBody()));
  Type ptr = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  auto voidType = LLVM::LLVMVoidType::get(b.getContext());
  Step step;
  step.symbol = absl::StrCat("step", number);
  step.name = program.slots[out].name;
  step.location = locationText(op->getLoc());
  step.out = out;
  step.window = program.contextWords;
  if (auto compute = dyn_cast<te::ComputeOp>(op))
    describe(compute, program, slotOf, step);
  else if (auto reduce = dyn_cast<te::ReduceOp>(op))
    describe(reduce, program, slotOf, step);
  else if (auto fold = dyn_cast<te::FoldOp>(op))
    describe(fold, program, slotOf, step);
  else if (auto recurrence = dyn_cast<te::RecurrenceOp>(op))
    describe(recurrence, program, slotOf, step);
  else if (auto scatter = dyn_cast<te::ScatterOp>(op))
    describe(scatter, program, slotOf, step);
  else
    return unsupported(op);
  auto entry = LLVM::LLVMFuncOp::create(b, step.symbol, LLVM::LLVMFunctionType::get(voidType, {ptr, i64, i64}));
  auto body = LLVM::LLVMFuncOp::create(b, step.symbol + "_body", LLVM::LLVMFunctionType::get(voidType, {ptr, ptr, ptr, i64, i64}),
                                       LLVM::Linkage::Internal);
  for (unsigned i : {0u, 1u, 2u})
    body.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  emitEntry(b, program, out, entry, body);

  Block *block = body.addEntryBlock(b);
  b.setInsertionPointToStart(block);
  auto done = LLVM::ReturnOp::create(b, ValueRange());
  // What is loaded once goes before the marker, everything else after it.
  b.setInsertionPoint(done);
  Operation *marker = LLVM::PoisonOp::create(b, i64);
  FunctionEnv env(arithmetic, program, slotOf, marker, block->getArgument(0));
  env.setAddresses(out, block->getArgument(1), block->getArgument(2));
  StatementEmitter emitter(b, env, out, number, options);
  Value begin = block->getArgument(3), end = block->getArgument(4);
  absl::Status status;
  if (auto compute = dyn_cast<te::ComputeOp>(op))
    status = emitter.compute(compute, begin, end, step);
  else if (auto scatter = dyn_cast<te::ScatterOp>(op))
    status = emitScatter(b, env, scatter, out, number, step);
  else if (auto recurrence = dyn_cast<te::RecurrenceOp>(op))
    status = emitRecurrence(b, env, recurrence, out, number, begin, end, step);
  else if (auto fold = dyn_cast<te::FoldOp>(op))
    status = emitFold(b, env, fold, out, number, begin, end, step);
  else if (std::optional<te::Scan> scan = te::findScanOf(op))
    status = emitter.scan(cast<te::ReduceOp>(op), *scan, begin, end, step);
  else
    status = emitter.reduce(cast<te::ReduceOp>(op), begin, end, step);
  if (!status.ok())
    return status;
  if (auto reduce = dyn_cast<te::ReduceOp>(op)) {
    step.fill = !reduce.getInit() && reduce.getOutMap();
    step.pattern = Accumulator(reduce, env, false).identityBytes();
  }
  return step;
}

} // namespace kernelc::reference
