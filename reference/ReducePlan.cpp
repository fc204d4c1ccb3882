// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/ReducePlan.h"

#include "ir/te/TeShape.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

enum class Access { Invariant, Unit, Other };

/// How `read` moves along the body argument `dim`.
Access accessAlong(te::ReadOp read, Value dim) {
  AffineMap map = read.getMapOrIdentity();
  bool unit = false;
  for (auto [i, operand] : llvm::enumerate(read.getOperands_())) {
    if (operand != dim)
      continue;
    for (auto [r, e] : llvm::enumerate(map.getResults())) {
      if (!e.isFunctionOfDim(i))
        continue;
      AffineExpr moved = e - getAffineDimExpr(i, map.getContext());
      bool stepOne = !simplifyAffineExpr(moved, map.getNumDims(), map.getNumSymbols()).isFunctionOfDim(i);
      if (r + 1 != map.getNumResults() || !stepOne || unit)
        return Access::Other;
      unit = true;
    }
  }
  return unit ? Access::Unit : Access::Invariant;
}

/// Reads may be contiguous vectors along `dim`, and nothing else in the body sees it.
bool canVectorise(te::ReduceOp op, Value dim) {
  bool anyUnit = false;
  llvm::DenseSet<Value> vectors; // what differs from lane to lane: no subscript of another read
  for (Operation &inner : op.getBlock().without_terminator()) {
    auto read = dyn_cast<te::ReadOp>(inner);
    if (!read) {
      if (llvm::is_contained(inner.getOperands(), dim))
        return false;
      if (llvm::any_of(inner.getOperands(), [&](Value v) { return vectors.contains(v); }))
        vectors.insert_range(inner.getResults());
      continue;
    }
    if (llvm::any_of(read->getOperands(), [&](Value v) { return vectors.contains(v); }))
      return false;
    Access a = accessAlong(read, dim);
    bool plain =
        read.getBounds() == te::BoundsMode::InBounds && llvm::all_of(read.getOperands_(), [](Value v) { return isa<BlockArgument>(v); });
    Type element = read.getTensor().getType().getElementType();
    if (a == Access::Other || (a == Access::Unit && (!plain || element.isInteger(4))))
      return false;
    anyUnit |= a == Access::Unit;
    if (a == Access::Unit)
      vectors.insert(read.getResult());
  }
  return anyUnit;
}

/// The result is contiguous along `dim`.
bool storesAlong(te::ReduceOp op, unsigned dim) {
  AffineMap out = op.getOutMapOrIdentity();
  for (auto [i, e] : llvm::enumerate(out.getResults()))
    if (i + 1 == out.getNumResults() ? e != getAffineDimExpr(dim, op.getContext()) : e.isFunctionOfDim(dim))
      return false;
  return out.getNumResults() > 0;
}

} // namespace

ReducePlan planReduce(te::ReduceOp op, bool light) {
  ReducePlan plan;
  unsigned parallel = op.getNumParallel(), n = op.getNumDims();
  for (unsigned d = parallel; d < n; ++d)
    plan.reducedOrder.push_back(d);
  if (op.isArg() || parallel == n)
    return plan;
  auto argument = [&](unsigned d) -> Value { return op.getBlock().getArgument(d); };

  // Contiguous along a reduced dim: make it innermost, for LLVM.
  bool dot = false;
  for (unsigned i = 0; i < plan.reducedOrder.size() && !dot; ++i)
    if (canVectorise(op, argument(plan.reducedOrder[i]))) {
      std::swap(plan.reducedOrder[i], plan.reducedOrder.back());
      dot = true;
    }
  // The loops of neighbouring points must have the same bounds.
  if (op.getCondition())
    return plan;
  Type yielded = op.getYield().getValues()[0].getType();
  if (!dot && !yielded.isInteger(1) && !yielded.isInteger(4))
    for (unsigned d = parallel; d-- > 0;)
      if (storesAlong(op, d) && canVectorise(op, argument(d))) {
        plan.vectorDim = d;
        plan.vectors = light ? 1 : 2;
        break;
      }
  unsigned ops = std::distance(op.getBlock().begin(), op.getBlock().end());
  if (ops > 24 || op.getYield().getCondition())
    return plan;
  unsigned most = plan.vectorDim ? 1 : 2, factor = light ? 2 : 4;
  for (unsigned d = parallel; d-- > 0 && plan.jam.size() < most;) {
    if (d == plan.vectorDim)
      continue;
    bool moves = false, stays = false;
    for (Operation &inner : op.getBlock())
      if (auto read = dyn_cast<te::ReadOp>(inner))
        (accessAlong(read, argument(d)) == Access::Invariant ? stays : moves) = true;
    if (moves && stays)
      plan.jam.push_back({d, factor});
  }
  return plan;
}

} // namespace kernelc::reference
