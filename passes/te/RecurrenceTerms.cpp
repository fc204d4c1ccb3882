// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Terms of te.recurrence that reduce the same are one: what a text names once and uses twice stands in the op as often as it is used.
#include "passes/te/RecurrenceTerms.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// Dim `d` of the op without term `gone`'s: its own dims are those of `kept`.
SmallVector<AffineExpr> dimsWithout(RecurrenceOp op, unsigned kept, unsigned gone) {
  SmallVector<unsigned> keptDims = op.getReducedDims(kept), goneDims = op.getReducedDims(gone);
  SmallVector<AffineExpr> dims;
  unsigned left = 0;
  for (unsigned d = 0; d < op.getNumDims(); ++d)
    dims.push_back(llvm::is_contained(goneDims, d) ? AffineExpr() : getAffineDimExpr(left++, op.getContext()));
  for (auto [own, other] : llvm::zip_equal(goneDims, keptDims)) // (terms of `kept` stand before)
    dims[own] = dims[other];
  return dims;
}

IntegerSet setWithout(IntegerSet set, ArrayRef<AffineExpr> dims, unsigned left) {
  SmallVector<AffineExpr> constraints;
  for (AffineExpr e : set.getConstraints())
    constraints.push_back(e.replaceDims(dims));
  return IntegerSet::get(left, set.getNumSymbols(), constraints, set.getEqFlags());
}

/// Whether the two have the same statements, their own reduced dims apart.
bool isSameTerm(RecurrenceOp op, unsigned one, unsigned other) {
  SmallVector<unsigned> dims = op.getReducedDims(one), otherDims = op.getReducedDims(other);
  if (op.getKind(one) != op.getKind(other) || dims.size() != otherDims.size())
    return false;
  ArrayRef<AffineExpr> extents = op.getExtents().getResults();
  for (auto [d, o] : llvm::zip_equal(dims, otherDims))
    if (extents[d] != extents[o])
      return false;
  SmallVector<AffineExpr> renamed = dimsWithout(op, one, other);
  unsigned left = op.getNumDims() - unsigned(dims.size());
  if (setWithout(op.getRange(one), renamed, left) != setWithout(op.getRange(other), renamed, left))
    return false;
  Block &block = op.getTerms()[one].front(), &otherBlock = op.getTerms()[other].front();
  llvm::DenseMap<Value, Value> same; // of the second block, in the first
  for (unsigned d = 0; d < op.getNumDims(); ++d)
    same[otherBlock.getArgument(d)] = block.getArgument(d);
  for (auto [d, o] : llvm::zip_equal(dims, otherDims))
    same[otherBlock.getArgument(o)] = block.getArgument(d);
  for (unsigned k = 0; k < one; ++k)
    same[otherBlock.getArgument(op.getNumDims() + k)] = block.getArgument(op.getNumDims() + k);
  same[otherBlock.getArguments().back()] = block.getArguments().back();
  if (block.getOperations().size() != otherBlock.getOperations().size())
    return false;
  auto isSame = [&](Value a, Value b) { return success(a == (same.contains(b) ? same.lookup(b) : b)); };
  auto mark = [&](Value a, Value b) { same[b] = a; };
  return llvm::all_of(llvm::zip_equal(block, otherBlock), [&](auto pair) {
    return OperationEquivalence::isEquivalentTo(&std::get<0>(pair), &std::get<1>(pair), isSame, mark,
                                                OperationEquivalence::IgnoreLocations);
  });
}

/// `block` with the arguments of the op without term `gone`.
void dropArguments(RecurrenceOp op, Block &block, unsigned kept, unsigned gone, bool hasValue) {
  if (hasValue) { // what the two come to
    block.getArgument(op.getNumDims() + gone).replaceAllUsesWith(block.getArgument(op.getNumDims() + kept));
    block.eraseArgument(op.getNumDims() + gone);
  }
  for (auto [d, other] : llvm::reverse(llvm::zip_equal(op.getReducedDims(gone), op.getReducedDims(kept)))) {
    block.getArgument(d).replaceAllUsesWith(block.getArgument(other));
    block.eraseArgument(d);
  }
}

RecurrenceOp mergeTerms(RecurrenceOp op, unsigned kept, unsigned gone) {
  OpBuilder b(op);
  SmallVector<AffineExpr> dims = dimsWithout(op, kept, gone);
  SmallVector<unsigned> goneDims = op.getReducedDims(gone);
  unsigned left = op.getNumDims() - unsigned(goneDims.size());
  auto without = [&](ArrayAttr all) {
    SmallVector<Attribute> some(all.getValue());
    some.erase(some.begin() + gone);
    return some;
  };
  SmallVector<Attribute> indices, ranges;
  SmallVector<AffineExpr> extents;
  for (unsigned d = 0; d < op.getNumDims(); ++d)
    if (!llvm::is_contained(goneDims, d)) {
      indices.push_back(op.getIndices()[d]);
      extents.push_back(op.getExtents().getResult(d));
    }
  for (Attribute range : without(op.getRanges()))
    ranges.push_back(IntegerSetAttr::get(setWithout(cast<IntegerSetAttr>(range).getValue(), dims, left)));
  SmallVector<int64_t> counts(op.getCounts());
  counts.erase(counts.begin() + gone);
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.set(op.getIndicesAttrName(), b.getArrayAttr(indices));
  attributes.set(op.getExtentsAttrName(), AffineMapAttr::get(AffineMap::get(0, op.getExtents().getNumSymbols(), extents, op.getContext())));
  if (auto set = op.getCondition())
    attributes.set(op.getConditionAttrName(), IntegerSetAttr::get(setWithout(*set, dims, left)));
  attributes.set(op.getKindsAttrName(), b.getArrayAttr(without(op.getKinds())));
  attributes.set(op.getCountsAttrName(), b.getDenseI64ArrayAttr(counts));
  attributes.set(op.getRangesAttrName(), b.getArrayAttr(ranges));
  OperationState state(op.getLoc(), op->getName().getStringRef(), op->getOperands(), op->getResultTypes(), attributes);
  SmallVector<Region *> regions{&op.getBody()};
  dropArguments(op, op.getBlock(), kept, gone, true);
  for (unsigned k = 0; k < op.getNumTerms(); ++k)
    if (k != gone) {
      dropArguments(op, op.getTerms()[k].front(), kept, gone, k > gone);
      regions.push_back(&op.getTerms()[k]);
    }
  for (Region *region : regions)
    state.addRegion()->takeBody(*region);
  return cast<RecurrenceOp>(b.create(state));
}

/// One pair of equal terms at a time: those that read what they come to are equal then, too.
RecurrenceOp mergeOne(RecurrenceOp op) {
  for (unsigned other = 1; other < op.getNumTerms(); ++other)
    for (unsigned one = 0; one < other; ++one)
      if (isSameTerm(op, one, other))
        return mergeTerms(op, one, other);
  return {};
}

} // namespace

void shareTerms(RecurrenceOp op) {
  while (RecurrenceOp fewer = mergeOne(op)) {
    op.getResult().replaceAllUsesWith(fewer.getResult());
    op.erase();
    op = fewer;
  }
}

} // namespace kernelc::te
