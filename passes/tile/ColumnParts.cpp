// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/ColumnParts.h"

#include "ir/tile/States.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

RankedTensorType partOf(Type type, const ColumnParts &parts) {
  auto tile = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tile.getShape());
  shape[parts.dim] = std::min(shape[parts.dim], parts.extent);
  return RankedTensorType::get(shape, tile.getElementType());
}

Value PartCloner::clone(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  if (!type || type.getDimSize(parts_.dim) == 1)
    return v;
  if (Value known = done_.lookup(v))
    return known;
  Value part = make(v, partOf(type, parts_));
  done_[v] = part;
  return part;
}

Value PartCloner::offset(int64_t index, Value v, Location loc) {
  return index == parts_.dim && start_ ? Value(arith::AddIOp::create(b_, NameLoc::get(b_.getStringAttr("part"), loc), v,
                                                                     arith::ConstantIndexOp::create(b_, loc, start_)))
                                       : v;
}

Value PartCloner::make(Value v, RankedTensorType type) {
  Operation *op = v.getDefiningOp();
  if (op && isStraight(op) && op->getNumResults() == 1 && (op->getBlock() == block_ || isa<arith::ConstantOp>(op))) {
    Location loc = op->getLoc();
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
        return arith::ConstantOp::create(b_, loc, SplatElementsAttr::get(type, splat.getSplatValue<Attribute>()));
    if (auto index = dyn_cast<IndexOp>(op))
      return IndexOp::create(b_, loc, type, index.getDim(), offset(index.getDim(), index.getOffset(), loc));
    bool elementwise = op->hasTrait<OpTrait::Elementwise>() || isa<BroadcastOp, tile::ConvertOp, SplatOp, CombineOp>(op);
    // (a reduction over the columns has none that are left to cut)
    auto reduce = dyn_cast<tile::ReduceOp>(op);
    if (elementwise || isa<LoadOp, InsideOp>(op) || (reduce && !reduce.getIdentity())) {
      SmallVector<Value> operands;
      int64_t index = 0; // offsets are the index operands, in the launch's order
      for (Value operand : op->getOperands())
        operands.push_back(operand.getType().isIndex() && !elementwise ? offset(index++, operand, loc) : clone(operand));
      OperationState state(loc, op->getName(), operands, TypeRange{type}, op->getAttrs());
      state.propertiesAttr = op->getPropertiesAsAttribute();
      for (unsigned r = 0; r < op->getNumRegions(); ++r)
        state.addRegion();
      return b_.create(state)->getResult(0);
    }
  }
  return SliceOp::create(b_, v.getLoc(), type, v, parts_.dim, start_);
}

} // namespace kernelc
