// Masks of slots: threads share the slot's vectors out, ask for one point of each, and write zeros.
#include "passes/lowerings/DotLowering.h"
#include "passes/lowerings/FunctionLowering.h"

using namespace mlir;

namespace kernelc {

LogicalResult FunctionLowering::lowerRingMask(tile::RingMaskOp op) {
  Location loc = cu::unnamed(op.getLoc());
  auto ring = op.getRing().getType();
  SlotAddress address(c_, ring, loc);
  const tile::SlotLayout &layout = address.layout();
  ArrayRef<int64_t> shape = ring.getShape();
  Block &condition = op.getCondition().front();
  int64_t dim = layout.contiguous, threads = int64_t(func_.getWarps()) * 32;
  int64_t vector = condition.getArgument(dim).use_empty() ? layout.chunk : 1;
  int64_t perRow = shape[dim] / vector, total = layout.rows * perRow;
  Value one = arith::ConstantOp::create(b_, loc, b_.getBoolAttr(true));
  Value partly = arith::XOrIOp::create(b_, loc, c_.element(op.getAll(), {}, loc), one);
  auto branch = scf::IfOp::create(b_, loc, partly, false);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  Value zero = arith::ConstantOp::create(b_, loc, cast<TypedAttr>(b_.getZeroAttr(ring.getElementType())));
  Value zeros = c_.allocate(vector, ring.getElementType(), NameLoc::get(b_.getStringAttr("zeros"), loc));
  for (int64_t i = 0; i < vector; ++i)
    memref::StoreOp::create(b_, loc, zero, zeros, c_.index(i, loc));
  Value start = address.slotStart(c_.scalars.lookup(op.getNumber()));
  {
    OpBuilder::InsertionGuard inLoop(b_);
    Value base = openLoop(c_, 0, total, threads, "mask", loc);
    Value id = c_.add(base, c_.thread(loc), loc);
    if (total % threads) {
      Value some = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::slt, id, c_.index(total, loc));
      b_.setInsertionPoint(scf::IfOp::create(b_, loc, some, false).thenBlock()->getTerminator());
    }
    Value row = arith::DivSIOp::create(b_, loc, id, c_.index(perRow, loc));
    Value column = c_.mul(arith::RemSIOp::create(b_, loc, id, c_.index(perRow, loc)), vector, loc);
    SmallVector<Value> coords(shape.size());
    SmallVector<int64_t> rowDims;
    for (size_t d = 0; d < shape.size(); ++d)
      if (int64_t(d) != dim)
        rowDims.push_back(int64_t(d));
    spreadLinear(c_, row, rowDims, shape, coords, loc);
    coords[dim] = column;
    for (auto [argument, offset, v] : llvm::zip(condition.getArguments(), op.getOffsets(), coords)) {
      Value at = c_.add(c_.scalars.lookup(offset), v, loc);
      c_.scalars[argument] = at ? at : c_.index(0, loc);
    }
    if (failed(lowerBlock(condition)))
      return failure();
    Value drops = arith::XOrIOp::create(b_, loc, c_.element(op.getHeld(), {}, loc), one);
    b_.setInsertionPoint(scf::IfOp::create(b_, loc, drops, false).thenBlock()->getTerminator());
    cu::CopyOp::create(b_, loc, zeros, c_.index(0, loc), c_.rings.lookup(op.getRing()), c_.add(start, address.offset(row, column), loc),
                       vector);
  }
  // Products read slots as tensor copies do, not as threads do.
  cu::ProxyFenceOp::create(b_, loc);
  c_.syncTeam(loc);
  return success();
}

} // namespace kernelc
