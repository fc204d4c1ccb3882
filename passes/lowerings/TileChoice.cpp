// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conditions on data asked of whole tiles, by which a product picks the tiles that it walks and
// knows which of them need a mask.
#include "ir/cu/Cu.h"
#include "ir/te/TeShape.h"
#include "passes/index/Affine.h"
#include "passes/index/Domain.h"
#include "passes/lowerings/LaunchEmitter.h"

using namespace mlir;

namespace kernelc {

using namespace te;

/// Index or i64 as i64.
static Value wide(OpBuilder &b, Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (!type.getElementType().isIndex())
    return tile;
  return arith::IndexCastOp::create(b, tile.getLoc(), RankedTensorType::get(type.getShape(), b.getI64Type()), tile);
}

/// The end of a form's values over those points of the current tile that exist.
Value LaunchEmitter::endOf(AffineExpr form, bool high, ArrayRef<int64_t> dims, BodyToTiles &body, Location loc) {
  SmallVector<DimRange> tile, all;
  for (int64_t i : dims) {
    tile.push_back(tileRange(i));
    all.push_back({b_.getAffineConstantExpr(0), l_.extents.getResult(i) - 1});
  }
  Value end;
  for (AffineExpr e : {findExtreme(form, high, tile), findExtreme(form, high, all)}) {
    if (!e)
      continue;
    unsigned symbols = l_.extents.getNumSymbols();
    AffineMap map = AffineMap::get(c_.rank(), symbols, simplifyAffineExpr(e, c_.rank(), symbols));
    Value v = tile::ApplyOp::create(b_, loc, b_.getIndexType(), map, c_.offsets, /*computed=*/true);
    if (end)
      v = high ? arith::MinSIOp::create(b_, loc, end, v).getResult() : arith::MaxSIOp::create(b_, loc, end, v).getResult();
    end = v;
  }
  return end ? wide(b_, body.scalarTile(end, loc)) : Value();
}

LogicalResult LaunchEmitter::addBound(const LinearBound &bound, ArrayRef<int64_t> dims, BodyToTiles &body, SmallVectorImpl<Span> &spans,
                                      Location loc) {
  auto span = llvm::find_if(spans, [&](const Span &s) { return s.form == bound.form; });
  if (span == spans.end()) {
    spans.push_back({bound.form, endOf(bound.form, false, dims, body, loc), endOf(bound.form, true, dims, body, loc), {}, {}});
    span = std::prev(spans.end());
  }
  Value limit = body.evaluate(bound.bound);
  if (!limit)
    return failure();
  limit = wide(b_, limit);
  auto moved = [&](int64_t by) -> Value {
    auto type = cast<RankedTensorType>(limit.getType());
    auto constant = [&](int64_t v) -> Value {
      return arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, APInt(64, uint64_t(v), true)));
    };
    // Not beyond the ends of i64, which no index reaches, where the data may be there.
    constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
    if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(bound.bound.getDefiningOp()))
      limit = by < 0 ? arith::MaxSIOp::create(b_, loc, limit, constant(kLeast + 1)).getResult()
                     : arith::MinSIOp::create(b_, loc, limit, constant(kMost - 1)).getResult();
    return arith::AddIOp::create(b_, loc, limit, constant(by));
  };
  auto atLeast = [&](Value v) { span->atLeast = span->atLeast ? arith::MaxSIOp::create(b_, loc, span->atLeast, v).getResult() : v; };
  auto atMost = [&](Value v) { span->atMost = span->atMost ? arith::MinSIOp::create(b_, loc, span->atMost, v).getResult() : v; };
  switch (bound.relation) {
  case arith::CmpIPredicate::eq:
    atLeast(limit);
    atMost(limit);
    break;
  case arith::CmpIPredicate::sge: atLeast(limit); break;
  case arith::CmpIPredicate::sgt: atLeast(moved(1)); break;
  case arith::CmpIPredicate::sle: atMost(limit); break;
  default: atMost(moved(-1)); break;
  }
  return success();
}

Value LaunchEmitter::holdsSomewhere(ReduceOp op, Value condition, ArrayRef<int64_t> dims) {
  Location loc = condition.getLoc();
  BodyToTiles body(b_, c_, op, dims);
  SmallVector<Span> spans;
  Value all;
  for (Value part : splitConjuncts(condition)) {
    if (std::optional<LinearBound> bound = findLinearBound(part)) {
      if (failed(addBound(*bound, dims, body, spans, loc)))
        return {};
      continue;
    }
    Value holds = body.evaluate(part); // the same throughout the tile
    if (!holds)
      return {};
    all = body.conjunction(all, holds, loc);
  }
  for (const Span &s : spans) {
    // A value that the bounds leave, if anything is between them at all.
    Value low = s.low && s.atLeast ? arith::MaxSIOp::create(b_, loc, s.low, s.atLeast).getResult() : s.low ? s.low : s.atLeast;
    Value high = s.high && s.atMost ? arith::MinSIOp::create(b_, loc, s.high, s.atMost).getResult() : s.high ? s.high : s.atMost;
    if (low && high)
      all = body.conjunction(all, arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::sle, low, high), loc);
  }
  return all ? all : body.constantTile(true, loc);
}

Value LaunchEmitter::holdEverywhere(Operation *op, std::optional<IntegerSet> where, ArrayRef<Value> bounds, ArrayRef<int64_t> dims) {
  Location loc = cu::unnamed(op->getLoc());
  BodyToTiles body(b_, c_, op, dims);
  SmallVector<Span> spans;
  Value all;
  for (Value part : bounds) {
    if (auto bound = tileBounds_.find(part); bound != tileBounds_.end()) {
      // (Points behind the last one need a mask then, too: there are none in a full tile.)
      auto [index, limit, isLow] = bound->second;
      Value first = c_.offsets[index], end = arith::AddIOp::create(b_, loc, first, constant(l_.tiles[index], loc));
      Value holds =
          isLow ? arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::sge, body.scalarTile(first, loc), body.scalarTile(limit, loc))
                : arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::sle, body.scalarTile(end, loc), body.scalarTile(limit, loc));
      all = body.conjunction(all, holds, loc);
    } else if (failed(addBound(*findLinearBound(part), dims, body, spans, loc))) {
      return {};
    }
  }
  auto require = [&](Value less, Value more) {
    Value holds =
        less && more ? arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::sle, less, more).getResult() : body.constantTile(false, loc);
    all = body.conjunction(all, holds, loc);
  };
  for (unsigned i = 0; where && i < where->getNumConstraints(); ++i) {
    auto zero = RankedTensorType::get(SmallVector<int64_t>(c_.rank(), 1), b_.getI64Type());
    Value none = arith::ConstantOp::create(b_, loc, zero, SplatElementsAttr::get(zero, APInt(64, 0)));
    require(none, endOf(where->getConstraint(i), /*high=*/false, dims, body, loc));
    if (where->isEq(i))
      require(endOf(where->getConstraint(i), /*high=*/true, dims, body, loc), none);
  }
  auto isOne = [](Value limit) { return cast<RankedTensorType>(limit.getType()).getNumElements() == 1; };
  for (const Span &s : spans) {
    // (Where each point has a bound of its own, they are asked one by one.)
    if (s.atLeast)
      require(isOne(s.atLeast) ? s.atLeast : Value(), s.low);
    if (s.atMost)
      require(s.high, isOne(s.atMost) ? s.atMost : Value());
  }
  return all;
}

Value LaunchEmitter::maskPoints(Operation *op, Value tile, std::optional<IntegerSet> where, ArrayRef<Value> bounds, ArrayRef<int64_t> dims,
                                Location loc) {
  Value all = holdEverywhere(op, where, bounds, dims);
  if (!all)
    return {};
  BodyToTiles outside(b_, c_, op, dims);
  SmallVector<std::pair<Value, Value>> known;
  for (Value part : bounds) {
    Value bound = findLinearBound(part)->bound, limit = outside.evaluate(bound);
    if (!limit)
      return {};
    if (cast<RankedTensorType>(limit.getType()).getNumElements() == 1) // (else each point has its own)
      known.push_back({bound, limit});
  }
  auto mask = tile::MaskOp::create(b_, loc, tile, c_.offsets, all);
  OpBuilder::InsertionGuard guard(b_);
  Block &block = mask.getCondition().emplaceBlock();
  for (StringRef index : l_.indices)
    block.addArgument(b_.getIndexType(), NameLoc::get(b_.getStringAttr(index), cu::unnamed(loc)));
  b_.setInsertionPointToStart(&block);
  // One point, as a tile.
  SmallVector<int64_t> ones(c_.rank(), 1);
  ArrayRef<int64_t> tiles = std::exchange(c_.tiles, ones);
  SmallVector<Value> offsets = std::exchange(c_.offsets, llvm::to_vector_of<Value>(block.getArguments()));
  llvm::BitVector beyond = std::exchange(c_.mayBeBeyond, c_.ragged); // points of the last tile, of which a bound by data has none
  BodyToTiles point(b_, c_, op, dims);
  for (auto [bound, limit] : known)
    point.bind(bound, limit);
  Value counts = where ? point.evaluateSet(*where, loc) : Value();
  for (Value part : bounds)
    counts = point.conjunction(counts, point.evaluate(part), loc);
  tile::HoldsOp::create(b_, loc, counts);
  c_.tiles = tiles;
  c_.offsets = offsets;
  c_.mayBeBeyond = beyond;
  return mask;
}

} // namespace kernelc
