// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Branches of the CUDA text.
#include "codegen/Emitter.h"

using namespace mlir;

namespace kernelc::codegen {

void Emitter::emitBranch(Block &block, ValueRange results) {
  NameTable::Scope scope(names_);
  ++indent_;
  emitBlock(block);
  assignYield(block.getTerminator(), results);
  --indent_;
}

/// Whether an op computes an index or a condition and does nothing else.
static bool isIndexOrCondition(Operation &op) {
  return op.getNumResults() == 1 && op.getNumRegions() == 0 && isMemoryEffectFree(&op) &&
         (op.getResult(0).getType().isIndex() || op.getResult(0).getType().isInteger(1));
}

scf::IfOp Emitter::findOnlyBranch(scf::IfOp op) {
  auto hasElse = [](scf::IfOp branch) {
    return branch.getNumResults() || (branch.elseBlock() && !branch.elseBlock()->without_terminator().empty());
  };
  Block &block = *op.thenBlock();
  if (hasElse(op) || block.without_terminator().empty())
    return {};
  auto last = dyn_cast<scf::IfOp>(*std::prev(block.without_terminator().end()));
  if (!last || hasElse(last) || !llvm::all_of(llvm::drop_end(block.without_terminator()), isIndexOrCondition))
    return {};
  planInlining(block);
  // The condition is written ahead of the block.
  SmallVector<Value> work{last.getCondition()};
  while (!work.empty()) {
    Operation *maker = work.pop_back_val().getDefiningOp();
    if (!maker || maker->getBlock() != &block)
      continue;
    if (!inlined_.contains(maker))
      return {};
    llvm::append_range(work, maker->getOperands());
  }
  return last;
}

void Emitter::emitIf(scf::IfOp op) {
  if (scf::IfOp inner = findOnlyBranch(op)) {
    // if (a) { i = ..; if (b) { .. } }  =>  if (a && b) { i = ..; .. }
    line("if (" + operand(op.getCondition(), kLogicalAnd) + " && " + operand(inner.getCondition(), kLogicalAnd) + ") {");
    NameTable::Scope scope(names_);
    ++indent_;
    for (Operation &before : llvm::drop_end(op.thenBlock()->without_terminator()))
      emitOp(&before);
    emitBlock(*inner.thenBlock());
    --indent_;
    line("}");
    return;
  }
  for (Value result : op.getResults())
    line(typeName(result.getType()) + " " + declareLeft(result, result, "chosen") + ";");
  line("if (" + expr(op.getCondition()).text + ") {");
  emitBranch(*op.thenBlock(), op.getResults());
  if (op.elseBlock() && (op.elseBlock()->getOperations().size() > 1 || op.getNumResults())) {
    line("} else {");
    emitBranch(*op.elseBlock(), op.getResults());
  }
  line("}");
}

} // namespace kernelc::codegen
