// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/Limits.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace kernelc::te {

void addLimit(KernelOp kernel, const Limit &limit) {
  Builder b(kernel);
  auto map = AffineMap::get(0, kernel.getNumSizes(), limit.count);
  auto entry =
      b.getDictionaryAttr({b.getNamedAttr("count", AffineMapAttr::get(map)), b.getNamedAttr("below", b.getI64IntegerAttr(limit.below)),
                           b.getNamedAttr("what", b.getStringAttr(limit.what))});
  SmallVector<Attribute> all;
  if (ArrayAttr known = kernel.getLimitsAttr())
    all.assign(known.begin(), known.end());
  if (!llvm::is_contained(all, entry))
    all.push_back(entry);
  kernel.setLimitsAttr(b.getArrayAttr(all));
}

SmallVector<Limit> getLimits(KernelOp kernel) {
  SmallVector<Limit> limits;
  if (ArrayAttr all = kernel.getLimitsAttr())
    for (auto entry : all.getAsRange<DictionaryAttr>())
      limits.push_back({entry.getAs<AffineMapAttr>("count").getValue().getResult(0), entry.getAs<IntegerAttr>("below").getInt(),
                        entry.getAs<StringAttr>("what").str()});
  return limits;
}

} // namespace kernelc::te
