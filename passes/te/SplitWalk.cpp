// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/SplitWalk.h"

#include "passes/index/Affine.h"
#include "passes/te/Cascade.h"
#include "passes/te/Digits.h"

using namespace mlir;

namespace kernelc::te {

bool splitWalk(CascadeOp cascade, const ProductWalk &walk, int64_t chunk, const SizeFacts &facts) {
  AffineExpr extent = cascade.getExtents().getResult(walk.walked), radix = getAffineConstantExpr(chunk, cascade.getContext());
  bool isShorter = knownDivisor(extent, facts) % chunk != 0;
  Digits digits{radix, isShorter ? extent.ceilDiv(radix) : extent.floorDiv(radix), "_part", "", isShorter};
  for (FirstProduct f : walk.firsts())
    if (!canSplitParallelDim(f.op, walk.walkedOfS, isShorter))
      return false;
  splitCascade(cascade, chunk, isShorter);
  for (FirstProduct f : walk.firsts())
    splitParallelDim(f.op, walk.walkedOfS, digits);
  return true;
}

} // namespace kernelc::te
