// cu-unroll: see Passes.td.
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/Matchers.h"
#include "passes/Passes.h"
#include "support/Target.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUUNROLL
#include "passes/Passes.h.inc"

namespace {

std::optional<int64_t> constantOf(Value v) {
  APInt c;
  return matchPattern(v, m_ConstantInt(&c)) ? std::optional(c.getSExtValue()) : std::nullopt;
}

/// How often a loop goes round; nothing when only the launch knows.
std::optional<int64_t> findTrips(scf::ForOp loop) {
  auto from = constantOf(loop.getLowerBound()), to = constantOf(loop.getUpperBound()), step = constantOf(loop.getStep());
  if (!from || !to || !step || *step <= 0)
    return std::nullopt;
  return std::max<int64_t>(0, (*to - *from + *step - 1) / *step);
}

/// Whether the loop variable helps to name a register: an element of a private array of
/// more than one.
bool namesRegisters(scf::ForOp loop) {
  llvm::SetVector<Value> reached;
  reached.insert(loop.getInductionVar());
  for (size_t i = 0; i < reached.size(); ++i)
    for (Operation *user : reached[i].getUsers()) {
      if (llvm::any_of(user->getOperands(), [](Value v) {
            auto array = dyn_cast<MemRefType>(v.getType());
            return array && cu::spaceOf(v) == cu::Private && array.getNumElements() > 1;
          }) && reached[i].getType().isIndex())
        return true;
      if (auto inner = dyn_cast<scf::ForOp>(user))
        reached.insert(inner.getInductionVar());
      if (user->getNumRegions() == 0 && isMemoryEffectFree(user))
        for (Value result : user->getResults())
          if (result.getType().isIndex())
            reached.insert(result);
    }
  return false;
}

/// Rounds that wait for each other or for copies stand in the order of the pipeline.
bool synchronises(scf::ForOp loop) {
  return loop
      .walk([](Operation *op) {
        return isa<cu::SyncOp, cu::NamedSyncOp, cu::ClusterSyncOp, cu::CpAsyncWaitOp, cu::MbarrierWaitOp, cu::WgmmaWaitOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

struct CuUnrollPass : impl::CuUnrollBase<CuUnrollPass> {
  void runOnOperation() override {
    cu::KernelOp kernel = getOperation();
    const Target *target = findTarget(absl::string_view(kernel.getTarget().data(), kernel.getTarget().size()));
    if (!target) {
      kernel.emitOpError() << "has the unknown target '" << kernel.getTarget() << "'";
      return signalPassFailure();
    }
    budget_ = target->unrollOperations;
    visit(kernel.getBlock());
  }

private:
  /// Decides for the loops of a block, innermost first; returns how many operations it
  /// then comes to.
  int64_t visit(Block &block) {
    int64_t operations = 0;
    for (Operation &op : block) {
      if (isa<arith::ConstantOp>(op) || op.hasTrait<OpTrait::IsTerminator>())
        continue;
      int64_t inside = 0;
      for (Region &region : op.getRegions())
        for (Block &b : region)
          inside += visit(b);
      auto loop = dyn_cast<scf::ForOp>(op);
      operations += loop ? decide(loop, inside) : inside + 1;
    }
    return operations;
  }

  /// Marks the loop; returns its operations.
  int64_t decide(scf::ForOp loop, int64_t round) {
    std::optional<int64_t> trips = findTrips(loop);
    if (!trips || loop->hasAttr(cu::kUnrollAttr))
      return round;
    Builder b(loop.getContext());
    bool keepsRounds = loop->hasAttr(cu::kTilesAttr) || synchronises(loop);
    if (namesRegisters(loop) || (!keepsRounds && round * *trips <= budget_)) {
      loop->setAttr(cu::kUnrollAttr, b.getUnitAttr());
      return round * *trips;
    }
    if (keepsRounds)
      return round;
    int64_t factor = 1; // the largest that leaves no rest
    for (int64_t f = 2; f < *trips && f * round <= budget_; ++f)
      if (*trips % f == 0)
        factor = f;
    loop->setAttr(cu::kUnrollAttr, b.getI64IntegerAttr(factor));
    return round * factor;
  }

  int64_t budget_ = 0;
};

} // namespace
} // namespace kernelc
