// te-uplift-math: see Passes.td.
#include "passes/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEUPLIFTMATH
#include "passes/Passes.h.inc"

namespace {

/// The f32 x of an erf(x) that nobody else reads.
Value findOnlyErf(Value v) {
  auto erf = v.getDefiningOp<math::ErfOp>();
  return erf && erf->hasOneUse() && v.getType().isF32() ? erf.getOperand() : Value();
}

/// -x; of a product with a constant the constant's, so that the text computes no x beside it.
Value negate(PatternRewriter &rewriter, Value x) {
  FloatAttr factor;
  auto product = x.getDefiningOp<arith::MulFOp>();
  if (!product || !matchPattern(product.getRhs(), m_Constant(&factor)))
    return arith::NegFOp::create(rewriter, x.getLoc(), x);
  Value constant = arith::ConstantOp::create(rewriter, x.getLoc(), FloatAttr::get(x.getType(), -factor.getValue()));
  return arith::MulFOp::create(rewriter, x.getLoc(), product.getLhs(), constant);
}

Value createErfc(PatternRewriter &rewriter, Location loc, Value x) {
  return math::ErfcOp::create(rewriter, loc, x, arith::FastMathFlags::afn);
}

struct SumWithErf : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp add, PatternRewriter &rewriter) const override {
    Value x = findOnlyErf(add.getLhs()), other = add.getRhs();
    if (!x) {
      x = findOnlyErf(add.getRhs());
      other = add.getLhs();
    }
    if (!x || !matchPattern(other, m_OneFloat()))
      return failure();
    rewriter.replaceOp(add, createErfc(rewriter, add.getLoc(), negate(rewriter, x)));
    return success();
  }
};

struct DifferenceFromErf : OpRewritePattern<arith::SubFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SubFOp sub, PatternRewriter &rewriter) const override {
    Value x = findOnlyErf(sub.getRhs());
    if (!x || !matchPattern(sub.getLhs(), m_OneFloat()))
      return failure();
    rewriter.replaceOp(sub, createErfc(rewriter, sub.getLoc(), x));
    return success();
  }
};

struct TeUpliftMathPass : impl::TeUpliftMathBase<TeUpliftMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SumWithErf, DifferenceFromErf>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
