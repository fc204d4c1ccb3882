// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-base-two: see Passes.td.
#include "passes/Passes.h"

#include <numbers>

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/analysis/Contraction.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEBASETWO
#include "passes/Passes.h.inc"

namespace {

constexpr unsigned kNarrow = 16; // bits of a float whose rounding hides what an approximate exponential is off by

/// Whether c + e is no less exact than e, which is not negative.
bool isPositive(Value c) {
  FloatAttr value;
  return matchPattern(c, m_Constant(&value)) && !value.getValue().isNegative() && value.getValue().isFinite();
}

/// Whether all that comes of `v`, as exact in proportion as `v` is, is rounded to few bits.
bool isRoundedByAll(Value v) {
  return llvm::all_of(v.getUses(), [](OpOperand &use) {
    Operation *op = use.getOwner();
    if (auto cast = dyn_cast<arith::TruncFOp>(op))
      return cast.getType().getIntOrFloatBitWidth() <= kNarrow;
    if (auto sum = dyn_cast<arith::AddFOp>(op)) {
      if (!isPositive(sum->getOperand(1 - use.getOperandNumber())))
        return false;
    } else if (auto choice = dyn_cast<arith::SelectOp>(op)) {
      if (use.getOperandNumber() == 0)
        return false;
    } else if (!isa<arith::MulFOp, arith::DivFOp>(op)) {
      return false;
    }
    return isRoundedByAll(op->getResult(0));
  });
}

/// Whether what v is off by in size is nothing: it is added to a constant.
bool isAddedTo(Value v) {
  constexpr double kLeast = 0x1p-64;
  return llvm::all_of(v.getUses(), [](OpOperand &use) {
    FloatAttr c;
    return isa<arith::AddFOp>(use.getOwner()) && matchPattern(use.getOwner()->getOperand(1 - use.getOperandNumber()), m_Constant(&c)) &&
           c.getValueAsDouble() >= kLeast;
  });
}

/// Writes down the exponents of one exponential's power of two.
class Exponent {
public:
  Exponent(math::ExpOp op) : op_(op), b_(op), x_(op.getOperand()) {
    Operation *sum = x_.getDefiningOp();
    if (isa_and_present<arith::AddFOp, arith::SubFOp>(sum) && x_.hasOneUse())
      sum_ = sum;
  }

  /// factor · x. A product that x is a sum with is taken in one operation with it, which rounds once where the text rounds twice.
  Value whole(double factor) {
    auto product = sum_ ? sum_->getOperand(0).getDefiningOp<arith::MulFOp>() : nullptr;
    if (!product || !product->hasOneUse())
      return times(x_, constant(factor));
    Value rest = sum_->getOperand(1);
    if (isa<arith::SubFOp>(sum_))
      rest = arith::NegFOp::create(b_, op_.getLoc(), rest);
    return times(math::FmaOp::create(b_, op_.getLoc(), product.getLhs(), product.getRhs(), rest), constant(factor));
  }

  /// The same, one operation a point of `dims`, where x is a sum with what fewer points have: `factor` goes to its parts.
  Value apart(double factor, unsigned dims) {
    if (!sum_ || te::findSupport(sum_->getOperand(1), dims).all())
      return whole(factor);
    Value first = sum_->getOperand(0), scale = constant(factor);
    auto product = first.getDefiningOp<arith::MulFOp>();
    if (product && product->hasOneUse() && te::findSupport(product.getRhs(), dims).none()) {
      first = product.getLhs();
      scale = times(product.getRhs(), scale);
    }
    Value rest = times(sum_->getOperand(1), constant(isa<arith::SubFOp>(sum_) ? -factor : factor));
    return math::FmaOp::create(b_, op_.getLoc(), first, scale, rest);
  }

  Value power(Value exponent) { return math::Exp2Op::create(b_, op_.getLoc(), exponent, arith::FastMathFlags::afn); }
  Value times(Value x, Value y) { return arith::MulFOp::create(b_, op_.getLoc(), x, y); }

private:
  Value constant(double v) { return arith::ConstantOp::create(b_, op_.getLoc(), FloatAttr::get(x_.getType(), v)); }

  math::ExpOp op_;
  OpBuilder b_;
  Value x_;
  Operation *sum_ = nullptr;
};

void rewrite(math::ExpOp op) {
  Exponent e(op);
  Value result;
  if (auto reduce = op->getParentOfType<te::ReduceOp>(); reduce && te::findContraction(reduce)) {
    result = e.power(e.apart(std::numbers::log2e, reduce.getNumDims()));
  } else if (isAddedTo(op)) {
    result = e.power(e.whole(std::numbers::log2e));
  } else {
    // The unit takes what it gives for zero below 2^-126; a square root of a float is never as small.
    Value root = e.power(e.whole(std::numbers::log2e / 2));
    result = e.times(root, root);
  }
  op.replaceAllUsesWith(result);
  Value x = op.getOperand();
  op.erase();
  // What was written anew.
  for (Operation *dead = x.getDefiningOp(); dead && isOpTriviallyDead(dead);) {
    Value first = dead->getNumOperands() ? dead->getOperand(0) : Value();
    dead->erase();
    dead = first ? first.getDefiningOp() : nullptr;
  }
}

struct TeBaseTwoPass : impl::TeBaseTwoBase<TeBaseTwoPass> {
  void runOnOperation() override {
    SmallVector<math::ExpOp> found;
    getOperation().walk([&](math::ExpOp op) {
      if (op.getType().isF32() && !op->use_empty() && isRoundedByAll(op))
        found.push_back(op);
    });
    for (math::ExpOp op : found)
      rewrite(op);
  }
};

} // namespace
} // namespace kernelc
