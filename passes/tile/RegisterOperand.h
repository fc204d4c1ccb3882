// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products that take what another one has made: of unit mma from registers, of CUDA cores from a slot that its warps write.
#pragma once

#include "ir/tile/Tile.h"

namespace kernelc {

/// Whether a product of a function of unit mma takes its first operand from registers: its warps then have whole rows, in all products.
inline bool takesRegisters(tile::FuncOp func) {
  auto takes = [](tile::DotOp dot) {
    return dot.getNumber() && isa<mlir::RankedTensorType>(dot.getA().getType()) ? mlir::WalkResult::interrupt()
                                                                                : mlir::WalkResult::advance();
  };
  return func.getUnit() == Unit::Mma && func.walk(takes).wasInterrupted();
}

/// Whether a dot of a function on CUDA cores reads what its own round has written into a slot: its warps then have whole rows, in all
/// products, and none reads what another has written.
inline bool readsOwnRows(tile::FuncOp func) {
  auto reads = [](tile::DotOp dot) {
    bool isOwn = llvm::any_of(dot.getA().getUsers(), [&](mlir::Operation *user) {
      return mlir::isa<tile::RingStoreOp>(user) && user->getBlock() == dot->getBlock();
    });
    return isOwn ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  };
  return func.getUnit() == Unit::Simt && func.walk(reads).wasInterrupted();
}

} // namespace kernelc
