// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/TensorCopy.h"

#include "ir/te/Hints.h"

using namespace mlir;

namespace kernelc::te {

ComputeOp copyTensor(OpBuilder &b, Location loc, Value tensor, RankedTensorType type, AffineMap shape, ArrayAttr indices,
                     const Twine &name) {
  auto copy = ComputeOp::create(b, loc, type, indices, shape, IntegerSetAttr(), Value(), AffineMapAttr(), AffineMapAttr(),
                                b.getStringAttr(name), false);
  setOwnLaunch(copy);
  Block &body = copy.getBody().emplaceBlock();
  for (size_t d = 0; d < indices.size(); ++d)
    body.addArgument(b.getIndexType(), loc);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&body);
  Value element = ReadOp::create(b, loc, type.getElementType(), tensor, llvm::to_vector_of<Value>(body.getArguments()), AffineMapAttr(),
                                 BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
  YieldOp::create(b, loc, element, Value());
  return copy;
}

} // namespace kernelc::te
