// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/ProductRounds.h"

#include <algorithm>

namespace kernelc::te {

int64_t roundsInAccumulators(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  if (l.unit != "wgmma" || !l.producerWarps || !l.promote || !c.partScales.empty() || c.where || !form || form->aInRegisters ||
      form->bInRegisters)
    return 1;
  int64_t products = 1; // of a round
  for (unsigned d : c.k)
    products *= l.tiles[dims[d]];
  return std::max<int64_t>(1, l.promote / products);
}

} // namespace kernelc::te
