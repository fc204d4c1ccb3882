// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/Registration.h"

#include "ir/cu/Cu.h"
#include "ir/te/Te.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

namespace kernelc {

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<te::TeDialect, tile::TileDialect, cu::CuDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                  mlir::scf::SCFDialect, mlir::memref::MemRefDialect>();
}

void registerPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerLoopInvariantCodeMotionPass();
  registerKernelcPasses();
}

} // namespace kernelc
