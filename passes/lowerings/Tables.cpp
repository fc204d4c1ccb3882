// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/lowerings/Tables.h"

#include "passes/index/Affine.h"
#include "passes/tile/Access.h"
#include "support/Saturating.h"

using namespace mlir;

namespace kernelc {
namespace {

/// How many elements of the tensor a load reads for one block, at least.
Count readsOf(ThreadCode &c, tile::LoadOp op) {
  te::SizeFacts facts{c.func.getSizeDiv(), c.func.getSizeMax()};
  ArrayRef<int64_t> shape = op.getResult().getType().getShape();
  Count reads = 1;
  for (auto [d, points] : llvm::enumerate(shape)) {
    bool isGrid = llvm::is_contained(c.func.getGridDims(), int64_t(d)), isUsed = points > 1 || op.getMap().isFunctionOfDim(unsigned(d));
    int64_t most = te::knownMax(c.func.getExtent(unsigned(d)), facts);
    if (isUsed)
      reads *= isGrid || most < 0 ? points : most;
  }
  return reads;
}

/// The elements of `base`, where they are a table; 0 where they are none.
int64_t elementsOfTable(ThreadCode &c, const ThreadCosts &costs, Value base) {
  Count elements = 1, reads = 0; // (of one block)
  for (AffineExpr e : shapeOfBase(c.func, base).getResults()) {
    auto extent = dyn_cast<AffineConstantExpr>(e);
    if (!extent)
      return 0;
    elements *= std::max<int64_t>(extent.getValue(), 0);
  }
  unsigned bits = cast<MemRefType>(base.getType()).getElementTypeBitWidth();
  if (bits < 8 || elements > Count(costs.mostTableBytes * 8 / bits) || layoutOfBase(c.func, base).strides)
    return 0;
  for (Operation *user : base.getUsers()) {
    auto load = dyn_cast<tile::LoadOp>(user);
    if (!load || load.getBase() != base || load.getIndexTiles().empty())
      return 0;
    reads = reads + readsOf(c, load);
  }
  return reads >= elements * costs.readsOfTable ? int64_t(elements) : 0;
}

} // namespace

void openTables(ThreadCode &c, const ThreadCosts &costs) {
  for (BlockArgument base : c.func.getBlock().getArguments()) {
    int64_t elements = isa<MemRefType>(base.getType()) && !base.use_empty() ? elementsOfTable(c, costs, base) : 0;
    if (elements == 0)
      continue;
    Location loc = cu::unnamed(c.func.getLoc());
    Value global = c.bases.lookup(base);
    std::string name = cu::findName(base.getLoc()).str();
    Value copy = c.sharedArray(elements, cast<MemRefType>(base.getType()).getElementType(), loc, name + "_table");
    cu::CommentOp::create(c.b, loc, "Bring the table " + name + ".");
    shareOut(c, elements, c.kernel.getThreads(), "t", loc,
             [&](Value t) { memref::StoreOp::create(c.b, loc, memref::LoadOp::create(c.b, loc, global, t), copy, t); });
    c.bases[base] = copy;
  }
}

} // namespace kernelc
