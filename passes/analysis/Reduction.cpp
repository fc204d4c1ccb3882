// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/Reduction.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace kernelc::te {

TypedAttr identityOf(Combiner kind, Type type, OpBuilder &b) {
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  auto floating = dyn_cast<FloatType>(type);
  auto infinity = [&](bool negative) -> TypedAttr { return b.getFloatAttr(type, APFloat::getInf(floating.getFloatSemantics(), negative)); };
  switch (kind) {
  case Combiner::Sum:
  case Combiner::Any:
  case Combiner::Or:
  case Combiner::Xor: return cast<TypedAttr>(b.getZeroAttr(type));
  case Combiner::Prod: return cast<TypedAttr>(b.getOneAttr(type));
  case Combiner::All:
  case Combiner::And: return b.getIntegerAttr(type, APInt::getAllOnes(bits));
  case Combiner::Max:
  case Combiner::ArgMax: return floating ? infinity(true) : TypedAttr(b.getIntegerAttr(type, APInt::getSignedMinValue(bits)));
  case Combiner::ArgMin:
    if (floating) // the largest key, so that a row of NaNs still has a first one
      return b.getFloatAttr(type, APFloat::getNaN(floating.getFloatSemantics()));
    return b.getIntegerAttr(type, APInt::getSignedMaxValue(bits));
  case Combiner::Min: return floating ? infinity(false) : TypedAttr(b.getIntegerAttr(type, APInt::getSignedMaxValue(bits)));
  case Combiner::MaxU:
  case Combiner::ArgMaxU: return cast<TypedAttr>(b.getZeroAttr(type));
  case Combiner::MinU:
  case Combiner::ArgMinU: return b.getIntegerAttr(type, APInt::getAllOnes(bits));
  case Combiner::Custom: break; // the op that has it says
  }
  llvm_unreachable("every built-in combiner has an identity");
}

Value combine(Combiner kind, Value x, Value y, OpBuilder &b, Location loc) {
  bool floating = isa<FloatType>(getElementTypeOrSelf(x.getType()));
  switch (kind) {
  case Combiner::Sum: return floating ? Value(arith::AddFOp::create(b, loc, x, y)) : arith::AddIOp::create(b, loc, x, y);
  case Combiner::Prod: return floating ? Value(arith::MulFOp::create(b, loc, x, y)) : arith::MulIOp::create(b, loc, x, y);
  case Combiner::Max: return floating ? Value(arith::MaximumFOp::create(b, loc, x, y)) : arith::MaxSIOp::create(b, loc, x, y);
  case Combiner::Min: return floating ? Value(arith::MinimumFOp::create(b, loc, x, y)) : arith::MinSIOp::create(b, loc, x, y);
  case Combiner::MaxU: return arith::MaxUIOp::create(b, loc, x, y);
  case Combiner::MinU: return arith::MinUIOp::create(b, loc, x, y);
  case Combiner::Any:
  case Combiner::Or: return arith::OrIOp::create(b, loc, x, y);
  case Combiner::All:
  case Combiner::And: return arith::AndIOp::create(b, loc, x, y);
  case Combiner::Xor: return arith::XOrIOp::create(b, loc, x, y);
  default: llvm_unreachable("arg reductions combine pairs");
  }
}

std::pair<Value, Value> combineArg(Combiner kind, Value keyA, Value positionA, Value keyB, Value positionB, OpBuilder &b, Location loc) {
  bool max = kind == Combiner::ArgMax || kind == Combiner::ArgMaxU;
  bool isUnsigned = kind == Combiner::ArgMaxU || kind == Combiner::ArgMinU;
  Value better, equal;
  if (isa<FloatType>(getElementTypeOrSelf(keyA.getType()))) {
    auto p = max ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
    better = arith::CmpFOp::create(b, loc, p, keyA, keyB);
    equal = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, keyA, keyB);
    Value nanA = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, keyA, keyA);
    Value nanB = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, keyB, keyB);
    // NaN is the largest key: it wins in argmax and loses in argmin; two NaNs are equals.
    equal = arith::OrIOp::create(b, loc, equal, arith::AndIOp::create(b, loc, nanA, nanB));
    auto [winner, other] = max ? std::pair(nanA, nanB) : std::pair(nanB, nanA);
    Value one = arith::ConstantOp::create(b, loc, other.getType(), cast<TypedAttr>(b.getOneAttr(other.getType())));
    better = arith::OrIOp::create(b, loc, better, arith::AndIOp::create(b, loc, winner, arith::XOrIOp::create(b, loc, other, one)));
  } else {
    auto p = max ? (isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt)
                 : (isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt);
    better = arith::CmpIOp::create(b, loc, p, keyA, keyB);
    equal = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, keyA, keyB);
  }
  Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, positionA, positionB);
  Value takeA = arith::OrIOp::create(b, loc, better, arith::AndIOp::create(b, loc, equal, first));
  return {arith::SelectOp::create(b, loc, takeA, keyA, keyB), arith::SelectOp::create(b, loc, takeA, positionA, positionB)};
}

SmallVector<Value> combineStates(Combiner kind, ValueRange a, ValueRange b, OpBuilder &builder, Location loc) {
  if (a.size() == 1)
    return {combine(kind, a[0], b[0], builder, loc)};
  auto [key, position] = combineArg(kind, a[0], a[1], b[0], b[1], builder, loc);
  return {key, position};
}

SmallVector<Value> identityState(Combiner kind, Type type, unsigned parts, OpBuilder &builder, Location loc) {
  SmallVector<Value> state{arith::ConstantOp::create(builder, loc, identityOf(kind, type, builder))};
  if (parts > 1)
    state.push_back(arith::ConstantIndexOp::create(builder, loc, kNowhere));
  return state;
}

} // namespace kernelc::te
