// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/RecurrenceEmitter.h"

#include "reference/Combine.h"
#include "reference/ErrorRules.h"
#include "reference/LoopNest.h"
#include "reference/StepUnits.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

class RecurrenceEmitter {
public:
  RecurrenceEmitter(Builder &b, FunctionEnv &env, te::RecurrenceOp op, int out, int number)
      : b_(b), env_(env), op_(op), out_(out), number_(number), zero_(constI64(env.entry, 0)) {}

  absl::Status run(Value begin, Value end, Step &step) {
    unsigned free = op_.getFree();
    for (unsigned d = 0; d < free; ++d)
      step.units.push_back({int(d), 1});
    StepWindow window = loadWindow(env_, step);
    SmallVector<Value> counts = countUnits(env_.entry, step, window);
    emitFor(b_, begin, end, {}, {}, [&](Value unit, ValueRange) -> SmallVector<Value> {
      SmallVector<Value> dims(op_.getNumDims(), zero_);
      for (auto [d, at] : llvm::enumerate(delineariseUnit(b_, unit, counts)))
        dims[d] = arith::AddIOp::create(b_, at, window.lower[d]);
      LoopNest nest(b_, op_.getCondition() ? *op_.getCondition() : IntegerSet(), env_.sizes());
      nest.emit(loopsOf(llvm::to_vector(llvm::seq(free, op_.getNumParallel()))), dims, {}, [&](ValueRange) -> SmallVector<Value> {
        definePoint(dims);
        return {};
      });
      return {};
    });
    return failure_.status();
  }

private:
  SmallVector<LoopDim> loopsOf(ArrayRef<unsigned> dims) {
    return llvm::map_to_vector(dims, [&](unsigned d) { return LoopDim{d, zero_, env_.sizeExpr(op_.getExtents().getResult(d)), {}}; });
  }

  /// The scalars of `block` at `dims`; nothing after an error.
  std::optional<ScalarEmitter> scalarsAt(Block &block, ArrayRef<Value> dims, ArrayRef<Scalar> values) {
    ScalarEmitter body(b_, env_);
    for (unsigned d = 0; d < op_.getNumDims(); ++d)
      body.bind(block.getArgument(d), {dims[d]});
    for (auto [k, v] : llvm::enumerate(values))
      body.bind(block.getArgument(op_.getNumDims() + unsigned(k)), v);
    if (!failure_.isEmpty() || !failure_.keep(body.emit(block)))
      return std::nullopt;
    return body;
  }

  /// What term k comes to at the point `dims`, where those before it come to `before`.
  Scalar reduce(unsigned k, SmallVector<Value> dims, ArrayRef<Scalar> before) {
    te::YieldOp yield = op_.getTermYield(k);
    Accumulator acc(op_.getKind(k), yield.getValues()[0].getType(), env_);
    LoopNest nest(b_, op_.getRange(k), env_.sizes());
    SmallVector<Value> state = nest.emit(loopsOf(op_.getReducedDims(k)), dims, acc.begin(b_, 1, nullptr), [&](ValueRange taken) {
      std::optional<ScalarEmitter> body = scalarsAt(op_.getTerms()[k].front(), dims, before);
      if (!body)
        return llvm::to_vector(taken);
      std::optional<Term> term = findTerm(b_, env_, *body, yield, number_, failure_);
      return term ? acc.add(b_, llvm::to_vector(taken), *term) : llvm::to_vector(taken);
    });
    return acc.finish(b_, state);
  }

  void definePoint(ArrayRef<Value> dims) {
    SmallVector<Scalar> reduced;
    for (unsigned k = 0; k < op_.getNumTerms() && failure_.isEmpty(); ++k)
      reduced.push_back(reduce(k, llvm::to_vector(dims), reduced));
    std::optional<ScalarEmitter> body = failure_.isEmpty() ? scalarsAt(op_.getBlock(), dims, reduced) : std::nullopt;
    if (!body)
      return;
    auto value = body->lookup(op_.getYield().getValues()[0]);
    if (!failure_.keep(value.status()))
      return;
    reportBad(b_, env_, number_, value->bad, {});
    SmallVector<Value> at;
    for (AffineExpr e : op_.getOutMapOrIdentity().getResults())
      at.push_back(emitAffine(b_, e, dims.take_front(op_.getNumParallel()), env_.sizes()));
    body->store(out_, op_.getResult().getType().getElementType(), at, *value);
  }

  Builder &b_;
  FunctionEnv &env_;
  te::RecurrenceOp op_;
  int out_, number_;
  Value zero_;
  FirstFailure failure_;
};

} // namespace

absl::Status emitRecurrence(Builder &b, FunctionEnv &env, te::RecurrenceOp op, int out, int number, Value begin, Value end, Step &step) {
  return RecurrenceEmitter(b, env, op, out, number).run(begin, end, step);
}

} // namespace kernelc::reference
