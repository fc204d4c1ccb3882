// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Divisors of the indices of an access, in the form that te::knownDivisor takes.
#pragma once

#include "passes/index/Affine.h"
#include "passes/tile/Access.h"

namespace kernelc {

/// For each dim of `map` a number that divides its index: `vector` for `along`, where vectors begin at multiples of it; 0 for an index that
/// has one point (0 alone); else 1.
inline llvm::SmallVector<int64_t> divisorsOf(tile::FuncOp func, mlir::AffineMap map, int64_t along, int64_t vector) {
  te::SizeFacts facts{func.getSizeDiv(), func.getSizeMax()};
  llvm::SmallVector<int64_t> dimDiv(map.getNumDims(), 1);
  for (unsigned d = 0; d < func.getRank(); ++d)
    if (func.getTiles()[d] == 1 && te::knownMax(func.getExtent(d), facts) == 1)
      dimDiv[d] = 0;
  dimDiv[along] = vector;
  return dimDiv;
}

} // namespace kernelc
