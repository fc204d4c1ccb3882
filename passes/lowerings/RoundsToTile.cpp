// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one loop over the tiles of a product's reduced indices: how many rounds there are, where each round's tile lies, which tiles are
// passed over.
#include "passes/lowerings/LaunchEmitter.h"

#include "ir/cu/Cu.h"
#include "ir/cu/Marks.h"
#include "mlir/IR/Matchers.h"
#include "passes/index/Affine.h"

using namespace mlir;

namespace kernelc {

using namespace te;

class LaunchEmitter::RoundsLoop {
public:
  RoundsLoop(LaunchEmitter &emitter, const Walk &walk)
      : e_(emitter), b_(emitter.b_), l_(emitter.l_), w_(walk), symbols_(l_.extents.getNumSymbols()), last_(walk.k[walk.picked - 1]),
        facts_{emitter.plan_.sizeDiv, emitter.plan_.sizeMax}, least_(walk.where ? 0 : walk.least), perPick_(b_.getAffineConstantExpr(1)),
        ended_(walk.k.size()) {
    for (auto [n, i] : llvm::enumerate(w_.k)) {
      counts_.push_back(l_.extents.getResult(i).ceilDiv(l_.tiles[i]));
      if (n >= w_.picked)
        perPick_ = perPick_ * counts_.back();
    }
  }

  SmallVector<Value> emit(ValueRange init, llvm::function_ref<Values(ValueRange)> body) {
    countTiles();
    SmallVector<Value> outside(e_.c_.offsets);
    Value zero = constant(0), picked = w_.where ? countPicked() : Value(), rounds = picked ? atLeast(picked) : tileCount_;
    OpBuilder::InsertionGuard guard(b_);
    scf::ForOp chunks = w_.chunk > 1 ? openChunks(zero, rounds, init) : scf::ForOp(); // (of one sum)
    Value from = chunks ? chunks.getInductionVar() : zero, to = chunks ? endOfChunk(from, rounds) : rounds;
    SmallVector<Value> inits(init);
    if (w_.where)
      inits.append(walksOthers() ? 2 : 1, zero); // where the search for the next tile starts, and the others' tile that is next
    auto loop = scf::ForOp::create(b_, w_.loc, from, to, constant(1), inits);
    loop.getInductionVar().setLoc(w_.where ? named(w_.k.back(), "_round") : NameLoc::get(b_.getStringAttr(walked() + "_tile"), w_.loc));
    b_.setInsertionPointToEnd(loop.getBody());
    size_t sums = init.size();
    ValueRange search = loop.getRegionIterArgs().drop_front(sums);
    Value tile = w_.where ? findTile(search, zero) : Value(loop.getInductionVar());
    place(w_.where && w_.least ? keepWalked(tile) : tile, 0, w_.picked);
    if (picked && w_.isPicked && w_.least)
      *w_.isPicked = isBefore(loop.getInductionVar(), picked);
    if (walksOthers())
      place(search[1], w_.picked, w_.k.size());
    SmallVector<Value> next = body(llvm::to_vector_of<Value>(loop.getRegionIterArgs().take_front(sums)));
    if (w_.where)
      searchOn(tile, search, zero, next);
    scf::YieldOp::create(b_, w_.loc, next);
    b_.setInsertionPointAfter(loop);
    if (chunks) {
      scf::YieldOp::create(b_, w_.loc, e_.addPart(loop.getResult(0), Value(), chunks.getRegionIterArg(0), w_.loc));
      b_.setInsertionPointAfter(chunks);
    }
    e_.c_.offsets = outside;
    return llvm::to_vector_of<Value>((chunks ? chunks : loop).getResults().take_front(sums));
  }

private:
  /// Those of an index of which each block has its own number; of others null.
  struct Points {
    Value number, begin; ///< begin: null where that is 0
  };
  bool walksOthers() const { return w_.picked < w_.k.size(); }
  bool isPositive(AffineExpr e) const { return knownPositive(e, facts_); }
  Location named(int64_t index, StringRef suffix) { return NameLoc::get(b_.getStringAttr(l_.indices[index] + suffix), w_.loc); }
  /// The same of what is made in passing.
  Location namedPlainly(int64_t index, StringRef suffix) {
    return NameLoc::get(b_.getStringAttr(l_.indices[index] + suffix), cu::unnamed(w_.loc));
  }
  /// `r_s_c` of three indices.
  std::string walked() const {
    return llvm::join(llvm::map_range(w_.k, [&](int64_t index) { return l_.indices[index]; }), "_");
  }
  Value constant(int64_t v) { return e_.constant(v, w_.loc); }
  Value apply(AffineExpr e, ValueRange operands, Location loc) {
    return tile::ApplyOp::create(b_, loc, b_.getIndexType(), AffineMap::get(operands.size(), symbols_, e), operands);
  }

  /// Where the slowest index starts and ends, if that is not where its extent does.
  std::pair<Value, Value> findEnds() {
    Value begin, end;
    if (w_.set || e_.dataSpans_.contains(w_.k.front()))
      std::tie(begin, end) = e_.findSpan(w_.set, w_.dims, w_.k.front(), w_.k, w_.loc);
    if (begin && matchPattern(begin, m_Zero()))
      begin = {};
    if (begin && w_.least)
      begin = keepInside(begin);
    if (end && isExtent(end))
      end = {};
    return {begin, end};
  }

  /// The round that is walked whatever there is to sum lies inside the extent: what brings and masks its points counts on that.
  Value keepInside(Value begin) {
    AffineExpr extent = l_.extents.getResult(w_.k.front()), tile = b_.getAffineConstantExpr(l_.tiles[w_.k.front()]);
    Value lastTile = apply((extent - 1).floorDiv(tile) * tile, {}, w_.loc);
    Location at = namedPlainly(w_.k.front(), "_begin");
    begin = arith::MinSIOp::create(b_, at, begin, lastTile);
    return isPositive(extent) ? begin : Value(arith::MaxSIOp::create(b_, at, begin, constant(0)));
  }

  /// The points of the n-th index, where each block has its own number of them, and the first one, if that is not 0.
  Points findPoints(size_t n) {
    int64_t index = w_.k[n];
    if (!(w_.set || e_.dataSpans_.contains(index)) || w_.where || l_.tiles[index] != 1)
      return {};
    auto [from, to] = e_.findSpan(w_.set, w_.dims, index, w_.k, w_.loc);
    bool fromZero = matchPattern(from, m_Zero());
    if (fromZero && isExtent(to))
      return {};
    Location at = namedPlainly(index, "_points");
    Value number = fromZero ? to : arith::SubIOp::create(b_, at, to, from);
    return {arith::MaxSIOp::create(b_, at, number, constant(0)), fromZero ? Value() : from};
  }

  /// How many tiles the picked indices have.
  void countTiles() {
    Value end;
    std::tie(begin_, end) = findEnds();
    SmallVector<Value> span;
    AffineExpr length = l_.extents.getResult(w_.k.front());
    if (end) {
      length = b_.getAffineDimExpr(span.size());
      span.push_back(end);
    }
    if (begin_) {
      length = length - b_.getAffineDimExpr(span.size());
      span.push_back(begin_);
    }
    AffineExpr total = length.ceilDiv(l_.tiles[w_.k.front()]);
    for (size_t n = 1; n < w_.picked; ++n)
      if (!(ended_[n] = findPoints(n)).number)
        total = total * counts_[n];
    bool isOften = false; // as often as the least that is asked for, in each tile
    if (auto own = end && span.size() == 1 ? end.getDefiningOp<tile::ApplyOp>() : tile::ApplyOp()) { // one form, for those who look into it
      total = simplifyAffineExpr(total.replaceDims({own.getMap().getResult(0)}), e_.c_.rank(), symbols_);
      span.assign(own.getOperands_().begin(), own.getOperands_().end());
      AffineExpr fewest = e_.extremeOfTiles(total, /*high=*/false);
      isOften = fewest && isPositive(simplifyAffineExpr(fewest + 1 - least_, 0, symbols_));
    }
    Location counted = w_.where ? namedPlainly(last_, "_tiles") : NameLoc::get(b_.getStringAttr(walked() + "_tiles"), cu::unnamed(w_.loc));
    tileCount_ = apply(total, span, counted);
    for (const Points &points : ended_)
      if (points.number) {
        tileCount_ = arith::MulIOp::create(b_, counted, tileCount_, points.number);
        isOften = false;
      }
    bool mayBeFewer = !span.empty() || (least_ && !isPositive(total));
    limitCount(isOften, mayBeFewer, counted);
  }

  /// Tiles are counted on from loop to loop: of an empty span there are none, not fewer; and none of results outside the domain.
  void limitCount(bool isOften, bool mayBeFewer, Location counted) {
    if (isOften && least_)
      tileCount_.getDefiningOp<tile::ApplyOp>().setLeast(least_);
    if (mayBeFewer && !isOften)
      tileCount_ = arith::MaxSIOp::create(b_, counted, tileCount_, constant(least_));
    if (Value holds = w_.set && !least_ ? e_.resultHolds(*w_.set, w_.dims, w_.k, w_.loc) : Value())
      tileCount_ = arith::SelectOp::create(b_, counted, holds, tileCount_, constant(0));
  }

  /// Offsets of the indices [from, to) of k from the number of a tile of theirs, the last of them fastest.
  void place(Value tileNumber, size_t from, size_t to) {
    bool isBackward = l_.backward && !w_.where && w_.k.size() == 1 && llvm::is_contained(l_.loops, w_.k.front());
    AffineExpr left = b_.getAffineDimExpr(0);
    for (size_t i = to; i-- > from;) {
      SmallVector<Value> operands{tileNumber};
      AffineExpr number = i == from ? left : left % counts_[i];
      if (i != from && ended_[i].number) {
        Location plain = cu::unnamed(w_.loc);
        Value slower = apply(left, tileNumber, plain); // (of no points nothing is walked)
        Value points = arith::MaxSIOp::create(b_, namedPlainly(w_.k[i], "_walked"), ended_[i].number, constant(1));
        operands[0] = arith::RemSIOp::create(b_, plain, slower, points);
        tileNumber = arith::DivSIOp::create(b_, NameLoc::get(b_.getStringAttr("rest"), plain), slower, points);
        left = number = b_.getAffineDimExpr(0);
      } else if (i != from) {
        left = left.floorDiv(counts_[i]);
      }
      if (i == 0 && isBackward) {
        number = b_.getAffineDimExpr(operands.size()) - 1 - number;
        operands.push_back(tileCount_);
      }
      AffineExpr offset = number * l_.tiles[w_.k[i]];
      if (Value begin = i == 0 ? begin_ : ended_[i].begin) {
        offset = b_.getAffineDimExpr(operands.size()) + offset;
        operands.push_back(begin);
      }
      Value at = apply(offset, operands, named(w_.k[i], "0"));
      int64_t extent = knownMax(l_.extents.getResult(w_.k[i]), facts_);
      cu::kMost.putOn(at.getDefiningOp(), (extent > 0 ? extent : cu::kFits32) - 1);
      e_.c_.offsets[w_.k[i]] = at;
    }
  }

  void fillCondition(Region &region) {
    OpBuilder::InsertionGuard guard(b_);
    Block &block = region.emplaceBlock();
    Value candidate = block.addArgument(b_.getIndexType(), named(last_, "_tile"));
    b_.setInsertionPointToStart(&block);
    place(candidate, 0, w_.picked);
    if (Value holds = w_.where())
      tile::HoldsOp::create(b_, w_.loc, holds);
  }

  /// The rounds of tiles that are not passed over.
  Value countPicked() {
    auto count = tile::CountWhereOp::create(b_, named(last_, "_rounds"), b_.getIndexType(), tileCount_);
    fillCondition(count.getCondition());
    return walksOthers() ? apply(b_.getAffineDimExpr(0) * perPick_, count.getResult(), named(w_.k.back(), "_rounds")) : count.getResult();
  }

  /// So many rounds at least as are asked for, where none may be picked.
  Value atLeast(Value picked) {
    return w_.least ? arith::MaxSIOp::create(b_, named(last_, "_walked"), picked, constant(w_.least)).getResult() : picked;
  }

  /// A tile that is there, also where none was found.
  Value keepWalked(Value tile) {
    Location at = namedPlainly(last_, "_kept");
    Value last = arith::SubIOp::create(b_, at, tileCount_, constant(1));
    return arith::MinSIOp::create(b_, at, tile, arith::MaxSIOp::create(b_, at, last, constant(0)));
  }

  /// One i1: whether a round was picked, not only walked.
  Value isBefore(Value round, Value picked) {
    auto type = RankedTensorType::get(SmallVector<int64_t>(e_.c_.rank(), 1), b_.getIndexType());
    Value n = tile::SplatOp::create(b_, w_.loc, type, round), end = tile::SplatOp::create(b_, w_.loc, type, picked);
    return arith::CmpIOp::create(b_, w_.loc, arith::CmpIPredicate::slt, n, end);
  }

  scf::ForOp openChunks(Value zero, Value rounds, ValueRange init) {
    auto chunks = scf::ForOp::create(b_, w_.loc, zero, rounds, constant(w_.chunk), init);
    chunks.getInductionVar().setLoc(named(w_.k.back(), "_chunk"));
    b_.setInsertionPointToEnd(chunks.getBody());
    return chunks;
  }
  Value endOfChunk(Value from, Value rounds) {
    Location at = named(w_.k.back(), "_chunk_end");
    return arith::MinSIOp::create(b_, at, arith::AddIOp::create(b_, at, from, constant(w_.chunk)), rounds);
  }

  /// The next tile from `search` on that is not passed over.
  Value findTile(ValueRange search, Value zero) {
    search[0].setLoc(named(last_, "_from"));
    Value again; // the tile of the round before, until the others have been walked
    if (walksOthers()) {
      search[1].setLoc(named(w_.k.back(), "_at"));
      again = arith::CmpIOp::create(b_, w_.loc, arith::CmpIPredicate::ne, search[1], zero);
    }
    auto find = tile::FindWhereOp::create(b_, named(last_, "_tile"), b_.getIndexType(), search[0], tileCount_, again);
    fillCondition(find.getCondition());
    return find;
  }

  /// Where the round behind that of `tile` searches, added to what it carries.
  void searchOn(Value tile, ValueRange search, Value zero, SmallVector<Value> &next) {
    Value beyond = arith::AddIOp::create(b_, named(last_, "_next"), tile, constant(1));
    if (!walksOthers())
      return next.push_back(beyond);
    // The same tile again, until the others have been walked.
    Value others = apply(perPick_, {}, w_.loc);
    Value walked = arith::AddIOp::create(b_, named(w_.k.back(), "_after"), search[1], constant(1));
    Value done = arith::CmpIOp::create(b_, named(last_, "_done"), arith::CmpIPredicate::eq, walked, others);
    next.push_back(arith::SelectOp::create(b_, named(last_, "_next"), done, beyond, tile));
    next.push_back(arith::SelectOp::create(b_, named(w_.k.back(), "_next"), done, zero, walked));
  }

  LaunchEmitter &e_;
  OpBuilder &b_;
  const LaunchPlan &l_;
  const Walk &w_;
  unsigned symbols_;
  int64_t last_; ///< the fastest of the picked indices
  SizeFacts facts_;
  int64_t least_;                  ///< tiles that are counted at least
  SmallVector<AffineExpr> counts_; ///< tiles of each index
  AffineExpr perPick_;             ///< of all indices that are not picked
  SmallVector<Points> ended_;      ///< of each index but the slowest
  Value begin_;                    ///< of the slowest index, where that is not zero
  Value tileCount_;
};

SmallVector<Value> LaunchEmitter::walkRounds(const Walk &walk, ValueRange init, llvm::function_ref<Values(ValueRange)> body) {
  return RoundsLoop(*this, walk).emit(init, body);
}

} // namespace kernelc
