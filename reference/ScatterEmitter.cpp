// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/ScatterEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "reference/Combine.h"
#include "reference/ErrorRules.h"
#include "reference/LoopNest.h"
#include "reference/StepUnits.h"

using namespace mlir;

namespace kernelc::reference {

namespace {

/// While the points are taken every element has its accumulator's state in memory, a word for each part of it: the
/// bound of a sum's error needs more than the element has room for.
class ScatterEmitter {
public:
  ScatterEmitter(Builder &b, FunctionEnv &env, te::ScatterOp op, int out, int number)
      : b(b), env(env), op_(op), out_(out), number_(number), element_(op.getResult().getType().getElementType()) {
    if (!op.isUnique())
      acc_.emplace(*op.getKind(), element_, env);
  }

  absl::Status run(Step &step);

private:
  /// `body(element's indices)` for every element of the result.
  void forEachElement(llvm::function_ref<void(ArrayRef<Value>)> body);
  absl::Status emitPoint(ArrayRef<Value> dims);
  /// Combines with the elements that an uncertain subscript may mean.
  void combineAround(ArrayRef<Scalar> subscripts, const Scalar &value, const Scalar &condition);
  void combineAt(ArrayRef<Value> at, const Term &term);
  Value stateAddress(ArrayRef<Value> at, unsigned part);
  SmallVector<Value> loadState(ArrayRef<Value> at);
  void storeState(ArrayRef<Value> at, ArrayRef<Value> state);
  ArrayRef<Value> extents() { return env.tensor(out_).extents; }

  Builder &b;
  FunctionEnv &env;
  te::ScatterOp op_;
  int out_, number_;
  Type element_;
  std::optional<Accumulator> acc_;
  SmallVector<Type> stateTypes_;
  Value states_; ///< of all elements
  absl::Status status_;
};

void ScatterEmitter::forEachElement(llvm::function_ref<void(ArrayRef<Value>)> body) {
  SmallVector<LoopDim> loops;
  SmallVector<Value> at(extents().size() + 1, constI64(b, 0));
  for (auto [d, extent] : llvm::enumerate(extents()))
    loops.push_back({unsigned(d), constI64(b, 0), extent, {}});
  if (loops.empty())
    loops.push_back({0, constI64(b, 0), constI64(b, 1), {}});
  LoopNest(b, IntegerSet(), {}).emit(loops, at, {}, [&](ValueRange) -> SmallVector<Value> {
    body(ArrayRef<Value>(at).take_front(extents().size()));
    return {};
  });
}

Value ScatterEmitter::stateAddress(ArrayRef<Value> at, unsigned part) {
  Value number = constI64(b, 0);
  for (auto [i, extent] : llvm::zip(at, extents()))
    number = arith::AddIOp::create(b, arith::MulIOp::create(b, number, extent), i);
  number = arith::MulIOp::create(b, number, constI64(b, int64_t(stateTypes_.size())));
  number = arith::AddIOp::create(b, number, constI64(b, part));
  return LLVM::GEPOp::create(b, states_.getType(), b.getI64Type(), states_, ArrayRef<LLVM::GEPArg>{number});
}

SmallVector<Value> ScatterEmitter::loadState(ArrayRef<Value> at) {
  SmallVector<Value> state;
  for (auto [part, type] : llvm::enumerate(stateTypes_)) {
    bool isBit = type.isInteger(1);
    Value v = LLVM::LoadOp::create(b, isBit ? Type(b.getI8Type()) : type, stateAddress(at, part));
    state.push_back(isBit ? Value(arith::TruncIOp::create(b, type, v)) : v);
  }
  return state;
}

void ScatterEmitter::storeState(ArrayRef<Value> at, ArrayRef<Value> state) {
  for (auto [part, v] : llvm::enumerate(state)) {
    Value stored = v.getType().isInteger(1) ? Value(arith::ExtUIOp::create(b, b.getI8Type(), v)) : v;
    LLVM::StoreOp::create(b, stored, stateAddress(at, part));
  }
}

void ScatterEmitter::combineAt(ArrayRef<Value> at, const Term &term) { storeState(at, acc_->add(b, loadState(at), term)); }

void ScatterEmitter::combineAround(ArrayRef<Scalar> subscripts, const Scalar &value, const Scalar &condition) {
  constexpr double kFar = 0x1p40;
  SmallVector<LoopDim> loops;
  SmallVector<Value> at;
  Value zero = constI64(b, 0), one = constI64(b, 1), unsure = condition.e;
  for (auto [d, s] : llvm::enumerate(subscripts)) {
    at.push_back(s.v);
    Value low = s.v, high = arith::AddIOp::create(b, s.v, one);
    if (s.e) {
      unsure = orMaybe(b, unsure, isUncertain(b, s.e));
      Value reach = s.e.getType().isInteger(1) ? Value(arith::ExtUIOp::create(b, b.getI64Type(), s.e)) : Value();
      if (!reach) {
        Value bounded = arith::MinNumFOp::create(b, s.e, constFloat(b, b.getF64Type(), kFar));
        reach = arith::FPToSIOp::create(b, b.getI64Type(), bounded);
      }
      // (a subscript may be anything; one that wraps around is outside either way)
      low = arith::SubIOp::create(b, maxS(b, s.v, constI64(b, -int64_t(kFar))), reach);
      high = arith::AddIOp::create(b, arith::AddIOp::create(b, minS(b, s.v, constI64(b, int64_t(kFar))), reach), one);
    }
    loops.push_back({unsigned(d), maxS(b, low, zero), minS(b, high, extents()[d]), {}});
  }
  if (loops.empty())
    loops.push_back({0, zero, one, {}});
  SmallVector<Value> element(std::max<size_t>(at.size(), 1), zero);
  LoopNest(b, IntegerSet(), {}).emit(loops, element, {}, [&](ValueRange) -> SmallVector<Value> {
    Value isHere = condition.v ? condition.v : constInt(b, b.getI1Type(), 1);
    for (auto [e, s] : llvm::zip(element, at))
      isHere = arith::AndIOp::create(b, isHere, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, e, s));
    Term term{value};
    term.condition = {isHere, unsure};
    combineAt(ArrayRef<Value>(element).take_front(at.size()), term);
    return {};
  });
}

absl::Status ScatterEmitter::emitPoint(ArrayRef<Value> dims) {
  ScalarEmitter body(b, env);
  for (auto [argument, d] : llvm::zip(op_.getBlock().getArguments(), dims))
    body.bind(argument, {d});
  if (absl::Status s = body.emit(op_.getBlock()); !s.ok())
    return s;
  auto value = body.lookup(op_.getValue());
  if (!value.ok())
    return value.status();
  SmallVector<Scalar> subscripts;
  SmallVector<Value> at;
  Value inside, bad = value->bad, uncertain;
  for (auto [v, extent] : llvm::zip(op_.getSubscripts(), extents())) {
    auto s = body.lookup(v);
    if (!s.ok())
      return s.status();
    bad = orMaybe(b, bad, s->bad);
    Value in = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, s->v, extent);
    inside = inside ? Value(arith::AndIOp::create(b, inside, in)) : in;
    if (s->e)
      uncertain = orMaybe(b, uncertain, isUncertain(b, s->e));
    at.push_back(s->v);
    subscripts.push_back(*s);
  }
  Scalar condition;
  if (Value given = op_.getYield().getCondition()) {
    auto c = body.lookup(given);
    if (!c.ok())
      return c.status();
    condition = *c;
    bad = orMaybe(b, bad, condition.bad);
  }
  if (inside)
    bad = orMaybe(b, bad, arith::XOrIOp::create(b, inside, constInt(b, b.getI1Type(), 1)));
  reportBad(b, env, number_, bad, condition.v);
  if (acc_ && (uncertain || condition.e)) {
    combineAround(subscripts, *value, condition);
    return absl::OkStatus();
  }
  Value takes = condition.v;
  if (inside)
    takes = takes ? Value(arith::AndIOp::create(b, takes, inside)) : inside;
  auto put = [&]() -> SmallVector<Value> {
    if (acc_)
      combineAt(at, Term{*value});
    else
      body.store(out_, element_, at, uncertain ? Scalar{value->v, unknownIf(b, uncertain, *value)} : *value);
    return {};
  };
  if (takes)
    emitIf(b, takes, {}, put);
  else
    put();
  return absl::OkStatus();
}

absl::Status ScatterEmitter::run(Step &step) {
  unsigned n = op_.getNumDims();
  if (acc_) {
    step.stateWords = int(acc_->stateSize());
    step.states = step.window + 2 * int(n);
    states_ = LLVM::IntToPtrOp::create(env.entry, LLVM::LLVMPointerType::get(b.getContext()), env.word(step.states));
    forEachElement([&](ArrayRef<Value> at) {
      Scalar start = ScalarEmitter(b, env).load(out_, element_, at);
      SmallVector<Value> state = acc_->begin(b, 1, &start);
      stateTypes_ = llvm::map_to_vector(state, [](Value v) { return v.getType(); });
      storeState(at, state);
    });
  }
  SmallVector<LoopDim> loops;
  SmallVector<Value> dims(n + 1, constI64(b, 0));
  for (unsigned d = 0; d < n; ++d)
    loops.push_back({d, env.word(step.window + 2 * int(d)), env.word(step.window + 2 * int(d) + 1), {}});
  if (loops.empty())
    loops.push_back({0, constI64(b, 0), constI64(b, 1), {}});
  LoopNest nest(b, op_.getCondition() ? *op_.getCondition() : IntegerSet(), env.sizes());
  nest.emit(loops, dims, {}, [&](ValueRange) -> SmallVector<Value> {
    if (absl::Status s = emitPoint(ArrayRef<Value>(dims).take_front(n)); !s.ok())
      status_ = s;
    return {};
  });
  if (acc_ && status_.ok())
    forEachElement([&](ArrayRef<Value> at) {
      SmallVector<Value> state = loadState(at);
      Scalar result = acc_->finish(b, state);
      if (result.e && state.size() == 4) { // of one term, the init: nothing was added
        Value alone = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, state[3], constFloat(b, b.getF64Type(), 1));
        result.e = arith::SelectOp::create(b, alone, state[1], result.e);
      }
      ScalarEmitter(b, env).store(out_, element_, at, result);
    });
  return status_;
}

} // namespace

absl::Status emitScatter(Builder &b, FunctionEnv &env, te::ScatterOp op, int out, int number, Step &step) {
  return ScatterEmitter(b, env, op, out, number).run(step);
}

} // namespace kernelc::reference
