// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-clamp-loads: see Passes.td.
#include "passes/Passes.h"

#include "ir/tile/States.h"
#include "passes/tile/Access.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILECLAMPLOADS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

/// What reads, computes, combines and writes points of tiles, each for itself except along the dims of reductions.
bool isPointwise(Operation *op) {
  return isa<FuncOp, scf::ForOp, scf::IfOp, LoadOp, StoreOp, ClusterReduceOp>(op) ||
         (isStraight(op) && !isa<DotOp>(op) && isMemoryEffectFree(op));
}

/// The indices of the grid along which no point of a tile meets another, and all that sticks out of the extent is left
/// unwritten.
llvm::BitVector findSeparate(FuncOp func) {
  llvm::BitVector separate(func.getRank());
  for (int64_t d : func.getGridDims())
    separate.set(unsigned(d));
  if (func.getCluster() > 1)
    separate.reset(unsigned(func.getClusterIndex()));
  if (std::optional<AlignedRows> rows = func.findAlignedRows()) // (whose last vector does not end with the extent)
    separate.reset(rows->index);
  func.walk([&](Operation *op) {
    if (!isPointwise(op))
      separate.reset();
    if (auto reduce = dyn_cast<ReduceOp>(op))
      for (int64_t d : reduce.getDims())
        separate.reset(unsigned(d));
    if (auto scan = dyn_cast<ScanOp>(op))
      separate.reset(unsigned(scan.getDim()));
    if (auto store = dyn_cast<StoreOp>(op))
      for (auto [d, points] : llvm::enumerate(store.getValue().getType().getShape()))
        if (points > 1 && !llvm::is_contained(store.getMask(), int64_t(d)))
          separate.reset(unsigned(d));
  });
  return separate;
}

/// How many places along index `d` a thread reads from, a vector being one.
int64_t placesOf(FuncOp func, LoadOp load, int64_t d) {
  Layout layout = getLayout(load.getResult());
  int64_t places = 1;
  for (const Digit &digit : layout.reg)
    places *= digit.dim == d ? digit.size : 1;
  ContiguousRun run = contiguousRun(func, load.getBase(), load.getMap(), load.getResult().getType().getShape());
  if (run.dim != d || layout.reg.empty() || layout.reg[0].dim != d || layout.reg[0].stride != 1)
    return places;
  int64_t bytes = std::max(1u, cast<MemRefType>(load.getBase().getType()).getElementTypeBitWidth() / 8);
  return places / std::max<int64_t>(1, provableVector(func, load.getBase(), load.getMap(), run, /*masked=*/true,
                                                      std::min<int64_t>(16 / bytes * run.perElement, layout.reg[0].size)));
}

/// Whether the load's bounds form keeps each subscript inside the tensor, wherever its point is, and has the points beyond an extent read
/// next to nothing (`wrap` and `reflect` divide, and read elements all over).
bool isKeptInside(LoadOp load) { return llvm::is_contained({te::BoundsMode::Pad, te::BoundsMode::Edge}, load.getBounds()); }

/// Whether the mask of index `d` spares the bounds form a question: it keeps a subscript, that index, inside by itself.
bool sparesBounds(FuncOp func, LoadOp load, int64_t d) {
  AffineMap shape = shapeOfBase(func, load.getBase());
  return llvm::any_of(llvm::zip(load.getMap().getResults(), shape.getResults()),
                      [&](auto at) { return findOwnIndex(func, std::get<0>(at), std::get<1>(at)) == d; });
}

struct TileClampLoadsPass : impl::TileClampLoadsBase<TileClampLoadsPass> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (func.walk([](LoadOp load) {
              if (isa_and_nonnull<LayoutAttr>(load.getResult().getType().getEncoding()))
                return WalkResult::advance();
              load.emitOpError() << "makes a tile without a layout; run tile-layouts first";
              return WalkResult::interrupt();
            })
            .wasInterrupted())
      return signalPassFailure();
    llvm::BitVector separate = findSeparate(func);
    llvm::DenseSet<int64_t> written; // another block may be writing what lies inside
    func.walk([&](StoreOp store) { written.insert(func.getSources()[cast<BlockArgument>(store.getBase()).getArgNumber()]); });
    func.walk([&](LoadOp load) {
      if (written.contains(func.getSources()[cast<BlockArgument>(load.getBase()).getArgNumber()]))
        return;
      if (isKeptInside(load))
        load.setMask(
            llvm::filter_to_vector(load.getMask(), [&](int64_t d) { return !separate.test(unsigned(d)) || sparesBounds(func, load, d); }));
      else if (func.getClamp() && load->getParentOfType<scf::ForOp>() && load.getIndexTiles().empty())
        load.setClamp(llvm::filter_to_vector(
            load.getMask(), [&](int64_t d) { return separate.test(unsigned(d)) && placesOf(func, load, d) <= int64_t(func.getClamp()); }));
    });
  }
};

} // namespace
} // namespace kernelc
