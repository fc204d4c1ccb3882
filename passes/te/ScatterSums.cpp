// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is left of a sorted scatter: a sum over a segment for each row.
#include "passes/te/ScatterSorter.h"

#include "ir/te/Hints.h"

using namespace mlir;

namespace kernelc::te {

constexpr int64_t kFewPoints = 4096; ///< a row of which one thread adds up
constexpr int64_t kShare = 256;      ///< points of a long row that are added up apart from its others

AffineExpr ScatterSorter::rowOf() {
  AffineExpr row = number(0);
  for (unsigned r = 0; r < carriedDim_.size(); ++r)
    if (carriedDim_[r] < 0)
      row = row * op_.getShape().getResult(r) + dim(r);
  return simplifyAffineExpr(row, carriedDim_.size(), symbols_);
}

ReduceOp ScatterSorter::startSum(const Twine &name, ArrayRef<AffineExpr> lead, AffineExpr last, RankedTensorType type, IntegerSetAttr where,
                                 Value init) {
  // The result's indices, or shares and what is carried; then what is added up.
  SmallVector<AffineExpr> extents(lead);
  extents.push_back(last);
  SmallVector<std::string> names;
  bool isResult = name.str().empty();
  for (unsigned r = 0; r < carriedDim_.size(); ++r)
    if (carriedDim_[r] >= 0)
      names.push_back(cast<StringAttr>(op_.getIndices()[carriedDim_[r]]).str());
    else if (isResult)
      names.push_back("r" + std::to_string(r));
  if (!isResult)
    names.insert(names.begin(), "q");
  names.push_back("p");
  SmallVector<StringRef> indices(names.begin(), names.end());
  auto sum = ReduceOp::create(b, loc(), type, *op_.getKind(), b.getStrArrayAttr(indices), lead.size(), over(extents), where, init,
                              AffineMapAttr(), AffineMapAttr(), named(name));
  sum.setSegmented(true);
  setOwnLaunch(sum);
  return sum;
}

std::pair<Value, Value> ScatterSorter::valueAt(Value point, ValueRange carried, bool padded) {
  SmallVector<Value> original = indicesOf(toIndex(point));
  unsigned next = 0;
  for (unsigned r = 0; r < carriedDim_.size(); ++r)
    if (carriedDim_[r] >= 0)
      original[carriedDim_[r]] = carried[next++];
  SmallVector<Value> roots = conditionRoots(true);
  roots.push_back(op_.getValue());
  IRMapping body = cloneBody(roots, original, padded);
  return {body.lookupOrDefault(op_.getValue()), conditionAt(original, body, true)};
}

/// What the first points of each kShare points add up to, those that are of the row of the first of them.
Value ScatterSorter::makeShares(Value sorted, Value segments) {
  AffineExpr shares = points_.ceilDiv(kShare);
  Value ends = makeCompute("_share_ends", shares, b.getI64Type(), [&](Value share) {
    Value key = read(sorted, share, dim(0) * kShare);
    Value row = arith::ShRUIOp::create(b, loc(), key, integer(kPointBits));
    Value exists = compare(arith::CmpIPredicate::slt, row, toInteger(value(rows_, {})));
    Value known = arith::SelectOp::create(b, loc(), exists, row, integer(0));
    return Value(arith::SelectOp::create(b, loc(), exists, read(segments, toIndex(known), dim(0) + 1), integer(0)));
  });
  SmallVector<AffineExpr> lead = {shares};
  for (unsigned r = 0; r < carriedDim_.size(); ++r)
    if (carriedDim_[r] >= 0)
      lead.push_back(op_.getShape().getResult(r));
  AffineExpr p = dim(lead.size());
  auto where = setOf({p - dim(0) * kShare, dim(0) * kShare + (kShare - 1) - p}, lead.size() + 1, symbols_);
  ReduceOp sum = startSum("_shares", lead, points_, typeOf(lead, op_.getResult().getType().getElementType()), where, Value());
  fill(sum.getBody(), lead.size() + 1, [&](ValueRange at) {
    Value counts = compare(arith::CmpIPredicate::slt, at.back(), toIndex(read(ends, at[0])));
    auto [v, own] = valueAt(pointNumber(read(sorted, at.back())), at.drop_front().drop_back());
    if (!own)
      sum.setAllExist(true);
    YieldOp::create(b, loc(), ValueRange{v}, both(counts, own));
  });
  return sum.getResult();
}

/// For each row, behind the last of what it adds up: its points up to where the first share begins, and its shares, numbered on.
Value ScatterSorter::makeEnds(Value segments) {
  return makeCompute("_ends", rows_, b.getI64Type(), [&](Value row) {
    Value begin = toIndex(read(segments, row)), end = toIndex(read(segments, row, dim(0) + 1));
    auto firstShare = [&](Value at) { return value((dim(0) + (kShare - 1)).floorDiv(kShare), at); };
    Value own = arith::MinSIOp::create(b, loc(), end, arith::MulIOp::create(b, loc(), firstShare(begin), index(kShare)));
    Value shares = arith::SubIOp::create(b, loc(), firstShare(end), firstShare(begin));
    return toInteger(arith::AddIOp::create(b, loc(), own, shares));
  });
}

void ScatterSorter::sumSegments(Value sorted, Value segments) {
  AffineMap shape = op_.getShape();
  unsigned rank = shape.getNumResults();
  ReduceOp sum = startSum("", shape.getResults(), points_, cast<RankedTensorType>(op_.getResult().getType()), IntegerSetAttr(), startOf());
  fill(sum.getBody(), rank + 1, [&](ValueRange at) {
    ValueRange out = at.take_front(rank);
    Value begin = toIndex(read(segments, out, rowOf())), end = toIndex(read(segments, out, rowOf() + 1));
    Value counts = both(compare(arith::CmpIPredicate::sge, at.back(), begin), compare(arith::CmpIPredicate::slt, at.back(), end));
    SmallVector<Value> carried;
    for (unsigned r = 0; r < rank; ++r)
      if (carriedDim_[r] >= 0)
        carried.push_back(at[r]);
    auto [v, own] = valueAt(pointNumber(read(sorted, at.back())), carried);
    if (!own)
      sum.setAllExist(true);
    YieldOp::create(b, loc(), ValueRange{v}, both(counts, own));
  });
  replaceBy(sum);
}

/// As sumSegments, with the shares of long rows in the place of their points.
void ScatterSorter::sumShares(Value sorted, Value segments, Value shares, Value ends) {
  AffineMap shape = op_.getShape();
  unsigned rank = shape.getNumResults();
  ReduceOp sum =
      startSum("", shape.getResults(), points_ + 1, cast<RankedTensorType>(op_.getResult().getType()), IntegerSetAttr(), startOf());
  sum.setAllExist(true);
  fill(sum.getBody(), rank + 1, [&](ValueRange at) {
    ValueRange out = at.take_front(rank);
    Value p = at.back(), begin = toIndex(read(segments, out, rowOf())), end = toIndex(read(segments, out, rowOf() + 1));
    Value last = toIndex(read(ends, out, rowOf()));
    Value counts = both(compare(arith::CmpIPredicate::sge, p, begin), compare(arith::CmpIPredicate::slt, p, last));
    Value share = value((dim(0) + (kShare - 1)).floorDiv(kShare), begin);
    Value border = arith::MinSIOp::create(b, loc(), end, arith::MulIOp::create(b, loc(), share, index(kShare)));
    Value isPoint = compare(arith::CmpIPredicate::slt, p, border);
    SmallVector<Value> carried,
        ofShare = {arith::SelectOp::create(b, loc(), isPoint, index(-1),
                                           arith::AddIOp::create(b, loc(), share, arith::SubIOp::create(b, loc(), p, border)))};
    for (unsigned r = 0; r < rank; ++r)
      if (carriedDim_[r] >= 0)
        carried.push_back(at[r]);
    llvm::append_range(ofShare, carried);
    Type element = cast<RankedTensorType>(shares.getType()).getElementType();
    Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(element));
    Value whole =
        ReadOp::create(b, loc(), element, shares, ofShare, AffineMapAttr(), BoundsModeAttr::get(b.getContext(), BoundsMode::Pad), zero);
    Value known = arith::SelectOp::create(b, loc(), isPoint, p, index(0));
    Value point = arith::SelectOp::create(b, loc(), isPoint, pointNumber(read(sorted, known, dim(0), /*padded=*/true)), integer(-1));
    auto [v, own] = valueAt(point, carried, /*padded=*/true);
    if (own) { // of points alone
      Value isShare = arith::XOrIOp::create(b, loc(), isPoint, arith::ConstantIntOp::create(b, loc(), 1, 1));
      counts = both(counts, arith::OrIOp::create(b, loc(), isShare, own));
    }
    YieldOp::create(b, loc(), ValueRange{arith::SelectOp::create(b, loc(), isPoint, v, whole)}, counts);
  });
  replaceBy(sum);
}

void ScatterSorter::sortPoints() {
  Value sorted = sortKeys(), segments = makeSegments(sorted);
  if (int64_t points = knownMax(points_, facts_); points >= 0 && points <= kFewPoints)
    return sumSegments(sorted, segments);
  Value shares = makeShares(sorted, segments);
  sumShares(sorted, segments, shares, makeEnds(segments));
}

} // namespace kernelc::te
