// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/SplitWalk.h"

#include "passes/index/Affine.h"
#include "passes/te/Cascade.h"
#include "passes/te/Digits.h"

using namespace mlir;

namespace kernelc::te {

static Digits digitsOf(CascadeOp cascade, const ProductWalk &walk, int64_t chunk, const SizeFacts &facts) {
  AffineExpr extent = cascade.getExtents().getResult(walk.walked);
  return digitsOfParts(extent, chunk, knownDivisor(extent, facts) % chunk != 0);
}

bool canSplitWalk(CascadeOp cascade, const ProductWalk &walk, int64_t chunk, const SizeFacts &facts) {
  bool isShorter = digitsOf(cascade, walk, chunk, facts).endsEarly;
  return llvm::all_of(walk.firsts(), [&](FirstProduct f) { return canSplitParallelDim(f.op, walk.walkedOfS, isShorter); });
}

void splitWalk(CascadeOp cascade, const ProductWalk &walk, int64_t chunk, const SizeFacts &facts) {
  Digits digits = digitsOf(cascade, walk, chunk, facts);
  splitCascade(cascade, chunk, digits.endsEarly);
  for (FirstProduct f : walk.firsts())
    splitParallelDim(f.op, walk.walkedOfS, digits);
}

void sketchSplitWalk(RewriteSketch &sketch, CascadeOp cascade, const ProductWalk &walk, int64_t chunk, const SizeFacts &facts) {
  Digits digits = digitsOf(cascade, walk, chunk, facts);
  for (FirstProduct f : walk.firsts())
    sketchSplitParallelDim(sketch, f.op, walk.walkedOfS, digits);
  sketchSplitCascade(sketch, cascade, chunk, digits.endsEarly);
}

} // namespace kernelc::te
