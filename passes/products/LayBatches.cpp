// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-lay-batches: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/LinearRead.h"
#include "passes/plan/Rewrite.h"

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
class BatchLayer {
public:
  struct Site {
    ReduceOp product;
    SmallVector<unsigned> order; ///< of the product's dims in memory
    AffineMap shape;             ///< of the results there
  };
  StringRef name() const { return "te-lay-batches"; }

  FailureOr<std::optional<Site>> find(Operation *statement) {
    auto product = dyn_cast<ReduceOp>(statement);
    std::optional<Contraction> c = product ? findContraction(product) : std::nullopt;
    if (!c || product.getOutMap() || product.getInit() || !llvm::is_contained(c->batch, product.getNumParallel() - 1) ||
        !isReduced(product, *c))
      return std::optional<Site>();
    unsigned rank = product.getNumParallel(), symbols = product.getExtents().getNumSymbols();
    SmallVector<unsigned> order(c->batch);
    llvm::sort(order);
    for (unsigned d = 0; d < rank; ++d)
      if (!llvm::is_contained(c->batch, d))
        order.push_back(d);
    SmallVector<AffineExpr> rows = permuted(order, product.getExtents().getResults());
    int64_t sector = kSectorBytes / std::max(1u, product.getResult().getType().getElementTypeBitWidth() / 8);
    rows.back() = simplifyAffineExpr(rows.back().ceilDiv(sector) * sector, 0, symbols);
    return std::optional(Site{product, order, AffineMap::get(0, symbols, rows, product.getContext())});
  }

  RewriteSketch sketch(const Site &site) const {
    Value results = ReduceOp(site.product).getResult();
    TensorSketch before = sketchTensor(results), laid{site.shape, before.element};
    RewriteSketch s;
    s.make({ComputeOp::getOperationName(), extentsOf(site), unsigned(site.order.size()), {before}, {laid}});
    s.replace(results, {laid});
    return s;
  }

  void apply(const Site &site) {
    ReduceOp product = site.product;
    unsigned rank = product.getNumParallel(), symbols = product.getExtents().getNumSymbols();
    MLIRContext *context = product.getContext();
    SmallVector<AffineExpr> dims = llvm::map_to_vector(llvm::seq(rank), [&](unsigned d) { return getAffineDimExpr(d, context); });
    OpBuilder b(context);
    b.setInsertionPointAfter(product);
    Location loc = product.getLoc();
    auto laid = ComputeOp::create(b, loc, product.getResult().getType(), b.getArrayAttr(product.getIndices().getValue().take_front(rank)),
                                  extentsOf(site), IntegerSetAttr(), Value(),
                                  AffineMapAttr::get(AffineMap::get(rank, symbols, permuted(site.order, dims), context)),
                                  AffineMapAttr::get(site.shape), product.getNameAttr(), false);
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
      read.setMapAttr(
          AffineMapAttr::get(AffineMap::get(map.getNumDims(), map.getNumSymbols(), permuted(site.order, map.getResults()), context)));
      read.getTensorMutable().assign(laid.getResult());
    }
  }

private:
  static SmallVector<AffineExpr> permuted(ArrayRef<unsigned> order, ArrayRef<AffineExpr> list) {
    return llvm::map_to_vector(order, [&](unsigned d) { return list[d]; });
  }
  static AffineMap extentsOf(const Site &site) {
    AffineMap extents = ReduceOp(site.product).getExtents();
    return AffineMap::get(0, extents.getNumSymbols(), extents.getResults().take_front(site.order.size()), extents.getContext());
  }
};

struct TeLayBatchesPass : impl::TeLayBatchesBase<TeLayBatchesPass> {
  void runOnOperation() override {
    if (failed(rewriteEach(getOperation(), BatchLayer())))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
