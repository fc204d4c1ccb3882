// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which elements of an access are there: masks of indices, borders that lie inside a vector, the bounds rules of tensors.
#include "passes/lowerings/AccessLowering.h"

#include "passes/index/Affine.h"
#include "passes/lowerings/MaskNames.h"
#include "passes/tile/RowVector.h"
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
    SmallVector<int64_t> dimDiv(map_.getNumDims(), 1);
    dimDiv[dim] = vector_;
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

Value AccessLowering::applyBounds(te::BoundsMode mode, SmallVectorImpl<Value> &subscripts) {
  OpBuilder &b = c_.b;
  Value inside;
  for (auto [d, s] : llvm::enumerate(subscripts)) {
    auto [keepsLow, keepsHigh] = keptEnds(d);
    if (keepsLow && keepsHigh)
      continue;
    Value n = c_.expand(shape_.getResult(d), {}, loc_), zero = c_.index(0, loc_), one = c_.index(1, loc_);
    Value last = arith::SubIOp::create(b, loc_, n, one);
    switch (mode) {
    case te::BoundsMode::Pad: {
      if (!keepsLow)
        inside = conjunction(inside, arith::CmpIOp::create(b, loc_, arith::CmpIPredicate::sge, s, zero));
      if (!keepsHigh)
        inside = conjunction(inside, arith::CmpIOp::create(b, loc_, arith::CmpIPredicate::slt, s, n));
      break;
    }
    case te::BoundsMode::Edge:
      // (Of both ends where one may be left: a thread's neighbours to the left and to the right then read what they share at one place.)
      s = arith::MaxSIOp::create(b, loc_, zero, arith::MinSIOp::create(b, loc_, s, last));
      break;
    case te::BoundsMode::Wrap: s = floorMod(s, n); break;
    case te::BoundsMode::Reflect: {
      // Period 2 (n - 1): fold into it, then fold the second half back.
      Value period = arith::MaxSIOp::create(b, loc_, one, c_.mul(last, 2, loc_));
      Value t = floorMod(s, period);
      s = arith::MinSIOp::create(b, loc_, t, arith::SubIOp::create(b, loc_, period, t));
      s = arith::MaxSIOp::create(b, loc_, zero, arith::MinSIOp::create(b, loc_, s, last));
      break;
    }
    default: break;
    }
  }
  return inside;
}

Value AccessLowering::insideAlong(int64_t d, Value at, int64_t points) {
  Location loc = c_.named(c_.indexName(d) + "_inside", loc_);
  Value end = c_.expand(c_.func.getExtent(d) - (points - 1), {}, loc_);
  Value below = arith::CmpIOp::create(c_.b, loc, arith::CmpIPredicate::slt, at, end);
  if (!c_.func.isAlignedAlong(unsigned(d)))
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
