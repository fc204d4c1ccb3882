// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks of slots: threads share the slot's vectors out, and write zeros where the condition does not hold at a vector's
// points, or at the one that stands for all of them.
#include "ir/cu/Marks.h"
#include "passes/lowerings/DotLowering.h"
#include "passes/lowerings/FunctionLowering.h"

using namespace mlir;

namespace kernelc {

/// A vector of a slot, in the thread that has it.
struct FunctionLowering::SlotVector {
  Value place;               ///< in shared memory
  SmallVector<Value> coords; ///< of its first element, by launch index
  Value column;              ///< that along the contiguous one
};

void FunctionLowering::unless(Value holds, Location loc) {
  Value one = arith::ConstantOp::create(b_, loc, b_.getBoolAttr(true));
  auto branch = scf::IfOp::create(b_, loc, arith::XOrIOp::create(b_, loc, holds, one), false);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
}

FunctionLowering::SlotVector FunctionLowering::openSlotVectors(tile::RingType ring, SlotAddress &address, Value start, Location loc) {
  const tile::SlotLayout &layout = address.layout();
  ArrayRef<int64_t> shape = ring.getShape();
  int64_t threads = int64_t(func_.getWarps()) * 32, vector = layout.chunk;
  int64_t perRow = shape[layout.contiguous] / vector, total = layout.rows * perRow;
  Value base = openLoop(c_, 0, total, threads, "mask", loc);
  if (isa<BlockArgument>(base)) // registers are the product's
    cu::kUnroll.putOn(b_.getInsertionBlock()->getParentOp(), 1);
  Value id = c_.add(base, c_.thread(loc), loc);
  if (total % threads) {
    Value some = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::slt, id, c_.index(total, loc));
    b_.setInsertionPoint(scf::IfOp::create(b_, loc, some, false).thenBlock()->getTerminator());
  }
  Value row = arith::DivSIOp::create(b_, loc, id, c_.index(perRow, loc));
  Value column = c_.mul(arith::RemSIOp::create(b_, loc, id, c_.index(perRow, loc)), vector, loc);
  SlotVector v{c_.add(start, address.offset(row, column), loc), SmallVector<Value>(shape.size()), column};
  spreadLinear(c_, row, layout.rowDims, shape, v.coords, loc);
  return v;
}

LogicalResult FunctionLowering::unlessKept(tile::RingMaskOp op, ArrayRef<Value> coords, Location loc) {
  Block &condition = op.getCondition().front();
  for (auto [argument, offset, v] : llvm::zip(condition.getArguments(), op.getOffsets(), coords)) {
    Value point = c_.add(c_.scalars.lookup(offset), v, loc);
    c_.scalars[argument] = point ? point : c_.index(0, loc);
  }
  if (failed(lowerBlock(condition)))
    return failure();
  unless(c_.element(op.getHeld(), {}, loc), loc);
  return success();
}

LogicalResult FunctionLowering::lowerRingMask(tile::RingMaskOp op) {
  Location loc = cu::unnamed(op.getLoc());
  auto ring = op.getRing().getType();
  SlotAddress address(c_, ring, loc);
  int64_t dim = address.layout().contiguous, vector = address.layout().chunk;
  Value none = c_.index(0, loc), zero = arith::ConstantOp::create(b_, loc, cast<TypedAttr>(b_.getZeroAttr(ring.getElementType())));
  OpBuilder::InsertionGuard guard(b_);
  unless(c_.element(op.getAll(), {}, loc), loc);
  Value start = address.slotStart(c_.scalars.lookup(op.getNumber())), elements = c_.allocate(vector, ring.getElementType(), loc);
  auto clear = [&](Value i) { memref::StoreOp::create(b_, loc, zero, elements, i); };
  bool sameInVector = op.getCondition().front().getArgument(dim).use_empty();
  if (sameInVector)
    for (int64_t i = 0; i < vector; ++i)
      clear(c_.index(i, loc));
  {
    OpBuilder::InsertionGuard inLoop(b_);
    SlotVector v = openSlotVectors(ring, address, start, loc);
    Value memory = c_.rings.lookup(op.getRing());
    if (sameInVector) {
      v.coords[dim] = v.column;
      if (failed(unlessKept(op, v.coords, loc)))
        return failure();
    } else {
      cu::CopyOp::create(b_, loc, memory, v.place, elements, none, vector);
      OpBuilder::InsertionGuard inVector(b_);
      Value i = openLoop(c_, 0, vector, 1, "element", loc);
      v.coords[dim] = c_.add(v.column, i, loc);
      if (failed(unlessKept(op, v.coords, loc)))
        return failure();
      clear(i);
    }
    cu::CopyOp::create(b_, loc, elements, none, memory, v.place, vector);
  }
  // Products read slots as tensor copies do, not as threads do.
  cu::ProxyFenceOp::create(b_, loc);
  c_.syncTeam(loc);
  return success();
}

} // namespace kernelc
