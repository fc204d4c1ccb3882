// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What data says of where the loops of a reduction begin and end: numbers that a tile's results have in common, from a bound
// (`j < n[b]`), from a bound of each row (`j < n[b, i]`), or from where data of the points walked is what data of the rows may be
// (`doc[b, i] == doc[b, j]`). Tiles outside are not walked.
#include "passes/lowerings/LaunchEmitter.h"

#include "ir/cu/Cu.h"
#include "ir/te/Marks.h"
#include "mlir/IR/Matchers.h"
#include "passes/analysis/CascadeMasks.h"
#include "passes/analysis/Reduction.h"
#include "passes/index/Affine.h"

using namespace mlir;

namespace kernelc {

using namespace te;

/// The indices of a tile along which it has several points.
static SmallVector<int64_t> wideIndices(RankedTensorType tile) {
  SmallVector<int64_t> wide;
  for (auto [i, n] : llvm::enumerate(tile.getShape()))
    if (n > 1)
      wide.push_back(int64_t(i));
  return wide;
}

/// Data of points that a loop walks against data that is there before it.
struct LaunchEmitter::Meeting {
  Value walked, fixed;
  arith::CmpIPredicate relation;
  int64_t index; ///< the loop's, in the launch
};

/// Where a loop over launch index `index` begins, or ends, by data: within its extent, since data may be any number.
Value LaunchEmitter::boundOf(Value data, const LinearBound &bound, int64_t index, Location loc) {
  auto number = [&](int64_t v) { return arith::ConstantIntOp::create(b_, loc, v, 64).getResult(); };
  if (bound.relation == arith::CmpIPredicate::sgt || bound.relation == arith::CmpIPredicate::sle)
    data =
        arith::AddIOp::create(b_, loc, arith::MinSIOp::create(b_, loc, data, number(std::numeric_limits<int64_t>::max() - 1)), number(1));
  Value extent = arith::IndexCastOp::create(b_, loc, b_.getI64Type(), extentOf(index, loc));
  data = arith::MinSIOp::create(b_, loc, arith::MaxSIOp::create(b_, loc, data, number(0)), extent);
  return arith::IndexCastOp::create(b_, loc, b_.getIndexType(), data);
}

Value LaunchEmitter::extentOf(int64_t index, Location loc) {
  return tile::ApplyOp::create(b_, loc, b_.getIndexType(), AffineMap::get(0, l_.extents.getNumSymbols(), l_.extents.getResult(index)),
                               ValueRange());
}

Value LaunchEmitter::searchAlong(int64_t index, Combiner kind, Value start, Value first, Value end, Location loc,
                                 llvm::function_ref<Value(Value)> number) {
  Location plain = cu::unnamed(loc);
  auto search = tile::ExtremeOp::create(b_, loc, b_.getIndexType(), kind, start, end);
  OpBuilder::InsertionGuard guard(b_);
  Block &block = search.getCondition().emplaceBlock();
  Value n = block.addArgument(b_.getIndexType(), NameLoc::get(b_.getStringAttr(l_.indices[index] + "_at"), plain));
  b_.setInsertionPointToStart(&block);
  // One point, as a tile.
  SmallVector<int64_t> ones(c_.rank(), 1);
  ArrayRef<int64_t> tiles = std::exchange(c_.tiles, ones);
  Value at = matchPattern(first, m_Zero()) ? n : arith::AddIOp::create(b_, plain, first, n).getResult();
  Value outside = std::exchange(c_.offsets[index], at);
  Value given = number(at);
  tile::GivesOp::create(b_, plain, given ? given : start);
  c_.tiles = tiles;
  c_.offsets[index] = outside;
  return given ? search.getResult() : Value();
}

Value LaunchEmitter::overRows(Value one, Operation *op, ArrayRef<int64_t> dims, int64_t rows, Combiner kind, Value start, Location loc,
                              llvm::function_ref<Value(Value)> number) {
  Value first = c_.offsets[rows], count = constant(l_.tiles[rows], loc);
  if (c_.needsMask(rows, l_.tiles[rows])) // rows beyond the extent need nothing
    count = arith::MinSIOp::create(b_, loc, count, arith::SubIOp::create(b_, loc, extentOf(rows, loc), first));
  return searchAlong(rows, kind, start, first, count, loc, [&](Value) -> Value {
    BodyToTiles point(b_, c_, op, dims);
    Value tile = point.evaluate(one);
    return tile ? number(elementOf(tile, loc)) : Value();
  });
}

Value LaunchEmitter::elementOf(Value tile, Location loc) {
  return tile::ElementOp::create(b_, loc, cast<RankedTensorType>(tile.getType()).getElementType(), tile);
}

/// An integer as i64.
static Value toI64(OpBuilder &b, Value v, Location loc) {
  if (v.getType().isIndex())
    return arith::IndexCastOp::create(b, loc, b.getI64Type(), v);
  return v.getType().isInteger(64) ? v : arith::ExtSIOp::create(b, loc, b.getI64Type(), v).getResult();
}

std::optional<LaunchEmitter::Meeting> LaunchEmitter::findMeeting(Value part, ArrayRef<int64_t> dims, ArrayRef<int64_t> loops) {
  auto compare = part.getDefiningOp<arith::CmpIOp>();
  using P = arith::CmpIPredicate;
  if (!compare || compare.getLhs().getType().isInteger(1) ||
      !llvm::is_contained({P::eq, P::slt, P::sle, P::sgt, P::sge}, compare.getPredicate()))
    return std::nullopt;
  auto walkedBy = [&](Value side) {
    SmallVector<int64_t> walked;
    for (unsigned d : findSupport(side, dims.size()).set_bits())
      if (llvm::is_contained(loops, dims[d]))
        walked.push_back(dims[d]);
    return walked;
  };
  SmallVector<int64_t> left = walkedBy(compare.getLhs()), right = walkedBy(compare.getRhs());
  if (left.size() + right.size() != 1)
    return std::nullopt;
  bool isLeft = !left.empty();
  Meeting m{isLeft ? compare.getLhs() : compare.getRhs(), isLeft ? compare.getRhs() : compare.getLhs(),
            isLeft ? compare.getPredicate() : turnRelation(compare.getPredicate()), isLeft ? left[0] : right[0]};
  bool isOfRows =
      llvm::any_of(findSupport(m.walked, dims.size()).set_bits(), [&](unsigned d) { return dims[d] != m.index && l_.tiles[dims[d]] > 1; });
  return isOfRows ? std::nullopt : std::optional(m);
}

bool LaunchEmitter::addMeeting(const Meeting &m, Operation *op, BodyToTiles &body, ArrayRef<int64_t> dims, Location loc) {
  using P = arith::CmpIPredicate;
  // As indices, which may have 32 bits, within what these hold: order stays.
  auto number = [&](Value element) -> Value {
    auto limit = [&](int64_t v) { return arith::ConstantIntOp::create(b_, loc, v, 64).getResult(); };
    Value v = toI64(b_, element, loc);
    v = arith::MinSIOp::create(b_, loc, arith::MaxSIOp::create(b_, loc, v, limit(-cu::kFits32)), limit(cu::kFits32));
    return arith::IndexCastOp::create(b_, loc, b_.getIndexType(), v);
  };
  Value fixed = body.evaluate(m.fixed);
  if (!fixed)
    return false;
  SmallVector<int64_t> rows = wideIndices(cast<RankedTensorType>(fixed.getType()));
  if (rows.size() > 1)
    return false;
  auto ofRows = [&](Combiner kind, StringRef name) -> Value {
    if (rows.empty())
      return number(elementOf(fixed, loc));
    Location named = NameLoc::get(b_.getStringAttr(name), loc);
    return overRows(m.fixed, op, dims, rows[0], kind, constant(kind == Combiner::Max ? -cu::kFits32 : cu::kFits32, loc), named, number);
  };
  Value least = m.relation == P::eq || m.relation == P::sge || m.relation == P::sgt ? ofRows(Combiner::Min, "least") : Value();
  Value most = m.relation == P::eq || m.relation == P::sle || m.relation == P::slt ? ofRows(Combiner::Max, "most") : Value();
  auto [first, end] = findSpan(getCondition(op), dims, m.index, m.index, loc);
  Value count = matchPattern(first, m_Zero()) ? end : arith::SubIOp::create(b_, loc, end, first).getResult();
  auto search = [&](Combiner kind, StringRef name, Value none, int64_t beyond) {
    Location named = NameLoc::get(b_.getStringAttr(l_.indices[m.index] + name), loc);
    return searchAlong(m.index, kind, none, first, count, named, [&](Value at) -> Value {
      BodyToTiles point(b_, c_, op, dims);
      Value tile = point.evaluate(m.walked), holds;
      if (!tile)
        return {};
      Value v = number(elementOf(tile, loc));
      for (auto [limit, relation] : {std::pair(least, P::sge), std::pair(most, P::sle)})
        if (limit) {
          Value here = arith::CmpIOp::create(b_, loc, relation, v, limit);
          holds = holds ? arith::AndIOp::create(b_, loc, holds, here).getResult() : here;
        }
      return arith::SelectOp::create(b_, loc, holds, beyond ? arith::AddIOp::create(b_, loc, at, constant(beyond, loc)) : at, none);
    });
  };
  // Where a loop ends by the results' place (causal rows) it mostly ends at points that meet.
  bool isOpen = isExtent(end);
  Value begin = search(Combiner::Min, "_first", end, 0), past = isOpen ? search(Combiner::Max, "_last", constant(0, loc), 1) : Value();
  DataSpan &span = dataSpans_[m.index];
  if (begin)
    span.begin = span.begin ? arith::MaxSIOp::create(b_, loc, span.begin, begin).getResult() : begin;
  if (past)
    span.end = span.end ? arith::MinSIOp::create(b_, loc, span.end, past).getResult() : past;
  return true;
}

bool LaunchEmitter::addLinearBound(Value part, const LinearBound &bound, Operation *op, BodyToTiles &body, ArrayRef<int64_t> dims,
                                   Location loc, bool together, bool isMask) {
  int64_t index = dims[cast<AffineDimExpr>(bound.form).getPosition()];
  Value limit = body.evaluate(bound.bound);
  if (!limit)
    return false;
  auto type = cast<RankedTensorType>(limit.getType());
  bool isLow = bound.relation == arith::CmpIPredicate::sge || bound.relation == arith::CmpIPredicate::sgt;
  Combiner kind = isLow ? Combiner::Min : Combiner::Max;
  SmallVector<int64_t> wide = wideIndices(type);
  Value scalar;
  if (together && wide.size() > 1)
    return true;
  if (together && !wide.empty()) { // what some row of the tile needs
    Value none = isLow ? extentOf(index, loc) : constant(0, loc);
    Location named = NameLoc::get(b_.getStringAttr(l_.indices[index] + (isLow ? "_first" : "_last")), loc);
    scalar = overRows(bound.bound, op, dims, wide[0], kind, none, named,
                      [&](Value element) { return boundOf(toI64(b_, element, loc), bound, index, loc); });
    if (!scalar)
      return false;
  } else {
    if (!type.getElementType().isInteger(64)) {
      type = RankedTensorType::get(type.getShape(), b_.getI64Type());
      limit = arith::IndexCastOp::create(b_, loc, type, limit);
    }
    if (!wide.empty()) { // what all results of the tile need; those beyond the extents need nothing
      if (Value inside = body.inside(wide, loc)) {
        Value none =
            arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, Attribute(identityOf(kind, b_.getI64Type(), b_))));
        limit = arith::SelectOp::create(b_, loc, body.broadcast(inside, type.getShape()), limit, none);
      }
      auto number = RankedTensorType::get(SmallVector<int64_t>(c_.rank(), 1), b_.getI64Type());
      limit = tile::ReduceOp::create(b_, loc, TypeRange{number}, kind, ValueRange{limit}, wide).getResult(0);
    }
    scalar = boundOf(elementOf(limit, loc), bound, index, loc);
    if (wide.empty() && !isMask)
      tileBounds_[part] = {index, scalar, isLow};
  }
  DataSpan &span = dataSpans_[index];
  if (isLow)
    span.begin = span.begin ? arith::MaxSIOp::create(b_, loc, span.begin, scalar).getResult() : scalar;
  else
    span.end = span.end ? arith::MinSIOp::create(b_, loc, span.end, scalar).getResult() : scalar;
  return true;
}

void LaunchEmitter::findDataSpans(Operation *op, ArrayRef<int64_t> dims, ArrayRef<int64_t> loops, Location loc, bool together) {
  clearDataSpans();
  if (loops.empty())
    return;
  SmallVector<Value> parts, masks;
  if (Value condition = getYield(op).getCondition())
    parts = splitConjuncts(condition);
  if (auto cascade = dyn_cast<CascadeOp>(op); cascade && together)
    masks = findPointMasks(cascade);
  if (parts.empty() && masks.empty())
    return;
  BodyToTiles body(b_, c_, op, dims);
  // Statements ahead have searched for all of them.
  bool isSearched = llvm::any_of(masks, [](Value part) { return kImplied.isOn(part.getDefiningOp()); });
  for (Value part : llvm::concat<Value>(parts, masks)) {
    std::optional<LinearBound> bound = findLinearBound(part);
    auto d = bound ? dyn_cast<AffineDimExpr>(bound->form) : AffineDimExpr(nullptr);
    // An index that a loop walks, against data that is there before it.
    bool isKnownBefore = bound && llvm::none_of(findSupport(bound->bound, dims.size()).set_bits(),
                                                [&](unsigned s) { return llvm::is_contained(loops, dims[s]); });
    if (d && isKnownBefore && llvm::is_contained(loops, dims[d.getPosition()]) && bound->relation != arith::CmpIPredicate::eq) {
      if (!addLinearBound(part, *bound, op, body, dims, loc, together, llvm::is_contained(masks, part)))
        return;
    } else if (std::optional<Meeting> meeting = open_.empty() || isSearched ? std::nullopt : findMeeting(part, dims, loops)) {
      if (!addMeeting(*meeting, op, body, dims, loc))
        return;
    }
  }
}

} // namespace kernelc
