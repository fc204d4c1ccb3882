// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products that share a launch: those of a walk, of a set of chains, and those beside each other.
#include "passes/plan/Grouper.h"

#include "ir/te/TeShape.h"
#include "passes/plan/Siblings.h"

using namespace mlir;

namespace kernelc::te {

bool Grouper::joinLoop(int64_t i, int64_t candidate, ArrayRef<FirstProduct> firsts, unsigned walked, ArrayRef<ProductChain> products) {
  Operation *op = ops_[i];
  Group joined;
  joined.grid = getNumParallel(op);
  for (unsigned d = 0; d < getExtents(op).getNumResults(); ++d)
    addIndex(joined, op, d);
  joined.loops = {int64_t(walked)};
  for (const ProductChain &c : products)
    joined.whole.push_back(c.columns().front());
  for (FirstProduct f : firsts) {
    int64_t first = llvm::find(ops_, f.op) - ops_.begin();
    if (groups_[owner_[first]].ops != SmallVector<int64_t>{first})
      return false;
    ReadOp read;
    op->walk([&](ReadOp r) { read = r.getTensor() == f.op.getResult() ? r : read; });
    SmallVector<int64_t> dims;
    for (Value v : read.getOperands_())
      dims.push_back(*findIndex(op, v));
    for (unsigned d = 0; d < dims.size(); ++d)
      if (joined.extents[dims[d]] != f.op.getExtents().getResult(d))
        return false;
    for (unsigned d = f.op.getNumParallel(); d < f.op.getNumDims(); ++d) { // what it sums
      dims.push_back(joined.extents.size());
      addIndex(joined, f.op, d);
    }
    joined.ops.push_back(first);
    joined.dims.push_back(std::move(dims));
  }
  joined.ops.push_back(i);
  joined.dims.push_back(llvm::to_vector(llvm::seq<int64_t>(0, getExtents(op).getNumResults())));
  groups_[candidate] = std::move(joined);
  for (FirstProduct f : firsts)
    if (int64_t first = llvm::find(ops_, f.op) - ops_.begin(), own = owner_[first]; own != candidate) {
      owner_[first] = candidate;
      candidate = dropGroup(own, candidate);
    }
  owner_[i] = candidate;
  return true;
}

int64_t Grouper::dropGroup(int64_t n, int64_t candidate) {
  groups_.erase(groups_.begin() + n);
  for (auto &[op, group] : owner_)
    group -= group > n;
  for (auto &[set, group] : groupOfSet_)
    group -= int64_t(group) > n;
  return candidate - (candidate > n);
}

bool Grouper::joinSet(int64_t i) {
  for (auto [n, set] : llvm::enumerate(sets_)) {
    SetReader &first = set.readers.front();
    auto isOwn = [&](SetReader &r) { return r.op == ops_[i]; };
    bool isReader = llvm::any_of(set.readers, isOwn);
    auto added = llvm::find_if(set.added, isOwn);
    bool isProducer = llvm::is_contained(set.producers, ops_[i]);
    if (!isReader && !isProducer && added == set.added.end())
      continue;
    auto [at, isNew] = groupOfSet_.try_emplace(n, groups_.size());
    if (isNew) { // the readers' space: what they walk is the launch's loop
      Group &g = groups_.emplace_back();
      g.grid = first.op.getNumParallel();
      for (unsigned d = 0; d < first.op.getNumDims(); ++d)
        addIndex(g, first.op, d);
      g.loops = {int64_t(first.walked)};
    }
    Group &g = groups_[at->second];
    SmallVector<int64_t> dims = isReader     ? llvm::to_vector(llvm::seq<int64_t>(0, first.op.getNumDims()))
                                : isProducer ? first.dims
                                             : set.dimsOfAdded(*added);
    if (isProducer && isOneIndex(set, cast<ReduceOp>(ops_[i]), target_, facts_)) {
      dims.push_back(first.columns().front());
    } else if (isProducer) {
      dims.push_back(g.extents.size());
      addIndex(g, ops_[i], cast<ReduceOp>(ops_[i]).getNumParallel());
    }
    g.ops.push_back(i);
    g.dims.push_back(std::move(dims));
    owner_[i] = at->second;
    return true;
  }
  return false;
}

bool Grouper::joinProducts(int64_t i) {
  auto op = dyn_cast<ReduceOp>(ops_[i]);
  std::optional<Contraction> product = op ? findSibling(op, target_, facts_) : std::nullopt;
  if (!product)
    return false;
  int64_t after = -1;
  op->walk([&](ReadOp r) {
    if (auto it = ordinal_.find(r.getTensor()); it != ordinal_.end())
      after = std::max(after, owner_[it->second]);
  });
  for (size_t n = after + 1; n < groups_.size(); ++n)
    if (joinProducts(i, op, *product, n))
      return true;
  return false;
}

bool Grouper::joinProducts(int64_t i, ReduceOp op, const Contraction &product, size_t n) {
  Group &g = groups_[n];
  auto isWhole = [&](int64_t o) { return isa<ComputeOp>(ops_[o]) && isPlain(ops_[o]) && getNumParallel(ops_[o]) == g.grid; };
  if (g.isReverse || g.grid != op.getNumParallel())
    return false;
  std::vector<std::optional<Contraction>> firsts; // of each statement that is a product
  for (int64_t o : g.ops) {
    auto other = dyn_cast<ReduceOp>(ops_[o]);
    firsts.push_back(other ? findSibling(other, target_, facts_) : std::nullopt);
    if (!firsts.back() && !isWhole(o))
      return false;
  }
  for (auto [o, dims, first] : llvm::zip(g.ops, g.dims, firsts)) {
    std::optional<SiblingDims> paired = first ? pairSiblings(cast<ReduceOp>(ops_[o]), *first, op, product) : std::nullopt;
    if (!paired)
      continue;
    SmallVector<int64_t> indices(dims), map;
    for (int64_t d : paired->ofFirst)
      map.push_back(d < 0 ? -1 : indices[d]);
    if (paired->sharesLoop && g.loops.empty())
      for (unsigned d : first->k)
        g.loops.push_back(indices[d]);
    for (auto [d, index] : llvm::enumerate(map))
      if (index < 0) { // a sum of its own
        index = g.extents.size();
        addIndex(g, op, d);
      }
    g.ops.push_back(i);
    g.dims.push_back(std::move(map));
    owner_[i] = n;
    return true;
  }
  return false;
}

} // namespace kernelc::te
