// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/AccessSummary.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Strides.h"

using namespace mlir;

namespace kernelc::te {

SmallVector<int64_t> AccessSummary::count(AffineMap map, ArrayRef<int64_t> indices, unsigned distinct, Type element) {
  SmallVector<int64_t> along;
  int64_t bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  widestBytes = std::max(widestBytes, bytes);
  if (map.getNumResults() == 0)
    return along;
  int64_t weight = bytes;
  for (unsigned d = 0; d < distinct && weight < int64_t(1) << 48; ++d)
    weight <<= 8;
  for (auto [d, index] : llvm::enumerate(indices))
    if (index >= 0 &&
        (linearCoefficient(map.getResults().back(), d) == 1 || (element.isInteger(8) && neighboursIn(map.getResults().back(), d)))) {
      contiguousBytes[index] += weight;
      narrowestBytes = std::min(narrowestBytes, bytes);
      widestAlong[index] = std::max(widestAlong[index], bytes);
      along.push_back(index);
    }
  return along;
}

void AccessSummary::countRead(Operation *op, ReadOp read, ArrayRef<int64_t> dims, const SizeFacts &facts) {
  SmallVector<int64_t> operandIndex;
  for (Value v : read.getOperands_()) {
    std::optional<unsigned> dim = findIndex(op, v);
    operandIndex.push_back(dim ? dims[*dim] : -1);
  }
  unsigned distinct = findSupport(read.getResult(), getExtents(op).getNumResults()).count(); // a computed subscript's, too
  for (int64_t index : count(read.getMapOrIdentity(), operandIndex, distinct, read.getTensor().getType().getElementType())) {
    ++contiguousReads[index];
    if (!hasVectorRows(read, facts))
      byElements.set(index);
  }
}

void AccessSummary::countWrites(Operation *op, ArrayRef<int64_t> dims) {
  if (auto scatter = dyn_cast<ScatterOp>(op); scatter && scatter.getShape().getNumResults() > 0)
    if (std::optional<unsigned> last = findIndex(op, scatter.getSubscripts().back()))
      count(AffineMap::get(dims.size(), 0, getAffineDimExpr(*last, op->getContext())), dims, dims.size(),
            scatter.getResult().getType().getElementType());
  if (auto compute = dyn_cast<ComputeOp>(op)) {
    AffineMap out = compute.getOutMapOrIdentity();
    unsigned distinct = llvm::count_if(llvm::seq<unsigned>(0, out.getNumDims()), [&](unsigned d) { return out.isFunctionOfDim(d); });
    count(out, dims, distinct, compute.getResult().getType().getElementType());
  }
}

AccessSummary summarizeAccesses(const LaunchPlan &launch, ArrayRef<Operation *> ops, const SizeFacts &facts) {
  AccessSummary s;
  s.contiguousBytes.assign(launch.indices.size(), 0);
  s.contiguousReads.assign(launch.indices.size(), 0);
  s.byElements.resize(launch.indices.size());
  s.widestAlong.assign(launch.indices.size(), 1);
  // Beside an operand that is streamed nothing else counts.
  bool streams = llvm::any_of(launch.ops, [&](int64_t ordinal) { return !getStreamedDims(ops[ordinal]).empty(); });
  for (auto [ordinal, dims] : llvm::zip(launch.ops, launch.dims)) {
    Operation *op = ops[ordinal];
    if (streams && getStreamedDims(op).empty())
      continue;
    op->walk([&, &dims = dims](ReadOp read) {
      if (isStreamedRead(op, read) && !isMadeIn(launch, ops, read.getTensor()))
        s.countRead(op, read, dims, facts);
    });
    s.countWrites(op, dims);
  }
  return s;
}

int64_t AccessSummary::contiguousIndex() const {
  auto it = llvm::max_element(contiguousBytes);
  return it == contiguousBytes.end() || *it == 0 ? -1 : it - contiguousBytes.begin();
}

} // namespace kernelc::te
