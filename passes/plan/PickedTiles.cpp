// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/PickedTiles.h"

#include "ir/te/Marks.h"
#include "passes/analysis/CascadeMasks.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/TileCondition.h"

#include <numeric>

using namespace mlir;

namespace kernelc::te {

SmallVector<PickingMask> findPickingMasks(CascadeOp op, const LaunchPlan &launch, ArrayRef<Operation *> ops, ArrayRef<int64_t> dims,
                                          int64_t walked, const ChainCosts &costs) {
  auto isMadeHere = [&](ReadOp read) { return isMadeIn(launch, ops, read.getTensor()); };
  SmallVector<PickingMask> picking;
  if (launch.cluster > 1)
    return picking;
  for (Value part : findPointMasks(op)) {
    if (findLinearBound(part) || kImplied.isOn(part.getDefiningOp()) || llvm::any_of(findReads(part), isMadeHere))
      continue;
    PickingMask mask{part, SmallVector<int64_t>(dims.size(), 0), true};
    int64_t pieces = 1;
    bool isOfWalk = false;
    for (unsigned d : findSupport(part, dims.size()).set_bits()) {
      int64_t tile = launch.tiles[dims[d]], uniform = findUniformTile(part, d);
      mask.piece[d] = std::gcd(tile, std::max<int64_t>(uniform, 1));
      pieces *= tile / mask.piece[d];
      isOfWalk |= dims[d] == walked;
    }
    mask.isWhole = pieces == 1;
    if (isOfWalk && pieces <= costs.mostPieces)
      picking.push_back(std::move(mask));
  }
  return picking;
}

bool mayPickTiles(const LaunchPlan &launch, ArrayRef<Operation *> ops, const ChainCosts &costs) {
  LaunchPlan usual = launch;
  usual.cluster = 1;
  usual.tiles.assign(launch.indices.size(), 128);
  return llvm::any_of(llvm::zip(launch.ops, launch.dims), [&](auto member) {
    auto cascade = dyn_cast<CascadeOp>(ops[std::get<0>(member)]);
    return cascade && !launch.loops.empty() &&
           !findPickingMasks(cascade, usual, ops, std::get<1>(member), launch.loops.front(), costs).empty();
  });
}

} // namespace kernelc::te
