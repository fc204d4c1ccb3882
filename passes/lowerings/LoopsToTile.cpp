// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops of a launch: over the tiles of a domain, and over the tiles of a product's reduced
// indices.
#include "passes/lowerings/LaunchEmitter.h"

#include "ir/cu/Cu.h"
#include "ir/cu/Marks.h"
#include "ir/tile/Marks.h"
#include "passes/analysis/Reduction.h"
#include "passes/index/Affine.h"
#include "passes/index/Domain.h"
#include "passes/tile/Carried.h"

using namespace mlir;

namespace kernelc {

using namespace te;

Value LaunchEmitter::constant(int64_t v, Location loc) { return arith::ConstantIndexOp::create(b_, loc, v); }

bool LaunchEmitter::isHeld(int64_t i) const {
  if (!isSharedOut(i))
    return false;
  int64_t max = knownMax(l_.extents.getResult(i), {plan_.sizeDiv, plan_.sizeMax});
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
    int64_t max = knownMax(l_.extents.getResult(i), facts);
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

SmallVector<Value> LaunchEmitter::roundsLoop(ArrayRef<int64_t> k, std::optional<IntegerSet> set, ArrayRef<int64_t> dims, ValueRange init,
                                             Location loc, size_t picked, llvm::function_ref<Value()> where, int64_t chunk,
                                             llvm::function_ref<Values(ValueRange)> body, int64_t least) {
  SmallVector<AffineExpr> counts;
  AffineExpr perPick = b_.getAffineConstantExpr(1); // tiles of the indices that are not picked
  for (auto [n, i] : llvm::enumerate(k)) {
    counts.push_back(l_.extents.getResult(i).ceilDiv(l_.tiles[i]));
    if (n >= picked)
      perPick = perPick * counts.back();
  }
  bool walksOthers = picked < k.size();
  unsigned symbols = l_.extents.getNumSymbols();
  Value begin, end;
  if (set || dataSpans_.contains(k.front()))
    std::tie(begin, end) = findSpan(set, dims, k.front(), k, loc);
  if (begin && matchPattern(begin, m_Zero()))
    begin = {};
  // The round that is walked whatever there is to sum lies inside the extent: what brings and masks its points counts on that.
  if (begin && least) {
    AffineExpr extent = l_.extents.getResult(k.front()), tile = b_.getAffineConstantExpr(l_.tiles[k.front()]);
    Value lastTile =
        tile::ApplyOp::create(b_, loc, b_.getIndexType(), AffineMap::get(0, symbols, (extent - 1).floorDiv(tile) * tile), ValueRange());
    Location named = NameLoc::get(b_.getStringAttr(l_.indices[k.front()] + "_begin"), cu::unnamed(loc));
    begin = arith::MinSIOp::create(b_, named, begin, lastTile);
    if (!knownPositive(extent, {plan_.sizeDiv, plan_.sizeMax}))
      begin = arith::MaxSIOp::create(b_, named, begin, constant(0, loc));
  }
  if (end && isExtent(end))
    end = {};
  SmallVector<Value> span;
  AffineExpr length = l_.extents.getResult(k.front());
  if (end) {
    length = b_.getAffineDimExpr(span.size());
    span.push_back(end);
  }
  if (begin) {
    length = length - b_.getAffineDimExpr(span.size());
    span.push_back(begin);
  }
  AffineExpr total = length.ceilDiv(l_.tiles[k.front()]);
  SmallVector<Value> ended(k.size()); // the points of an index, where each block has its own number of them
  for (size_t n = 1; n < picked; ++n) {
    if (set && !where && l_.tiles[k[n]] == 1)
      if (auto [from, to] = findSpan(set, dims, k[n], k, loc); matchPattern(from, m_Zero()) && !isExtent(to))
        ended[n] = arith::MaxSIOp::create(b_, NameLoc::get(b_.getStringAttr(l_.indices[k[n]] + "_points"), cu::unnamed(loc)), to,
                                          constant(0, loc));
    if (!ended[n])
      total = total * counts[n];
  }
  int64_t last = k[picked - 1];
  Location counted = NameLoc::get(b_.getStringAttr(l_.indices[last] + "_tiles"), cu::unnamed(loc));
  bool isOften = false; // as often as the least that is asked for, in each tile
  if (auto own = end && span.size() == 1 ? end.getDefiningOp<tile::ApplyOp>() : tile::ApplyOp()) { // one form, for those who look into it
    total = simplifyAffineExpr(total.replaceDims({own.getMap().getResult(0)}), c_.rank(), symbols);
    span.assign(own.getOperands_().begin(), own.getOperands_().end());
    AffineExpr fewest = extremeOfTiles(total, /*high=*/false);
    isOften = fewest && knownPositive(simplifyAffineExpr(fewest + 1 - least, 0, symbols), {plan_.sizeDiv, plan_.sizeMax});
  }
  Value tileCount = tile::ApplyOp::create(b_, counted, b_.getIndexType(), AffineMap::get(span.size(), symbols, total), span);
  for (Value points : ended)
    if (points) {
      tileCount = arith::MulIOp::create(b_, counted, tileCount, points);
      isOften = false;
    }
  bool mayBeFewer = !span.empty() || (least && !knownPositive(total, {plan_.sizeDiv, plan_.sizeMax}));
  if (isOften && least)
    tile::kLeastRounds.putOn(tileCount.getDefiningOp(), least);
  if (mayBeFewer && !isOften) // tiles are counted on from loop to loop: of an empty span there are none, not fewer
    tileCount = arith::MaxSIOp::create(b_, counted, tileCount, constant(least, loc));
  if (Value holds = set && !least ? resultHolds(*set, dims, k, loc) : Value())
    tileCount = arith::SelectOp::create(b_, counted, holds, tileCount, constant(0, loc));
  auto named = [&](int64_t index, StringRef suffix) { return NameLoc::get(b_.getStringAttr(l_.indices[index] + suffix), loc); };
  bool isBackward = l_.backward && !where && k.size() == 1 && llvm::is_contained(l_.loops, k.front());
  // Offsets of the indices [from, to) of k from the number of a tile of theirs, the last of them fastest.
  auto place = [&](Value tileNumber, size_t from, size_t to) {
    AffineExpr left = b_.getAffineDimExpr(0);
    for (size_t i = to; i-- > from;) {
      SmallVector<Value> operands{tileNumber};
      AffineExpr number = i == from ? left : left % counts[i];
      if (i != from && ended[i]) {
        Location plain = cu::unnamed(loc), walked = NameLoc::get(b_.getStringAttr(l_.indices[k[i]] + "_walked"), plain);
        Value slower = tile::ApplyOp::create(b_, plain, b_.getIndexType(), AffineMap::get(1, symbols, left), tileNumber);
        Value points = arith::MaxSIOp::create(b_, walked, ended[i], constant(1, plain)); // (of none nothing is walked)
        operands[0] = arith::RemSIOp::create(b_, plain, slower, points);
        tileNumber = arith::DivSIOp::create(b_, NameLoc::get(b_.getStringAttr("rest"), plain), slower, points);
        left = number = b_.getAffineDimExpr(0);
      } else if (i != from) {
        left = left.floorDiv(counts[i]);
      }
      if (i == 0 && isBackward) {
        number = b_.getAffineDimExpr(operands.size()) - 1 - number;
        operands.push_back(tileCount);
      }
      AffineExpr offset = number * l_.tiles[k[i]];
      if (i == 0 && begin) {
        offset = b_.getAffineDimExpr(operands.size()) + offset;
        operands.push_back(begin);
      }
      auto at = tile::ApplyOp::create(b_, named(k[i], "0"), b_.getIndexType(), AffineMap::get(operands.size(), symbols, offset), operands);
      int64_t extent = te::knownMax(l_.extents.getResult(k[i]), {plan_.sizeDiv, plan_.sizeMax});
      cu::kMost.putOn(at, (extent > 0 ? extent : cu::kFits32) - 1);
      c_.offsets[k[i]] = at;
    }
  };
  auto fillCondition = [&](Region &region) {
    OpBuilder::InsertionGuard guard(b_);
    Block &block = region.emplaceBlock();
    Value candidate = block.addArgument(b_.getIndexType(), named(last, "_tile"));
    b_.setInsertionPointToStart(&block);
    place(candidate, 0, picked);
    if (Value holds = where())
      tile::HoldsOp::create(b_, loc, holds);
  };
  SmallVector<Value> inits(init), outside(c_.offsets);
  size_t sums = init.size();
  Value zero = constant(0, loc), rounds = tileCount;
  if (where) {
    auto count = tile::CountWhereOp::create(b_, named(last, "_rounds"), b_.getIndexType(), tileCount);
    fillCondition(count.getCondition());
    rounds = count;
    if (walksOthers)
      rounds = tile::ApplyOp::create(b_, named(k.back(), "_rounds"), b_.getIndexType(),
                                     AffineMap::get(1, symbols, b_.getAffineDimExpr(0) * perPick), ValueRange(rounds));
    inits.push_back(zero); // where the search for the next tile starts
    if (walksOthers)
      inits.push_back(zero); // the tile of the others that is next
  }
  OpBuilder::InsertionGuard guard(b_);
  scf::ForOp chunks;
  Value from = zero, to = rounds;
  if (chunk > 1) { // (of one sum)
    chunks = scf::ForOp::create(b_, loc, zero, rounds, constant(chunk, loc), init);
    from = chunks.getInductionVar();
    from.setLoc(named(k.back(), "_chunk"));
    b_.setInsertionPointToEnd(chunks.getBody());
    Location at = named(k.back(), "_chunk_end");
    to = arith::MinSIOp::create(b_, at, arith::AddIOp::create(b_, at, from, constant(chunk, loc)), rounds);
  }
  auto loop = scf::ForOp::create(b_, loc, from, to, constant(1, loc), inits);
  loop.getInductionVar().setLoc(named(k.back(), where ? "_round" : "_tile"));
  b_.setInsertionPointToEnd(loop.getBody());
  Value tile = loop.getInductionVar();
  if (where) {
    loop.getRegionIterArg(sums).setLoc(named(last, "_from"));
    Value again; // the tile of the round before, until the others have been walked
    if (walksOthers) {
      loop.getRegionIterArg(sums + 1).setLoc(named(k.back(), "_at"));
      again = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::ne, loop.getRegionIterArg(sums + 1), zero);
    }
    auto find = tile::FindWhereOp::create(b_, named(last, "_tile"), b_.getIndexType(), loop.getRegionIterArg(sums), tileCount, again);
    fillCondition(find.getCondition());
    tile = find;
  }
  place(tile, 0, picked);
  if (walksOthers)
    place(loop.getRegionIterArg(sums + 1), picked, k.size());
  SmallVector<Value> next = body(llvm::to_vector_of<Value>(loop.getRegionIterArgs().take_front(sums)));
  if (where) {
    Value beyond = arith::AddIOp::create(b_, named(last, "_next"), tile, constant(1, loc)), walked;
    if (walksOthers) { // the same tile again, until the others have been walked
      Value others = tile::ApplyOp::create(b_, loc, b_.getIndexType(), AffineMap::get(0, symbols, perPick), ValueRange());
      walked = arith::AddIOp::create(b_, named(k.back(), "_after"), loop.getRegionIterArg(sums + 1), constant(1, loc));
      Value done = arith::CmpIOp::create(b_, named(last, "_done"), arith::CmpIPredicate::eq, walked, others);
      beyond = arith::SelectOp::create(b_, named(last, "_next"), done, beyond, tile);
      walked = arith::SelectOp::create(b_, named(k.back(), "_next"), done, zero, walked);
    }
    next.push_back(beyond);
    if (walksOthers)
      next.push_back(walked);
  }
  scf::YieldOp::create(b_, loc, next);
  b_.setInsertionPointAfter(loop);
  if (chunks) {
    scf::YieldOp::create(b_, loc, addPart(loop.getResult(0), Value(), chunks.getRegionIterArg(0), loc));
    b_.setInsertionPointAfter(chunks);
  }
  c_.offsets = outside;
  return llvm::to_vector_of<Value>((chunks ? chunks : loop).getResults().take_front(sums));
}

} // namespace kernelc
