// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/LoopNest.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace kernelc::reference {

SmallVector<Value> emitFor(Builder &b, Value lower, Value upper, Value step, ValueRange iters,
                           llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  if (!step)
    step = constI64(b, 1);
  auto loop = scf::ForOp::create(b, lower, upper, step, iters);
  OpBuilder::InsertionGuard guard(b);
  Block *block = loop.getBody();
  if (iters.empty())
    block->getTerminator()->erase();
  b.setInsertionPointToEnd(block);
  scf::YieldOp::create(b, body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return llvm::to_vector(ValueRange(loop.getResults()));
}

SmallVector<Value> emitIf(Builder &b, Value condition, ValueRange iters, llvm::function_ref<SmallVector<Value>()> then) {
  auto op = scf::IfOp::create(b, TypeRange(iters), condition, /*withElseRegion=*/!iters.empty());
  OpBuilder::InsertionGuard guard(b);
  auto fill = [&](Block *block, llvm::function_ref<SmallVector<Value>()> f) {
    block->clear();
    b.setInsertionPointToEnd(block);
    scf::YieldOp::create(b, f());
  };
  fill(op.thenBlock(), then);
  if (!iters.empty())
    fill(op.elseBlock(), [&] { return llvm::to_vector(iters); });
  return llvm::to_vector(ValueRange(op.getResults()));
}

/// The constant a in e = a * dim + rest with rest free of dim, if e is of that form.
static std::optional<int64_t> linearCoefficient(AffineExpr e, unsigned dim) {
  if (!e.isFunctionOfDim(dim))
    return 0;
  if (isa<AffineDimExpr>(e))
    return 1;
  auto binary = cast<AffineBinaryOpExpr>(e);
  auto x = linearCoefficient(binary.getLHS(), dim);
  if (!x)
    return std::nullopt;
  if (e.getKind() == AffineExprKind::Add) {
    auto y = linearCoefficient(binary.getRHS(), dim);
    return y ? std::optional(*x + *y) : std::nullopt;
  }
  auto c = dyn_cast<AffineConstantExpr>(binary.getRHS());
  if (e.getKind() == AffineExprKind::Mul && c)
    return *x * c.getValue();
  return std::nullopt;
}

Value LoopNest::holds(unsigned i, ValueRange dims) {
  Value e = emitAffine(b, set_.getConstraint(i), dims, sizes_);
  auto p = set_.isEq(i) ? arith::CmpIPredicate::eq : arith::CmpIPredicate::sge;
  return arith::CmpIOp::create(b, p, e, constI64(b, 0));
}

bool LoopNest::tighten(unsigned i, unsigned dim, ValueRange dims, Value &lower, Value &upper) {
  AffineExpr e = set_.getConstraint(i);
  auto a = linearCoefficient(e, dim);
  if (!a || *a == 0 || (set_.isEq(i) && std::abs(*a) != 1))
    return false;
  // The rest: the expression at dim = 0.
  AffineExpr zero = getAffineConstantExpr(0, e.getContext());
  Value rest = emitAffine(b, e.replace(getAffineDimExpr(dim, e.getContext()), zero), dims, sizes_);
  Value negated = arith::SubIOp::create(b, constI64(b, 0), rest);
  if (set_.isEq(i)) {
    Value at = *a > 0 ? negated : rest;
    lower = maxS(b, lower, at);
    upper = minS(b, upper, arith::AddIOp::create(b, at, constI64(b, 1)));
  } else if (*a > 0) {
    lower = maxS(b, lower, emitDivision(b, Division::SignedCeil, negated, constI64(b, *a)));
  } else {
    Value last = emitDivision(b, Division::SignedFloor, rest, constI64(b, -*a));
    upper = minS(b, upper, arith::AddIOp::create(b, last, constI64(b, 1)));
  }
  return true;
}

SmallVector<Value> LoopNest::emitLevel(ArrayRef<LoopDim> loops, int depth, MutableArrayRef<Value> dims, ValueRange iters, LoopBody body) {
  // Constraints whose innermost dim is this level's.
  SmallVector<unsigned> mine;
  if (set_)
    for (unsigned i = 0; i < set_.getNumConstraints(); ++i) {
      int deepest = -1;
      for (auto [d, loop] : llvm::enumerate(loops))
        if (set_.getConstraint(i).isFunctionOfDim(loop.dim))
          deepest = std::max(deepest, int(d));
      if (deepest == depth)
        mine.push_back(i);
    }
  auto inside = [&](ArrayRef<unsigned> tests, ValueRange carried) -> SmallVector<Value> {
    auto next = [&](ValueRange v) { return depth + 1 == int(loops.size()) ? body(v) : emitLevel(loops, depth + 1, dims, v, body); };
    if (tests.empty())
      return next(carried);
    Value all;
    for (unsigned i : tests) {
      Value c = holds(i, dims);
      all = all ? Value(arith::AndIOp::create(b, all, c)) : c;
    }
    return emitIf(b, all, carried, [&] { return next(carried); });
  };
  if (depth < 0)
    return inside(mine, iters);
  const LoopDim &loop = loops[depth];
  Value lower = loop.lower, upper = loop.upper;
  SmallVector<unsigned> tests;
  for (unsigned i : mine)
    if (!tighten(i, loop.dim, dims, lower, upper))
      tests.push_back(i);
  return emitFor(b, lower, upper, loop.step, iters, [&](Value iv, ValueRange carried) {
    dims[loop.dim] = iv;
    return inside(tests, carried);
  });
}

SmallVector<Value> LoopNest::emit(ArrayRef<LoopDim> loops, MutableArrayRef<Value> dims, ValueRange iters, LoopBody body) {
  return emitLevel(loops, -1, dims, iters, body);
}

} // namespace kernelc::reference
