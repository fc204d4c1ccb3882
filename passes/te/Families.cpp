// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/Families.h"

#include <functional>
#include <set>

#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/TileCondition.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// A read in the body of a reduction, or in that of a pointwise statement which it reads at points of its own.
struct ReachedRead {
  ReadOp read;
  SmallVector<std::optional<unsigned>> subscripts; ///< the reduction's dim that each is; nothing where it is something else

  Operation *maker() { return read.getTensor().getDefiningOp(); }
};

void collectReads(Operation *statement, llvm::function_ref<std::optional<unsigned>(Value)> dimOf, SmallVectorImpl<ReachedRead> &into) {
  statement->walk([&](ReadOp read) {
    ReachedRead reached{read, {}};
    bool areDims = read.getBounds() == BoundsMode::InBounds;
    for (AffineExpr e : read.getMapOrIdentity().getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(e);
      reached.subscripts.push_back(dim ? dimOf(read.getOperands_()[dim.getPosition()]) : std::nullopt);
      areDims &= reached.subscripts.back().has_value();
    }
    if (ComputeOp c = areDims ? findPlainDefinition(read) : ComputeOp())
      return collectReads(
          c,
          [&](Value v) {
            auto d = findIndex(c, v);
            return d ? reached.subscripts[*d] : std::nullopt;
          },
          into);
    into.push_back(std::move(reached));
  });
}

SmallVector<ReachedRead> collectReads(ReduceOp r) {
  SmallVector<ReachedRead> reads;
  collectReads(r, [&](Value v) { return findIndex(r, v); }, reads);
  return reads;
}

/// Whether the same points of two members count, by data. `ofA`, `ofB`: the family's indices that their parallel dims are.
bool haveSameWhere(ReduceOp a, ArrayRef<unsigned> ofA, ReduceOp b, ArrayRef<unsigned> ofB) {
  auto indexOf = [](ReduceOp r, ArrayRef<unsigned> indices, BlockArgument arg) -> int64_t {
    unsigned d = arg.getArgNumber();
    return d < indices.size() ? indices[d] : -1 - int64_t(d - indices.size());
  };
  std::function<LogicalResult(Value, Value)> areSame = [&](Value x, Value y) -> LogicalResult {
    auto argX = dyn_cast<BlockArgument>(x), argY = dyn_cast<BlockArgument>(y);
    if (x == y || (argX && argY && argX.getOwner() == &a.getBlock() && argY.getOwner() == &b.getBlock()))
      return success(x == y || indexOf(a, ofA, argX) == indexOf(b, ofB, argY));
    Operation *ofX = x.getDefiningOp(), *ofY = y.getDefiningOp();
    return success(ofX && ofY && ofX->getBlock() == &a.getBlock() && ofY->getBlock() == &b.getBlock() &&
                   OperationEquivalence::isEquivalentTo(ofX, ofY, areSame, nullptr, OperationEquivalence::IgnoreLocations));
  };
  auto parts = [](ReduceOp r) {
    Value condition = r.getYield().getCondition();
    return condition ? splitConjuncts(condition) : SmallVector<Value>();
  };
  SmallVector<Value> all = parts(a), others = parts(b);
  auto isIn = [&](Value x) { return llvm::any_of(others, [&](Value y) { return succeeded(areSame(x, y)); }); };
  auto isInFirst = [&](Value y) { return llvm::any_of(all, [&](Value x) { return succeeded(areSame(x, y)); }); };
  return llvm::all_of(all, isIn) && llvm::all_of(others, isInFirst);
}

bool hasSameDomain(ReduceOp a, ReduceOp b) {
  auto own = llvm::to_vector(llvm::seq(0u, a.getNumParallel()));
  return a.getExtents() == b.getExtents() && a.getNumParallel() == b.getNumParallel() && a.getConditionAttr() == b.getConditionAttr() &&
         haveSameWhere(a, own, b, own);
}

/// Its condition as constraints over the family's indices, the reduced ones first and then `count` parallel ones.
std::set<std::pair<const void *, bool>> conditionOf(ReduceOp r, ArrayRef<unsigned> indices, unsigned count) {
  std::set<std::pair<const void *, bool>> constraints;
  std::optional<IntegerSet> set = r.getCondition();
  unsigned reduced = r.getNumDims() - r.getNumParallel();
  SmallVector<AffineExpr> by;
  for (unsigned index : indices)
    by.push_back(getAffineDimExpr(reduced + index, r.getContext()));
  for (unsigned d = 0; d < reduced; ++d)
    by.push_back(getAffineDimExpr(d, r.getContext()));
  for (unsigned i = 0; set && i < set->getNumConstraints(); ++i)
    constraints.insert(
        {simplifyAffineExpr(set->getConstraint(i).replaceDims(by), reduced + count, set->getNumSymbols()).getAsOpaquePointer(),
         set->isEq(i)});
  return constraints;
}

/// The family's index that each parallel dim of r is: where r has the domain of the family's first member, or is a product that reads
/// members' results; dims that only r has become indices of their own.
std::optional<SmallVector<unsigned>> findIndices(ReduceOp r, Family &family) {
  ReduceOp first = family.members.front();
  if (hasSameDomain(first, r))
    return family.indicesOf[first];
  constexpr unsigned kNone = ~0u;
  SmallVector<unsigned> indices(r.getNumParallel(), kNone);
  bool ok = true, reads = false;
  for (ReachedRead &reached : collectReads(r)) {
    auto made = dyn_cast_or_null<ReduceOp>(reached.maker());
    if (!made || !llvm::is_contained(family.members, made))
      continue;
    reads = true;
    for (auto [d, index] : llvm::zip(reached.subscripts, family.indicesOf[made])) {
      ok = ok && d && *d < indices.size() && (indices[*d] == kNone || indices[*d] == index) &&
           r.getExtents().getResult(*d) == family.parallel[index].second;
      if (ok)
        indices[*d] = index;
    }
  }
  unsigned reduced = first.getNumDims() - first.getNumParallel();
  if (!ok || !reads || !findContraction(r) || r.getNumDims() - r.getNumParallel() != reduced ||
      r.getExtents().getResults().take_back(reduced) != first.getExtents().getResults().take_back(reduced))
    return std::nullopt;
  for (auto [d, index] : llvm::enumerate(indices))
    if (index == kNone) {
      index = family.parallel.size();
      family.parallel.push_back({r.getIndices()[d], r.getExtents().getResult(d)});
    }
  unsigned count = family.parallel.size();
  bool countAlike = conditionOf(r, indices, count) == conditionOf(first, family.indicesOf[first], count) &&
                    haveSameWhere(r, indices, first, family.indicesOf[first]);
  return countAlike ? std::optional(indices) : std::nullopt;
}

/// Whether a reduction with `indices` reads the point's own element of what a member with indices `own` gives.
bool isOwnPoint(const ReachedRead &reached, ArrayRef<unsigned> indices, ArrayRef<unsigned> own) {
  return ReadOp(reached.read).getBounds() == BoundsMode::InBounds && llvm::all_of(llvm::zip(reached.subscripts, own), [&](auto pair) {
           std::optional<unsigned> d = std::get<0>(pair);
           return d && *d < indices.size() && indices[*d] == std::get<1>(pair);
         });
}

/// Whether r needs what some member of the family gives in another way than by reading it at its own point.
bool needsElsewhere(ReduceOp r, ArrayRef<unsigned> indices, Family &family) {
  SmallVector<Operation *> work;
  llvm::SmallPtrSet<Operation *, 16> seen;
  auto isMember = [&](Operation *made) { return isa<ReduceOp>(made) && llvm::is_contained(family.members, cast<ReduceOp>(made)); };
  auto add = [&](Operation *made) {
    if (made && seen.insert(made).second)
      work.push_back(made);
  };
  for (ReachedRead &reached : collectReads(r)) {
    Operation *made = reached.maker();
    if (!made || !isMember(made))
      add(made);
    else if (!isOwnPoint(reached, indices, family.indicesOf[made]))
      return true;
  }
  while (!work.empty()) {
    Operation *statement = work.pop_back_val();
    if (isMember(statement))
      return true;
    statement->walk([&](ReadOp read) { add(read.getTensor().getDefiningOp()); });
    for (Value init : statement->getOperands())
      add(init.getDefiningOp());
  }
  return false;
}

/// Whether two reductions read some tensor at the same points.
bool readInCommon(ReduceOp a, ReduceOp b) {
  bool found = false;
  a.walk([&](ReadOp x) {
    b.walk([&](ReadOp y) {
      if (x.getTensor() != y.getTensor() || x.getMapOrIdentity() != y.getMapOrIdentity())
        return;
      bool reduced = false;
      bool same = llvm::all_of(llvm::zip(x.getOperands_(), y.getOperands_()), [&](auto pair) {
        std::optional<unsigned> d = findIndex(a, std::get<0>(pair));
        reduced |= d && *d >= a.getNumParallel();
        return d && d == findIndex(b, std::get<1>(pair));
      });
      found |= same && reduced;
    });
  });
  return found;
}

} // namespace

ComputeOp findPlainDefinition(ReadOp read) {
  auto c = dyn_cast_or_null<ComputeOp>(read.getTensor().getDefiningOp());
  bool isPlain = c && !c.getInit() && !c.getOutMap() && !c.getCondition() && !c.getYield().getCondition();
  return isPlain && read.getBounds() == BoundsMode::InBounds ? c : ComputeOp();
}

SmallVector<ReduceOp> readOf(ReduceOp r, ArrayRef<ReduceOp> chain) {
  SmallVector<ReduceOp> found;
  for (ReachedRead &reached : collectReads(r)) {
    auto made = dyn_cast_or_null<ReduceOp>(reached.maker());
    if (made && llvm::is_contained(chain, made) && !llvm::is_contained(found, made))
      found.push_back(made);
  }
  return found;
}

std::vector<Family> collectFamilies(ArrayRef<ReduceOp> all) {
  std::vector<Family> families;
  for (ReduceOp r : all) {
    bool joined = false;
    for (Family &family : families) {
      Family with = family; // (r may add indices)
      std::optional<SmallVector<unsigned>> indices = joined ? std::nullopt : findIndices(r, with);
      if (!indices || needsElsewhere(r, *indices, family))
        continue;
      if (readOf(r, family.members).empty() && llvm::none_of(family.members, [&](ReduceOp m) { return readInCommon(m, r); }))
        continue;
      with.add(r, *indices);
      family = std::move(with);
      joined = true;
    }
    if (joined || findGeneralContraction(r))
      continue;
    Family own;
    for (unsigned d = 0; d < r.getNumParallel(); ++d)
      own.parallel.push_back({r.getIndices()[d], r.getExtents().getResult(d)});
    own.add(r, llvm::to_vector(llvm::seq(0u, r.getNumParallel())));
    families.push_back(std::move(own));
  }
  return families;
}

} // namespace kernelc::te
