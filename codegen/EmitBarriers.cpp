// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements that roles and blocks wait for each other by: mbarriers, tensor copies, clusters, launches.
#include "codegen/Emitter.h"
#include "codegen/Helpers.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::codegen {

/// Of ops without operands that are one call.
static StringRef plainHelper(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Case(cu::MbarrierFenceOp::getOperationName(), "kc_fence_mbarrier_init")
      .Case(cu::LaunchWaitOp::getOperationName(), "kc_launch_wait")
      .Case(cu::LaunchReleaseOp::getOperationName(), "kc_launch_release")
      .Case(cu::ClusterSyncOp::getOperationName(), "kc_cluster_sync")
      .Case(cu::ClusterArriveOp::getOperationName(), "kc_cluster_arrive")
      .Case(cu::ClusterWaitOp::getOperationName(), "kc_cluster_wait")
      .Case(cu::TmaCommitOp::getOperationName(), "kc_tma_commit")
      .Case(cu::ProxyFenceOp::getOperationName(), "kc_fence_proxy_async")
      .Default("");
}

std::string Emitter::bytesOfCopies(cu::MbarrierExpectOp op) {
  llvm::SetVector<Operation *> arrays;
  for (Operation *next = op->getNextNode(); next && !isa<cu::MbarrierExpectOp>(next); next = next->getNextNode())
    next->walk([&](cu::TmaLoadOp copy) {
      if (copy.getBarrier() == op.getBarrier())
        arrays.insert(copy.getTarget().getDefiningOp());
    });
  auto slotBytes = [&](cu::SharedOp array) {
    return cast<MemRefType>(array.getType()).getNumElements() / slots_->slotsOf(array) * bitsOfElement(array) / 8;
  };
  int64_t bytes = 0;
  for (Operation *o : arrays) {
    auto array = dyn_cast_or_null<cu::SharedOp>(o);
    if (!array || !slots_->slotsOf(array))
      return std::to_string(op.getBytes());
    bytes += slotBytes(array);
  }
  if (arrays.empty() || bytes != int64_t(op.getBytes()))
    return std::to_string(op.getBytes());
  llvm::MapVector<Type, std::string> sums; // of slots, by what they hold
  for (Operation *array : arrays) {
    std::string &sum = sums[cast<MemRefType>(array->getResult(0).getType()).getElementType()];
    sum += (sum.empty() ? "" : " + ") + slots_->sizeOf(cast<cu::SharedOp>(array));
  }
  std::string text;
  for (auto &[type, sum] : sums)
    text += (text.empty() ? "" : " + ") + (StringRef(sum).contains('+') ? "(" + sum + ")" : sum) + " * sizeof(" + typeName(type) + ")";
  return text;
}

bool Emitter::emitMbarrier(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<cu::MbarrierInitOp>([&](cu::MbarrierInitOp o) {
        return callHelper(o, "kc_mbarrier_init", address(o.getBarrier(), o.getIndex()) + ", " + llvm::Twine(o.getCount())), true;
      })
      .Case<cu::MbarrierExpectOp>([&](cu::MbarrierExpectOp o) {
        std::string bytes = bytesOfCopies(o);
        if (o.getAbsent())
          bytes += " - " + operand(o.getAbsent(), kMultiplicative);
        return callHelper(o, "kc_mbarrier_expect_tx", address(o.getBarrier(), o.getIndex()) + ", " + bytes), true;
      })
      .Case<cu::MbarrierArriveOp>([&](cu::MbarrierArriveOp o) {
        std::string barrier = address(o.getBarrier(), o.getIndex());
        if (o.getBlock())
          callHelper(o, "kc_mbarrier_arrive_cluster", barrier + ", " + operand(o.getBlock(), kConditional));
        else
          callHelper(o, "kc_mbarrier_arrive", barrier);
        return true;
      })
      .Case<cu::MbarrierArriveCopiesOp>(
          [&](cu::MbarrierArriveCopiesOp o) { return callHelper(o, "kc_cp_async_arrive", address(o.getBarrier(), o.getIndex())), true; })
      .Case<cu::MbarrierWaitOp>([&](cu::MbarrierWaitOp o) {
        return callHelper(o, "kc_mbarrier_wait", address(o.getBarrier(), o.getIndex()) + ", " + operand(o.getParity(), kConditional)), true;
      })
      .Default(false);
}

std::string Emitter::coordinates(ValueRange values) {
  std::string text;
  for (Value c : values)
    text += ", " + operand(c, kConditional);
  return text;
}

bool Emitter::emitTensorCopy(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<cu::PrefetchTensorMapOp>(
          [&](cu::PrefetchTensorMapOp o) { return callHelper(o, "kc_prefetch_tensor_map", "&" + names_.get(o.getMap())), true; })
      .Case<cu::TmaLoadOp>([&](cu::TmaLoadOp o) {
        std::string map = "&" + names_.get(o.getMap());
        if (o.getLast())
          map = operand(o.getEnds(), kLogicalOr) + " ? &" + names_.get(o.getLast()) + " : " + map;
        std::string arguments = address(o.getTarget(), o.getTargetIndex()) + ", " + map + coordinates(o.getCoordinates()) + ", " +
                                address(o.getBarrier(), o.getBarrierIndex());
        if (o.getBlocks())
          arguments += ", " + std::to_string(o.getBlocks());
        callHelper(o,
                   llvm::Twine("kc_tma_load_") + (o.getBlocks() ? "multicast_" : "") + (o.getStreaming() ? "streaming_" : "") +
                       llvm::Twine(o.getCoordinates().size()) + "d",
                   arguments);
        return true;
      })
      .Case<cu::TmaStoreOp>([&](cu::TmaStoreOp o) {
        callHelper(o, "kc_tma_store_" + llvm::Twine(o.getCoordinates().size()) + "d",
                   "&" + names_.get(o.getMap()) + ", " + address(o.getSource(), o.getSourceIndex()) + coordinates(o.getCoordinates()));
        return true;
      })
      .Case<cu::TmaWaitReadOp>([&](cu::TmaWaitReadOp o) {
        use("kc_tma_wait_read");
        return line("kc_tma_wait_read<" + llvm::Twine(o.getPending()) + ">();"), true;
      })
      .Default(false);
}

/// What the blocks of a launch tell each other in memory: numbers in turn, and words that others wait for.
bool Emitter::emitTicket(Operation *op) {
  auto take = [&](auto o, StringRef helper) {
    StringRef wanted = cu::findName(o.getLoc());
    const std::string &name = names_.declare(o.getResult(), wanted.empty() ? "number" : wanted);
    use(helper);
    line("const int " + name + " = " + helper + "(" + address(o.getBase(), o.getIndex()) + ");");
    return true;
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<cu::TakeNumberOp>([&](auto o) { return take(o, "kc_take_number"); })
      .Case<cu::AskOp>([&](auto o) { return take(o, "kc_ask"); })
      .Case<cu::TellOp>(
          [&](cu::TellOp o) { return callHelper(o, "kc_tell", address(o.getBase(), o.getIndex()) + ", " + expr(o.getValue()).text), true; })
      .Default(false);
}

bool Emitter::emitBarrier(Operation *op) {
  if (StringRef helper = plainHelper(op); !helper.empty())
    return callHelper(op, helper, ""), true;
  if (emitMbarrier(op) || emitTensorCopy(op) || emitTicket(op))
    return true;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<cu::NamedSyncOp>([&](cu::NamedSyncOp o) {
        return callHelper(o, "kc_bar_sync", operand(o.getId(), kConditional) + ", " + llvm::Twine(o.getThreads())), true;
      })
      .Case<cu::ClusterStoreOp>([&](cu::ClusterStoreOp o) {
        Type type = o.getValue().getType();
        callHelper(o, llvm::Twine("kc_cluster_store_") + (isa<FloatType>(type) ? "f" : "i") + llvm::Twine(type.getIntOrFloatBitWidth()),
                   address(o.getDestination(), o.getIndex()) + ", " + operand(o.getValue(), kConditional) + ", " +
                       operand(o.getBlock(), kConditional));
        return true;
      })
      .Case<cu::SetRegistersOp>([&](cu::SetRegistersOp o) {
        std::string name = o.getIncrease() ? "kc_setmaxnreg_inc" : "kc_setmaxnreg_dec";
        use(name);
        return line(name + "<" + llvm::Twine(o.getCount()) + ">();"), true;
      })
      .Default(false);
}

} // namespace kernelc::codegen
