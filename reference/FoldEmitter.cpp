// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/FoldEmitter.h"

#include <limits>

#include "ir/te/Scan.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "reference/ErrorRules.h"
#include "reference/LoopNest.h"
#include "reference/StepUnits.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

class FoldEmitter {
public:
  FoldEmitter(Builder &b, FunctionEnv &env, te::FoldOp op, int out, int number)
      : b_(b), env_(env), op_(op), out_(out), number_(number), scan_(te::findScanOf(op)), zero_(constI64(env.entry, 0)) {}

  absl::Status run(Value begin, Value end, Step &step) {
    unsigned parallel = op_.getNumParallel();
    for (unsigned d = 0; d < parallel; ++d)
      if (!scan_ || d != scan_->along)
        step.units.push_back({int(d), 1});
    StepWindow window = loadWindow(env_, step);
    SmallVector<Value> counts = countUnits(env_.entry, step, window);
    emitFor(b_, begin, end, {}, {}, [&](Value unit, ValueRange) -> SmallVector<Value> {
      SmallVector<Value> dims(op_.getNumDims(), zero_);
      for (auto [of, at] : llvm::zip(step.units, delineariseUnit(b_, unit, counts)))
        dims[of.dim] = arith::AddIOp::create(b_, at, window.lower[of.dim]);
      if (scan_)
        scanRow(dims, window.lower[scan_->along], window.upper[scan_->along]);
      else
        foldPoint(dims);
      return {};
    });
    return failure_.status();
  }

private:
  Value noError(Type type) { return type.isInteger(1) ? constInt(b_, type, 0) : constFloat(b_, b_.getF64Type(), 0); }

  /// A component of a state on its way. A monoid's may be combined in any groups, whose roundings have the size of the largest
  /// values on the way: `most`, of floats, where errors are reckoned.
  struct Component {
    Scalar s;
    Value most;
  };
  bool hasMost(unsigned k) { return env_.withError() && op_.getMonoid() && isa<FloatType>(op_.getComponentType(k)); }

  /// A state as carried values: components, and their errors where these are reckoned.
  SmallVector<Value> pack(ArrayRef<Component> state) {
    SmallVector<Value> values;
    for (auto [k, c] : llvm::enumerate(state)) {
      values.push_back(c.s.v);
      if (env_.withError())
        values.push_back(c.s.e ? c.s.e : noError(op_.getComponentType(unsigned(k))));
      if (hasMost(unsigned(k)))
        values.push_back(c.most);
    }
    return values;
  }
  SmallVector<Component> unpack(ValueRange values) {
    SmallVector<Component> state;
    size_t i = 0;
    for (unsigned k = 0; k < op_.getNumComponents(); ++k) {
      Component c{{values[i++], Value()}, Value()};
      if (env_.withError())
        c.s.e = values[i++];
      if (hasMost(k))
        c.most = values[i++];
      state.push_back(c);
    }
    return state;
  }
  /// The larger of `most` and |v|, unless that is infinite or NaN.
  Value larger(Value most, Value v) {
    Value size = math::AbsFOp::create(b_, v), infinite = constFloat(b_, b_.getF64Type(), std::numeric_limits<double>::infinity());
    Value finite = arith::CmpFOp::create(b_, arith::CmpFPredicate::OLT, size, infinite);
    Value isLarger = arith::AndIOp::create(b_, finite, arith::CmpFOp::create(b_, arith::CmpFPredicate::OGT, size, most));
    return arith::SelectOp::create(b_, isLarger, size, most);
  }

  SmallVector<Value> start() {
    SmallVector<Component> state;
    for (Attribute a : op_.getIdentity()) {
      auto s = ScalarEmitter(b_, env_).constant(cast<TypedAttr>(a), op_);
      if (!failure_.keep(s.status()))
        return {};
      state.push_back({*s, constFloat(b_, b_.getF64Type(), 0)});
    }
    return pack(state);
  }

  /// `before` and the element at `dims`; or, where it stands `behind`, the element and `before`.
  SmallVector<Value> take(ValueRange before, ArrayRef<Value> dims, bool behind = false) {
    SmallVector<Value> unchanged = llvm::to_vector(before);
    ScalarEmitter body(b_, env_);
    for (unsigned d = 0; d < op_.getNumDims(); ++d)
      body.bind(op_.getBlock().getArgument(d), {dims[d]});
    if (!failure_.isEmpty() || !failure_.keep(body.emit(op_.getBlock())))
      return unchanged;
    te::YieldOp yield = op_.getYield();
    Scalar condition;
    if (yield.getCondition()) {
      auto c = body.lookup(yield.getCondition());
      if (!failure_.keep(c.status()))
        return unchanged;
      condition = *c;
    }
    Block &combine = op_.getCombine().front();
    ScalarEmitter step(b_, env_);
    SmallVector<Component> state = unpack(before);
    unsigned n = state.size();
    unsigned first = behind ? n : 0; // of the state among the arguments
    for (unsigned k = 0; k < n; ++k)
      step.bind(combine.getArgument(first + k), state[k].s);
    Value bad = condition.bad;
    for (auto [k, v] : llvm::enumerate(yield.getValues())) {
      auto value = body.lookup(v);
      if (!failure_.keep(value.status()))
        return unchanged;
      bad = orMaybe(b_, bad, value->bad);
      step.bind(combine.getArgument(n - first + unsigned(k)), {value->v, value->e});
    }
    reportBad(b_, env_, number_, bad, condition.v);
    if (!failure_.keep(step.emit(combine)))
      return unchanged;
    SmallVector<Component> next;
    for (auto [k, v] : llvm::enumerate(op_.getCombined().getValues())) {
      auto value = step.lookup(v);
      if (!failure_.keep(value.status()))
        return unchanged;
      Scalar s = *value;
      if (condition.v) {
        Value e = env_.withError() ? selectError(b_, condition, s, state[k].s) : Value();
        s = {arith::SelectOp::create(b_, condition.v, s.v, state[k].s.v), e};
      }
      next.push_back({{s.v, s.e}, hasMost(unsigned(k)) ? larger(state[k].most, s.v) : Value()});
    }
    return pack(next);
  }

  void store(ArrayRef<Value> dims, ValueRange state) {
    unsigned k = unsigned(op_.getFields()[0]);
    Component c = unpack(state)[k];
    if (hasMost(k)) {
      constexpr double kGroups = 4, kSteps = 16; // of the errors in one order; of roundings of the largest values
      double unit = op_.getComponentType(k).isF64() ? 0x1p-53 : 0x1p-24;
      Type f64 = b_.getF64Type();
      Value e = arith::MulFOp::create(b_, c.s.e, constFloat(b_, f64, kGroups));
      e = arith::AddFOp::create(b_, e, arith::MulFOp::create(b_, c.most, constFloat(b_, f64, kSteps * unit)));
      Value isExact = arith::CmpFOp::create(b_, arith::CmpFPredicate::OEQ, c.s.e, constFloat(b_, f64, 0)); // only chosen, never rounded
      c.s.e = arith::SelectOp::create(b_, isExact, c.s.e, e);
    }
    ScalarEmitter(b_, env_).store(out_, cast<RankedTensorType>(op_.getResult(0).getType()).getElementType(),
                                  dims.take_front(op_.getNumParallel()), c.s);
  }

  void foldPoint(SmallVector<Value> dims) {
    SmallVector<LoopDim> loops;
    for (unsigned d = op_.getNumParallel(); d < op_.getNumDims(); ++d)
      loops.push_back({d, zero_, env_.sizeExpr(op_.getExtents().getResult(d)), {}});
    if (loops.empty()) { // one element
      loops.push_back({op_.getNumDims(), zero_, constI64(b_, 1), {}});
      dims.push_back(zero_);
    }
    SmallVector<Value> first = start();
    if (!failure_.isEmpty())
      return;
    LoopNest nest(b_, op_.getCondition() ? *op_.getCondition() : IntegerSet(), env_.sizes());
    SmallVector<Value> state = nest.emit(loops, dims, first, [&](ValueRange before) { return take(before, dims); });
    if (failure_.isEmpty())
      store(dims, state);
  }

  /// All of a row, of which results at `from` to `to` are wanted.
  void scanRow(SmallVector<Value> dims, Value from, Value to) {
    SmallVector<AffineExpr> constraints;
    SmallVector<bool> equalities;
    for (unsigned c : scan_->where) {
      constraints.push_back(op_.getCondition()->getConstraint(c));
      equalities.push_back(op_.getCondition()->isEq(c));
    }
    IntegerSet where;
    if (!constraints.empty())
      where = IntegerSet::get(op_.getNumDims(), op_.getCondition()->getNumSymbols(), constraints, equalities);
    Value length = env_.sizeExpr(op_.getExtents().getResult(scan_->along));
    Value rounds = scan_->reverse ? Value(arith::SubIOp::create(b_, length, from)) : to;
    SmallVector<Value> first = start();
    if (!failure_.isEmpty())
      return;
    emitFor(b_, zero_, rounds, {}, first, [&](Value round, ValueRange before) -> SmallVector<Value> {
      Value last = arith::SubIOp::create(b_, length, constI64(b_, 1));
      Value k = scan_->reverse ? Value(arith::SubIOp::create(b_, last, round)) : round;
      dims[scan_->along] = dims[scan_->reduced] = k;
      SmallVector<Value> all(dims);
      all.push_back(zero_);
      SmallVector<LoopDim> once{{op_.getNumDims(), zero_, constI64(b_, 1), {}}};
      SmallVector<Value> after =
          LoopNest(b_, where, env_.sizes()).emit(once, all, before, [&](ValueRange state) { return take(state, dims, scan_->behind); });
      Value isWanted = scan_->reverse ? arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, k, to)
                                      : arith::CmpIOp::create(b_, arith::CmpIPredicate::sge, k, from);
      emitIf(b_, isWanted, {}, [&] {
        if (failure_.isEmpty())
          store(dims, scan_->exclusive ? llvm::to_vector(before) : after);
        return SmallVector<Value>();
      });
      return after;
    });
  }

  Builder &b_;
  FunctionEnv &env_;
  te::FoldOp op_;
  int out_, number_;
  std::optional<te::Scan> scan_;
  Value zero_;
  FirstFailure failure_;
};

} // namespace

absl::Status emitFold(Builder &b, FunctionEnv &env, te::FoldOp op, int out, int number, Value begin, Value end, Step &step) {
  return FoldEmitter(b, env, op, out, number).run(begin, end, step);
}

} // namespace kernelc::reference
