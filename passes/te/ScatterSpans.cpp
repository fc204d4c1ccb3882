// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Points of a scatter that data of other indices bounds along one index: those of a span meet before they are scattered.
#include "passes/te/ScatterSorter.h"

#include "ir/te/Hints.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Reduction.h"
#include "passes/index/TileCondition.h"

using namespace mlir;

namespace kernelc::te {

/// The index of which data of others says where it begins and ends, and that no subscript tells apart.
std::optional<unsigned> ScatterSorter::findSpan() {
  Value condition = op_.getYield().getCondition();
  if (!condition || op_.isUnique())
    return std::nullopt;
  llvm::BitVector named(op_.getNumDims()), begins(op_.getNumDims()), ends(op_.getNumDims());
  for (Value s : op_.getSubscripts())
    named |= findSupport(s, op_.getNumDims());
  for (Value part : splitConjuncts(condition)) {
    std::optional<LinearBound> bound = findLinearBound(part);
    auto d = bound ? dyn_cast<AffineDimExpr>(bound->form) : AffineDimExpr(nullptr);
    llvm::BitVector by = d ? findSupport(bound->bound, op_.getNumDims()) : llvm::BitVector(op_.getNumDims());
    if (by.none() || by[d.getPosition()] || named[d.getPosition()])
      continue;
    using P = arith::CmpIPredicate;
    (bound->relation == P::sge || bound->relation == P::sgt ? begins : ends).set(d.getPosition());
  }
  begins &= ends;
  return begins.any() ? std::optional<unsigned>(begins.find_first()) : std::nullopt;
}

/// The reduction of each span's points.
ReduceOp ScatterSorter::reduceSpans(ArrayRef<unsigned> order) {
  AffineMap extents = op_.getExtents();
  SmallVector<AffineExpr> all, at(order.size());
  SmallVector<Attribute> names;
  for (auto [place, d] : llvm::enumerate(order)) {
    all.push_back(extents.getResult(d));
    names.push_back(op_.getIndices()[d]);
    at[d] = dim(place);
  }
  IntegerSetAttr where;
  if (std::optional<IntegerSet> set = op_.getCondition())
    where = IntegerSetAttr::get(set->replaceDimsAndSymbols(at, {}, all.size(), set->getNumSymbols()));
  auto spans =
      ReduceOp::create(b, loc(), typeOf(ArrayRef(all).drop_back(), op_.getValue().getType()), *op_.getKind(), b.getArrayAttr(names),
                       all.size() - 1, over(all), where, Value(), AffineMapAttr(), AffineMapAttr(), named("_spans"));
  fill(spans.getBody(), all.size(), [&](ValueRange indices) {
    SmallVector<Value> original(order.size());
    for (auto [place, d] : llvm::enumerate(order))
      original[d] = indices[place];
    Value value = op_.getValue(), condition = op_.getYield().getCondition();
    IRMapping body = cloneBody({value, condition}, original);
    YieldOp::create(b, loc(), ValueRange{body.lookupOrDefault(value)}, body.lookupOrDefault(condition));
  });
  return spans;
}

/// y[p(b)] += x[b, i] for off[b] <= i < off[b + 1]  →  s[b] = sum over i of x[b, i],  y[p(b)] += s[b]
ScatterOp ScatterSorter::takeSpans(unsigned walked) {
  SmallVector<unsigned> order;
  for (unsigned d = 0; d < op_.getNumDims(); ++d)
    if (d != walked)
      order.push_back(d);
  order.push_back(walked);
  ReduceOp spans = reduceSpans(order);
  SmallVector<AffineExpr> left;
  SmallVector<Attribute> names;
  for (unsigned d : ArrayRef(order).drop_back()) {
    left.push_back(op_.getExtents().getResult(d));
    names.push_back(op_.getIndices()[d]);
  }
  auto rest =
      ScatterOp::create(b, loc(), cast<RankedTensorType>(op_.getResult().getType()), op_.getKindAttr(), b.getArrayAttr(names), over(left),
                        IntegerSetAttr(), op_.getInit(), op_.getShape(), op_.getNameAttr(), op_.getGuarded(), op_.getAnyOrder());
  copyHints(op_, rest);
  SmallVector<Value> roots(op_.getSubscripts());
  for (Value part : splitConjuncts(op_.getYield().getCondition()))
    if (!findSupport(part, op_.getNumDims())[walked])
      roots.push_back(part);
  fill(rest.getBody(), left.size(), [&](ValueRange indices) {
    SmallVector<Value> original(op_.getNumDims());
    for (auto [d, v] : llvm::zip(order, indices))
      original[d] = v;
    IRMapping body = cloneBody(roots, original);
    Value found = read(spans.getResult(), indices), counts;
    SmallVector<Value> yields{found};
    for (auto [n, root] : llvm::enumerate(roots)) {
      if (n < op_.getSubscripts().size())
        yields.push_back(body.lookupOrDefault(root));
      else
        counts = both(counts, body.lookupOrDefault(root));
    }
    // What nothing was found in changes nothing, where that is one value.
    if (bool isOne = op_.getKind() == Combiner::Min || op_.getKind() == Combiner::Max; isOne && found.getType().isInteger()) {
      Value none = arith::ConstantOp::create(b, loc(), cast<TypedAttr>(identityOf(*op_.getKind(), found.getType(), b)));
      counts = both(counts, compare(arith::CmpIPredicate::ne, found, none));
    }
    YieldOp::create(b, loc(), yields, counts);
  });
  op_.replaceAllUsesWith(rest.getOperation());
  op_.erase();
  return rest;
}

} // namespace kernelc::te
