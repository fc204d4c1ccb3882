// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the indices of an access are multiples of, as te::knownDivisor asks it.
#pragma once

#include "passes/index/Affine.h"
#include "passes/tile/Access.h"

namespace kernelc {

/// Of each dim of `map`: `vector` of index `along`, whose vectors begin there, and 0 of an index that has one point.
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
