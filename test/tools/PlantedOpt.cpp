// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc-opt with passes that change the meaning, one per level: what
// --verify-semantics has to find.
#include "ir/cu/Cu.h"
#include "ir/te/Te.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/Pass.h"
#include "tools/Commands.h"

namespace kernelc {
namespace {

/// Turns float sums of two operands into differences; with `from`, only behind so many others.
struct PlantedSub : mlir::PassWrapper<PlantedSub, mlir::OperationPass<te::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlantedSub)
  PlantedSub() = default;
  PlantedSub(const PlantedSub &other) : PassWrapper(other) {}
  llvm::StringRef getArgument() const override { return "planted-sub"; }
  Option<int> from{*this, "from", llvm::cl::init(0)};
  void runOnOperation() override {
    int seen = 0;
    getOperation().walk([&](mlir::arith::AddFOp add) {
      if (seen++ < from)
        return;
      mlir::OpBuilder builder(add);
      add.replaceAllUsesWith(mlir::arith::SubFOp::create(builder, add.getLoc(), add.getLhs(), add.getRhs()).getResult());
    });
  }
};

/// Stores lose their masks.
struct PlantedMask : mlir::PassWrapper<PlantedMask, mlir::OperationPass<tile::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlantedMask)
  llvm::StringRef getArgument() const override { return "planted-mask"; }
  void runOnOperation() override {
    getOperation().walk([](tile::StoreOp op) { op.setMask({}); });
  }
};

/// Barriers go.
struct PlantedBarrier : mlir::PassWrapper<PlantedBarrier, mlir::OperationPass<cu::KernelOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlantedBarrier)
  llvm::StringRef getArgument() const override { return "planted-barrier"; }
  void runOnOperation() override {
    getOperation().walk([](cu::SyncOp op) { op.erase(); });
  }
};

} // namespace
} // namespace kernelc

int main(int argc, char **argv) {
  mlir::PassRegistration<kernelc::PlantedSub>();
  mlir::PassRegistration<kernelc::PlantedMask>();
  mlir::PassRegistration<kernelc::PlantedBarrier>();
  return kernelc::tools::optMain(argc, argv);
}
