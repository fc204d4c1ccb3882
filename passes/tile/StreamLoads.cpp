// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-stream-loads: see Passes.td.
#include "passes/Passes.h"

#include "ir/tile/Tile.h"
#include "passes/index/Affine.h"
#include "support/Target.h"
#include "support/TargetCosts.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILESTREAMLOADS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

const ThreadCosts &costsOf(FuncOp func) {
  const Target *target = findTarget(absl::string_view(func.getTarget().data(), func.getTarget().size()));
  return (target ? *target->costs : kMeasuredCosts).threads;
}

te::SizeFacts factsOf(FuncOp func) { return {func.getSizeDiv(), func.getSizeMax()}; }

double estimate(FuncOp func, unsigned dim) {
  int64_t most = te::knownMax(func.getExtent(dim), factsOf(func));
  return most < 0 ? costsOf(func).unknownExtent : double(std::max<int64_t>(1, most));
}

/// Bytes behind an access: the extents of the dims in `map` times the element.
double bytesOf(FuncOp func, AffineMap map, Value base) {
  double bytes = std::max(1u, cast<MemRefType>(base.getType()).getElementTypeBitWidth() / 8);
  for (unsigned d = 0; d < func.getRank(); ++d)
    if (map.isFunctionOfDim(d))
      bytes *= estimate(func, d);
  return bytes;
}

/// `e` is `x * stride + y` of two dims where y stays below stride.
bool isTwoDigits(FuncOp func, AffineExpr e) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(e);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return false;
  auto low = dyn_cast<AffineDimExpr>(sum.getRHS());
  auto high = dyn_cast<AffineBinaryOpExpr>(sum.getLHS());
  if (!low || !high || high.getKind() != AffineExprKind::Mul || !isa<AffineDimExpr>(high.getLHS()))
    return false;
  AffineExpr extent = func.getExtent(low.getPosition()), stride = high.getRHS();
  auto limit = dyn_cast<AffineConstantExpr>(stride);
  int64_t most = te::knownMax(extent, factsOf(func));
  return extent == stride || (limit && most >= 0 && most <= limit.getValue());
}

/// Whether few tiles of a launch read each element: indices that are not in the map have few tiles together,
/// and no two indices are in one subscript unless as digits.
bool isReadByFew(FuncOp func, AffineMap map) {
  int64_t readers = 1;
  for (unsigned d = 0; d < func.getRank(); ++d) {
    int64_t uses = llvm::count_if(map.getResults(), [&](AffineExpr e) { return e.isFunctionOfDim(d); });
    if (uses > 1)
      return false;
    if (uses == 1)
      continue;
    int64_t most = te::knownMax(func.getExtent(d), factsOf(func));
    if (most < 0)
      return false;
    readers *= llvm::divideCeil(most, func.getTiles()[d]);
    if (readers > costsOf(func).readers)
      return false;
  }
  return llvm::all_of(map.getResults(), [&](AffineExpr e) {
    llvm::BitVector dims(map.getNumDims());
    te::collectDims(e, dims);
    return dims.count() == 0 || (dims.count() == 1 && te::linearCoefficient(e, unsigned(dims.find_first())).value_or(0) != 0) ||
           isTwoDigits(func, e);
  });
}

struct TileStreamLoadsPass : impl::TileStreamLoadsBase<TileStreamLoadsPass> {
  void runOnOperation() override {
    using Source = std::pair<StringRef, int64_t>; // kernel; parameter, or workspace below zero
    llvm::DenseSet<Source> readLater;
    auto launches = llvm::to_vector(getOperation().getOps<FuncOp>());
    for (FuncOp func : llvm::reverse(launches)) {
      StringRef kernel = func.getKernel();
      llvm::MapVector<Source, SmallVector<LoadOp>> loads;
      double read = 0, written = 0;
      func.walk([&](Operation *op) {
        auto isOwn = [&](Value base) { return isOwnMemory(func.getSources()[cast<BlockArgument>(base).getArgNumber()]); };
        if (auto load = dyn_cast<LoadOp>(op)) {
          auto base = cast<BlockArgument>(load.getBase());
          if (isOwn(base))
            return;
          loads[{kernel, func.getSources()[base.getArgNumber()]}].push_back(load);
          read += bytesOf(func, load.getMap(), load.getBase());
        } else if (auto store = dyn_cast<StoreOp>(op); store && !isOwn(store.getBase())) {
          written += bytesOf(func, store.getMap(), store.getBase());
        } else if (auto scatter = dyn_cast<ScatterOp>(op)) { // to few elements, or as much as it reads
          readLater.insert({kernel, func.getSources()[cast<BlockArgument>(scatter.getBase()).getArgNumber()]});
        }
      });
      for (auto &[source, all] : loads) {
        LoadOp load = all.front();
        if (source.second >= 0 && all.size() == 1 && load.getIndexTiles().empty() && !readLater.contains(source) &&
            isReadByFew(func, load.getMap()) && read >= costsOf(func).readsPerWrite * written)
          load.setStreaming(true);
      }
      for (auto &[source, all] : loads)
        readLater.insert(source);
    }
  }
};

} // namespace
} // namespace kernelc
