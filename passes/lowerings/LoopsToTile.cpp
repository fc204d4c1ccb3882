// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops of a launch over the tiles of a domain. (The one over all tiles of reduced indices is in RoundsToTile.cpp.)
#include "passes/lowerings/LaunchEmitter.h"

#include "ir/cu/Cu.h"
#include "ir/cu/Marks.h"
#include "passes/analysis/Reduction.h"
#include "passes/index/Affine.h"
#include "passes/index/Domain.h"
#include "passes/tile/Carried.h"
#include "passes/tile/RowVector.h"

using namespace mlir;

namespace kernelc {

using namespace te;

Value LaunchEmitter::constant(int64_t v, Location loc) { return arith::ConstantIndexOp::create(b_, loc, v); }

bool LaunchEmitter::isHeld(int64_t i) const {
  if (!isSharedOut(i))
    return false;
  int64_t max = mostCovered(func_, unsigned(i));
  return max >= 0 && max <= l_.tiles[i] * l_.cluster;
}

SmallVector<int64_t> LaunchEmitter::loopsOf(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> loops;
  SizeFacts facts{plan_.sizeDiv, plan_.sizeMax};
  for (int64_t i : dims) {
    if (llvm::is_contained(l_.grid, i) || llvm::is_contained(open_, i))
      continue;
    if (isSharedOut(i)) {
      if (!isHeld(i))
        loops.push_back(i);
      continue;
    }
    int64_t max = mostCovered(func_, unsigned(i));
    // A tile of one point has no mask: where there may be no point it needs the loop.
    bool mayBeEmpty = l_.tiles[i] == 1 && !knownPositive(l_.extents.getResult(i), facts);
    if (max < 0 || max > l_.tiles[i] || mayBeEmpty)
      loops.push_back(i);
  }
  return loops;
}

DimRange LaunchEmitter::tileRange(int64_t index) {
  AffineExpr offset = b_.getAffineDimExpr(index);
  return {offset, offset + (l_.tiles[index] - 1)};
}

bool LaunchEmitter::isExtent(Value end) {
  auto apply = end.getDefiningOp<tile::ApplyOp>();
  return apply && apply.getOperands_().empty();
}

AffineExpr LaunchEmitter::extremeOfTiles(AffineExpr e, bool high) {
  SmallVector<DimRange> starts(c_.rank());
  for (int64_t g : l_.grid)
    if (AffineExpr tile = b_.getAffineConstantExpr(l_.tiles[g]); l_.cluster == 1)
      starts[g] = {b_.getAffineConstantExpr(0), (l_.extents.getResult(g) - 1).floorDiv(tile) * tile};
  AffineExpr extreme = findExtreme(simplifyAffineExpr(e, c_.rank(), l_.extents.getNumSymbols()), high, starts);
  return extreme ? simplifyAffineExpr(extreme, 0, l_.extents.getNumSymbols()) : extreme;
}

std::pair<Value, Value> LaunchEmitter::findSpan(std::optional<IntegerSet> set, ArrayRef<int64_t> dims, int64_t index,
                                                ArrayRef<int64_t> open, Location loc) {
  loc = cu::unnamed(loc); // (of what is computed over the span)
  unsigned symbols = l_.extents.getNumSymbols(), rank = c_.rank();
  auto apply = [&](AffineExpr e, ArrayRef<Value> operands, Location at) -> Value {
    return tile::ApplyOp::create(b_, at, b_.getIndexType(), AffineMap::get(operands.size(), symbols, e), operands);
  };
  Value begin = constant(0, loc), end = apply(l_.extents.getResult(index), {}, loc);
  if (Value before = pointsBefore(b_, func_, unsigned(index), c_.offsets, loc))
    begin = arith::SubIOp::create(b_, NameLoc::get(b_.getStringAttr(l_.indices[index] + "_begin"), loc), begin, before);
  int64_t tile = l_.tiles[index]; // whole tiles: an access may count on where a tile starts
  if (DataSpan span = dataSpans_.lookup(index); span.begin || span.end) {
    auto as = [&](StringRef suffix) { return NameLoc::get(b_.getStringAttr(l_.indices[index] + suffix), cu::unnamed(loc)); };
    AffineExpr start = b_.getAffineDimExpr(0).floorDiv(tile) * tile;
    if (span.begin)
      begin = arith::MaxSIOp::create(b_, as("_begin"), begin, tile == 1 ? span.begin : apply(start, span.begin, loc));
    if (span.end)
      end = arith::MinSIOp::create(b_, as("_end"), end, span.end);
  }
  if (!set)
    return {begin, end};
  SmallVector<DimRange> ranges;
  unsigned self = 0;
  for (auto [d, i] : llvm::enumerate(dims)) {
    ranges.push_back(llvm::is_contained(open, i) ? DimRange{b_.getAffineConstantExpr(0), l_.extents.getResult(i) - 1} : tileRange(i));
    if (i == index)
      self = d;
  }
  IndexBounds bounds = findBounds(*set, self, ranges);
  for (AffineExpr lower : bounds.lowers) {
    AffineExpr first = simplifyAffineExpr(lower, rank, symbols).floorDiv(tile) * tile;
    begin = arith::MaxSIOp::create(b_, NameLoc::get(b_.getStringAttr(l_.indices[index] + "_begin"), cu::unnamed(loc)), begin,
                                   apply(first, c_.offsets, loc));
  }
  for (AffineExpr upper : bounds.uppers) {
    AffineExpr past = simplifyAffineExpr(upper + 1, rank, symbols),
               beyond = extremeOfTiles(past - l_.extents.getResult(index), /*high=*/true);
    Value own = apply(past, c_.offsets, loc);
    if (l_.backward && beyond && isExtent(end) && knownPositive(simplifyAffineExpr(1 - beyond, 0, symbols), {plan_.sizeDiv, plan_.sizeMax}))
      end = own;
    else
      end = arith::MinSIOp::create(b_, NameLoc::get(b_.getStringAttr(l_.indices[index] + "_end"), cu::unnamed(loc)), end, own);
  }
  return {begin, end};
}

Value LaunchEmitter::evaluateWhere(Value condition, BodyToTiles &body, Location loc) {
  Value all;
  for (Value part : tileBounds_.empty() ? SmallVector<Value>{condition} : splitConjuncts(condition)) {
    auto bound = tileBounds_.find(part);
    if (bound == tileBounds_.end()) {
      all = body.conjunction(all, body.evaluate(part), loc);
      continue;
    }
    auto [index, limit, isLow] = bound->second;
    if (l_.tiles[index] == 1)
      continue;
    auto type = RankedTensorType::get(body.shapeOf(index), b_.getIndexType());
    Value at = tile::IndexOp::create(b_, loc, type, index, c_.offsets[index]),
          end = body.broadcast(body.scalarTile(limit, loc), type.getShape());
    Value holds = arith::CmpIOp::create(b_, loc, isLow ? arith::CmpIPredicate::sge : arith::CmpIPredicate::slt, at, end);
    body.bind(part, holds);
    all = body.conjunction(all, holds, loc);
  }
  return all;
}

SmallVector<Value> LaunchEmitter::loopNest(ArrayRef<int64_t> loops, std::optional<IntegerSet> set, ArrayRef<int64_t> dims,
                                           SmallVector<Value> carried, Location loc,
                                           llvm::function_ref<SmallVector<Value>(SmallVector<Value>)> body) {
  if (loops.empty())
    return body(std::move(carried));
  int64_t index = loops.front();
  Location plain = cu::unnamed(loc); // the name is that of what is carried
  auto [begin, end] = findSpan(set, dims, index, loops, plain);
  int64_t step = l_.tiles[index];
  if (isSharedOut(index)) {
    begin = arith::AddIOp::create(b_, plain, begin, arith::MulIOp::create(b_, plain, rank_, constant(step, plain)));
    step *= l_.cluster;
  }
  auto loop = scf::ForOp::create(b_, loc, begin, end, constant(step, plain), carried);
  loop.getInductionVar().setLoc(NameLoc::get(b_.getStringAttr(l_.indices[index] + "0"), plain));
  if (int64_t rounds = l_.unroll.empty() ? 0 : l_.unroll[index])
    rounds == LaunchPlan::kUnrollAll ? cu::kUnroll.putAllOn(loop) : cu::kUnroll.putOn(loop, rounds);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(loop.getBody());
  Value outside = c_.offsets[index];
  c_.offsets[index] = loop.getInductionVar();
  SmallVector<Value> results = loopNest(loops.drop_front(), set, dims, llvm::to_vector_of<Value>(loop.getRegionIterArgs()), loc, body);
  c_.offsets[index] = outside;
  if (results.size() == carried.size()) {
    if (!loop.getBody()->empty() && loop.getBody()->back().hasTrait<OpTrait::IsTerminator>())
      loop.getBody()->back().erase();
    b_.setInsertionPointToEnd(loop.getBody());
    scf::YieldOp::create(b_, loc, results);
  }
  return llvm::to_vector_of<Value>(loop.getResults());
}

Value LaunchEmitter::resultHolds(IntegerSet set, ArrayRef<int64_t> dims, ArrayRef<int64_t> reduced, Location loc) {
  unsigned symbols = l_.extents.getNumSymbols(), rank = c_.rank();
  SmallVector<DimRange> tile;
  llvm::BitVector inLoop(dims.size());
  for (auto [d, i] : llvm::enumerate(dims)) {
    tile.push_back(tileRange(i));
    if (llvm::is_contained(reduced, i))
      inLoop.set(d);
  }
  Value all;
  auto require = [&](AffineExpr form, bool high, arith::CmpIPredicate relation) {
    AffineExpr end = findExtreme(form, high, tile);
    if (!end)
      return; // not known: it may hold
    AffineMap map = AffineMap::get(rank, symbols, simplifyAffineExpr(end, rank, symbols));
    Value value = tile::ApplyOp::create(b_, loc, b_.getIndexType(), map, c_.offsets, /*computed=*/true);
    Value holds = arith::CmpIOp::create(b_, loc, relation, value, constant(0, loc));
    all = all ? arith::AndIOp::create(b_, loc, all, holds).getResult() : holds;
  };
  for (auto [form, isEquality] : llvm::zip(set.getConstraints(), set.getEqFlags())) {
    llvm::BitVector own(dims.size());
    collectDims(form, own);
    if (own.anyCommon(inLoop))
      continue;
    require(form, /*high=*/true, arith::CmpIPredicate::sge);
    if (isEquality)
      require(form, /*high=*/false, arith::CmpIPredicate::sle);
  }
  return all;
}

} // namespace kernelc
