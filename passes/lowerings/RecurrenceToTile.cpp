// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recurrences whose points have an order: a block walks the steps of its systems. What a step defines goes through memory, and a barrier
// stands before the next one reads it.
#include "passes/lowerings/LaunchEmitter.h"

#include "ir/cu/Cu.h"

using namespace mlir;

namespace kernelc {

using namespace te;

/// Whether a condition of the range involves the points alone, without reduced indices. Statements that take steps in turns have such
/// conditions: in each step only one of them reduces.
static bool asksPoints(RecurrenceOp op, unsigned k) {
  SmallVector<unsigned> reduced = op.getReducedDims(k);
  return llvm::any_of(op.getRange(k).getConstraints(), [&](AffineExpr e) {
    return !e.isSymbolicOrConstant() && llvm::none_of(reduced, [&](unsigned d) { return e.isFunctionOfDim(d); });
  });
}

/// The results of the first `count` reductions, which a region has as arguments behind the dims.
static void bindReduced(BodyToTiles &body, RecurrenceOp op, Block &block, unsigned count, const llvm::DenseMap<Value, Value> &results) {
  for (unsigned k = 0; k < count; ++k)
    body.bind(block.getArgument(op.getNumDims() + k), results.lookup(op.getBlock().getArgument(op.getNumDims() + k)));
}

Value LaunchEmitter::reduceSoFar(RecurrenceOp op, unsigned k, ArrayRef<int64_t> dims, Location loc) {
  SmallVector<int64_t> points(dims.take_front(op.getNumParallel())), reduced, all(points);
  for (unsigned d : op.getReducedDims(k))
    reduced.push_back(dims[d]);
  all.append(reduced);
  Combiner kind = op.getKind(k);
  YieldOp yield = op.getTermYield(k);
  Type element = yield.getValues()[0].getType();
  BodyToTiles shaper(b_, c_, op, dims);
  auto type = RankedTensorType::get(shaper.shapeOf(all), element);
  bool ok = true;
  Value holds = asksPoints(op, k) ? resultHolds(op.getRange(k), dims, reduced, loc) : Value();
  SmallVector<Value> partials = loopNest(
      loopsOf(reduced), op.getRange(k), dims, {identityTile(kind, type, loc)}, loc, [&](SmallVector<Value> carried) -> SmallVector<Value> {
        BodyToTiles body(b_, c_, op, dims);
        bindReduced(body, op, op.getTerms()[k].front(), k, c_.results);
        Value value = body.evaluate(yield.getValues()[0]);
        Value counts = body.conjunction(body.evaluateSet(op.getRange(k), loc), body.inside(reduced, loc), loc);
        if (yield.getCondition()) {
          Value asked = body.evaluate(yield.getCondition());
          ok &= bool(asked);
          counts = body.conjunction(counts, asked, loc);
        }
        ok &= bool(value);
        if (!ok)
          return carried;
        value = arith::SelectOp::create(b_, loc, body.broadcast(counts, type.getShape()), body.broadcast(value, type.getShape()),
                                        identityTile(kind, type, loc));
        return {tile::CombineOp::create(b_, loc, type, kind, ValueRange{carried[0], value}).getResult(0)};
      });
  if (!ok)
    return {};
  if (auto loop = holds ? partials[0].getDefiningOp<scf::ForOp>() : scf::ForOp()) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(loop);
    loop.setUpperBound(arith::SelectOp::create(b_, cu::unnamed(loc), holds, loop.getUpperBound(), loop.getLowerBound()));
  }
  llvm::sort(reduced);
  return reduceTile(kind, partials, {RankedTensorType::get(shaper.shapeOf(points), element)}, reduced, loc).back();
}

LogicalResult LaunchEmitter::definePoints(RecurrenceOp op, ArrayRef<int64_t> dims, Location loc) {
  BodyToTiles body(b_, c_, op, dims);
  for (unsigned k = 0; k < op.getNumTerms(); ++k) {
    Value reduced = reduceSoFar(op, k, dims, loc);
    if (!reduced)
      return failure();
    c_.results[op.getBlock().getArgument(op.getNumDims() + k)] = reduced;
  }
  bindReduced(body, op, op.getBlock(), op.getNumTerms(), c_.results);
  Value value = body.evaluate(op.getYield().getValues()[0]);
  if (!value)
    return failure();
  Value condition = op.getCondition() ? body.evaluateSet(*op.getCondition(), loc) : Value();
  store(value, op.getResult(), op.getOutMapOrIdentity(), dims.take_front(op.getNumParallel()), condition, body, loc);
  return success();
}

LogicalResult LaunchEmitter::emitRecurrence(RecurrenceOp op, ArrayRef<int64_t> dims) {
  Location loc = NameLoc::get(b_.getStringAttr(nameOf(op)), op.getLoc());
  for (Region &region : op->getRegions())
    c_.buffers[region.front().getArguments().back()] = c_.buffers.lookup(op.getResult());
  int64_t step = dims[op.getFree()];
  ArrayRef<int64_t> beside = dims.slice(op.getFree() + 1, op.getNumParallel() - op.getFree() - 1);
  LogicalResult ok = success();
  loopNest(loopsOf(step), std::nullopt, dims, {}, loc, [&](SmallVector<Value>) {
    loopNest(loopsOf(beside), op.getCondition(), dims, {}, loc, [&](SmallVector<Value>) {
      ok = succeeded(ok) ? definePoints(op, dims, loc) : ok;
      return SmallVector<Value>();
    });
    tile::BarrierOp::create(b_, loc, /*step=*/true);
    return SmallVector<Value>();
  });
  return ok;
}

} // namespace kernelc
