// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which elements of an access are there: masks of indices, borders that lie inside a vector, the bounds rules of tensors.
#include "passes/lowerings/AccessLowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/index/Affine.h"
#include "passes/lowerings/MaskNames.h"
#include "passes/tile/Divisors.h"
#include "passes/tile/RowVector.h"
#include "passes/tile/TilePoints.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {

void AccessLowering::clamp(ArrayRef<int64_t> dims) {
  clamped_.append(dims.begin(), dims.end());
  llvm::erase_if(mask_, [&](int64_t d) { return llvm::is_contained(dims, d); });
}

bool AccessLowering::straddlesNoBorder() const {
  if (vector_ == 1)
    return true;
  if (partial_)
    return false;
  int64_t dim = layout_.reg[0].dim;
  te::SizeFacts facts{c_.func.getSizeDiv(), c_.func.getSizeMax()};
  return llvm::all_of(llvm::zip(map_.getResults(), shape_.getResults()), [&](auto subscript) {
    auto [e, extent] = subscript;
    int64_t shared = run_.perElement;
    SmallVector<int64_t> dimDiv = divisorsOf(c_.func, map_, dim, vector_);
    bool isWhole = shared > 1 ? e == getAffineDimExpr(dim, e.getContext()).floorDiv(shared)
                              : run_.step == 1 && te::linearCoefficient(e, dim) == 1 && te::knownDivisor(e, facts, dimDiv) % vector_ == 0;
    return !e.isFunctionOfDim(dim) || (isWhole && te::knownDivisor(extent, facts) % (vector_ / shared) == 0);
  });
}

Value AccessLowering::inside(ArrayRef<Value> coords) {
  Value all;
  for (int64_t d : mask_)
    if (!partial_ || d != run_.dim)
      all = conjunction(all, insideAlong(d, coords[d], 1));
  return all;
}

void AccessLowering::forEachInside(ArrayRef<Value> coords, llvm::function_ref<void()> whole,
                                   llvm::function_ref<void(Value, ArrayRef<Value>)> element, llvm::function_ref<void(Value)> outside) {
  if (!partial_)
    return whole();
  auto all = scf::IfOp::create(c_.b, loc_, insideAlong(run_.dim, coords[run_.dim], vector_), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(c_.b);
  c_.b.setInsertionPoint(all.thenBlock()->getTerminator());
  whole();
  c_.b.setInsertionPoint(all.elseBlock()->getTerminator());
  Value e = openLoop(c_, 0, vector_, 1, "e", loc_);
  SmallVector<Value> at(coords);
  at[run_.dim] = c_.add(at[run_.dim], e, c_.named(c_.indexName(run_.dim), loc_));
  auto some = scf::IfOp::create(c_.b, loc_, insideAlong(run_.dim, at[run_.dim], 1), bool(outside));
  c_.b.setInsertionPoint(some.thenBlock()->getTerminator());
  element(e, at);
  if (outside) {
    c_.b.setInsertionPoint(some.elseBlock()->getTerminator());
    outside(e);
  }
}

Value AccessLowering::conjunction(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return arith::AndIOp::create(c_.b, c_.named("inside", loc_), x, y);
}

Value AccessLowering::before(ArrayRef<int64_t> dims, ArrayRef<Value> subscripts) {
  Value all;
  for (int64_t r : dims)
    all = conjunction(all, arith::CmpIOp::create(c_.b, c_.named(maskName(c_, map_.getResult(r), "inside"), loc_), arith::CmpIPredicate::slt,
                                                 subscripts[r], c_.expand(shape_.getResult(r), {}, loc_)));
  return all;
}

Value AccessLowering::applyBounds(te::BoundsMode mode, SmallVectorImpl<Value> &subscripts, int64_t knownDim) {
  Value inside;
  for (auto [d, s] : llvm::enumerate(subscripts)) {
    KeptEnds kept = int64_t(d) == knownDim ? KeptEnds{true, true} : keptEnds(d);
    if (kept.low && kept.high)
      continue;
    if (mode != te::BoundsMode::Pad) {
      s = moveInside(mode, d, s, kept);
      continue;
    }
    inside = insideRow(d, s, 1, kept, inside);
  }
  return inside;
}

Value AccessLowering::insideUnlessNear(te::BoundsMode mode, ArrayRef<Value> subscripts) {
  if (mode != te::BoundsMode::Wrap && mode != te::BoundsMode::Reflect)
    return {};
  bool isNear = true;
  Value inside;
  for (auto [d, s] : llvm::enumerate(subscripts)) {
    KeptEnds kept = keptEnds(d);
    isNear &= (kept.low && kept.high) || staysNear(mode, d);
    inside = insideRow(d, s, 1, kept, inside);
  }
  return isNear ? Value() : inside;
}

Value AccessLowering::insideRow(unsigned d, Value s, int64_t points, KeptEnds kept, Value inside) {
  if (!kept.low)
    inside = conjunction(inside, arith::CmpIOp::create(c_.b, loc_, arith::CmpIPredicate::sge, s, c_.index(0, loc_)));
  if (!kept.high)
    inside = conjunction(
        inside, arith::CmpIOp::create(c_.b, loc_, arith::CmpIPredicate::slt, s, c_.expand(shape_.getResult(d) - (points - 1), {}, loc_)));
  return inside;
}

Value AccessLowering::moveInside(te::BoundsMode mode, unsigned d, Value s, KeptEnds kept) {
  OpBuilder &b = c_.b;
  Value zero = c_.index(0, loc_), one = c_.index(1, loc_);
  auto size = [&] { return c_.expand(shape_.getResult(d), {}, loc_); };
  auto last = [&] { return arith::SubIOp::create(b, loc_, size(), one).getResult(); };
  auto is = [&](arith::CmpIPredicate how, Value x, Value y) { return arith::CmpIOp::create(b, loc_, how, x, y).getResult(); };
  if (mode == te::BoundsMode::Edge) // (Of both ends where one may be left: a thread's neighbours then read what they share at one place.)
    return arith::MaxSIOp::create(b, loc_, zero, arith::MinSIOp::create(b, loc_, s, last()));
  if (mode != te::BoundsMode::Wrap && mode != te::BoundsMode::Reflect)
    return s;
  if (!staysNear(mode, d))
    return moveFar(mode, s, size());
  if (mode == te::BoundsMode::Wrap) {
    if (!kept.low)
      s = arith::SelectOp::create(b, loc_, is(arith::CmpIPredicate::slt, s, zero), arith::AddIOp::create(b, loc_, s, size()), s);
    if (!kept.high)
      s = arith::SelectOp::create(b, loc_, is(arith::CmpIPredicate::sge, s, size()), arith::SubIOp::create(b, loc_, s, size()), s);
    return s;
  }
  bool isMirroredInside = kept.low || pointsOf().isNeverNegative(map_.getResult(d) + shape_.getResult(d) - 1);
  if (!kept.low)
    s = math::AbsIOp::create(b, loc_, s);
  if (!kept.high || !isMirroredInside)
    s = arith::MinSIOp::create(b, loc_, s, arith::SubIOp::create(b, loc_, c_.mul(last(), 2, loc_), s));
  return s;
}

Value AccessLowering::moveFar(te::BoundsMode mode, Value s, Value n) {
  if (mode == te::BoundsMode::Wrap)
    return floorMod(s, n);
  // Period 2 (n - 1): fold into it, then fold the second half back.
  OpBuilder &b = c_.b;
  Value zero = c_.index(0, loc_), one = c_.index(1, loc_), last = arith::SubIOp::create(b, loc_, n, one);
  Value period = arith::MaxSIOp::create(b, loc_, one, c_.mul(last, 2, loc_));
  Value t = floorMod(s, period);
  s = arith::MinSIOp::create(b, loc_, t, arith::SubIOp::create(b, loc_, period, t));
  return arith::MaxSIOp::create(b, loc_, zero, arith::MinSIOp::create(b, loc_, s, last));
}

TilePoints AccessLowering::pointsOf() const {
  SmallVector<int64_t> kept(mask_);
  llvm::append_range(kept, clamped_);
  return TilePoints(c_.func, map_, tile_, kept);
}

bool AccessLowering::staysNear(te::BoundsMode mode, unsigned d) const {
  TilePoints points = pointsOf();
  AffineExpr s = map_.getResult(d), n = shape_.getResult(d);
  if (mode == te::BoundsMode::Wrap)
    return points.isNeverNegative(s + n) && points.isNeverNegative(n * 2 - 1 - s);
  return points.isNeverNegative((n - 1) * 2 + s) && points.isNeverNegative((n - 1) * 2 - s);
}

bool AccessLowering::keepsRun() const {
  return llvm::all_of(llvm::enumerate(map_.getResults()), [&](auto result) {
    if (run_.dim < 0 || !result.value().isFunctionOfDim(run_.dim))
      return true;
    KeptEnds kept = keptEnds(result.index());
    return kept.low && kept.high;
  });
}

Value AccessLowering::rowInside(ArrayRef<Value> subscripts) {
  unsigned d = subscripts.size() - 1;
  return insideRow(d, subscripts[d], vector_, keptEnds(d));
}

Value AccessLowering::insideAlong(int64_t d, Value at, int64_t points) {
  Location loc = c_.named(c_.indexName(d) + "_inside", loc_);
  Value end = c_.expand(c_.func.getExtent(d) - (points - 1), {}, loc_);
  Value below = arith::CmpIOp::create(c_.b, loc, arith::CmpIPredicate::slt, at, end);
  if (!c_.func.mayBeginBefore(unsigned(d)))
    return below;
  Location begun = c_.named(c_.indexName(d) + "_begun", loc_);
  return conjunction(arith::CmpIOp::create(c_.b, begun, arith::CmpIPredicate::sge, at, c_.index(0, loc_)), below);
}

KeptEnds AccessLowering::keptEnds(unsigned d) const {
  SmallVector<int64_t> kept(mask_);
  llvm::append_range(kept, clamped_);
  return findKeptEnds(c_.func, map_, shape_, d, tile_, kept);
}

Value AccessLowering::floorMod(Value x, Value y) {
  Value q = arith::FloorDivSIOp::create(c_.b, loc_, x, y);
  return arith::SubIOp::create(c_.b, loc_, x, arith::MulIOp::create(c_.b, loc_, q, y));
}

void guarded(OpBuilder &b, Location loc, Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  if (!condition)
    return then();
  auto branch = scf::IfOp::create(b, loc, condition, bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  then();
  if (otherwise) {
    b.setInsertionPoint(branch.elseBlock()->getTerminator());
    otherwise();
  }
}

} // namespace kernelc
