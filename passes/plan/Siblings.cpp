// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/Siblings.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/plan/Chain.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// A pairing of dims under construction: each dim of either product once.
class Pairing {
public:
  Pairing(ReduceOp first, ReduceOp second) : first_(first), second_(second), used_(first.getNumDims()) {
    dims_.ofFirst.assign(second.getNumDims(), -1);
  }

  bool pair(std::optional<unsigned> first, std::optional<unsigned> second) {
    if (!first || !second)
      return false;
    if (dims_.ofFirst[*second] == int64_t(*first))
      return true;
    bool alike = (*first < first_.getNumParallel()) == (*second < second_.getNumParallel());
    if (!alike || dims_.ofFirst[*second] >= 0 || used_[*first] ||
        first_.getExtents().getResult(*first) != second_.getExtents().getResult(*second))
      return false;
    dims_.ofFirst[*second] = *first;
    used_.set(*first);
    return true;
  }

  /// Two reads of one tensor, at the same places.
  bool pairReads(ReadOp first, ReadOp second) {
    return llvm::all_of(llvm::zip(first.getOperands_(), second.getOperands_()), [&](auto operands) {
      return pair(findIndex(first_, std::get<0>(operands)), findIndex(second_, std::get<1>(operands)));
    });
  }

  /// The parallel dims that are left, in their order.
  bool pairRest() {
    unsigned next = 0;
    for (unsigned d = 0; d < second_.getNumParallel(); ++d) {
      if (dims_.ofFirst[d] >= 0)
        continue;
      while (next < first_.getNumParallel() && used_[next])
        ++next;
      if (next == first_.getNumParallel() || !pair(next, d))
        return false;
    }
    return true;
  }

  /// Whether the second product's rows are the first one's, and its columns, but for those that are a batch of the other; and what it
  /// sums, if any of that is paired.
  bool isAlike(const Contraction &c, const Contraction &d) {
    llvm::BitVector batch(first_.getNumDims()), rows(batch), columns(batch), summed(batch), others(batch), otherRows(batch),
        otherColumns(batch), otherSummed(batch);
    auto fill = [&](llvm::BitVector &set, ArrayRef<unsigned> list, bool isFirst) {
      for (unsigned dim : list)
        if (int64_t own = isFirst ? int64_t(dim) : dims_.ofFirst[dim]; own >= 0)
          set.set(unsigned(own));
    };
    fill(batch, c.batch, true), fill(rows, c.m, true), fill(columns, c.n, true), fill(summed, c.k, true);
    fill(others, d.batch, false), fill(otherRows, d.m, false), fill(otherColumns, d.n, false), fill(otherSummed, d.k, false);
    batch |= others; // its tile has one point
    for (llvm::BitVector *side : {&rows, &columns, &otherRows, &otherColumns})
      side->reset(batch);
    bool isPaired = llvm::none_of(ArrayRef(dims_.ofFirst).take_front(second_.getNumParallel()), [](int64_t d) { return d < 0; });
    return isPaired && first_.getNumParallel() == second_.getNumParallel() && rows.any() && columns.any() && rows == otherRows &&
           columns == otherColumns && (!dims_.sharesLoop || (summed == otherSummed && c.k.size() == d.k.size()));
  }

  SiblingDims dims_;

private:
  ReduceOp first_, second_;
  llvm::BitVector used_;
};

/// The read of a product's result at a point of its own for each point of `reader`.
ReadOp findPlainRead(Operation *reader, ReduceOp product) {
  ReadOp found;
  for (Operation *user : product->getUsers())
    if (auto read = dyn_cast<ReadOp>(user);
        read && read->getParentOp() == reader && read.getBounds() == BoundsMode::InBounds && read.getMapOrIdentity().isIdentity())
      found = read;
  return found;
}

bool readsAlike(ReadOp a, ReadOp b) {
  return a && b && a.getTensor() == b.getTensor() && a.getMapOrIdentity() == b.getMapOrIdentity() && a.getBounds() == b.getBounds();
}

std::optional<SiblingDims> pairByFactor(ReduceOp first, const Contraction &c, ReduceOp second, const Contraction &d) {
  for (auto [f, g] : {std::pair(c.a, d.a), std::pair(c.b, d.b)}) {
    ReadOp mine = findOperandRead(f), other = findOperandRead(g);
    Pairing pairing(first, second);
    pairing.dims_.sharesLoop = true;
    if (readsAlike(mine, other) && narrowestType(f) == narrowestType(g) && pairing.pairReads(mine, other) && pairing.pairRest() &&
        pairing.isAlike(c, d))
      return pairing.dims_;
  }
  return std::nullopt;
}

std::optional<SiblingDims> pairByReader(ReduceOp first, const Contraction &c, ReduceOp second, const Contraction &d) {
  for (Operation *user : first->getUsers()) {
    auto reader = dyn_cast<ComputeOp>(user->getParentOp());
    ReadOp mine = reader ? findPlainRead(reader, first) : ReadOp(), other = mine ? findPlainRead(reader, second) : ReadOp();
    if (!other || mine.getOperands_().size() != other.getOperands_().size())
      continue;
    Pairing pairing(first, second);
    bool paired = true;
    for (auto [n, v] : llvm::enumerate(mine.getOperands_())) {
      auto at = llvm::find(other.getOperands_(), v);
      paired &= at != other.getOperands_().end() && pairing.pair(n, at - other.getOperands_().begin());
    }
    if (paired && pairing.isAlike(c, d))
      return pairing.dims_;
  }
  return std::nullopt;
}

/// The product that `v`, in the body of `statement`, reads at its own point, where nothing else reads it.
ReduceOp findOnlyRead(Value v, Operation *statement) {
  auto read = v.getDefiningOp<ReadOp>();
  auto product = read && v.hasOneUse() ? read.getTensor().getDefiningOp<ReduceOp>() : ReduceOp();
  return product && product->hasOneUse() && findPlainRead(statement, product) == read ? product : ReduceOp();
}

} // namespace

std::optional<Contraction> findSibling(ReduceOp op, const Target &target, const SizeFacts &facts) {
  if (!target.wgmma || !target.productRate || op.getInit() || op.getOutMap() || hasOwnLaunch(op) || !op.getNoSibling().empty())
    return std::nullopt;
  std::optional<Contraction> c = findContraction(op);
  std::optional<WarpgroupForm> form = c ? findWarpgroupForm(*c) : std::nullopt;
  if (!form || form->aInRegisters || form->bInRegisters || c->where || c->resultWhere || !c->partScales.empty() || !c->ownK.empty() ||
      c->isAMasked() || c->isBMasked() || mostInAccumulators(getKernel(op), form->type, target) || isChained(op, target, facts))
    return std::nullopt;
  return c;
}

std::optional<SiblingDims> pairSiblings(ReduceOp first, const Contraction &c, ReduceOp second, const Contraction &d) {
  if (findWarpgroupType(c) != findWarpgroupType(d) ||
      first.getResult().getType().getElementType() != second.getResult().getType().getElementType())
    return std::nullopt;
  if (std::optional<SiblingDims> paired = pairByFactor(first, c, second, d))
    return paired;
  return pairByReader(first, c, second, d);
}

std::vector<Sibling> siblingsOf(const LaunchPlan &l, ArrayRef<Operation *> ops) {
  std::vector<Sibling> products;
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    auto reduce = dyn_cast<ReduceOp>(ops[ordinal]);
    auto isWalked = [&](int64_t index) { return llvm::is_contained(l.loops, index); };
    if (llvm::any_of(ArrayRef<int64_t>(l.dims[n]).take_front(getNumParallel(ops[ordinal])), isWalked))
      return {}; // a chain: a product's results are walked
    if (std::optional<Contraction> c = reduce ? findContraction(reduce) : std::nullopt)
      products.push_back({n, reduce, *c});
  }
  return products.size() > 1 ? products : std::vector<Sibling>();
}

SmallVector<AddedProducts> findAddedProducts(Operation *statement) {
  SmallVector<AddedProducts> added;
  llvm::DenseMap<Value, ReduceOp> sums; // what a value of the body is the sum of: the last of the products
  statement->walk([&](arith::AddFOp add) {
    auto productOf = [&](Value v) {
      ReduceOp known = v.hasOneUse() ? sums.lookup(v) : ReduceOp();
      return known ? known : findOnlyRead(v, statement);
    };
    ReduceOp x = productOf(add.getLhs()), y = productOf(add.getRhs());
    if (!x || !y || x == y || x.getResult().getType() != y.getResult().getType())
      return;
    // (two sums of several have no common start)
    bool first = x->isBeforeInBlock(y);
    ReduceOp from = first ? x : y, to = first ? y : x;
    if (sums.contains(first ? add.getRhs() : add.getLhs()))
      return;
    added.push_back({add.getResult(), from, to});
    sums[add.getResult()] = to;
  });
  return added;
}

bool goesOn(const LaunchPlan &l, ArrayRef<Operation *> ops, const AddedProducts &added) {
  auto isWalked = [&](int64_t index) { return llvm::is_contained(l.loops, index); };
  auto dimsOf = [&](ReduceOp op) {
    auto member = llvm::find(l.ops, llvm::find(ops, op) - ops.begin());
    return member != l.ops.end() ? ArrayRef<int64_t>(l.dims[member - l.ops.begin()]) : ArrayRef<int64_t>();
  };
  ArrayRef<int64_t> first = dimsOf(added.first), second = dimsOf(added.second);
  bool areAlone = llvm::none_of(first, isWalked) && llvm::none_of(second, isWalked);
  // Or a round of the launch's loop makes both, for a cascade.
  Operation *reader = ReduceOp(added.first)->user_begin()->getParentOp();
  bool areOfRound = isa<CascadeOp>(reader) && llvm::any_of(first, isWalked) && llvm::any_of(second, isWalked);
  std::optional<Contraction> product = findContraction(ReduceOp(added.second));
  return !first.empty() && !second.empty() && (areAlone || areOfRound) && product && product->sumScales.empty();
}

} // namespace kernelc::te
