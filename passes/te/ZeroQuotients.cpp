// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/ZeroQuotients.h"

#include <limits>

#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/analysis/Contraction.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// Whether the text makes `v` zero at some points.
bool isOftenZero(Value v) {
  Operation *op = v.getDefiningOp();
  auto isZero = [](Value w) { return matchPattern(w, m_AnyZeroFloat()); };
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return isZero(select.getTrueValue()) || isZero(select.getFalseValue()) || isOftenZero(select.getTrueValue()) ||
           isOftenZero(select.getFalseValue());
  if (isa_and_nonnull<arith::MaximumFOp, arith::MaxNumFOp>(op))
    return llvm::any_of(op->getOperands(), isZero);
  if (isa_and_nonnull<arith::MulFOp, arith::ExtFOp>(op))
    return llvm::any_of(op->getOperands(), isOftenZero);
  return isa_and_nonnull<arith::SIToFPOp, arith::UIToFPOp>(op);
}

bool isFound(arith::DivFOp op) {
  Operation *statement = op->getParentOp();
  if (!op.getType().isF32() || !isa<ComputeOp>(statement) || matchPattern(op.getRhs(), m_Constant()) || !isOftenZero(op.getLhs()))
    return false;
  unsigned dims = getExtents(statement).getNumResults();
  llvm::BitVector own = findSupport(op.getLhs(), dims), divisor = findSupport(op.getRhs(), dims);
  return own.test(divisor); // (has an index that the divisor lacks)
}

void rewrite(arith::DivFOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  using P = arith::CmpFPredicate;
  auto constant = [&](float v) -> Value { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(v)); };
  auto compare = [&](P p, Value u, Value v) -> Value { return arith::CmpFOp::create(b, loc, p, u, v); };
  auto choose = [&](Value c, Value u, Value v) -> Value { return arith::SelectOp::create(b, loc, c, u, v); };
  Value x = op.getLhs(), s = op.getRhs(), zero = constant(0), one = constant(1);
  Value isBelow = compare(P::OLT, s, zero), isAbove = compare(P::OGT, s, zero);
  Value sign = choose(isBelow, constant(-1), choose(isAbove, one, constant(std::numeric_limits<float>::quiet_NaN())));
  Value isZero = compare(P::OEQ, x, zero);
  Value quotient = arith::DivFOp::create(b, loc, choose(isZero, one, x), s);
  op.replaceAllUsesWith(choose(isZero, arith::MulFOp::create(b, loc, x, sign), quotient));
  op.erase();
}

} // namespace

void divideAroundZeros(KernelOp kernel) {
  SmallVector<arith::DivFOp> found;
  kernel.walk([&](arith::DivFOp op) {
    if (isFound(op))
      found.push_back(op);
  });
  for (arith::DivFOp op : found)
    rewrite(op);
}

} // namespace kernelc::te
