// Conditions on data asked of whole tiles, by which a product picks the tiles that it walks.
#include "ir/te/TeShape.h"
#include "passes/lowerings/LaunchEmitter.h"
#include "passes/te/Affine.h"
#include "passes/te/Domain.h"
#include "passes/te/TileCondition.h"

using namespace mlir;

namespace kernelc {

using namespace te;

/// What linear bounds leave of a form's values in the current tile.
struct Span {
  AffineExpr form;
  Value low, high; ///< inclusive, tiles of one i64
};

Value LaunchEmitter::holdsSomewhere(ReduceOp op, Value condition, ArrayRef<int64_t> dims) {
  Location loc = condition.getLoc();
  BodyToTiles body(b_, c_, op, dims);
  unsigned symbols = l_.extents.getNumSymbols();
  auto wide = [&](Value tile) -> Value { // index or i64 as i64
    auto type = cast<RankedTensorType>(tile.getType());
    auto to = RankedTensorType::get(type.getShape(), b_.getI64Type());
    return type.getElementType().isIndex() ? arith::IndexCastOp::create(b_, loc, to, tile).getResult() : tile;
  };
  // Ends of the form over the tile's points, of those that exist.
  auto endOf = [&](AffineExpr form, bool high) -> Value {
    SmallVector<DimRange> tile, all;
    for (int64_t i : dims) {
      AffineExpr offset = b_.getAffineDimExpr(i), zero = b_.getAffineConstantExpr(0);
      tile.push_back({offset, offset + (l_.tiles[i] - 1)});
      all.push_back({zero, l_.extents.getResult(i) - 1});
    }
    Value end;
    for (AffineExpr e : {findExtreme(form, high, tile), findExtreme(form, high, all)}) {
      if (!e)
        continue;
      AffineMap map = AffineMap::get(c_.rank(), symbols, simplifyAffineExpr(e, c_.rank(), symbols));
      Value v = tile::ApplyOp::create(b_, loc, b_.getIndexType(), map, c_.offsets);
      if (end)
        v = high ? arith::MinSIOp::create(b_, loc, end, v).getResult() : arith::MaxSIOp::create(b_, loc, end, v).getResult();
      end = v;
    }
    return end ? wide(body.scalarTile(end, loc)) : Value();
  };
  SmallVector<Span> spans;
  Value all;
  for (Value part : splitConjuncts(condition)) {
    std::optional<LinearBound> bound = findLinearBound(part);
    if (!bound) { // the same throughout the tile
      Value holds = body.evaluate(part);
      if (!holds)
        return {};
      all = body.conjunction(all, holds, loc);
      continue;
    }
    auto span = llvm::find_if(spans, [&](const Span &s) { return s.form == bound->form; });
    if (span == spans.end()) {
      spans.push_back({bound->form, endOf(bound->form, false), endOf(bound->form, true)});
      span = std::prev(spans.end());
    }
    Value limit = body.evaluate(bound->bound);
    if (!limit)
      return {};
    limit = wide(limit);
    auto type = cast<RankedTensorType>(limit.getType());
    auto moved = [&](int64_t by) -> Value {
      if (!by)
        return limit;
      Value step = arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, APInt(64, uint64_t(by), true)));
      return arith::AddIOp::create(b_, loc, limit, step);
    };
    auto atLeast = [&](Value v) { span->low = span->low ? arith::MaxSIOp::create(b_, loc, span->low, v).getResult() : v; };
    auto atMost = [&](Value v) { span->high = span->high ? arith::MinSIOp::create(b_, loc, span->high, v).getResult() : v; };
    switch (bound->relation) {
    case arith::CmpIPredicate::eq:
      atLeast(limit);
      atMost(limit);
      break;
    case arith::CmpIPredicate::sge:
      atLeast(limit);
      break;
    case arith::CmpIPredicate::sgt:
      atLeast(moved(1));
      break;
    case arith::CmpIPredicate::sle:
      atMost(limit);
      break;
    default:
      atMost(moved(-1));
      break;
    }
  }
  for (const Span &s : spans)
    if (s.low && s.high)
      all = body.conjunction(all, arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::sle, s.low, s.high), loc);
  return all;
}

} // namespace kernelc
