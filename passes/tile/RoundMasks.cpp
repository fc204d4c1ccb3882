// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/RoundMasks.h"

#include "ir/tile/Tile.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

void foldTrue(Value condition) {
  OpBuilder b(condition.getContext());
  b.setInsertionPointAfterValue(condition);
  SmallVector<Value> same{condition}; // and what repeats it
  SmallVector<Operation *> asking;
  for (size_t n = 0; n < same.size(); ++n) {
    for (Operation *user : same[n].getUsers())
      if (auto spread = dyn_cast<BroadcastOp>(user))
        same.push_back(spread.getResult());
      else
        asking.push_back(user);
    auto type = cast<RankedTensorType>(same[n].getType());
    Value always = arith::ConstantOp::create(b, condition.getLoc(), type, SplatElementsAttr::get(type, true));
    same[n].replaceAllUsesWith(always);
  }
  // Nothing else of the round is folded: its sums are those of the rounds that keep their masks.
  RewritePatternSet patterns(b.getContext());
  RingMaskOp::getCanonicalizationPatterns(patterns, b.getContext());
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingOps);
  (void)applyOpPatternsGreedily(asking, std::move(patterns), config);
}

bool isRoundOfProducts(Operation *op) {
  auto loop = dyn_cast_or_null<scf::ForOp>(op);
  return loop && loop->getParentOfType<tile::FuncOp>().getUnit() == Unit::Wgmma &&
         llvm::range_size(loop.getBody()->getOps<tile::DotOp>()) > 1;
}

void dropDead(scf::ForOp loop) {
  // From the end on: what only asked for others goes first.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*loop.getBody())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

} // namespace kernelc
