// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles for windows whose filters are contiguous along the index of their results (each channel has a filter of its own). A block has
// neighbouring windows, which use the same filters, and a thread loads what its windows share once.
#include "passes/plan/Scheduler.h"

#include "ir/te/TeShape.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// Questions about the launch's indices that its reads answer.
class Windows {
public:
  Windows(const LaunchPlan &l, ArrayRef<Operation *> ops, ArrayRef<int64_t> inner, int64_t channels)
      : inner_(inner), channels_(channels), filters_(l.indices.size()), windows_(l.indices.size()) {
    for (auto [ordinal, dims] : llvm::zip(l.ops, l.dims))
      ops[ordinal]->walk([&, op = ops[ordinal], &dims = dims](ReadOp read) { see(op, read, dims); });
  }

  /// Whether windows move along `index`, and the filters beside them do not depend on it.
  bool moveAlong(int64_t index) const { return windows_[unsigned(index)] && hasFilters_ && !filters_[unsigned(index)]; }

private:
  void see(Operation *op, ReadOp read, ArrayRef<int64_t> dims) {
    llvm::BitVector own(filters_.size());
    for (unsigned d : findSupport(read.getResult(), dims.size()).set_bits())
      own.set(unsigned(dims[d]));
    if (!own[unsigned(channels_)] || llvm::none_of(inner_, [&](int64_t k) { return own[unsigned(k)]; }))
      return;
    bool moves = false;
    for (AffineExpr e : read.getMapOrIdentity().getResults()) {
      SmallVector<int64_t> of; // the launch's indices that move this subscript
      for (auto [n, v] : llvm::enumerate(read.getOperands_()))
        if (std::optional<unsigned> d = e.isFunctionOfDim(n) ? findIndex(op, v) : std::nullopt)
          of.push_back(dims[*d]);
      bool isWindow = llvm::any_of(of, [&](int64_t index) { return llvm::is_contained(inner_, index); });
      for (int64_t index : of)
        if (isWindow && !llvm::is_contained(inner_, index)) {
          windows_.set(unsigned(index));
          moves = true;
        }
    }
    if (!moves) {
      filters_ |= own;
      hasFilters_ = true;
    }
  }

  ArrayRef<int64_t> inner_;
  int64_t channels_;
  llvm::BitVector filters_, windows_;
  bool hasFilters_ = false;
};

} // namespace

bool Scheduler::scheduleChannels(LaunchPlan &l, ArrayRef<int64_t> inner, const AccessSummary &s) {
  const ChannelCosts &costs = costs_.channels;
  int64_t channels = s.contiguousIndex();
  bool isPlain = channels >= 0 && inner.size() == 1 && llvm::is_contained(l.grid, channels) && !s.byElements[channels] &&
                 llvm::all_of(l.ops, [&](int64_t ordinal) {
                   auto reduce = dyn_cast<ReduceOp>(ops_[ordinal]);
                   return isa<ComputeOp>(ops_[ordinal]) || (reduce && !reduce.isArg() && !reduce.getInit() && !reduce.getOutMap());
                 });
  if (!isPlain)
    return false;
  Windows windows(l, ops_, inner, channels);
  auto isLong = [&](int64_t index, int64_t least) { return extentMax(l, index) < 0 || extentMax(l, index) >= least; };
  auto moved = llvm::find_if(llvm::reverse(l.grid), [&](int64_t index) {
    return index != channels && windows.moveAlong(index) && isLong(index, costs.fewestMoved);
  });
  if (moved == l.grid.rend() || !isLong(channels, costs.lanes * s.vector()))
    return false;
  l.warps = costs.warps;
  l.tiles[channels] = clampTile(l, channels, costs.lanes * s.vectorAlong(channels));
  l.tiles[inner.back()] = clampTile(l, inner.back(), costs.round);
  int64_t results = std::min(costs.results, costs.most / l.tiles[inner.back()]);
  l.tiles[*moved] = clampTile(l, *moved, l.warps * 32 * results / l.tiles[channels]);
  return true;
}

} // namespace kernelc::te
