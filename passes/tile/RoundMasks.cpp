// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/RoundMasks.h"

#include "ir/tile/Tile.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

void foldTrue(Value condition) {
  OpBuilder b(condition.getContext());
  b.setInsertionPointAfterValue(condition);
  auto type = cast<RankedTensorType>(condition.getType());
  Value always = arith::ConstantOp::create(b, condition.getLoc(), type, SplatElementsAttr::get(type, true));
  for (Operation *user : llvm::make_early_inc_range(condition.getUsers())) {
    if (auto spread = dyn_cast<BroadcastOp>(user))
      foldTrue(spread.getResult());
    else if (auto select = dyn_cast<arith::SelectOp>(user); select && select.getCondition() == condition)
      select.getResult().replaceAllUsesWith(select.getTrueValue());
    else if (auto both = dyn_cast<arith::AndIOp>(user))
      both.getResult().replaceAllUsesWith(both.getLhs() == condition ? both.getRhs() : both.getLhs());
    else if (auto slot = dyn_cast<RingMaskOp>(user))
      slot.erase();
  }
  condition.replaceAllUsesWith(always);
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
