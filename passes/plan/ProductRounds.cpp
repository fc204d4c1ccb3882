// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/ProductRounds.h"
#include "passes/analysis/UnitOperands.h"

#include <algorithm>

using namespace mlir;

namespace kernelc::te {

bool mayShareAccumulators(const Contraction &c) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  return c.partScales.empty() && !c.where && form && !form->aInRegisters && !form->bInRegisters;
}

bool takesColumnsAsRows(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
  std::optional<WarpgroupForm> form = findWarpgroupForm(c);
  if (form && (form->aInRegisters || form->bInRegisters))
    return form->bInRegisters;
  if (l.turned)
    return true;
  int64_t rows = 1;
  bool walksRows = false;
  for (unsigned d : c.m) {
    rows *= l.tiles[dims[d]];
    walksRows |= llvm::is_contained(l.loops, dims[d]);
  }
  return rows < 64 || walksRows;
}

int64_t roundsInAccumulators(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
  if (l.unit != Unit::Wgmma || !l.producerWarps || !l.promote || !mayShareAccumulators(c))
    return 1;
  int64_t products = 1; // of a round
  for (unsigned d : c.k)
    products *= l.tiles[dims[d]];
  return std::max<int64_t>(1, l.promote / products);
}

} // namespace kernelc::te
