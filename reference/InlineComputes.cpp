// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/InlineComputes.h"

#include "ir/te/TeShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

/// Bodies this large stay apart: compile time, and registers.
constexpr int kMaxBody = 200;

int bodySize(Operation *op) { return int(std::distance(op->getRegion(0).front().begin(), op->getRegion(0).front().end())); }

/// Only moves data: reads, casts and indices.
bool isCheap(te::ComputeOp op) {
  int reads = 0;
  for (Operation &inner : op.getBlock().without_terminator()) {
    reads += isa<te::ReadOp>(inner);
    if (!isa<te::ReadOp, te::SizeOp, arith::ConstantOp, arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp>(inner))
      return false;
  }
  return reads <= 1;
}

/// Every dim of `consumer` stands alone in a different subscript of `read`.
bool readsOnce(Operation *consumer, te::ReadOp read) {
  AffineMap map = read.getMapOrIdentity();
  llvm::SmallDenseSet<Value> seen;
  for (AffineExpr e : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(e))
      seen.insert(read.getOperands_()[dim.getPosition()]);
  return llvm::all_of(consumer->getRegion(0).front().getArguments(), [&](Value v) { return seen.contains(v); });
}

/// `inner`, of the block that `outer` reads a point of, at that point: the outer one's map is composed into its own.
Value composeRead(OpBuilder &b, te::ReadOp outer, te::ReadOp inner, Block &block, const IRMapping &mapping) {
  AffineMap point = outer.getMapOrIdentity();
  // Operands: the outer read's, then those of the inner that are no block arguments.
  SmallVector<Value> operands = llvm::to_vector(outer.getOperands_());
  SmallVector<AffineExpr> replacements;
  for (Value v : inner.getOperands_()) {
    auto arg = dyn_cast<BlockArgument>(v);
    if (arg && arg.getOwner() == &block) {
      replacements.push_back(point.getResult(arg.getArgNumber()));
    } else {
      replacements.push_back(b.getAffineDimExpr(operands.size()));
      operands.push_back(mapping.lookupOrDefault(v));
    }
  }
  SmallVector<AffineExpr> results;
  for (AffineExpr e : inner.getMapOrIdentity().getResults())
    results.push_back(e.replaceDims(replacements));
  AffineMap map = simplifyAffineMap(AffineMap::get(operands.size(), point.getNumSymbols(), results, b.getContext()));
  Value padding = inner.getPadding() ? mapping.lookupOrDefault(inner.getPadding()) : Value();
  return te::ReadOp::create(b, inner.getLoc(), inner.getResult().getType(), mapping.lookupOrDefault(inner.getTensor()), operands,
                            AffineMapAttr::get(map), te::BoundsModeAttr::get(b.getContext(), inner.getBounds()), padding)
      .getResult();
}

bool tryInline(te::ComputeOp op) {
  if (op.getCondition() || op.getInit() || op.getOutMap() || op.getPartial() || op.getYield().getCondition() || !op->hasOneUse())
    return false;
  auto read = dyn_cast<te::ReadOp>(*op->user_begin());
  if (!read || read.getBounds() != te::BoundsMode::InBounds)
    return false;
  // Data-dependent subscripts need the guard that a real tensor has.
  if (llvm::any_of(read.getOperands_(), [](Value v) { return !isa<BlockArgument>(v); }))
    return false;
  Operation *consumer = read->getParentOp();
  if (!te::isDomainOp(consumer) || (!readsOnce(consumer, read) && !isCheap(op)) || bodySize(op) + bodySize(consumer) > kMaxBody)
    return false;
  // An inner read gets the outer one's map composed into its own; other uses of an
  // index would need the subscript as a value.
  AffineMap outer = read.getMapOrIdentity();
  IRMapping mapping;
  for (auto [arg, e] : llvm::zip(op.getBlock().getArguments(), outer.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(e);
    if (dim)
      mapping.map(arg, read.getOperands_()[dim.getPosition()]);
  }
  auto argumentsOf = [&](Operation &inner) {
    SmallVector<unsigned> composed;
    for (auto [i, v] : llvm::enumerate(inner.getOperands()))
      if (auto arg = dyn_cast<BlockArgument>(v); arg && arg.getOwner() == &op.getBlock() && !mapping.contains(v))
        composed.push_back(i);
    return composed;
  };
  for (Operation &inner : op.getBlock())
    if (!argumentsOf(inner).empty() && !isa<te::ReadOp>(inner))
      return false;

  OpBuilder b(read);
  for (Operation &inner : op.getBlock().without_terminator()) {
    if (argumentsOf(inner).empty()) {
      b.clone(inner, mapping);
      continue;
    }
    auto from = cast<te::ReadOp>(inner);
    mapping.map(from.getResult(), composeRead(b, read, from, op.getBlock(), mapping));
  }
  read.getResult().replaceAllUsesWith(mapping.lookupOrDefault(op.getYield().getValues()[0]));
  read.erase();
  op.erase();
  return true;
}

} // namespace

void inlineComputes(te::KernelOp kernel) {
  // The same statement twice (two reductions of one expression) is one.
  IRRewriter rewriter(kernel.getContext());
  DominanceInfo dominance;
  eliminateCommonSubExpressions(rewriter, dominance, kernel);
  // Definitions come before uses: one pass forwards sees every statement after its
  // operands were inlined into it, and each is tried once.
  for (Operation &op : llvm::make_early_inc_range(kernel.getBlock()))
    if (auto compute = dyn_cast<te::ComputeOp>(op))
      tryInline(compute);
  // From a list: a reverse iterator over a range of ops stands on the op after, which is erased.
  SmallVector<Operation *> ops;
  for (Operation &op : kernel.getBlock().without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
}

} // namespace kernelc::reference
