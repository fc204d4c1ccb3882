// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes as numbers in a kernel that was checked for all sizes. See Emit.h.
#include "frontend/Emit.h"
#include "ir/te/TeShape.h"

using namespace mlir;

namespace kernelc::frontend {

void fixSizes(te::KernelOp kernel, const Constants &sizes) {
  if (sizes.empty())
    return;
  Builder builder(kernel.getContext());
  SmallVector<AffineExpr> values;
  SmallVector<Attribute> open;
  for (unsigned i = 0; i < kernel.getNumSizes(); ++i) {
    auto it = sizes.find(kernel.getSizeName(i).str());
    if (it != sizes.end()) {
      values.push_back(builder.getAffineConstantExpr(std::get<int64_t>(it->second)));
      continue;
    }
    values.push_back(builder.getAffineSymbolExpr(open.size()));
    open.push_back(builder.getStringAttr(kernel.getSizeName(i)));
  }
  te::replaceSizes(kernel, values, open.size());
  kernel.setSizesAttr(builder.getArrayAttr(open));
}

} // namespace kernelc::frontend
