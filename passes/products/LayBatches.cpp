// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-lay-batches: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/LinearRead.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TELAYBATCHES
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Rows begin at whole sectors: memory that is written in part is read before.
constexpr int64_t kSectorBytes = 32;

/// Whether statements alone read the product's results, of which one reduces over a batch: it cannot stand in the product's launch, which
/// leaves the results in memory.
bool isReduced(ReduceOp product, const Contraction &c) {
  bool reduced = false;
  for (Operation *user : product.getResult().getUsers()) {
    auto read = dyn_cast<ReadOp>(user);
    if (!read || !isUnchecked(read)) // (a bounds form asks where the results end; rows are longer)
      return false;
    Operation *reader = read->getParentOp();
    auto isReduced = [&](unsigned index) { return index >= getNumParallel(reader); };
    reduced |= llvm::any_of(c.batch, [&](unsigned d) { return movesWith(read, read.getMapOrIdentity().getResult(d), isReduced); });
  }
  return reduced;
}

/// p[a.., b] → p[b, a..], b the batches.
void layOut(ReduceOp product, const Contraction &c) {
  unsigned rank = product.getNumParallel(), symbols = product.getExtents().getNumSymbols();
  SmallVector<unsigned> order(c.batch);
  llvm::sort(order);
  for (unsigned d = 0; d < rank; ++d)
    if (!llvm::is_contained(c.batch, d))
      order.push_back(d);
  MLIRContext *context = product.getContext();
  auto permuted = [&](ArrayRef<AffineExpr> list) -> SmallVector<AffineExpr> {
    return llvm::map_to_vector(order, [&](unsigned d) { return list[d]; });
  };
  SmallVector<AffineExpr> dims = llvm::map_to_vector(llvm::seq(rank), [&](unsigned d) { return getAffineDimExpr(d, context); });
  OpBuilder b(context);
  b.setInsertionPointAfter(product);
  Location loc = product.getLoc();
  ArrayRef<AffineExpr> extents = product.getExtents().getResults().take_front(rank);
  SmallVector<AffineExpr> rows = permuted(extents);
  int64_t sector = kSectorBytes / std::max(1u, product.getResult().getType().getElementTypeBitWidth() / 8);
  rows.back() = simplifyAffineExpr(rows.back().ceilDiv(sector) * sector, 0, symbols);
  auto shape = AffineMap::get(0, symbols, rows, context);
  auto laid = ComputeOp::create(b, loc, product.getResult().getType(), b.getArrayAttr(product.getIndices().getValue().take_front(rank)),
                                AffineMap::get(0, symbols, extents, context), IntegerSetAttr(), Value(),
                                AffineMapAttr::get(AffineMap::get(rank, symbols, permuted(dims), context)), AffineMapAttr::get(shape),
                                product.getNameAttr(), false);
  SmallVector<Operation *> readers(product.getResult().getUsers());
  Block &body = laid.getBody().emplaceBlock();
  for (unsigned d = 0; d < rank; ++d)
    body.addArgument(b.getIndexType(), loc);
  b.setInsertionPointToStart(&body);
  Value element = ReadOp::create(b, loc, product.getResult().getType().getElementType(), product.getResult(),
                                 llvm::to_vector_of<Value>(body.getArguments()), AffineMapAttr(),
                                 BoundsModeAttr::get(context, BoundsMode::InBounds), Value());
  YieldOp::create(b, loc, element, Value());
  for (Operation *reader : readers) {
    auto read = cast<ReadOp>(reader);
    AffineMap map = read.getMapOrIdentity();
    read.setMapAttr(AffineMapAttr::get(AffineMap::get(map.getNumDims(), map.getNumSymbols(), permuted(map.getResults()), context)));
    read.getTensorMutable().assign(laid.getResult());
  }
}

struct TeLayBatchesPass : impl::TeLayBatchesBase<TeLayBatchesPass> {
  void runOnOperation() override {
    for (ReduceOp product : getOperation().getBlock().getOps<ReduceOp>()) {
      std::optional<Contraction> c = findContraction(product);
      if (c && !product.getOutMap() && !product.getInit() && llvm::is_contained(c->batch, product.getNumParallel() - 1) &&
          isReduced(product, *c))
        layOut(product, *c);
    }
  }
};

} // namespace
} // namespace kernelc
