// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-flatten: see Passes.td.
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/Passes.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUFLATTEN
#include "passes/Passes.h.inc"

namespace {

/// The rounds of a loop that counts from 0 by ones and carries nothing.
std::optional<int64_t> findCount(scf::ForOp loop) {
  bool counts = loop.getInitArgs().empty() && getConstantIntValue(loop.getLowerBound()) == 0 && getConstantIntValue(loop.getStep()) == 1;
  return counts ? getConstantIntValue(loop.getUpperBound()) : std::nullopt;
}

/// The loop that is all there is in `outer`, beside index arithmetic.
scf::ForOp findOnlyLoop(scf::ForOp outer) {
  scf::ForOp only;
  for (Operation &op : outer.getBody()->without_terminator()) {
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && !only)
      only = loop;
    else if (op.getNumRegions() || !isMemoryEffectFree(&op))
      return {};
  }
  return only;
}

/// outer * count + inner, and nothing else, of the variables of two loops: the values that are that sum.
std::optional<SmallVector<Operation *>> findNumbers(scf::ForOp outer, scf::ForOp inner, int64_t count) {
  SmallVector<Operation *> numbers;
  Value x = outer.getInductionVar(), y = inner.getInductionVar();
  auto isStart = [&](Value v) {
    auto product = v.getDefiningOp<arith::MulIOp>();
    return product && product.getLhs() == x && getConstantIntValue(product.getRhs()) == count;
  };
  for (Operation *user : x.getUsers())
    if (user->getNumResults() != 1 || !isStart(user->getResult(0)))
      return std::nullopt;
    else
      for (Operation *sum : user->getUsers())
        if (!isa<arith::AddIOp>(sum) || !llvm::is_contained(sum->getOperands(), y))
          return std::nullopt;
  for (Operation *user : y.getUsers()) {
    auto sum = dyn_cast<arith::AddIOp>(user);
    if (!sum || !(isStart(sum.getLhs()) || isStart(sum.getRhs())))
      return std::nullopt;
    numbers.push_back(sum);
  }
  return numbers.empty() ? std::nullopt : std::optional(numbers);
}

/// Joins `outer` with the loop in it, if it can; returns the loop that is there then.
scf::ForOp flatten(scf::ForOp outer) {
  scf::ForOp inner = findOnlyLoop(outer);
  if (!inner || outer->getAttrDictionary() != inner->getAttrDictionary())
    return outer;
  std::optional<int64_t> rounds = findCount(outer), count = findCount(inner);
  if (!rounds || !count)
    return outer;
  std::optional<SmallVector<Operation *>> numbers = findNumbers(outer, inner, *count);
  if (!numbers)
    return outer;
  OpBuilder b(outer);
  StringRef name = cu::findName(numbers->front()->getLoc());
  Location loc = outer.getLoc();
  Value end = arith::ConstantIndexOp::create(b, loc, *rounds * *count);
  auto loop = scf::ForOp::create(b, loc, outer.getLowerBound(), end, outer.getStep());
  loop->setAttrs(outer->getAttrDictionary());
  loop.getInductionVar().setLoc(NameLoc::get(b.getStringAttr(name.empty() ? "reg" : name), cu::unnamed(loc)));
  for (Operation *number : *numbers) {
    number->getResult(0).replaceAllUsesWith(loop.getInductionVar());
    number->erase();
  }
  for (Operation *start : llvm::make_early_inc_range(outer.getInductionVar().getUsers()))
    start->erase();
  // What is left of the outer body is the same for all rounds.
  Operation *last = loop.getBody()->getTerminator();
  for (Operation &op : llvm::make_early_inc_range(outer.getBody()->without_terminator()))
    if (&op != inner)
      op.moveBefore(last);
  for (Operation &op : llvm::make_early_inc_range(inner.getBody()->without_terminator()))
    op.moveBefore(last);
  outer.erase();
  return loop;
}

struct CuFlattenPass : impl::CuFlattenBase<CuFlattenPass> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops; // inner ones first
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      flatten(loop);
  }
};

} // namespace
} // namespace kernelc
