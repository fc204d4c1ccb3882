// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifiers of ops that ask a region about numbers: masks of boxes, and searches.
#include "ir/tile/Tile.h"

using namespace mlir;
using namespace kernelc;
using namespace kernelc::tile;

static bool isOneI1(RankedTensorType type) { return type.getElementType().isInteger(1) && type.getNumElements() == 1; }

static LogicalResult verifyCondition(Operation *op, Region &condition, size_t numbers, StringRef over) {
  Block &block = condition.front();
  auto holds = block.empty() ? HoldsOp() : dyn_cast<HoldsOp>(block.back());
  bool indices = llvm::all_of(block.getArgumentTypes(), [](Type t) { return t.isIndex(); });
  if (block.getNumArguments() != numbers || !indices || !holds)
    return op->emitOpError() << "has a condition over " << over << ", which ends in tile.holds";
  if (auto type = holds.getValue().getType(); !isOneI1(type))
    return op->emitOpError() << "has a condition of one i1, not " << type;
  return success();
}
LogicalResult CountWhereOp::verifyRegions() { return verifyCondition(*this, getCondition(), 1, "one number"); }
LogicalResult FindWhereOp::verifyRegions() { return verifyCondition(*this, getCondition(), 1, "one number"); }

LogicalResult ExtremeOp::verifyRegions() {
  Block &block = getCondition().front();
  auto gives = block.empty() ? GivesOp() : dyn_cast<GivesOp>(block.back());
  if (block.getNumArguments() != 1 || !block.getArgument(0).getType().isIndex() || !gives)
    return emitOpError() << "has a region over one number, which ends in tile.gives";
  if (getKind() != te::Combiner::Max && getKind() != te::Combiner::Min)
    return emitOpError() << "takes the largest or the smallest: max or min";
  return success();
}

bool kernelc::tile::isSearch(Operation *op) { return isa_and_nonnull<CountWhereOp, FindWhereOp, ExtremeOp>(op); }

template <typename Op> static LogicalResult verifyMask(Op op, size_t rank) {
  if (op.getOffsets().size() != rank)
    return op.emitOpError() << "has " << op.getOffsets().size() << " offsets and a box of " << rank << " indices";
  if (auto type = cast<RankedTensorType>(op.getAll().getType()); !isOneI1(type)) // [C2]
    return op.emitOpError() << "gives one i1, whether all points count, and not " << type;
  return verifyCondition(op, op.getCondition(), rank, "one number per index"); // [C1]
}
LogicalResult MaskOp::verifyRegions() { return verifyMask(*this, size_t(getValue().getType().getRank())); }
LogicalResult RingMaskOp::verifyRegions() { return verifyMask(*this, getRing().getType().getShape().size()); }
