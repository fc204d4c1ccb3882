// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/Emit.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace kernelc::reference {

Type shapedLike(Type scalar, Type like) {
  auto v = dyn_cast<VectorType>(like);
  return v ? VectorType::get(v.getShape(), scalar) : scalar;
}

int64_t lanesOf(Value v) {
  auto t = dyn_cast<VectorType>(v.getType());
  return t ? t.getNumElements() : 1;
}

static Value constant(Builder &b, Type type, TypedAttr element) {
  if (auto v = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, DenseElementsAttr::get(v, Attribute(element)));
  return arith::ConstantOp::create(b, element);
}

Value constInt(Builder &b, Type type, int64_t value) {
  auto t = cast<IntegerType>(getElementTypeOrSelf(type));
  return constant(b, type, b.getIntegerAttr(t, APInt(t.getWidth(), uint64_t(value), true, true)));
}

Value constFloat(Builder &b, Type type, double value) { return constant(b, type, b.getFloatAttr(getElementTypeOrSelf(type), value)); }

Value splat(Builder &b, Value v, int64_t lanes) {
  if (lanes == 1 || isa<VectorType>(v.getType()))
    return v;
  if (auto c = v.getDefiningOp<arith::ConstantOp>())
    return constant(b, VectorType::get({lanes}, v.getType()), cast<TypedAttr>(c.getValue()));
  auto type = VectorType::get({lanes}, v.getType());
  Value undef = LLVM::PoisonOp::create(b, type);
  Value first = LLVM::InsertElementOp::create(b, undef, v, constInt(b, b.getI32Type(), 0));
  return LLVM::ShuffleVectorOp::create(b, first, undef, SmallVector<int32_t>(lanes, 0));
}

int64_t unifyLanes(Builder &b, MutableArrayRef<Value> values) {
  int64_t lanes = 1;
  for (Value v : values)
    lanes = std::max(lanes, lanesOf(v));
  for (Value &v : values)
    v = splat(b, v, lanes);
  return lanes;
}

namespace {

Value cmp(Builder &b, arith::CmpIPredicate p, Value x, Value y) { return arith::CmpIOp::create(b, p, x, y); }
Value select(Builder &b, Value c, Value t, Value f) { return arith::SelectOp::create(b, c, t, f); }

/// Quotient and remainder, truncated or unsigned.
std::pair<Value, Value> divide(Builder &b, bool isSigned, Value n, Value d) {
  Type type = n.getType();
  Value zero = constInt(b, type, 0);
  APInt constant;
  bool isConstant = false;
  if (auto c = d.getDefiningOp<arith::ConstantOp>())
    if (auto a = dyn_cast<IntegerAttr>(c.getValue())) {
      constant = a.getValue();
      isConstant = true;
    }
  // A divisor known to be harmless needs no guard, and strength reduction can work.
  if (isConstant && !constant.isZero() && !(isSigned && constant.isAllOnes())) {
    if (isSigned)
      return {arith::DivSIOp::create(b, n, d), arith::RemSIOp::create(b, n, d)};
    return {arith::DivUIOp::create(b, n, d), arith::RemUIOp::create(b, n, d)};
  }
  Value isZero = cmp(b, arith::CmpIPredicate::eq, d, zero);
  Value unsafe = isZero, minusOne;
  if (isSigned) {
    minusOne = cmp(b, arith::CmpIPredicate::eq, d, constInt(b, type, -1));
    unsafe = arith::OrIOp::create(b, isZero, minusOne);
  }
  Value safe = select(b, unsafe, constInt(b, type, 1), d);
  Value q = isSigned ? Value(arith::DivSIOp::create(b, n, safe)) : Value(arith::DivUIOp::create(b, n, safe));
  Value r = isSigned ? Value(arith::RemSIOp::create(b, n, safe)) : Value(arith::RemUIOp::create(b, n, safe));
  if (isSigned)
    q = select(b, minusOne, arith::SubIOp::create(b, zero, n), q);
  // The remainder by 1, which stands in for 0 and -1, is 0 already.
  return {select(b, isZero, zero, q), r};
}

} // namespace

Value emitDivision(Builder &b, Division kind, Value n, Value d) {
  bool isSigned = kind != Division::Unsigned && kind != Division::UnsignedCeil;
  auto [q, r] = divide(b, isSigned, n, d);
  if (kind == Division::SignedTrunc || kind == Division::Unsigned)
    return q;
  Value zero = constInt(b, n.getType(), 0), one = constInt(b, n.getType(), 1);
  Value inexact = cmp(b, arith::CmpIPredicate::ne, r, zero);
  if (kind == Division::UnsignedCeil)
    return select(b, inexact, arith::AddIOp::create(b, q, one), q);
  Value differ = arith::XOrIOp::create(b, cmp(b, arith::CmpIPredicate::slt, n, zero), cmp(b, arith::CmpIPredicate::slt, d, zero));
  if (kind == Division::SignedFloor)
    return select(b, arith::AndIOp::create(b, inexact, differ), arith::SubIOp::create(b, q, one), q);
  Value same = arith::XOrIOp::create(b, differ, constInt(b, differ.getType(), 1));
  return select(b, arith::AndIOp::create(b, inexact, same), arith::AddIOp::create(b, q, one), q);
}

Value emitRemainder(Builder &b, Division kind, Value n, Value d) {
  auto [q, r] = divide(b, kind != Division::Unsigned, n, d);
  if (kind != Division::SignedFloor)
    return r;
  Value zero = constInt(b, n.getType(), 0);
  Value inexact = cmp(b, arith::CmpIPredicate::ne, r, zero);
  Value differ = arith::XOrIOp::create(b, cmp(b, arith::CmpIPredicate::slt, r, zero), cmp(b, arith::CmpIPredicate::slt, d, zero));
  return select(b, arith::AndIOp::create(b, inexact, differ), arith::AddIOp::create(b, r, d), r);
}

Value emitAffine(Builder &b, AffineExpr expr, ValueRange dims, ValueRange symbols) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant: return constI64(b, cast<AffineConstantExpr>(expr).getValue());
  case AffineExprKind::DimId: return dims[cast<AffineDimExpr>(expr).getPosition()];
  case AffineExprKind::SymbolId: return symbols[cast<AffineSymbolExpr>(expr).getPosition()];
  default: break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value x = emitAffine(b, binary.getLHS(), dims, symbols);
  Value y = emitAffine(b, binary.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add: return arith::AddIOp::create(b, x, y);
  case AffineExprKind::Mul: return arith::MulIOp::create(b, x, y);
  case AffineExprKind::Mod: return emitRemainder(b, Division::SignedFloor, x, y);
  case AffineExprKind::FloorDiv: return emitDivision(b, Division::SignedFloor, x, y);
  default: return emitDivision(b, Division::SignedCeil, x, y);
  }
}

Value minS(Builder &b, Value x, Value y) { return arith::MinSIOp::create(b, x, y); }
Value maxS(Builder &b, Value x, Value y) { return arith::MaxSIOp::create(b, x, y); }

Value orMaybe(Builder &b, Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  Value both[] = {x, y};
  unifyLanes(b, both);
  return arith::OrIOp::create(b, both[0], both[1]);
}

Value callIntrinsic(Builder &b, StringRef name, Type result, ValueRange args) {
  return LLVM::CallIntrinsicOp::create(b, result, b.getStringAttr(name), args).getResult(0);
}

/// Declares `symbol` in the module around the insertion point, once.
static LLVM::LLVMFuncOp declarePure(Builder &b, StringRef symbol, Type result, TypeRange args) {
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (auto f = module.lookupSymbol<LLVM::LLVMFuncOp>(symbol))
    return f;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  auto f = LLVM::LLVMFuncOp::create(b, symbol, LLVM::LLVMFunctionType::get(result, llvm::to_vector(args)));
  // "memory"="0" is memory(none): lets LLVM hoist and merge the calls.
  f.setPassthroughAttr(b.getArrayAttr(
      {b.getStringAttr("nounwind"), b.getStringAttr("willreturn"), b.getArrayAttr({b.getStringAttr("memory"), b.getStringAttr("0")})}));
  return f;
}

Value callPure(Builder &b, StringRef symbol, Type result, ValueRange args) {
  auto vector = dyn_cast<VectorType>(result);
  SmallVector<Type> types;
  for (Value a : args)
    types.push_back(getElementTypeOrSelf(a.getType()));
  auto f = declarePure(b, symbol, getElementTypeOrSelf(result), types);
  if (!vector)
    return LLVM::CallOp::create(b, f, args).getResult();
  Value all = LLVM::PoisonOp::create(b, vector);
  for (int64_t i = 0; i < vector.getNumElements(); ++i) {
    Value lane = constInt(b, b.getI32Type(), i);
    SmallVector<Value> scalars;
    for (Value a : args)
      scalars.push_back(LLVM::ExtractElementOp::create(b, a, lane));
    all = LLVM::InsertElementOp::create(b, all, LLVM::CallOp::create(b, f, scalars).getResult(), lane);
  }
  return all;
}

} // namespace kernelc::reference
