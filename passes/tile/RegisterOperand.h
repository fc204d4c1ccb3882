// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of unit mma that take their first operand from registers.
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

} // namespace kernelc
