// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/GuardedProducts.h"

#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Affine.h"
#include "passes/index/Domain.h"
#include "passes/index/IndexArithmetic.h"
#include "passes/index/TileCondition.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// Constraints that hold together; of more than a few, some.
using Guards = SmallVector<IndexConstraint>;
constexpr size_t kMostGuards = 16;

/// Those of `a` that are in `b` too.
Guards common(const Guards &a, const Guards &b) {
  Guards both;
  llvm::copy_if(a, std::back_inserter(both), [&](const IndexConstraint &c) { return llvm::is_contained(b, c); });
  return both;
}

/// The constraints over the dims of `op` that `condition`, a value of its body, coming to `outcome` implies; `exact` becomes
/// false where they are not all of it.
Guards constraintsOf(ComputeOp op, Value condition, bool outcome, bool &exact) {
  Guards guards;
  for (Value part : outcome ? splitConjuncts(condition) : splitDisjuncts(condition)) {
    auto compare = part.getDefiningOp<arith::CmpIOp>();
    std::optional<IndexConstraint> c;
    if (compare)
      c = constraintOf(compare, outcome, op.getBlock().getArguments(), op.getExtents().getNumSymbols());
    if (c)
      guards.push_back(*c);
    exact &= c.has_value();
  }
  return guards;
}

/// What a compute's body asks of the values in it.
class Guarded {
public:
  explicit Guarded(ComputeOp op) : op_(op) {
    for (Operation &user : llvm::reverse(op.getBlock())) // readers first
      for (Value v : user.getResults()) {
        std::optional<Guards> all;
        for (OpOperand &use : v.getUses())
          all = all ? common(*all, guardsOf(use)) : guardsOf(use);
        guards_[v] = all.value_or(Guards());
      }
  }

  /// The constraints over the compute's dims under which `v` matters to its result.
  Guards guardsOf(Value v) const { return guards_.lookup(v); }

private:
  Guards guardsOf(OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<YieldOp>(user) || user->getNumResults() != 1)
      return {};
    Guards guards = guards_.lookup(user->getResult(0));
    bool exact = true;
    if (auto select = dyn_cast<arith::SelectOp>(user); select && use.getOperandNumber() > 0)
      for (const IndexConstraint &c : constraintsOf(op_, select.getCondition(), use.getOperandNumber() == 1, exact))
        if (guards.size() < kMostGuards && !llvm::is_contained(guards, c))
          guards.push_back(c);
    return guards;
  }

  ComputeOp op_;
  llvm::DenseMap<Value, Guards> guards_;
};

/// A reader of a product at the point that it computes itself, if it is an output.
ComputeOp findOutput(Operation *user) {
  auto read = dyn_cast<ReadOp>(user);
  auto compute = read ? dyn_cast<ComputeOp>(read->getParentOp()) : ComputeOp();
  if (!compute || compute.getCondition() || compute.getInit() || read.getBounds() != BoundsMode::InBounds ||
      !read.getMapOrIdentity().isIdentity())
    return {};
  llvm::SmallDenseSet<Value> seen;
  for (Value subscript : read.getOperands_()) {
    auto dim = dyn_cast<BlockArgument>(subscript);
    if (!dim || dim.getOwner() != &compute.getBlock() || !seen.insert(dim).second)
      return {};
  }
  bool isOutput = llvm::all_of(compute.getResult().getUsers(), llvm::IsaPred<ReturnOp>);
  return isOutput ? compute : ComputeOp();
}

/// `form` over the dims of a compute as one over those of the product, whose result `read` reads; null where it
/// depends on others.
AffineExpr inProduct(AffineExpr form, ReadOp read) {
  auto compute = cast<ComputeOp>(read->getParentOp());
  unsigned dims = compute.getNumDims();
  MLIRContext *context = form.getContext();
  SmallVector<AffineExpr> replaced(dims);
  for (auto [n, subscript] : llvm::enumerate(read.getOperands_()))
    replaced[cast<BlockArgument>(subscript).getArgNumber()] = getAffineDimExpr(n, context);
  for (auto [d, e] : llvm::enumerate(replaced)) {
    if (!e && form.isFunctionOfDim(d))
      return {};
    if (!e)
      e = getAffineConstantExpr(0, context);
  }
  return simplifyAffineExpr(form.replaceDims(replaced), dims, compute.getExtents().getNumSymbols());
}

/// Lets `read` stand for selects between it and zero that its product now decides.
void dropSelects(ReadOp read, const Guards &decided) {
  auto compute = cast<ComputeOp>(read->getParentOp());
  for (Operation *user : llvm::make_early_inc_range(read.getResult().getUsers())) {
    auto select = dyn_cast<arith::SelectOp>(user);
    if (!select || select.getTrueValue() != read.getResult() ||
        !(matchPattern(select.getFalseValue(), m_PosZeroFloat()) || matchPattern(select.getFalseValue(), m_Zero())))
      continue;
    bool exact = true;
    Guards guards = constraintsOf(compute, select.getCondition(), true, exact);
    auto isDecided = [&](const IndexConstraint &c) {
      AffineExpr form = inProduct(c.form, read);
      return form && llvm::is_contained(decided, IndexConstraint{form, c.isEquality});
    };
    if (exact && llvm::all_of(guards, isDecided)) {
      select.replaceAllUsesWith(read.getResult());
      select.erase();
    }
  }
}

void restrictToGuards(ReduceOp reduce) {
  std::optional<Guards> all;
  for (Operation *user : reduce.getResult().getUsers()) {
    ComputeOp compute = findOutput(user);
    if (!compute)
      return;
    auto read = cast<ReadOp>(user);
    Guards here;
    for (const IndexConstraint &c : Guarded(compute).guardsOf(read))
      if (AffineExpr form = inProduct(c.form, read))
        here.push_back({form, c.isEquality});
    all = all ? common(*all, here) : here;
  }
  // Conditions on rows or columns alone are for their readers: what they spare is no tile's, but for the last.
  llvm::erase_if(*all, [&](const IndexConstraint &c) {
    llvm::BitVector dims(reduce.getNumDims());
    collectDims(c.form, dims);
    return dims.count() < 2;
  });
  for (const IndexConstraint &c : *all)
    reduce.setCondition(
        intersect(reduce.getCondition(), IntegerSet::get(reduce.getNumDims(), reduce.getExtents().getNumSymbols(), c.form, c.isEquality)));
  for (Operation *user : reduce.getResult().getUsers())
    dropSelects(cast<ReadOp>(user), *all);
}

} // namespace

void restrictGuardedProducts(KernelOp kernel) {
  for (ReduceOp reduce : kernel.getBlock().getOps<ReduceOp>())
    if (!reduce.getResult().use_empty() && !reduce.getShape() && findContraction(reduce))
      restrictToGuards(reduce);
}

} // namespace kernelc::te
