// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-uplift-math: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/Erf.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

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

struct TeUpliftMathPass : impl::TeUpliftMathBase<TeUpliftMathPass> {
  void runOnOperation() override {
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
