// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/ProductRounds.h"

#include <algorithm>

namespace kernelc::te {

bool mayShareAccumulators(const Contraction &c) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  return c.partScales.empty() && !c.where && form && !form->aInRegisters && !form->bInRegisters;
}

int64_t roundsInAccumulators(const LaunchPlan &l, const Contraction &c, llvm::ArrayRef<int64_t> dims) {
  if (l.unit != "wgmma" || !l.producerWarps || !l.promote || !mayShareAccumulators(c))
    return 1;
  int64_t products = 1; // of a round
  for (unsigned d : c.k)
    products *= l.tiles[dims[d]];
  return std::max<int64_t>(1, l.promote / products);
}

} // namespace kernelc::te
