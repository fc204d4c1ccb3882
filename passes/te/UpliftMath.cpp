// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-uplift-math: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/Erf.h"
#include "ir/te/Exponents.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "passes/analysis/Contraction.h"

#include <numbers>

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEUPLIFTMATH
#include "passes/Passes.h.inc"

namespace {

/// -x; of a product with a constant the constant's, so that the text computes no x beside it.
Value negate(OpBuilder &b, Value x) {
  FloatAttr factor;
  auto product = x.getDefiningOp<arith::MulFOp>();
  if (!product || !matchPattern(product.getRhs(), m_Constant(&factor)))
    return arith::NegFOp::create(b, x.getLoc(), x);
  Value constant = arith::ConstantOp::create(b, x.getLoc(), FloatAttr::get(x.getType(), -factor.getValue()));
  return arith::MulFOp::create(b, x.getLoc(), product.getLhs(), constant);
}

/// The factor of `e`'s exponent, a product, that is free of one of the statement's indices at least; null where none is.
Value findSteadyFactor(math::ExpOp e) {
  auto product = e.getType().isF32() ? e.getOperand().getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  if (!product || !product->hasOneUse())
    return {};
  unsigned dims = product->getBlock()->getNumArguments();
  llvm::BitVector left = te::findSupport(product.getLhs(), dims), right = te::findSupport(product.getRhs(), dims), both = left;
  both |= right;
  if (left.none() || right.none() || (left == both && right == both))
    return {};
  return left.count() < right.count() ? product.getLhs() : product.getRhs(); // the one that is the same for more points
}

/// exp(x c) = 2^(x (c log2 e)): c log2 e is the same for several points.
void takeBaseTwo(math::ExpOp e, Value factor) {
  OpBuilder b(e);
  Location loc = e.getLoc();
  auto product = e.getOperand().getDefiningOp<arith::MulFOp>();
  Value other = product.getLhs() == factor ? product.getRhs() : product.getLhs();
  Value scale = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(float(std::numbers::log2e)));
  Value power = arith::MulFOp::create(b, loc, other, arith::MulFOp::create(b, loc, factor, scale));
  e.getResult().replaceAllUsesWith(math::Exp2Op::create(b, loc, power).getResult());
  e.erase();
  product.erase();
}

/// What of a product or quotient every point of the statement has, and the operand that is left; null where there is none.
std::pair<Value, Value> takeSteadyFactor(Value x) {
  Operation *op = x.getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op) || !x.hasOneUse())
    return {};
  unsigned dims = op->getBlock()->getNumArguments();
  if (te::findSupport(op->getOperand(1), dims).none())
    return {op->getOperand(1), op->getOperand(0)};
  bool isFirst = isa<arith::MulFOp>(op) && te::findSupport(op->getOperand(0), dims).none();
  return isFirst ? std::pair(op->getOperand(0), op->getOperand(1)) : std::pair<Value, Value>();
}

/// tanh(x / c), of which only its size counts, as an approximate one of x times one factor.
void approximate(math::TanhOp tanh) {
  tanh.setFastmath(arith::FastMathFlags::afn);
  OpBuilder b(tanh);
  Location loc = tanh.getLoc();
  Value x = tanh.getOperand(), scale;
  SmallVector<Operation *> dead;
  for (auto [factor, rest] = takeSteadyFactor(x); factor; std::tie(factor, rest) = takeSteadyFactor(x)) {
    bool divides = isa<arith::DivFOp>(x.getDefiningOp());
    if (!scale && divides)
      scale = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
    scale = !scale    ? factor
            : divides ? arith::DivFOp::create(b, loc, scale, factor).getResult()
                      : arith::MulFOp::create(b, loc, scale, factor).getResult();
    dead.push_back(x.getDefiningOp());
    x = rest;
  }
  if (!scale)
    return;
  tanh.getOperandMutable().assign(arith::MulFOp::create(b, loc, x, scale));
  for (Operation *op : dead)
    op->erase();
}

struct TeUpliftMathPass : impl::TeUpliftMathBase<TeUpliftMathPass> {
  void runOnOperation() override {
    getOperation().walk([](math::ExpOp e) {
      if (Value factor = findSteadyFactor(e))
        takeBaseTwo(e, factor);
    });
    SmallVector<math::TanhOp> rounded;
    getOperation().walk([&](math::TanhOp tanh) {
      if (tanh.getType().isF32() && te::isOfRoundedExponents(tanh))
        rounded.push_back(tanh);
    });
    llvm::for_each(rounded, approximate);
    getOperation().walk([](Operation *op) {
      std::optional<te::ErfBesideOne> sum = te::findErfBesideOne(op);
      if (!sum || !sum->erf.hasOneUse())
        return;
      OpBuilder b(op);
      Value x = sum->negated ? negate(b, sum->x) : sum->x;
      op->getResult(0).replaceAllUsesWith(math::ErfcOp::create(b, op->getLoc(), x, arith::FastMathFlags::afn));
      op->erase();
      sum->erf.getDefiningOp()->erase();
    });
  }
};

} // namespace
} // namespace kernelc
