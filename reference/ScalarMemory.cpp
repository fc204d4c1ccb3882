// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ScalarEmitter's loads, stores and te.read with its bounds modes.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "reference/ErrorRules.h"
#include "reference/NarrowFloats.h"
#include "reference/ScalarEmitter.h"

using namespace mlir;

namespace kernelc::reference {

Value ScalarEmitter::elementOffset(int slot, ArrayRef<Value> indices) {
  Value offset;
  for (auto [i, stride] : llvm::zip(indices, env.tensor(slot).strides)) {
    Value term = arith::MulIOp::create(b, i, stride, arith::IntegerOverflowFlags::nsw);
    offset = offset ? Value(arith::AddIOp::create(b, offset, term, arith::IntegerOverflowFlags::nsw)) : term;
  }
  return offset;
}

static Value elementAddress(Builder &b, Value base, Type memory, Value offset) {
  if (!offset)
    return base;
  // Not `inbounds`: the base is the origin of a tensor of which only a box may exist.
  return LLVM::GEPOp::create(b, base.getType(), memory, base, ArrayRef<LLVM::GEPArg>{offset});
}

Scalar ScalarEmitter::load(int slot, Type element, ArrayRef<Value> indices, int64_t lanes) {
  const Slot &s = env.program.slots[slot];
  Type memory = env.memoryType(element, s);
  auto shaped = [&](Type t) { return lanes == 1 ? t : Type(VectorType::get({lanes}, t)); };
  if (element.isInteger(4) && s.arg >= 0) {
    // Two to a byte, low nibble first; the row stride counts nibbles.
    Value offset = elementOffset(slot, indices);
    if (!offset)
      offset = constI64(b, 0);
    Value address = elementAddress(b, env.tensor(slot).data, memory, arith::ShRSIOp::create(b, offset, constI64(b, 1)));
    Value byte = LLVM::LoadOp::create(b, memory, address);
    Value shift = arith::ShLIOp::create(b, arith::AndIOp::create(b, offset, constI64(b, 1)), constI64(b, 2));
    byte = arith::ShRUIOp::create(b, byte, arith::TruncIOp::create(b, memory, shift));
    return {arith::TruncIOp::create(b, element, byte)};
  }
  Value offset = elementOffset(slot, indices);
  Value address = elementAddress(b, env.tensor(slot).data, memory, offset);
  unsigned bytes = memory.getIntOrFloatBitWidth() / 8;
  Scalar r{LLVM::LoadOp::create(b, shaped(memory), address, bytes)};
  if (element.isInteger(1))
    r.v = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, r.v, constInt(b, r.v.getType(), 0));
  else if (element.isInteger(4))
    r.v = arith::TruncIOp::create(b, shaped(element), r.v);
  else if (isa<FloatType>(element) && env.isF64() && s.arg >= 0)
    r.v = widenFloat(b, r.v, element, b.getF64Type());
  if (s.hasError) {
    Value at = elementAddress(b, env.tensor(slot).errors, b.getF64Type(), offset);
    r.e = LLVM::LoadOp::create(b, shaped(b.getF64Type()), at, 8);
    if (element.isInteger(1))
      r.e = arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, r.e, constFloat(b, r.e.getType(), 0));
  }
  return r;
}

void ScalarEmitter::store(int slot, Type element, ArrayRef<Value> indices, Scalar value) {
  const Slot &s = env.program.slots[slot];
  Type memory = env.memoryType(element, s);
  Value v = value.v;
  if (element.isInteger(1) || element.isInteger(4))
    v = arith::ExtUIOp::create(b, shapedLike(memory, v.getType()), v);
  Value offset = elementOffset(slot, indices);
  Value address = elementAddress(b, env.tensor(slot).data, memory, offset);
  unsigned bytes = memory.getIntOrFloatBitWidth() / 8;
  LLVM::StoreOp::create(b, v, address, bytes);
  if (!s.hasError)
    return;
  Type f64 = shapedLike(b.getF64Type(), v.getType());
  Value e = value.e ? value.e : constFloat(b, f64, 0);
  if (getElementTypeOrSelf(e.getType()).isInteger(1))
    e = arith::UIToFPOp::create(b, f64, e);
  LLVM::StoreOp::create(b, splat(b, e, lanesOf(v)), elementAddress(b, env.tensor(slot).errors, b.getF64Type(), offset), 8);
}

/// Moves subscripts inside the extents as the bounds say; what is left outside (all of it when the tensor is empty) reads element 0.
/// Returns whether all were inside, where that is asked.
static Value applyBounds(Builder &b, te::BoundsMode mode, bool guarded, MutableArrayRef<Value> subscripts, ArrayRef<Value> extents) {
  Value zero = constI64(b, 0), one = constI64(b, 1), inside;
  for (auto [i, extent] : llvm::zip(subscripts, extents)) {
    Value last = arith::SubIOp::create(b, extent, one);
    if (mode == te::BoundsMode::Pad || guarded) {
      // One unsigned comparison covers both ends.
      Value in = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, i, extent);
      inside = inside ? Value(arith::AndIOp::create(b, inside, in)) : in;
    } else if (mode == te::BoundsMode::Wrap) {
      i = emitRemainder(b, Division::SignedFloor, i, extent);
    } else if (mode == te::BoundsMode::Reflect) {
      // Period 2 * (n - 1); the second half runs backwards.
      Value period = arith::MulIOp::create(b, last, constI64(b, 2));
      Value r = emitRemainder(b, Division::SignedFloor, i, period);
      i = minS(b, r, arith::SubIOp::create(b, period, r));
    }
    i = maxS(b, minS(b, i, last), zero);
  }
  return inside;
}

absl::StatusOr<Scalar> ScalarEmitter::emitRead(te::ReadOp op) {
  auto slot = env.slotOf.find(op.getTensor());
  if (slot == env.slotOf.end())
    return unsupported(op, "reads a tensor that is neither a parameter nor a statement's result");
  SmallVector<Value> operands;
  Value bad, uncertain;
  bool byData = false;
  int64_t lanes = 1;
  for (Value v : op.getOperands_()) {
    auto s = lookup(v);
    if (!s.ok())
      return s.status();
    operands.push_back(s->v);
    bad = orMaybe(b, bad, s->bad);
    if (s->e)
      uncertain = orMaybe(b, uncertain, isUncertain(b, s->e));
    byData |= !isa<BlockArgument>(v);
    if (v == vectorIndex_)
      lanes = lanes_;
  }
  AffineMap map = op.getMapOrIdentity();
  if (lanes > 1) // a vector where the subscript moves, else the same element for all lanes
    lanes = llvm::any_of(map.getResults(),
                         [&](AffineExpr e) {
                           return llvm::any_of(llvm::enumerate(op.getOperands_()),
                                               [&](auto it) { return it.value() == vectorIndex_ && e.isFunctionOfDim(it.index()); });
                         })
                ? lanes
                : 1;
  SmallVector<Value> subscripts;
  for (AffineExpr e : map.getResults())
    subscripts.push_back(emitAffine(b, e, operands, env.sizes()));
  te::BoundsMode mode = op.getBounds();
  bool guarded = (mode == te::BoundsMode::InBounds && byData) || mode == te::BoundsMode::Assume;
  Value inside;
  if (mode != te::BoundsMode::InBounds || guarded)
    inside = applyBounds(b, mode, guarded, subscripts, env.tensor(slot->second).extents);
  Scalar r = load(slot->second, op.getTensor().getType().getElementType(), subscripts, lanes);
  if (mode == te::BoundsMode::Pad) {
    auto padding = lookup(op.getPadding());
    if (!padding.ok())
      return padding;
    Scalar chosen = inside ? Scalar{} : r;
    if (inside) {
      Value values[] = {inside, r.v, padding->v};
      unifyLanes(b, values);
      chosen.v = arith::SelectOp::create(b, values[0], values[1], values[2]);
      if (env.withError())
        chosen.e = selectError(b, Scalar{inside}, r, *padding);
    }
    r = chosen;
  } else if (guarded && inside) {
    Value outside = arith::XOrIOp::create(b, inside, constInt(b, b.getI1Type(), 1));
    bad = orMaybe(b, bad, outside);
  }
  if (uncertain)
    r.e = unknownIf(b, uncertain, r);
  r.bad = bad;
  return r;
}

} // namespace kernelc::reference
