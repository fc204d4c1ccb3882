// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/StepUnits.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "reference/ErrorRules.h"
#include "reference/LoopNest.h"

using namespace mlir;

namespace kernelc::reference {

StepWindow loadWindow(FunctionEnv &env, const Step &step) {
  StepWindow w;
  for (int d = 0; d < step.parallel; ++d) {
    w.lower.push_back(env.word(step.window + 2 * d));
    w.upper.push_back(env.word(step.window + 2 * d + 1));
  }
  return w;
}

SmallVector<Value> countUnits(Builder &b, const Step &step, const StepWindow &window) {
  SmallVector<Value> counts;
  for (auto [d, factor] : step.units) {
    Value length = arith::SubIOp::create(b, window.upper[d], window.lower[d]);
    counts.push_back(factor == 1 ? length : emitDivision(b, Division::SignedCeil, length, constI64(b, factor)));
  }
  return counts;
}

SmallVector<Value> delineariseUnit(Builder &b, Value unit, ArrayRef<Value> counts) {
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

SmallVector<Value> emitSubscripts(Builder &b, FunctionEnv &env, AffineMap map, ValueRange dims) {
  SmallVector<Value> result;
  for (AffineExpr e : map.getResults())
    result.push_back(emitAffine(b, e, dims, env.sizes()));
  return result;
}

std::optional<Term> findTerm(Builder &b, FunctionEnv &env, ScalarEmitter &body, te::YieldOp yield, int number, FirstFailure &failure) {
  auto value = body.lookup(yield.getValues()[0]);
  if (!failure.keep(value.status()))
    return std::nullopt;
  Term term{*value};
  if (yield.getCondition()) {
    auto condition = body.lookup(yield.getCondition());
    if (!failure.keep(condition.status()))
      return std::nullopt;
    term.condition = *condition;
  }
  reportBad(b, env, number, orMaybe(b, value->bad, term.condition.bad), term.condition.v);
  return term;
}

void reportBad(Builder &b, FunctionEnv &env, int number, Value bad, Value condition) {
  if (!bad)
    return;
  if (condition) {
    Value both[] = {bad, condition};
    unifyLanes(b, both);
    bad = arith::AndIOp::create(b, both[0], both[1]);
  }
  if (lanesOf(bad) > 1)
    bad = callIntrinsic(b, "llvm.vector.reduce.or", b.getI1Type(), bad);
  emitIf(b, bad, {}, [&] {
    LLVM::StoreOp::create(b, constI64(b, number + 1), env.context);
    return SmallVector<Value>();
  });
}

} // namespace kernelc::reference
