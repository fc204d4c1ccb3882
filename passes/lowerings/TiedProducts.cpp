// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products whose condition excludes terms of some results of a tile and not of others.
#include "passes/lowerings/LaunchEmitter.h"

#include "ir/cu/Cu.h"
#include "ir/tile/AbsentMark.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "passes/plan/ChainUnit.h"

using namespace mlir;

namespace kernelc {

using namespace te;

Value LaunchEmitter::sumExactly(ReduceOp op, ArrayRef<int64_t> dims, Value out, Location loc) {
  auto type = cast<RankedTensorType>(out.getType());
  ArrayRef<int64_t> reduced = dims.drop_front(op.getNumParallel());
  SmallVector<int64_t> kept(dims.take_front(op.getNumParallel())), ones(c_.rank(), 1);
  llvm::sort(kept);
  Value isNan = arith::CmpFOp::create(b_, loc, arith::CmpFPredicate::UNO, out, out);
  SmallVector<Type> one{RankedTensorType::get(ones, b_.getI1Type())};
  Value any = tile::ReduceOp::create(b_, loc, one, Combiner::Any, isNan, kept).getResult(0);
  Value found = tile::ElementOp::create(b_, NameLoc::get(b_.getStringAttr("is_nan"), cu::unnamed(loc)), b_.getI1Type(), any);
  Value zero = arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, Attribute(b_.getZeroAttr(type.getElementType()))));

  // One point of the sum a round, and no round where nothing is NaN: then the results go through as they are. In the same
  // registers, where there is something: so all of the tile is summed once more.
  BodyToTiles shaper(b_, c_, op, dims);
  out = arith::SelectOp::create(b_, loc, shaper.broadcast(any, type.getShape()), zero, out);
  SmallVector<int64_t> tiles(c_.tiles);
  for (int64_t k : reduced)
    tiles[k] = 1;
  ArrayRef<int64_t> whole = std::exchange(c_.tiles, tiles);
  SmallVector<Value> outside(c_.offsets);
  OpBuilder::InsertionGuard guard(b_);
  scf::ForOp outermost;
  Value sum = out;
  for (int64_t k : reduced) {
    unsigned symbols = l_.extents.getNumSymbols();
    Value end = tile::ApplyOp::create(b_, loc, b_.getIndexType(), AffineMap::get(0, symbols, l_.extents.getResult(k)), ValueRange{});
    if (!outermost)
      end = arith::SelectOp::create(b_, loc, found, end, constant(0, loc));
    auto loop = scf::ForOp::create(b_, loc, constant(0, loc), end, constant(1, loc), sum);
    loop.getInductionVar().setLoc(NameLoc::get(b_.getStringAttr(l_.indices[k]), loc));
    if (outermost)
      scf::YieldOp::create(b_, loc, loop.getResults());
    else
      outermost = loop;
    c_.offsets[k] = loop.getInductionVar();
    sum = loop.getRegionIterArg(0);
    b_.setInsertionPointToStart(loop.getBody());
  }
  BodyToTiles body(b_, c_, op, dims);
  Value counts = op.getCondition() ? body.evaluateSet(*op.getCondition(), loc) : Value();
  bool ok = true;
  if (Value condition = op.getYield().getCondition()) {
    Value holds = body.evaluate(condition);
    ok = bool(holds);
    counts = ok ? body.conjunction(counts, holds, loc) : counts;
  }
  Value term = body.evaluate(op.getYield().getValues()[0]);
  ok &= bool(term);
  if (ok) {
    term = arith::SelectOp::create(b_, loc, body.broadcast(counts, type.getShape()), body.broadcast(term, type.getShape()), zero);
    Value next = arith::AddFOp::create(b_, loc, sum, term);
    scf::YieldOp::create(b_, loc, next);
  }
  c_.tiles = whole;
  c_.offsets = outside;
  if (!ok)
    return {};
  b_.setInsertionPointAfter(outermost);
  return outermost.getResult(0);
}

bool LaunchEmitter::marksAbsent(const Contraction &c, const DotForm &f) const {
  return l_.unit == Unit::Simt && !l_.loops.empty() && f.type.getElementType().isF32() && isTied(c, f.left.factor != c.a);
}

/// Whether no element of `tile` is -0: exponentials, and what is chosen of them and of other constants.
static bool isNeverMinusZero(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (auto select = dyn_cast_or_null<arith::SelectOp>(op))
    return isNeverMinusZero(select.getTrueValue()) && isNeverMinusZero(select.getFalseValue());
  if (auto spread = dyn_cast_or_null<tile::BroadcastOp>(op))
    return isNeverMinusZero(spread.getInput());
  return isa_and_nonnull<math::ExpOp, math::Exp2Op>(op) || (op && matchPattern(op, m_PosZeroFloat()));
}

Value LaunchEmitter::markedOperand(const DotForm &f, BodyToTiles &body, Location loc) {
  bool rounded = false;
  Value tile = inUnitType(f.left.factor, Type(), body, loc, rounded);
  if (!tile)
    return tile;
  tile = ofWholeTile(tile, f.m, f.k, body);
  Value counts = f.left.where ? body.evaluateSet(*f.left.where, loc) : Value();
  for (Value condition : f.left.mask) {
    Value holds = body.evaluate(condition);
    if (!holds)
      return holds;
    counts = body.conjunction(counts, holds, loc);
  }
  counts = body.conjunction(counts, body.inside(f.k, loc), loc);
  auto type = cast<RankedTensorType>(tile.getType());
  auto filled = [&](const APFloat &v) -> Value {
    return arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, Attribute(b_.getFloatAttr(b_.getF32Type(), v))));
  };
  if (!isNeverMinusZero(tile)) // (-0 + 0 is 0)
    tile = arith::AddFOp::create(b_, loc, tile, filled(APFloat::getZero(APFloat::IEEEsingle())));
  return arith::SelectOp::create(b_, loc, body.broadcast(counts, type.getShape()), tile, filled(tile::absentMark()));
}

Value LaunchEmitter::pointsPresent(Operation *op, const DotForm &f, ArrayRef<int64_t> dims, BodyToTiles &body, Location loc) {
  Value all = holdEverywhere(op, f.left.where, f.left.mask, dims);
  if (!all)
    return {};
  int64_t points = 1;
  for (int64_t k : f.k) {
    points *= l_.tiles[k];
    if (!c_.needsMask(k, l_.tiles[k]))
      continue;
    Value end = arith::AddIOp::create(b_, loc, c_.offsets[k], constant(l_.tiles[k], loc));
    Value isFull = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::sle, end, extentOf(k, loc));
    all = body.conjunction(all, body.scalarTile(isFull, loc), loc);
  }
  Location named = NameLoc::get(b_.getStringAttr("all_count"), loc);
  Value holds = tile::ElementOp::create(b_, named, b_.getI1Type(), all);
  return arith::SelectOp::create(b_, loc, holds, constant(points, loc), constant(0, loc));
}

} // namespace kernelc
