// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/WidenComparisons.h"

#include "ir/te/TeShape.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

/// The index that `v` is a cast of, in 64 bits, if the cast keeps all of its values; null for anything else.
static Value findWideIndex(Value v, const SizeFacts &facts) {
  auto narrow = v.getDefiningOp<arith::TruncIOp>();
  auto wide = narrow && narrow.getIn().getType().isInteger(64) ? narrow.getIn().getDefiningOp<arith::IndexCastOp>() : nullptr;
  auto index = wide ? dyn_cast<BlockArgument>(wide.getIn()) : BlockArgument();
  Operation *op = index ? index.getOwner()->getParentOp() : nullptr;
  if (!op || !isDomainOp(op) || index.getOwner() != &op->getRegion(0).front() || index.getArgNumber() >= getExtents(op).getNumResults())
    return {};
  int64_t extent = knownMax(getExtents(op).getResult(index.getArgNumber()), facts);
  return extent >= 0 && llvm::isUIntN(v.getType().getIntOrFloatBitWidth() - 1, uint64_t(extent)) ? narrow.getIn() : Value();
}

void widenComparisons(KernelOp kernel, const SizeFacts &facts) {
  using P = arith::CmpIPredicate;
  kernel.walk([&](arith::CmpIOp compare) {
    P relation = compare.getPredicate();
    bool isUnsigned = relation == P::ult || relation == P::ule || relation == P::ugt || relation == P::uge;
    Value left = findWideIndex(compare.getLhs(), facts), right = findWideIndex(compare.getRhs(), facts);
    if (isUnsigned || bool(left) == bool(right))
      return;
    OpBuilder b(compare);
    auto widened = [&](Value own, Value index) -> Value {
      return index ? index : arith::ExtSIOp::create(b, compare.getLoc(), b.getI64Type(), own).getResult();
    };
    Value lhs = widened(compare.getLhs(), left), rhs = widened(compare.getRhs(), right);
    compare.getResult().replaceAllUsesWith(arith::CmpIOp::create(b, compare.getLoc(), relation, lhs, rhs));
    compare.erase();
  });
}

} // namespace kernelc::te
