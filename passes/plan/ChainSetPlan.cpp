// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles, warps and slots of launches with a set of chained products.
#include "passes/plan/ChainSets.h"
#include "passes/plan/Scheduler.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

namespace {
/// Of 16-bit operands.
constexpr int64_t kBytes = 2;
} // namespace

ArrayRef<int64_t> Scheduler::dimsOf(const LaunchPlan &l, Operation *op) {
  auto member = llvm::find_if(l.ops, [&](int64_t o) { return ops_[o] == op; });
  return member == l.ops.end() ? ArrayRef<int64_t>() : ArrayRef<int64_t>(l.dims[member - l.ops.begin()]);
}

bool Scheduler::scheduleChainSet(LaunchPlan &l, const ChainSet &set) {
  const SetReader &first = set.readers.front();
  ArrayRef<int64_t> dims = dimsOf(l, first.op);
  int64_t columns = dims[first.columns().front()], walked = dims[first.walked];
  bool isOne = llvm::any_of(set.producers, [&](ReduceOp producer) { return dimsOf(l, producer).back() == columns; });
  for (LaunchPlan &p : chainsOfRows(l, first.rows(), first.product.batch, dims))
    for (int64_t j : {128, 64}) {
      p.tiles[columns] = isOne ? tileOfOneIndex(extentMax(p, columns)) : tileOfColumns(extentMax(p, columns));
      p.tiles[walked] = clampTile(p, walked, j);
      bool resides = true;
      for (ReduceOp producer : set.producers)
        if (int64_t summed = dimsOf(p, producer).back(); summed != columns)
          resides &= assignSummed(p, summed);
      LaunchPlan fitted = p; // (its parts and stages are for these tiles)
      if (!resides || !fitsChainSet(fitted, set))
        continue;
      fitted.clusterIndex = dims[first.rows().front()];
      if (!set.added.empty())
        fitted.raster = costs_.added.raster;
      l = fitted;
      return true;
    }
  return false;
}

bool Scheduler::fitsChainSet(LaunchPlan &p, const ChainSet &set) {
  const SetReader &first = set.readers.front();
  ArrayRef<int64_t> dims = dimsOf(p, first.op);
  int64_t m = tileProduct(p, first.rows(), dims), n = tileProduct(p, first.columns(), dims), j = p.tiles[dims[first.walked]];
  if (m % 64 || j < 16)
    return false;
  int64_t needed = registersOf(set, m, n, j, p.warps * 32, costs_.chains);
  if (needed > registerShares(p).consumer)
    p.producerRegisters = costs_.chains.fewestRegisters;
  if (needed > registerShares(p).consumer)
    return false;
  std::string why;
  int64_t once = 0, each = 0;
  SmallVector<std::pair<Value, SmallVector<int64_t>>> boxes; // by what they are read at
  auto bring = [&](Operation *op, Value factor, ArrayRef<unsigned> outer, ArrayRef<unsigned> k) {
    ArrayRef<int64_t> own = dimsOf(p, op);
    ReadOp read = findOperandRead(factor);
    auto isWalked = [&](int64_t index) { return llvm::is_contained(p.loops, index); };
    if (!canFeedWgmma(p, factor, outer, k, own, why))
      return false;
    std::pair box(Value(read.getTensor()), llvm::map_to_vector(read.getOperands_(), [&](Value v) { return own[*findIndex(op, v)]; }));
    if (llvm::is_contained(boxes, box))
      return true;
    boxes.push_back(box);
    (llvm::any_of(box.second, isWalked) ? each : once) += tileProduct(p, outer, own) * tileProduct(p, k, own) * kBytes;
    return true;
  };
  for (ReduceOp producer : set.producers) {
    Contraction c = *findContraction(producer);
    if (!bring(producer, c.a, c.m, c.k) || !bring(producer, c.b, c.n, c.k))
      return false;
  }
  for (const SetReader &r : llvm::concat<const SetReader>(set.readers, set.added))
    if (!bring(r.op, r.other(), r.columns(), r.product.k))
      return false;
  once += m * j * kBytes * int64_t(set.added.size()); // what lies across their rows, on its way
  each += bytesBeside(p, indicesOf(first.rows(), dims), dims[first.walked]);
  fitPart(p, n);
  StoredBytes stored = storedBytes(p);
  auto stagesBeside = [&](int64_t part) {
    int64_t staged = m * part * (stored.boxes * std::min<int64_t>(2, n / part) + stored.turned);
    return (target_.maxSharedPerBlock - kBesideSlots - once - staged) / each;
  };
  while (p.part > 16 && stagesBeside(p.part) < 2)
    p.part /= 2;
  p.stages = std::min<int64_t>(stagesBeside(p.part), costs_.chains.mostStages);
  return p.part >= 16 && p.stages >= 2;
}

} // namespace kernelc::te
