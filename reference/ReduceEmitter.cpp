// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/ReduceEmitter.h"

#include "reference/Combine.h"
#include "reference/ErrorRules.h"
#include "reference/LoopNest.h"
#include "reference/ReducePlan.h"
#include "reference/StepUnits.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

class ReduceEmitter {
public:
  ReduceEmitter(Builder &b, FunctionEnv &env, te::ReduceOp op, int out, int number, unsigned vectorBytes)
      : b_(b), env_(env), op_(op), out_(out), number_(number), vectorBytes_(vectorBytes) {}

  absl::Status run(Value begin, Value end, Step &step);

private:
  struct Point {
    SmallVector<Value> dims;
  };
  absl::Status reducePoints(const ReducePlan &plan, ArrayRef<Point> points, int64_t lanes);
  absl::Status reduceTile(const ReducePlan &plan, ArrayRef<Value> base, ArrayRef<Value> upper);
  SmallVector<Value> reduceBorder(const ReducePlan &plan, ArrayRef<Value> base, ArrayRef<Value> upper, int64_t lanes);

  Builder &b_;
  FunctionEnv &env_;
  te::ReduceOp op_;
  int out_, number_;
  unsigned vectorBytes_;
  FirstFailure failure_;
};

absl::Status ReduceEmitter::reducePoints(const ReducePlan &plan, ArrayRef<Point> points, int64_t lanes) {
  unsigned parallel = op_.getNumParallel();
  AffineMap outMap = op_.getOutMapOrIdentity();
  Type element = op_.getResult().getType().getElementType();
  Accumulator acc(op_, env_, /*inLoop=*/lanes == 1);
  unsigned size = acc.stateSize();
  te::YieldOp yield = op_.getYield();
  Value vectorIndex = lanes > 1 ? Value(op_.getBlock().getArgument(*plan.vectorDim)) : Value();

  SmallVector<Value> state;
  SmallVector<SmallVector<Value>> at;
  for (const Point &p : points) {
    at.push_back(emitSubscripts(b_, env_, outMap, ArrayRef<Value>(p.dims).take_front(parallel)));
    Scalar start;
    if (op_.getInit())
      start = ScalarEmitter(b_, env_).load(out_, element, at.back(), lanes);
    state.append(acc.begin(b_, lanes, op_.getInit() ? &start : nullptr));
  }
  SmallVector<Value> dims = points[0].dims;
  SmallVector<LoopDim> loops;
  Value zero = constI64(b_, 0);
  for (unsigned d : plan.reducedOrder)
    loops.push_back({d, zero, env_.sizeExpr(op_.getExtents().getResult(d)), {}});
  if (loops.empty()) { // a reduction over nothing: one term
    loops.push_back({op_.getNumDims(), zero, constI64(b_, 1), {}});
    dims.push_back(zero);
  }
  LoopNest nest(b_, op_.getCondition() ? *op_.getCondition() : IntegerSet(), env_.sizes());
  state = nest.emit(loops, dims, state, [&](ValueRange iters) -> SmallVector<Value> {
    SmallVector<Value> next = llvm::to_vector(iters);
    for (auto [k, p] : llvm::enumerate(points)) {
      ScalarEmitter body(b_, env_, lanes, vectorIndex);
      for (unsigned d = 0; d < op_.getNumDims(); ++d)
        body.bind(op_.getBlock().getArgument(d), {d < parallel ? p.dims[d] : dims[d]});
      if (!failure_.keep(body.emit(op_.getBlock())))
        return next;
      std::optional<Term> term = findTerm(b_, env_, body, yield, number_, failure_);
      if (!term)
        return next;
      auto product = yield.getValues()[0].getDefiningOp<arith::MulFOp>();
      if (product && acc.takesFactors() && product->getBlock() == &op_.getBlock()) {
        auto x = body.lookup(product.getLhs()), y = body.lookup(product.getRhs());
        if (x.ok() && y.ok()) {
          term->factor0 = *x;
          term->factor1 = *y;
        }
      }
      if (op_.isArg())
        term->index = dims[plan.reducedOrder[0]];
      SmallVector<Value> updated = acc.add(b_, ArrayRef<Value>(next).slice(k * size, size), *term);
      std::copy(updated.begin(), updated.end(), next.begin() + k * size);
    }
    return next;
  });
  if (!failure_.isEmpty())
    return failure_.status();
  for (auto [k, p] : llvm::enumerate(points))
    ScalarEmitter(b_, env_).store(out_, element, at[k], acc.finish(b_, ArrayRef<Value>(state).slice(k * size, size)));
  return failure_.status();
}

static Value offsetBy(Builder &b, Value v, int64_t by) { return by ? Value(arith::AddIOp::create(b, v, constI64(b, by))) : v; }

/// Of a tile that is not whole: point by point, along the vector dim in vectors while they fit.
SmallVector<Value> ReduceEmitter::reduceBorder(const ReducePlan &plan, ArrayRef<Value> base, ArrayRef<Value> upper, int64_t lanes) {
  SmallVector<Value> dims = llvm::to_vector(base);
  SmallVector<LoopDim> loops;
  for (auto [d, factor] : plan.jam)
    loops.push_back({d, base[d], minS(b_, upper[d], offsetBy(b_, base[d], factor)), {}});
  auto inner = [&](ValueRange) -> SmallVector<Value> {
    if (!plan.vectorDim) {
      failure_.keep(reducePoints(plan, {{dims}}, 1));
      return {};
    }
    unsigned v = *plan.vectorDim;
    Value last = minS(b_, upper[v], offsetBy(b_, base[v], plan.vectors * lanes));
    Value length = arith::SubIOp::create(b_, last, base[v]);
    Value vectorised = arith::AddIOp::create(
        b_, base[v], arith::SubIOp::create(b_, length, emitRemainder(b_, Division::SignedTrunc, length, constI64(b_, lanes))));
    auto points = [&](int64_t width) {
      return [&, width](Value iv, ValueRange) -> SmallVector<Value> {
        dims[v] = iv;
        failure_.keep(reducePoints(plan, {{dims}}, width));
        return {};
      };
    };
    emitFor(b_, base[v], vectorised, constI64(b_, lanes), {}, points(lanes));
    emitFor(b_, vectorised, last, {}, {}, points(1));
    return {};
  };
  if (loops.empty())
    return inner({});
  return LoopNest(b_, IntegerSet(), {}).emit(loops, dims, {}, inner);
}

/// All points of the tile at `base` that lie below `upper`.
absl::Status ReduceEmitter::reduceTile(const ReducePlan &plan, ArrayRef<Value> base, ArrayRef<Value> upper) {
  Type element = env_.valueType(op_.getYield().getValues()[0].getType());
  unsigned bytes = std::max(4u, element.getIntOrFloatBitWidth() / 8);
  int64_t lanes = plan.vectorDim ? vectorBytes_ / bytes : 1;
  // Whole tile: every point at once, in registers.
  SmallVector<Point> points = {{llvm::to_vector(base)}};
  Value whole;
  auto spread = [&](unsigned d, int64_t count, int64_t stride) {
    SmallVector<Point> next;
    for (const Point &p : points)
      for (int64_t i = 0; i < count; ++i) {
        next.push_back(p);
        next.back().dims[d] = offsetBy(b_, p.dims[d], i * stride);
      }
    points = next;
    Value fits = arith::CmpIOp::create(b_, arith::CmpIPredicate::sle, offsetBy(b_, base[d], count * stride), upper[d]);
    whole = whole ? Value(arith::AndIOp::create(b_, whole, fits)) : fits;
  };
  for (auto [d, factor] : plan.jam)
    spread(d, factor, 1);
  if (plan.vectorDim)
    spread(*plan.vectorDim, plan.vectors, lanes);
  if (!whole)
    return reducePoints(plan, points, 1);
  emitIf(b_, whole, {}, [&] {
    failure_.keep(reducePoints(plan, points, lanes));
    return SmallVector<Value>();
  });
  Value border = arith::XOrIOp::create(b_, whole, constInt(b_, b_.getI1Type(), 1));
  emitIf(b_, border, {}, [&] { return reduceBorder(plan, base, upper, lanes); });
  return failure_.status();
}

absl::Status ReduceEmitter::run(Value begin, Value end, Step &step) {
  unsigned parallel = op_.getNumParallel();
  ReducePlan plan = planReduce(op_, env_.withError());
  Type element = env_.valueType(op_.getYield().getValues()[0].getType());
  SmallVector<int64_t> factors(parallel, 1);
  if (plan.vectorDim)
    factors[*plan.vectorDim] = plan.vectors * vectorBytes_ / std::max(4u, element.getIntOrFloatBitWidth() / 8);
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
  StepWindow window = loadWindow(env_, step);
  SmallVector<Value> counts = countUnits(env_.entry, step, window);
  Value zero = constI64(env_.entry, 0);
  emitFor(b_, begin, end, {}, {}, [&](Value unit, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> tile = delineariseUnit(b_, unit, counts), base(op_.getNumDims(), zero);
    for (auto [t, d] : llvm::zip(tile, order)) {
      Value at = factors[d] == 1 ? t : Value(arith::MulIOp::create(b_, t, constI64(b_, factors[d])));
      base[d] = arith::AddIOp::create(b_, at, window.lower[d]);
    }
    failure_.keep(reduceTile(plan, base, window.upper));
    return {};
  });
  return failure_.status();
}

} // namespace

absl::Status emitReduce(Builder &b, FunctionEnv &env, te::ReduceOp op, int out, int number, unsigned vectorBytes, Value begin, Value end,
                        Step &step) {
  return ReduceEmitter(b, env, op, out, number, vectorBytes).run(begin, end, step);
}

} // namespace kernelc::reference
