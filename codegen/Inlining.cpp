// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which ops are printed inside the expressions that use them, and which get a name.
#include "codegen/Emitter.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc::codegen {

static bool isPureScalar(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 && isMemoryEffectFree(op) && !isa<cu::SharedOp>(op);
}

/// Whether `op`, printed inside its user, might not be evaluated: && and || and ?:
/// skip operands, and an exchange between lanes needs all of them.
static bool mightBeSkipped(Operation *op) {
  for (; op->hasOneUse(); op = *op->getUsers().begin()) {
    Operation *user = *op->getUsers().begin();
    if (isa<arith::SelectOp>(user) || (isa<arith::AndIOp, arith::OrIOp, arith::MulIOp>(user) && user->getResult(0).getType().isInteger(1)))
      return true;
    if (!isPureScalar(user))
      return false;
  }
  return false;
}

/// Comparisons whose text has each operand twice.
static bool mentionsTwice(Operation *user) {
  auto cmp = dyn_cast<arith::CmpFOp>(user);
  using P = arith::CmpFPredicate;
  return isa<math::IsNaNOp>(user) || (cmp && llvm::is_contained({P::ONE, P::UEQ, P::UNO, P::ORD}, cmp.getPredicate()));
}

/// An index that steps from a loop variable, `4 * i + 1`: it reads better where it is used than under a name of its own.
static bool isStepOfLoop(Operation *op) {
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(op) || !op->getResult(0).getType().isIndex() ||
      !cu::findName(op->getLoc()).empty() || !op->getOperand(1).getDefiningOp<arith::ConstantOp>())
    return false;
  Value from = op->getOperand(0);
  if (Operation *before = from.getDefiningOp())
    return isStepOfLoop(before);
  auto loop = dyn_cast<scf::ForOp>(from.getParentBlock()->getParentOp());
  return loop && from == loop.getInductionVar() && loop.getUpperBound().getDefiningOp<arith::ConstantOp>();
}

/// What a device computes in several instructions: skipped by ?:, it makes a branch of its own for each element.
static bool isCall(Operation *op) {
  return op->getDialect()->getNamespace() == math::MathDialect::getDialectNamespace() && !isa<math::FmaOp, math::AbsFOp>(op);
}

/// An index or a condition that reads better where it is used, each time, than under a name of its own: a step of a loop variable, or
/// what a name could only spell, as long as C computes it in no more bits than the name would have.
bool Emitter::isPlain(Operation *op) {
  if (isStepOfLoop(op))
    return true;
  if (!isSpelledByName(op))
    return false;
  Value v = op->getResult(0);
  return !v.getType().isIndex() || llvm::all_of(op->getOperands(), [&](Value x) { return bitsOf(x) <= bitsOf(v); });
}

bool Emitter::canInline(Operation *op) {
  if (isa<arith::ConstantOp>(op) || isPlain(op))
    return true;
  if ((isa<cu::ShuffleXorOp>(op) || isCall(op)) && mightBeSkipped(op))
    return false;
  bool isLoad = isa<memref::LoadOp, cu::LookOp>(op);
  if (!isLoad && !isPureScalar(op))
    return false;
  if (!op->hasOneUse())
    return false;
  Operation *user = *op->getUsers().begin();
  auto loop = dyn_cast<scf::ForOp>(user);
  // A loop asks for its bounds in each round, and what several variables begin with is said in several statements.
  bool isBegun = loop && loop.getNumRegionIterArgs() == 1 && loop.getInitArgs()[0] == op->getResult(0);
  if (user->getBlock() != op->getBlock() || (loop && !isBegun))
    return false;
  if (inlined_.contains(user) && !user->hasOneUse())
    return false;
  // An op that mentions its operand twice would print it twice.
  if (mentionsTwice(user) || (isa<arith::CmpFOp>(user) && op->getResult(0).getType().isF32() && isLoad))
    return false;
  // The statement that the expression ends up in.
  Operation *statement = user;
  while (inlined_.contains(statement))
    statement = *statement->getUsers().begin();
  if (isLoad)
    for (Operation *between = op->getNextNode(); between != statement; between = between->getNextNode())
      if (!isMemoryEffectFree(between) && !isa<memref::LoadOp, cu::LookOp, cu::CommentOp>(between))
        return false;
  return true;
}

void Emitter::planInlining(Block &block) {
  constexpr int kMaxDepth = 8; // longer chains get a name in between
  llvm::DenseMap<Operation *, int> depth;
  for (Operation &op : llvm::reverse(block)) {
    if (!canInline(&op))
      continue;
    if (isa<arith::ConstantOp>(op) || isPlain(&op)) {
      inlined_.insert(&op);
      continue;
    }
    Operation *user = *op.getUsers().begin();
    int d = inlined_.contains(user) ? depth[user] + 1 : 0;
    bool isLeaf = llvm::none_of(op.getOperands(), [&](Value v) {
      Operation *maker = v.getDefiningOp();
      return maker && maker->getBlock() == &block && !isa<arith::ConstantOp>(maker) && canInline(maker);
    });
    if (d >= kMaxDepth && !isLeaf) // of names and numbers it is short enough
      continue;
    depth[&op] = d;
    inlined_.insert(&op);
  }
}

} // namespace kernelc::codegen
