// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/ScanEmitter.h"

#include "reference/Combine.h"
#include "reference/ErrorRules.h"
#include "reference/LoopNest.h"
#include "reference/StepUnits.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

class ScanEmitter {
public:
  ScanEmitter(Builder &b, FunctionEnv &env, te::ReduceOp op, int out, int number) : b_(b), env_(env), op_(op), out_(out), number_(number) {}

  absl::Status run(const te::Scan &scan, Value begin, Value end, Step &step);

private:
  SmallVector<Value> addTerm(Accumulator &acc, ArrayRef<Value> dims, ValueRange state, bool isBefore);

  Builder &b_;
  FunctionEnv &env_;
  te::ReduceOp op_;
  int out_, number_;
  FirstFailure failure_;
};

/// `state` with the term at `dims`.
SmallVector<Value> ScanEmitter::addTerm(Accumulator &acc, ArrayRef<Value> dims, ValueRange state, bool isBefore) {
  ScalarEmitter body(b_, env_);
  for (unsigned d = 0; d < op_.getNumDims(); ++d)
    body.bind(op_.getBlock().getArgument(d), {dims[d]});
  if (!failure_.keep(body.emit(op_.getBlock())))
    return llvm::to_vector(state);
  std::optional<Term> term = findTerm(b_, env_, body, op_.getYield(), number_, failure_);
  if (term && op_.isArg()) {
    term->index = dims[op_.getNumParallel()];
    term->isBefore = isBefore;
  }
  return term ? acc.add(b_, llvm::to_vector(state), *term) : llvm::to_vector(state);
}

absl::Status ScanEmitter::run(const te::Scan &scan, Value begin, Value end, Step &step) {
  SmallVector<unsigned> beside;
  for (unsigned d = 0; d < scan.reduced; ++d)
    if (d != scan.along) {
      beside.push_back(d);
      step.units.push_back({int(d), 1});
    }
  StepWindow window = loadWindow(env_, step);
  SmallVector<Value> counts = countUnits(env_.entry, step, window);
  Type element = op_.getResult().getType().getElementType();
  AffineMap outMap = op_.getOutMapOrIdentity();
  IntegerSet where; // what is asked beside the order
  SmallVector<AffineExpr> constraints;
  SmallVector<bool> equalities;
  for (unsigned c : scan.where) {
    constraints.push_back(op_.getCondition()->getConstraint(c));
    equalities.push_back(op_.getCondition()->isEq(c));
  }
  if (!constraints.empty())
    where = IntegerSet::get(op_.getNumDims(), op_.getCondition()->getNumSymbols(), constraints, equalities);
  Value zero = constI64(env_.entry, 0), length = env_.sizeExpr(op_.getExtents().getResult(scan.along));
  emitFor(b_, begin, end, {}, {}, [&](Value unit, ValueRange) -> SmallVector<Value> {
    SmallVector<Value> dims(op_.getNumDims(), zero);
    for (auto [d, at] : llvm::zip(beside, delineariseUnit(b_, unit, counts)))
      dims[d] = arith::AddIOp::create(b_, at, window.lower[d]);
    Accumulator acc(op_, env_, /*inLoop=*/true);
    Value first = window.lower[scan.along], last = window.upper[scan.along];
    Value rounds = scan.reverse ? Value(arith::SubIOp::create(b_, length, first)) : last;
    emitFor(b_, zero, rounds, {}, acc.begin(b_, 1, nullptr), [&](Value round, ValueRange before) -> SmallVector<Value> {
      Value k = scan.reverse ? Value(arith::SubIOp::create(b_, arith::SubIOp::create(b_, length, constI64(b_, 1)), round)) : round;
      dims[scan.along] = dims[scan.reduced] = k;
      SmallVector<Value> all(dims);
      all.push_back(zero);
      SmallVector<LoopDim> once{{op_.getNumDims(), zero, constI64(b_, 1), {}}};
      SmallVector<Value> after = LoopNest(b_, where, env_.sizes()).emit(once, all, before, [&](ValueRange state) {
        return addTerm(acc, dims, state, scan.reverse);
      });
      Value isWanted = scan.reverse ? arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, k, last)
                                    : arith::CmpIOp::create(b_, arith::CmpIPredicate::sge, k, first);
      emitIf(b_, isWanted, {}, [&] {
        SmallVector<Value> result = scan.exclusive ? llvm::to_vector(before) : after;
        ScalarEmitter(b_, env_).store(out_, element, emitSubscripts(b_, env_, outMap, ArrayRef<Value>(dims).take_front(scan.reduced)),
                                      acc.finish(b_, result));
        return SmallVector<Value>();
      });
      return after;
    });
    return {};
  });
  return failure_.status();
}

} // namespace

absl::Status emitScan(Builder &b, FunctionEnv &env, te::ReduceOp op, const te::Scan &scan, int out, int number, Value begin, Value end,
                      Step &step) {
  return ScanEmitter(b, env, op, out, number).run(scan, begin, end, step);
}

} // namespace kernelc::reference
