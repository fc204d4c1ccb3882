// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/SharedReads.h"

#include "ir/te/TeShape.h"
#include "passes/plan/TensorBytes.h"
#include "support/Saturating.h"

#include <set>

using namespace mlir;

namespace kernelc::te {

/// Records that index b of `later` is index a of `earlier`; false where one of them is another's already, or they differ.
static bool unify(const LaunchPlan &earlier, const LaunchPlan &later, int64_t a, int64_t b, IndexMap &map) {
  if (map[b] == a)
    return true;
  if (map[b] >= 0 || llvm::is_contained(map, a) || earlier.extents.getResult(a) != later.extents.getResult(b))
    return false;
  map[b] = a;
  return true;
}

SmallVector<Access> SharedReads::accessesOf(const LaunchPlan &l, size_t member) {
  SmallVector<Access> list;
  Operation *op = ops_[l.ops[member]];
  op->walk([&](ReadOp read) {
    Access a{read.getTensor(), read.getMapOrIdentity(), read.getBounds(), {}};
    for (auto [n, v] : llvm::enumerate(read.getOperands_())) {
      std::optional<unsigned> d = findIndex(op, v);
      bool isUsed = a.map.isFunctionOfDim(n);
      a.indices.push_back(d && isUsed ? l.dims[member][*d] : -1);
      if (!d && isUsed)
        return; // data says where
    }
    if (!llvm::is_contained(list, a))
      list.push_back(std::move(a));
  });
  return list;
}

SmallVector<Access> SharedReads::accessesOf(const LaunchPlan &l) {
  SmallVector<Access> all;
  for (size_t n = 0; n < l.ops.size(); ++n)
    for (Access &a : accessesOf(l, n))
      if (!llvm::is_contained(all, a))
        all.push_back(std::move(a));
  return all;
}

double SharedReads::pointsOf(const LaunchPlan &l, ArrayRef<int64_t> indices) {
  Count points = 1;
  std::set<int64_t> seen;
  for (int64_t i : indices)
    if (i >= 0 && seen.insert(i).second) {
      int64_t most = knownMax(l.extents.getResult(i), facts_);
      points *= most < 0 ? unknown_ : std::max<int64_t>(most, 1);
    }
  return double(points);
}

bool SharedReads::areKnown(const LaunchPlan &l, ArrayRef<int64_t> indices) {
  return llvm::all_of(indices, [&](int64_t i) { return knownMax(l.extents.getResult(i), facts_) >= 0; });
}

double SharedReads::bytesOf(const LaunchPlan &l, const Access &a) {
  return pointsOf(l, a.indices) * bytesOfElement(cast<RankedTensorType>(a.tensor.getType()).getElementType());
}

bool SharedReads::isReadWhereMade(const LaunchPlan &earlier, size_t n, const LaunchPlan &later, size_t m, IndexMap &map) {
  Operation *producer = ops_[earlier.ops[n]], *reader = ops_[later.ops[m]];
  auto compute = dyn_cast<ComputeOp>(producer);
  bool isWhole = !compute || (!compute.getCondition() && !compute.getYield().getCondition() && !compute.getOutMap() && !compute.getInit());
  bool fits = true;
  reader->walk([&](ReadOp read) {
    if (read.getTensor().getDefiningOp() != producer)
      return;
    fits &= isWhole && read.getBounds() == BoundsMode::InBounds;
    SmallVector<unsigned> made = getResultDims(read.getTensor());
    for (auto [r, e] : llvm::enumerate(read.getMapOrIdentity().getResults())) {
      auto d = dyn_cast<AffineDimExpr>(e);
      std::optional<unsigned> dim = d ? findIndex(reader, read.getOperands_()[d.getPosition()]) : std::nullopt;
      fits = fits && dim && unify(earlier, later, earlier.dims[n][made[r]], later.dims[m][*dim], map);
    }
  });
  return fits;
}

bool SharedReads::unifyResults(const LaunchPlan &earlier, const LaunchPlan &later, IndexMap &map) {
  for (size_t n = 0; n < earlier.ops.size(); ++n)
    for (size_t m = 0; m < later.ops.size(); ++m)
      if (!isReadWhereMade(earlier, n, later, m, map))
        return false;
  return true;
}

double SharedReads::unifyReads(const LaunchPlan &earlier, const LaunchPlan &later, IndexMap &map) {
  SmallVector<Access> ours = accessesOf(earlier), theirs = accessesOf(later);
  llvm::stable_sort(theirs, [&](const Access &x, const Access &y) { return bytesOf(later, x) > bytesOf(later, y); });
  double saved = 0;
  for (const Access &t : theirs)
    for (const Access &o : ours) {
      if (o.tensor != t.tensor || o.map != t.map || o.bounds != t.bounds)
        continue;
      IndexMap extended(map);
      bool fits = llvm::all_of(llvm::zip(o.indices, t.indices), [&](auto pair) {
        auto [a, b] = pair;
        return (a < 0) == (b < 0) && (a < 0 || unify(earlier, later, a, b, extended));
      });
      if (!fits)
        continue;
      map = extended;
      saved += bytesOf(later, t);
      break;
    }
  return saved;
}

} // namespace kernelc::te
