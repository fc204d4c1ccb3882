// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/Definitions.h"

#include "ir/cu/Cu.h"
#include "mlir/IR/IRMapping.h"
#include "passes/index/IndexArithmetic.h"

using namespace mlir;

namespace kernelc::te {

bool isDefinition(ComputeOp op) {
  return !op.getInit() && !op.getCondition() && !op.getOutMap() && !op.getPartial() && !op.getYield().getCondition();
}

ComputeOp findDefinition(ReadOp read) {
  auto producer = read.getTensor().getDefiningOp<ComputeOp>();
  bool exists = read.getBounds() == BoundsMode::InBounds || read.getBounds() == BoundsMode::Assume;
  return producer && exists && isDefinition(producer) && !producer->isAncestor(read) ? producer : ComputeOp();
}

/// The reads of read's block that give what it gives, in their order.
static SmallVector<ReadOp> equalReads(ReadOp read) {
  SmallVector<ReadOp> equal;
  for (Operation *user : read.getTensor().getUsers())
    if (auto other = dyn_cast<ReadOp>(user); other && other->getBlock() == read->getBlock() &&
                                             other.getOperands_() == read.getOperands_() &&
                                             other.getMapOrIdentity() == read.getMapOrIdentity() && other.getBounds() == read.getBounds())
      equal.push_back(other);
  llvm::sort(equal, [](ReadOp a, ReadOp b) { return a->isBeforeInBlock(b); });
  return equal;
}

LogicalResult inlineRead(RewriterBase &rewriter, ReadOp read) {
  ComputeOp producer = findDefinition(read);
  assert(producer && "reads a definition");
  SmallVector<ReadOp> equal = equalReads(read);
  rewriter.setInsertionPoint(equal.front());
  AffineMap map = read.getMapOrIdentity();
  IRMapping mapping;
  SmallVector<Value> subscripts;
  for (AffineExpr e : map.getResults()) {
    Value v = materialize(rewriter, read.getLoc(), e, read.getOperands_(), map.getNumSymbols());
    if (!v)
      return failure();
    subscripts.push_back(v);
  }
  for (auto [arg, v] : llvm::zip(producer.getBlock().getArguments(), subscripts))
    mapping.map(arg, v);
  Value result, named = cast<YieldOp>(producer.getBlock().getTerminator()).getValues()[0];
  for (Operation &op : producer.getBlock()) {
    if (auto yield = dyn_cast<YieldOp>(op)) {
      result = mapping.lookupOrDefault(yield.getValues()[0]);
      break;
    }
    Operation *clone = rewriter.clone(op, mapping);
    // The name goes on with what is computed.
    if (StringAttr name = producer.getNameAttr();
        name && op.getResult(0) == named && !isa<ReadOp, arith::ConstantOp>(op) && cu::findName(op.getLoc()).empty())
      clone->setLoc(NameLoc::get(name, op.getLoc()));
  }
  for (ReadOp r : equal)
    rewriter.replaceOp(r, result);
  return success();
}

} // namespace kernelc::te
