// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements for mbarriers, tensor copies, roles and warpgroup products.
#include "codegen/Emitter.h"
#include "codegen/Helpers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::codegen {

bool Emitter::emitHopper(Operation *op) {
  auto call = [&](const std::string &name, const std::string &arguments) {
    if (!hasHelper(name, options_.target->generation)) {
      unsupported(op) << " on " << options_.target->name;
      return;
    }
    use(name);
    line(name + "(" + arguments + ");");
  };
  auto number = [](int64_t n) { return std::to_string(n); };
  // Accumulators are written, and operands in registers read, behind the compiler's back between fence and wait.
  auto hold = [&](Value registers) {
    auto type = cast<MemRefType>(registers.getType());
    std::string name = type.getElementType().isF32() ? "kc_wgmma_hold" : "kc_wgmma_hold_int";
    use(name);
    line(name + "<" + number(type.getNumElements()) + ">(" + names_.get(registers) + ");");
  };
  auto holdOperand = [&](Value registers) {
    auto type = cast<MemRefType>(registers.getType());
    use("kc_wgmma_hold_a");
    line("kc_wgmma_hold_a<" + number(type.getNumElements() * type.getElementTypeBitWidth() / 32) + ">((unsigned *)" +
         names_.get(registers) + ");");
  };
  // Whether a product is added to what the accumulator holds.
  auto accumulates = [&](bool fresh, Value accumulate) {
    return fresh ? std::string(", 0") : accumulate ? ", " + operand(accumulate, kConditional) : std::string(", 1");
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<cu::NamedSyncOp>([&](cu::NamedSyncOp o) {
        call("kc_bar_sync", operand(o.getId(), kConditional) + ", " + number(o.getThreads()));
        return true;
      })
      .Case<cu::MbarrierInitOp>([&](cu::MbarrierInitOp o) {
        call("kc_mbarrier_init", address(o.getBarrier(), o.getIndex()) + ", " + number(o.getCount()));
        return true;
      })
      .Case<cu::MbarrierFenceOp>([&](auto) {
        call("kc_fence_mbarrier_init", "");
        return true;
      })
      .Case<cu::MbarrierExpectOp>([&](cu::MbarrierExpectOp o) {
        call("kc_mbarrier_expect_tx", address(o.getBarrier(), o.getIndex()) + ", " + number(o.getBytes()));
        return true;
      })
      .Case<cu::MbarrierArriveOp>([&](cu::MbarrierArriveOp o) {
        if (o.getBlock())
          call("kc_mbarrier_arrive_cluster", address(o.getBarrier(), o.getIndex()) + ", " + operand(o.getBlock(), kConditional));
        else
          call("kc_mbarrier_arrive", address(o.getBarrier(), o.getIndex()));
        return true;
      })
      .Case<cu::LaunchWaitOp>([&](auto) {
        call("kc_launch_wait", "");
        return true;
      })
      .Case<cu::LaunchReleaseOp>([&](auto) {
        call("kc_launch_release", "");
        return true;
      })
      .Case<cu::ClusterSyncOp>([&](auto) {
        call("kc_cluster_sync", "");
        return true;
      })
      .Case<cu::ClusterArriveOp>([&](auto) {
        call("kc_cluster_arrive", "");
        return true;
      })
      .Case<cu::ClusterWaitOp>([&](auto) {
        call("kc_cluster_wait", "");
        return true;
      })
      .Case<cu::ClusterStoreOp>([&](cu::ClusterStoreOp o) {
        Type type = o.getValue().getType();
        call(std::string("kc_cluster_store_") + (isa<FloatType>(type) ? "f" : "i") + std::to_string(type.getIntOrFloatBitWidth()),
             address(o.getDestination(), o.getIndex()) + ", " + operand(o.getValue(), kConditional) + ", " +
                 operand(o.getBlock(), kConditional));
        return true;
      })
      .Case<cu::MbarrierWaitOp>([&](cu::MbarrierWaitOp o) {
        call("kc_mbarrier_wait", address(o.getBarrier(), o.getIndex()) + ", " + operand(o.getParity(), kConditional));
        return true;
      })
      .Case<cu::PrefetchTensorMapOp>([&](cu::PrefetchTensorMapOp o) {
        call("kc_prefetch_tensor_map", "&" + names_.get(o.getMap()));
        return true;
      })
      .Case<cu::TmaLoadOp>([&](cu::TmaLoadOp o) {
        std::string arguments = address(o.getTarget(), o.getTargetIndex()) + ", &" + names_.get(o.getMap());
        for (Value c : o.getCoordinates())
          arguments += ", " + operand(c, kConditional);
        arguments += ", " + address(o.getBarrier(), o.getBarrierIndex());
        std::string name = "kc_tma_load_" + std::string(o.getBlocks() ? "multicast_" : "") + (o.getStreaming() ? "streaming_" : "") +
                           number(o.getCoordinates().size()) + "d";
        call(name, o.getBlocks() ? arguments + ", " + number(o.getBlocks()) : arguments);
        return true;
      })
      .Case<cu::StmatrixOp>([&](cu::StmatrixOp o) {
        call(o.getTrans() ? "kc_stmatrix_x4_trans" : "kc_stmatrix_x4",
             address(o.getTarget(), o.getTargetIndex()) + ", (const unsigned *)(" + address(o.getSource(), o.getSourceIndex()) + ")");
        return true;
      })
      .Case<cu::TmaStoreOp>([&](cu::TmaStoreOp o) {
        std::string arguments = "&" + names_.get(o.getMap()) + ", " + address(o.getSource(), o.getSourceIndex());
        for (Value c : o.getCoordinates())
          arguments += ", " + operand(c, kConditional);
        call("kc_tma_store_" + number(o.getCoordinates().size()) + "d", arguments);
        return true;
      })
      .Case<cu::TmaCommitOp>([&](auto) {
        call("kc_tma_commit", "");
        return true;
      })
      .Case<cu::TmaWaitReadOp>([&](cu::TmaWaitReadOp o) {
        use("kc_tma_wait_read");
        line("kc_tma_wait_read<" + number(o.getPending()) + ">();");
        return true;
      })
      .Case<cu::ProxyFenceOp>([&](auto) {
        call("kc_fence_proxy_async", "");
        return true;
      })
      .Case<cu::SetRegistersOp>([&](cu::SetRegistersOp o) {
        std::string name = o.getIncrease() ? "kc_setmaxnreg_inc" : "kc_setmaxnreg_dec";
        use(name);
        line(name + "<" + number(o.getCount()) + ">();");
        return true;
      })
      .Case<cu::WgmmaFenceOp>([&](cu::WgmmaFenceOp o) {
        use("kc_wgmma_fence");
        if (!o.getFresh())
          hold(o.getAcc());
        if (o.getA())
          holdOperand(o.getA());
        line("kc_wgmma_fence();");
        return true;
      })
      .Case<cu::WgmmaCommitOp>([&](auto) {
        call("kc_wgmma_commit", "");
        return true;
      })
      .Case<cu::WgmmaWaitOp>([&](cu::WgmmaWaitOp o) {
        use("kc_wgmma_wait");
        line("kc_wgmma_wait<" + number(o.getPending()) + ">();");
        hold(o.getAcc());
        return true;
      })
      .Case<cu::WgmmaOp>([&](cu::WgmmaOp o) {
        std::string name = "kc_wgmma_" + o.getType().str() + "<" + number(o.getN());
        if (o.getType() == "bf16" || o.getType() == "f16")
          name += ", " + number(o.getTransposeA()) + ", " + number(o.getTransposeB());
        name += ">";
        call(name, address(o.getAcc(), o.getAccIndex()) + ", " + operand(o.getA(), kConditional) + ", " + operand(o.getB(), kConditional) +
                       accumulates(o.getFresh(), o.getAccumulate()));
        return true;
      })
      .Case<cu::WgmmaRegistersOp>([&](cu::WgmmaRegistersOp o) {
        std::string name = "kc_wgmma_rs_" + o.getType().str() + "<" + number(o.getN());
        if (o.getType() == "bf16" || o.getType() == "f16")
          name += ", " + number(o.getTransposeB());
        name += ">";
        call(name, address(o.getAcc(), o.getAccIndex()) + ", (const unsigned *)(" + address(o.getA(), o.getAIndex()) + "), " +
                       operand(o.getB(), kConditional) + accumulates(o.getFresh(), o.getAccumulate()));
        return true;
      })
      .Default([](Operation *) { return false; });
}

} // namespace kernelc::codegen
