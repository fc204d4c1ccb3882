// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu-unroll: see Passes.td.
#include "ir/cu/Marks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/Passes.h"
#include "passes/cu/ConvertApart.h"
#include "passes/cu/Instructions.h"
#include "passes/cu/TurnParts.h"
#include "support/Target.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_CUUNROLL
#include "passes/Passes.h.inc"

namespace {

/// How often a loop goes round; nothing when only the launch knows.
std::optional<int64_t> findTrips(scf::ForOp loop) {
  auto from = getConstantIntValue(loop.getLowerBound()), to = getConstantIntValue(loop.getUpperBound()),
       step = getConstantIntValue(loop.getStep());
  if (!from || !to || !step || *step <= 0)
    return std::nullopt;
  __int128 trips = (__int128(*to) - *from + *step - 1) / *step;
  constexpr int64_t kMany = int64_t(1) << 31; // more than anybody unrolls, and few enough to multiply
  return int64_t(std::clamp<__int128>(trips, 0, kMany));
}

/// The operands of `op` that say which element of a private array it means.
SmallVector<Value> subscriptsOfRegisters(Operation *op) {
  SmallVector<Value> subscripts;
  auto add = [&](Value memory, ValueRange indices) {
    if (cu::spaceOf(memory) == cu::Private && cast<MemRefType>(memory.getType()).getNumElements() > 1)
      llvm::append_range(subscripts, indices);
  };
  llvm::TypeSwitch<Operation *>(op)
      .Case<memref::LoadOp, memref::StoreOp>([&](auto o) { add(o.getMemRef(), o.getIndices()); })
      .Case<cu::CopyOp, cu::AddVectorOp>([&](auto o) {
        add(o.getSource(), o.getSourceIndices());
        add(o.getTarget(), o.getTargetIndices());
      })
      .Case<cu::LdmatrixOp, cu::GatherOp>([&](auto o) { add(o.getTarget(), o.getTargetIndices()); })
      .Case<cu::StmatrixOp>([&](auto o) { add(o.getSource(), o.getSourceIndex()); })
      .Case<cu::ShuffleXorOp>([&](cu::ShuffleXorOp o) { // an instruction with the mask in it
        if (o.getStep())
          subscripts.push_back(o.getStep());
      })
      .Default([&](Operation *o) {
        for (Value memory : o->getOperands())
          if (isa<MemRefType>(memory.getType()))
            add(memory, o->getOperands());
      });
  return subscripts;
}

/// Whether the loop variable helps to name a register: an element of a private array of
/// more than one.
bool namesRegisters(scf::ForOp loop) {
  llvm::SetVector<Value> reached;
  reached.insert(loop.getInductionVar());
  for (size_t i = 0; i < reached.size(); ++i)
    for (Operation *user : reached[i].getUsers()) {
      if (llvm::is_contained(subscriptsOfRegisters(user), reached[i]))
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
        return isa<cu::SyncOp, cu::NamedSyncOp, cu::ClusterSyncOp, cu::ClusterWaitOp, cu::CpAsyncWaitOp, cu::MbarrierWaitOp,
                   cu::WgmmaWaitOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether products of one round are still in flight in the next. They write their
/// accumulators behind the compiler's back: a round that NVRTC peels off or unrolls has
/// registers of its own, and what it moves between them it moves too early.
bool carriesProducts(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<cu::WgmmaWaitOp>(), [](cu::WgmmaWaitOp wait) { return wait.getPending() > 0; });
}

/// Whether rounds wait for copies that other threads have started, or for their slots. The copies take longer than
/// what unrolling saves, and a block's first rounds would wait for their instructions instead.
bool waitsForCopies(scf::ForOp loop) { return !loop.getBody()->getOps<cu::MbarrierWaitOp>().empty(); }

/// The part of the budget that loops may take which are to be unrolled for the sake of constants alone: they run once a tile.
constexpr int64_t kShareOfPrologue = 8;

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
    turnParts(kernel, budget_);
    convertApart(kernel);
  }

private:
  /// Decides for the loops of a block, innermost first; returns how many operations it
  /// then comes to.
  int64_t visit(Block &block) {
    int64_t operations = 0;
    for (Operation &op : block) {
      int64_t inside = 0;
      for (Region &region : op.getRegions())
        for (Block &b : region)
          inside += visit(b);
      auto loop = dyn_cast<scf::ForOp>(op);
      operations += loop ? decide(loop, inside) : inside + isInstruction(&op);
    }
    return operations;
  }

  /// Marks the loop; returns its operations.
  int64_t decide(scf::ForOp loop, int64_t round) {
    if (cu::kUnroll.isOn(loop)) {
      if (!cu::kUnroll.isAllOn(loop))
        return round;
      // A prologue that computes what it fills slots with would be that code once for each slot.
      int64_t all = round * findTrips(loop).value_or(1);
      if (all <= budget_ / kShareOfPrologue || namesRegisters(loop))
        return all;
      cu::kUnroll.putOn(loop, 1);
      return round;
    }
    if (carriesProducts(loop) || waitsForCopies(loop)) {
      cu::kUnroll.putOn(loop, 1);
      if (getConstantIntValue(loop.getUpperBound())) {
        OpBuilder before(loop);
        loop.setUpperBound(cu::OpaqueOp::create(before, loop.getLoc(), loop.getUpperBound()));
      }
      return round;
    }
    std::optional<int64_t> trips = findTrips(loop);
    if (!trips)
      return round;
    bool meets = synchronises(loop), keepsRounds = cu::kTiles.isOn(loop) || meets;
    if (namesRegisters(loop) || (!keepsRounds && round * *trips <= budget_)) {
      cu::kUnroll.putAllOn(loop);
      return round * *trips;
    }
    if (keepsRounds) { // a short round of loads may be joined to the next by NVRTC
      if (meets || 2 * round > budget_)
        cu::kUnroll.putOn(loop, 1);
      return round;
    }
    int64_t factor = 1; // the largest that leaves no rest
    for (int64_t f = 2; f < *trips && f * round <= budget_; ++f)
      if (*trips % f == 0)
        factor = f;
    cu::kUnroll.putOn(loop, factor);
    return round * factor;
  }

  int64_t budget_ = 0;
};

} // namespace
} // namespace kernelc
