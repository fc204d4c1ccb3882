// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/ComputeEmitter.h"

#include "reference/ErrorRules.h"
#include "reference/LoopNest.h"
#include "reference/StepUnits.h"

using namespace mlir;

namespace kernelc::reference {

/// Points of a compute's innermost dim in one unit. Fixed, so that what LLVM
/// vectorises does not depend on the number of threads.
static constexpr int64_t kInnerBlock = 4096;

/// Stores `value` where `condition` holds.
static void storeWhere(Builder &b, ScalarEmitter &body, const Scalar &condition, int out, Type element, ArrayRef<Value> at,
                       const Scalar &value) {
  if (condition.e) { // either side may be what the device keeps
    Scalar old = body.load(out, element, at);
    Scalar chosen{arith::SelectOp::create(b, condition.v, value.v, old.v), selectError(b, condition, value, old)};
    body.store(out, element, at, chosen);
    return;
  }
  emitIf(b, condition.v, {}, [&] {
    body.store(out, element, at, value);
    return SmallVector<Value>();
  });
}

absl::Status emitCompute(Builder &b, FunctionEnv &env, te::ComputeOp op, int out, int number, Value begin, Value end, Step &step) {
  FirstFailure failure;
  unsigned n = op.getNumDims();
  for (unsigned d = 0; d < n; ++d)
    step.units.push_back({int(d), d + 1 == n ? kInnerBlock : 1});
  StepWindow window = loadWindow(env, step);
  SmallVector<Value> counts = countUnits(env.entry, step, window);
  AffineMap outMap = op.getOutMapOrIdentity();
  Type element = op.getResult().getType().getElementType();
  Value zero = constI64(env.entry, 0);

  emitFor(b, begin, end, {}, {}, [&](Value unit, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> dims = delineariseUnit(b, unit, counts);
    SmallVector<LoopDim> loops;
    for (unsigned d = 0; d < n; ++d) {
      Value at = d + 1 == n ? Value(arith::MulIOp::create(b, dims[d], constI64(b, kInnerBlock))) : dims[d];
      dims[d] = arith::AddIOp::create(b, at, window.lower[d]);
    }
    if (n > 0) {
      Value upper = minS(b, window.upper.back(), arith::AddIOp::create(b, dims.back(), constI64(b, kInnerBlock)));
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
      if (!failure.keep(body.emit(op.getBlock())))
        return {};
      auto value = body.lookup(op.getYield().getValues()[0]);
      if (!failure.keep(value.status()))
        return {};
      SmallVector<Value> at = emitSubscripts(b, env, outMap, ArrayRef<Value>(dims).take_front(n));
      Value conditionValue = op.getYield().getCondition();
      if (!conditionValue) {
        reportBad(b, env, number, value->bad, {});
        body.store(out, element, at, *value);
        return {};
      }
      auto condition = body.lookup(conditionValue);
      if (!failure.keep(condition.status()))
        return {};
      reportBad(b, env, number, orMaybe(b, value->bad, condition->bad), condition->v);
      storeWhere(b, body, *condition, out, element, at, *value);
      return {};
    });
    return {};
  });
  return failure.status();
}

} // namespace kernelc::reference
