// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/lowerings/PointCount.h"

#include "ir/te/Marks.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/TileCondition.h"

using namespace mlir;

namespace kernelc {

using namespace te;

namespace {

using P = arith::CmpIPredicate;

/// The points of one index that count, from `begin` up to `end`, where `all` holds (null: everywhere).
class Run {
public:
  /// Of the points that the tile has along launch index `i`.
  Run(OpBuilder &b, const LaunchContext &context, BodyToTiles &body, Location loc, int64_t i)
      : b_(b), c_(context), body_(body), loc_(loc), extent_(context.extents.getResult(i)) {
    begin_ = body_.scalarTile(c_.offsets[i], loc_);
    end_ = body_.scalarTile(apply(b_.getAffineDimExpr(0) + c_.tiles[i], c_.offsets[i]), loc_);
    if (c_.ragged[i] || c_.mayBeBeyond[i])
      end_ = both<arith::MinSIOp>(end_, body_.indexExpr(extent_, loc_));
  }

  /// Takes in constraint `e` >= 0 on dim `d`; false where it is no bound of it.
  bool narrow(AffineExpr e, unsigned d, IntegerSet set) {
    std::optional<int64_t> c = linearCoefficient(e, d);
    if (!c || std::abs(*c) > 1)
      return false;
    AffineExpr zero = b_.getAffineConstantExpr(0);
    AffineExpr rest = simplifyAffineExpr(e.replace(b_.getAffineDimExpr(d), zero), set.getNumDims(), set.getNumSymbols());
    if (*c == 0)
      all_ = body_.conjunction(all_, body_.evaluateSet(IntegerSet::get(set.getNumDims(), set.getNumSymbols(), {rest}, {false}), loc_), loc_);
    else if (*c > 0)
      begin_ = both<arith::MaxSIOp>(begin_, body_.indexExpr(simplifyAffineExpr(-rest, set.getNumDims(), set.getNumSymbols()), loc_));
    else
      end_ = both<arith::MinSIOp>(end_, body_.indexExpr(rest + 1, loc_));
    return true;
  }

  /// Takes in a condition on data, of which `op` is the statement; false where it is no bound of dim `d`.
  bool narrow(Value part, CascadeOp op, unsigned d) {
    if (!findSupport(part, op.getNumDims())[d]) {
      Value holds = body_.evaluate(part);
      all_ = body_.conjunction(all_, holds, loc_);
      return bool(holds);
    }
    std::optional<LinearBound> bound = findLinearBound(part);
    if (!bound || bound->form != b_.getAffineDimExpr(d) || bound->relation == P::eq || findSupport(bound->bound, op.getNumDims())[d])
      return false;
    Value limit = body_.evaluate(bound->bound);
    if (!limit)
      return false;
    bool isLow = bound->relation == P::sge || bound->relation == P::sgt;
    // (as large as data may be: an index is not)
    if (!cast<RankedTensorType>(limit.getType()).getElementType().isIndex())
      limit = toIndex(limit);
    if (bound->relation == P::sgt || bound->relation == P::sle)
      limit = both<arith::AddIOp>(limit, indices(1));
    (isLow ? begin_ : end_) = isLow ? both<arith::MaxSIOp>(begin_, limit) : both<arith::MinSIOp>(end_, limit);
    return true;
  }

  Value count() {
    Value zero = indices(0), n = both<arith::MaxSIOp>(both<arith::SubIOp>(end_, begin_), zero);
    if (!all_)
      return n;
    SmallVector<int64_t> shape = shapeOfBoth(all_, n);
    return arith::SelectOp::create(b_, loc_, body_.broadcast(all_, shape), body_.broadcast(n, shape), body_.broadcast(zero, shape));
  }

private:
  Value apply(AffineExpr e, Value at) {
    return tile::ApplyOp::create(b_, loc_, b_.getIndexType(), AffineMap::get(1, c_.extents.getNumSymbols(), e), ValueRange{at},
                                 /*computed=*/true);
  }
  Value indices(int64_t v) {
    auto type = RankedTensorType::get(SmallVector<int64_t>(c_.rank(), 1), b_.getIndexType());
    return arith::ConstantOp::create(b_, loc_, type, SplatElementsAttr::get(type, Attribute(b_.getIndexAttr(v))));
  }
  SmallVector<int64_t> shapeOfBoth(Value x, Value y) {
    SmallVector<int64_t> shape(c_.rank(), 1);
    for (Value t : {x, y})
      for (auto [s, n] : llvm::zip(shape, cast<RankedTensorType>(t.getType()).getShape()))
        s = std::max(s, n);
    return shape;
  }
  template <typename Op> Value both(Value x, Value y) {
    SmallVector<int64_t> shape = shapeOfBoth(x, y);
    return Op::create(b_, loc_, body_.broadcast(x, shape), body_.broadcast(y, shape));
  }
  /// Data as an index between -1 and the extent.
  Value toIndex(Value v) {
    auto type = cast<RankedTensorType>(v.getType());
    auto toWide = [&](Value index) -> Value { return arith::IndexCastOp::create(b_, loc_, type.clone(b_.getI64Type()), index); };
    auto shape = type.getShape();
    Value least = toWide(body_.broadcast(indices(-1), shape));
    Value most = toWide(body_.broadcast(body_.indexExpr(extent_, loc_), shape));
    Value clamped = arith::MinSIOp::create(b_, loc_, arith::MaxSIOp::create(b_, loc_, v, least), most);
    return arith::IndexCastOp::create(b_, loc_, type.clone(b_.getIndexType()), clamped);
  }

  OpBuilder &b_;
  const LaunchContext &c_;
  BodyToTiles &body_;
  Location loc_;
  AffineExpr extent_;
  Value begin_, end_, all_;
};

} // namespace

Value countPoints(OpBuilder &b, const LaunchContext &context, CascadeOp op, ArrayRef<int64_t> dims, BodyToTiles &body, Location loc) {
  ArrayRef<int64_t> reduced = dims.drop_front(op.getNumParallel());
  std::optional<IntegerSet> set = op.getCondition();
  Value where = op.getYield().getCondition();
  if ((set || where) && reduced.size() != 1)
    return {};
  Value all;
  for (int64_t i : reduced) {
    Run run(b, context, body, loc, i);
    unsigned d = op.getNumParallel();
    for (unsigned n = 0; set && n < set->getNumConstraints(); ++n)
      if (set->isEq(n) || !run.narrow(set->getConstraint(n), d, *set))
        return {};
    for (Value part : where ? splitConjuncts(where) : SmallVector<Value>())
      if (!kImplied.isOn(part.getDefiningOp()) && !run.narrow(part, op, d))
        return {};
    Value own = run.count();
    all = all ? arith::MulIOp::create(b, loc, all, own).getResult() : own;
  }
  return all;
}

} // namespace kernelc
