// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te.scatter to tile.scatter: one element per point, where the point says.
#include "passes/lowerings/LaunchEmitter.h"

#include "passes/index/Affine.h"

using namespace mlir;

namespace kernelc {

using namespace te;

LogicalResult LaunchEmitter::emitScatter(ScatterOp op, ArrayRef<int64_t> dims) {
  BodyToTiles body(b_, c_, op, dims);
  SmallVector<int64_t> shape = body.shapeOf(dims), mask;
  for (int64_t d : dims)
    if (c_.needsMask(d, shape[d]))
      mask.push_back(d);
  llvm::sort(mask);
  Value value = body.evaluate(op.getValue()), condition;
  if (!value)
    return failure();
  // Subscripts that are indices of the launch become dims of the map, others index tiles.
  SmallVector<AffineExpr> results;
  SmallVector<Value> indexTiles;
  for (Value v : op.getSubscripts()) {
    if (std::optional<unsigned> d = findIndex(op, v)) {
      results.push_back(b_.getAffineDimExpr(dims[*d]));
      continue;
    }
    Value tile = body.evaluate(v);
    if (!tile)
      return failure();
    results.push_back(b_.getAffineDimExpr(c_.rank() + indexTiles.size()));
    indexTiles.push_back(body.broadcast(tile, shape));
  }
  if (op.getCondition())
    condition = body.evaluateSet(*op.getCondition(), op.getLoc());
  if (op.getYield().getCondition()) {
    Value given = body.evaluate(op.getYield().getCondition());
    if (!given)
      return failure();
    condition = body.conjunction(condition, given, op.getLoc());
  }
  if (condition)
    condition = body.broadcast(condition, shape);
  AffineMap map = AffineMap::get(c_.rank() + indexTiles.size(), op.getShape().getNumSymbols(), results, b_.getContext());
  int64_t elements = l_.tallies > 0
                         ? knownPoints(op.getShape(), llvm::seq<unsigned>(0, op.getShape().getNumResults()), {plan_.sizeDiv, plan_.sizeMax})
                         : 0;
  tile::ScatterOp::create(b_, op.getLoc(), op.getKindAttr(), body.broadcast(value, shape), c_.buffers.lookup(op.getResult()), map,
                          c_.offsets, indexTiles, mask, condition, op.getGuarded(), l_.tallies, elements);
  return success();
}

} // namespace kernelc
