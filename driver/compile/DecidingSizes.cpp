// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/DecidingSizes.h"

#include "ir/te/TeShape.h"

using namespace mlir;

namespace kernelc {

DecidingSizes decidingSizesOf(te::KernelOp kernel) {
  DecidingSizes sizes;
  auto add = [&](AffineExpr e, std::set<std::string> &to) {
    e.walk([&](AffineExpr part) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
        to.insert(kernel.getSizeName(symbol.getPosition()).str());
    });
  };
  for (Operation *op : te::getDomainOps(kernel)) {
    ArrayRef<AffineExpr> extents = te::getExtents(op).getResults();
    if (auto scatter = dyn_cast<te::ScatterOp>(op)) {
      if (scatter.hasOrder() && !scatter.getAnyOrder())
        for (AffineExpr e : llvm::concat<const AffineExpr>(extents, scatter.getShape().getResults()))
          add(e, sizes.scattered);
      continue;
    }
    for (AffineExpr e : extents.drop_front(te::getNumParallel(op)))
      add(e, sizes.walked);
  }
  return sizes;
}

int64_t decidingBound(int64_t n) {
  constexpr int64_t kFirst = 64, kStep = 32, kLast = int64_t(1) << 31;
  int64_t bound = kFirst;
  while (bound < n && bound < kLast)
    bound *= kStep;
  return bound <= kLast && n <= bound ? bound : -1;
}

} // namespace kernelc
