// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/ExactFirst.h"

#include "ir/tile/Marks.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

namespace {

/// The operand of a broadcast; any other value itself.
Value sourceOf(Value v) {
  auto spread = v.getDefiningOp<BroadcastOp>();
  return spread ? spread.getInput() : v;
}

/// Whether a condition, "this row has no earlier maximum", always holds.
bool isNewEverywhere(Value isNew) {
  auto compare = sourceOf(isNew).getDefiningOp<arith::CmpFOp>();
  return matchPattern(sourceOf(isNew), m_One()) ||
         (compare && compare.getPredicate() == arith::CmpFPredicate::OEQ && matchPattern(compare.getLhs(), m_NegInfFloat()) &&
          matchPattern(compare.getRhs(), m_NegInfFloat()));
}

} // namespace

void makeExact(ReduceOp largest) {
  if (!isNewEverywhere(largest.getInputs()[1]))
    return;
  Value exponents = largest.getInputs()[0], terms;
  auto fused = exponents.getDefiningOp<math::FmaOp>();
  auto scaled = exponents.getDefiningOp<arith::MulFOp>();
  auto distance = scaled ? scaled.getLhs().getDefiningOp<arith::SubFOp>() : arith::SubFOp();
  arith::SubFOp shifted;
  for (Operation *user : exponents.getUsers())
    if (kMostlyZero.isOn(user))
      shifted = cast<arith::SubFOp>(user);
  math::FmaOp moved; // the new maximum, computed from the largest exponent
  for (Operation *user : largest.getResult(0).getUsers())
    if (auto fma = dyn_cast<math::FmaOp>(user))
      moved = fma;
  terms = fused ? fused.getA() : distance ? distance.getLhs() : Value();
  Operation *shift = shifted ? sourceOf(shifted.getRhs()).getDefiningOp() : nullptr;
  if (!terms || !shift || !moved)
    return;
  OpBuilder b(largest);
  Location loc = largest.getLoc();
  auto rows = cast<RankedTensorType>(largest.getResult(0).getType());
  Value most = ReduceOp::create(b, loc, TypeRange{rows}, te::Combiner::Max, ValueRange{terms}, largest.getDims()).getResult(0);
  largest.getResult(1).replaceAllUsesWith(
      arith::ConstantOp::create(b, loc, cast<TypedAttr>(SplatElementsAttr::get(cast<ShapedType>(largest.getResult(1).getType()), true))));
  moved.getResult().replaceAllUsesWith(most);
  largest.getResult(0).replaceAllUsesWith(most);
  // The exponents relative to the maximum x: c x' - c x, or (x' - x) c.
  b.setInsertionPoint(shifted);
  auto all = cast<RankedTensorType>(exponents.getType());
  auto spread = [&](Value v) -> Value { return BroadcastOp::create(b, loc, all, v); };
  Value by;
  if (fused) {
    Value lowered = arith::NegFOp::create(b, loc, cast<arith::SubFOp>(shift).getLhs());
    by = math::FmaOp::create(b, loc, terms, fused.getB(), spread(lowered));
  } else {
    auto between = shift->getOperand(0).getDefiningOp<arith::SubFOp>();
    by = arith::MulFOp::create(b, loc, arith::SubFOp::create(b, loc, terms, spread(between.getLhs())), scaled.getRhs());
  }
  shifted.getResult().replaceAllUsesWith(by);
}

} // namespace kernelc
