// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/GroupedContraction.h"

#include "ir/te/Factors.h"
#include "ir/te/TeShape.h"

using namespace mlir;

namespace kernelc::te {

/// Whether rows of reduce's results are reduced (a softmax over keys) on their way into another sum of products: a launch that
/// walks both products reads what a group has in common once, and stores none of the results between them.
static bool isWalkedByProduct(ReduceOp reduce) {
  bool ofRows = false, ofProducts = false;
  for (Operation *read : reduce.getResult().getUsers()) {
    auto reader = dyn_cast<ReduceOp>(read->getParentOp());
    if (!reader || reader.getYield().getValues().size() != 1)
      continue;
    bool isProduct = reader.getKind() == Combiner::Sum && findFactors(reader.getYield().getValues()[0]).size() > 1;
    (isProduct ? ofProducts : ofRows) = true;
  }
  return ofRows && ofProducts;
}

std::optional<Contraction> findGroupedContraction(ReduceOp reduce, unsigned d, const Digits &digits) {
  constexpr int64_t kFewest = 4; // half the columns of a matrix unit; groups of fewer results (depthwise filters) are bound by memory
  auto radix = dyn_cast<AffineConstantExpr>(digits.radix);
  bool areFew = radix && radix.getValue() < kFewest && !isWalkedByProduct(reduce);
  if (areFew || !canSplitParallelDim(reduce, d) || findContraction(reduce))
    return std::nullopt;
  // Tried on a copy, which is erased again.
  OpBuilder b(reduce);
  auto split = cast<ReduceOp>(splitParallelDim(b.clone(*reduce), d, digits));
  std::optional<Contraction> found = findContraction(split);
  auto valuesOf = [](ReduceOp r) {
    return llvm::map_to_vector(findFactors(r.getYield().getValues()[0]), [](OpOperand *use) { return use->get(); });
  };
  SmallVector<Value> there = valuesOf(split), here = valuesOf(reduce);
  auto toHere = [&](Value &factor) {
    auto at = llvm::find(there, factor);
    if (at == there.end())
      return false; // itself a product of some
    factor = here[at - there.begin()];
    return true;
  };
  if (found && !(toHere(found->a) && toHere(found->b)))
    found = std::nullopt;
  if (found) { // values of the copy
    found->where = {};
    for (auto *values : {&found->partScales, &found->sumScales, &found->aMask, &found->bMask})
      values->clear();
  }
  split.erase();
  return found;
}

std::optional<Contraction> findGroupedContraction(ReduceOp reduce) {
  for (unsigned d = 0; d < reduce.getNumParallel(); ++d) {
    DigitUse use;
    for (OpOperand &operand : reduce.getBlock().getArgument(d).getUses())
      if (auto read = dyn_cast<ReadOp>(operand.getOwner()))
        for (AffineExpr e : read.getMapOrIdentity().getResults())
          noteUse(e, operand.getOperandNumber() - 1, use);
    for (AffineExpr radix : use.radices)
      if (std::optional<Contraction> found = findGroupedContraction(reduce, d, {radix, reduce.getExtents().getResult(d).floorDiv(radix)}))
        return found;
  }
  return std::nullopt;
}

} // namespace kernelc::te
