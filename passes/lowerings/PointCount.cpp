// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/lowerings/PointCount.h"

#include "ir/te/Marks.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/TileCondition.h"

using namespace mlir;

namespace kernelc {

using namespace te;

namespace {

using P = arith::CmpIPredicate;

/// The points of one index that count: from all of `begins_` up to all of `ends_`, where `all_` holds (null: everywhere).
class Run {
public:
  /// Of the points that the tile has along launch index `i`.
  Run(OpBuilder &b, const LaunchContext &context, BodyToTiles &body, Location loc, int64_t i)
      : b_(b), c_(context), body_(body), loc_(loc), extent_(context.extents.getResult(i)) {
    begins_.push_back(body_.scalarTile(c_.offsets[i], loc_));
    AffineMap past = AffineMap::get(1, c_.extents.getNumSymbols(), b_.getAffineDimExpr(0) + c_.tiles[i]);
    Value end = tile::ApplyOp::create(b_, loc_, b_.getIndexType(), past, ValueRange{c_.offsets[i]}, /*computed=*/true);
    ends_.push_back(body_.scalarTile(end, loc_));
    if (c_.ragged[i] || c_.mayBeBeyond[i])
      ends_.push_back(body_.indexExpr(extent_, loc_));
    if (c_.ragged[i] && !beginsInside(c_.offsets[i])) // as tiles of rows that begin inside of a vector do not
      begins_.push_back(number(0, b_.getIndexType()));
  }

  /// Takes in constraint `e` >= 0 on dim `d`; false where it is no bound of it.
  bool narrow(AffineExpr e, unsigned d, IntegerSet set) {
    unsigned dims = set.getNumDims(), symbols = set.getNumSymbols();
    std::optional<int64_t> c = linearCoefficient(e, d);
    if (!c || std::abs(*c) > 1)
      return false;
    AffineExpr rest = simplifyAffineExpr(e.replace(b_.getAffineDimExpr(d), b_.getAffineConstantExpr(0)), dims, symbols);
    if (*c == 0)
      all_ = body_.conjunction(all_, body_.evaluateSet(IntegerSet::get(dims, symbols, {rest}, {false}), loc_), loc_);
    else if (*c > 0)
      begins_.push_back(body_.indexExpr(simplifyAffineExpr(-rest, dims, symbols), loc_));
    else
      ends_.push_back(body_.indexExpr(rest + 1, loc_));
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
    limit = toI64(limit);
    if (bound->relation == P::sgt || bound->relation == P::sle) { // (as large as data may be)
      constexpr int64_t kMost = std::numeric_limits<int64_t>::max() - 1;
      limit = both<arith::AddIOp>(both<arith::MinSIOp>(limit, number(kMost, b_.getI64Type())), number(1, b_.getI64Type()));
    }
    (bound->relation == P::sge || bound->relation == P::sgt ? begins_ : ends_).push_back(limit);
    return true;
  }

  /// Whether there is one. Each begin is asked about each end: data is compared as it is, and most pairs are the same in all rounds.
  Value any() {
    for (Value begin : begins_)
      for (Value end : ends_) {
        if (begin == begins_.front() && end == ends_.front()) // (a tile has points)
          continue;
        bool wide = !isIndex(begin) || !isIndex(end);
        Value x = wide ? toI64(begin) : begin, y = wide ? toI64(end) : end;
        SmallVector<int64_t> shape = shapeOfBoth(x, y);
        Value holds = arith::CmpIOp::create(b_, loc_, P::slt, body_.broadcast(x, shape), body_.broadcast(y, shape));
        all_ = body_.conjunction(all_, holds, loc_);
      }
    return all_;
  }

  Value count() {
    Value begin, end, zero = number(0, b_.getIndexType());
    for (Value v : begins_)
      begin = begin ? both<arith::MaxSIOp>(begin, toIndex(v)) : toIndex(v);
    for (Value v : ends_)
      end = end ? both<arith::MinSIOp>(end, toIndex(v)) : toIndex(v);
    Value n = both<arith::MaxSIOp>(both<arith::SubIOp>(end, begin), zero);
    if (!all_)
      return n;
    SmallVector<int64_t> shape = shapeOfBoth(all_, n);
    return arith::SelectOp::create(b_, loc_, body_.broadcast(all_, shape), body_.broadcast(n, shape), body_.broadcast(zero, shape));
  }

private:
  /// Whether the first tile of the loop that counts in `offset` begins at a point, for certain.
  static bool beginsInside(Value offset) {
    auto arg = dyn_cast<BlockArgument>(offset);
    auto loop = arg ? dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp()) : scf::ForOp();
    std::optional<int64_t> first = loop ? getConstantIntValue(loop.getLowerBound()) : std::nullopt;
    return first && *first >= 0;
  }
  static RankedTensorType typeOf(Value v) { return cast<RankedTensorType>(v.getType()); }
  static bool isIndex(Value v) { return typeOf(v).getElementType().isIndex(); }
  Value number(int64_t v, Type element) {
    auto type = RankedTensorType::get(SmallVector<int64_t>(c_.rank(), 1), element);
    return arith::ConstantOp::create(b_, loc_, type, SplatElementsAttr::get(type, Attribute(b_.getIntegerAttr(element, v))));
  }
  SmallVector<int64_t> shapeOfBoth(Value x, Value y) {
    SmallVector<int64_t> shape(c_.rank(), 1);
    for (Value t : {x, y})
      for (auto [s, n] : llvm::zip(shape, typeOf(t).getShape()))
        s = std::max(s, n);
    return shape;
  }
  template <typename Op> Value both(Value x, Value y) {
    SmallVector<int64_t> shape = shapeOfBoth(x, y);
    return Op::create(b_, loc_, body_.broadcast(x, shape), body_.broadcast(y, shape));
  }
  Value toI64(Value v) { return isIndex(v) ? arith::IndexCastOp::create(b_, loc_, typeOf(v).clone(b_.getI64Type()), v).getResult() : v; }
  /// Data as an index between -1 and the extent.
  Value toIndex(Value v) {
    if (isIndex(v))
      return v;
    Value clamped = both<arith::MaxSIOp>(v, number(-1, b_.getI64Type()));
    clamped = both<arith::MinSIOp>(clamped, toI64(body_.indexExpr(extent_, loc_)));
    return arith::IndexCastOp::create(b_, loc_, typeOf(clamped).clone(b_.getIndexType()), clamped);
  }

  OpBuilder &b_;
  const LaunchContext &c_;
  BodyToTiles &body_;
  Location loc_;
  AffineExpr extent_;
  SmallVector<Value> begins_, ends_; ///< indices, or data of 64 bits
  Value all_;
};

} // namespace

Value countPoints(OpBuilder &b, const LaunchContext &context, CascadeOp op, ArrayRef<int64_t> dims, BodyToTiles &body, bool isAny,
                  Location loc) {
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
    if (isAny)
      all = body.conjunction(all, run.any(), loc);
    else
      all = all ? arith::MulIOp::create(b, loc, all, run.count()).getResult() : run.count();
  }
  return all;
}

} // namespace kernelc
