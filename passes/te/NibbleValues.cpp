// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/NibbleValues.h"

using namespace mlir;

namespace kernelc::te {

Value NibbleValues::number(OpBuilder &b, Location loc, int64_t v, Type type) {
  return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, v));
}

Value NibbleValues::lowBits(OpBuilder &b, Location loc, Value v) {
  return note(arith::AndIOp::create(b, loc, v, number(b, loc, 15, b.getI8Type())));
}

Value NibbleValues::bothNibbles(OpBuilder &b, Location loc, Value low, Value high) {
  return arith::OrIOp::create(b, loc, low, arith::ShLIOp::create(b, loc, high, number(b, loc, 4, b.getI8Type())));
}

Value NibbleValues::nibbleOf(OpBuilder &b, Location loc, Value byte, Value shift) {
  Type i32 = b.getI32Type();
  Value wide = arith::ExtUIOp::create(b, loc, i32, byte);
  Value bits = arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, wide, shift), number(b, loc, 15, i32));
  Value nibble = note(arith::TruncIOp::create(b, loc, b.getI8Type(), bits));
  places_[nibble] = {wide, shift};
  return nibble;
}

/// An i8 of -8 to 7. Of what was read its bit 3 is moved to the top at once.
Value NibbleValues::asSigned(OpBuilder &b, Location loc, Value nibble) {
  Type i32 = b.getI32Type();
  Value top = number(b, loc, 28, i32), up = top, wide;
  if (auto place = places_.find(nibble); place != places_.end()) {
    wide = place->second.byte;
    up = arith::SubIOp::create(b, loc, top, place->second.shift);
  } else {
    wide = arith::ExtUIOp::create(b, loc, i32, nibble);
  }
  Value bits = arith::ShRSIOp::create(b, loc, arith::ShLIOp::create(b, loc, wide, up), top);
  return arith::TruncIOp::create(b, loc, b.getI8Type(), bits);
}

/// What stands in place of `op` from here on; null where it is changed as it stands, or refused.
Value NibbleValues::replacementOf(OpBuilder &b, Operation *op) {
  Location loc = op->getLoc();
  Type i8 = b.getI8Type();
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return note(number(b, loc, int64_t(cast<IntegerAttr>(constant.getValue()).getValue().getZExtValue()), i8));
  if (isa<arith::ExtSIOp, arith::ExtUIOp>(op)) {
    bool isSigned = isa<arith::ExtSIOp>(op);
    Type type = op->getResult(0).getType();
    Value v = isSigned ? asSigned(b, loc, op->getOperand(0)) : op->getOperand(0);
    if (v.getType() == type)
      return v;
    return isSigned ? arith::ExtSIOp::create(b, loc, type, v).getResult() : arith::ExtUIOp::create(b, loc, type, v).getResult();
  }
  if (isa<arith::TruncIOp>(op) && !nibbles_.contains(op->getOperand(0))) {
    Value v = op->getOperand(0);
    return lowBits(b, loc, v.getType() == i8 ? v : arith::TruncIOp::create(b, loc, i8, v).getResult());
  }
  if (auto saturate = dyn_cast<ConvertOp>(op)) {
    Value v = ConvertOp::create(b, loc, i8, saturate.getInput(), saturate.getToUnsignedAttr());
    if (saturate.getToUnsigned())
      return note(arith::MinUIOp::create(b, loc, v, number(b, loc, 15, i8)));
    v = arith::MaxSIOp::create(b, loc, v, number(b, loc, -8, i8));
    return lowBits(b, loc, arith::MinSIOp::create(b, loc, v, number(b, loc, 7, i8)));
  }
  return {};
}

LogicalResult NibbleValues::convert(Operation *op) {
  bool made = op->getNumResults() == 1 && isNibble(op->getResult(0).getType());
  if (!made && llvm::none_of(op->getOperands(), [&](Value v) { return nibbles_.contains(v); }))
    return success();
  OpBuilder b(op);
  Location loc = op->getLoc();
  auto refuse = [&] {
    return op->emitError() << "'" << op->getName()
                           << "' of i4 or u4 values is not supported by the GPU pipeline yet; the reference runs it";
  };
  if (Value v = replacementOf(b, op)) {
    op->getResult(0).replaceAllUsesWith(v);
    op->erase();
    return success();
  }
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    bool isSigned = isa<arith::SIToFPOp>(op);
    op->setOperand(0, isSigned ? asSigned(b, loc, op->getOperand(0)) : op->getOperand(0));
    return success();
  }
  if (isa<arith::TruncIOp>(op))
    return refuse();
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    using P = arith::CmpIPredicate;
    if (llvm::is_contained({P::slt, P::sle, P::sgt, P::sge}, compare.getPredicate()))
      for (OpOperand &operand : op->getOpOperands())
        operand.set(asSigned(b, loc, operand.get()));
    return success();
  }
  if (!made)
    return isa<arith::IndexCastUIOp>(op) ? success() : refuse();
  if (isa<arith::SelectOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op)) {
    op->getResult(0).setType(b.getI8Type());
    note(op->getResult(0));
    return success();
  }
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op))
    return refuse();
  op->getResult(0).setType(b.getI8Type());
  b.setInsertionPointAfter(op);
  Value low = lowBits(b, loc, op->getResult(0));
  op->getResult(0).replaceAllUsesExcept(low, low.getDefiningOp());
  return success();
}

} // namespace kernelc::te
