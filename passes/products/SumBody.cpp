// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/products/SumBody.h"

#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;

namespace kernelc::te {

ArrayAttr indicesOf(ReduceOp reduce, ArrayRef<unsigned> dims) {
  return ArrayAttr::get(reduce.getContext(), llvm::map_to_vector(dims, [&](unsigned d) { return reduce.getIndices()[d]; }));
}

AffineMap extentsOf(ReduceOp reduce, ArrayRef<unsigned> dims) {
  auto extents = llvm::map_to_vector(dims, [&](unsigned d) { return reduce.getExtents().getResult(d); });
  return AffineMap::get(0, reduce.getExtents().getNumSymbols(), extents, reduce.getContext());
}

void cloneTerms(OpBuilder &b, ReduceOp reduce, ArrayRef<Value> values, IRMapping &mapping) {
  llvm::SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == &reduce.getBlock(); };
  for (Value v : values)
    (void)getBackwardSlice(v, &slice, options);
  for (Operation &op : reduce.getBlock()) {
    if (!slice.contains(&op) || (op.getNumResults() && mapping.contains(op.getResult(0))))
      continue;
    for (Value operand : op.getOperands())
      if (auto dim = dyn_cast<BlockArgument>(operand); dim && dim.getOwner() == &reduce.getBlock() && !mapping.contains(dim))
        mapping.map(dim, arith::ConstantIndexOp::create(b, reduce.getLoc(), 0).getResult());
    b.clone(op, mapping);
  }
}

Value multiplyAll(OpBuilder &b, Location loc, ArrayRef<Value> values) {
  Value product = values.front();
  for (Value v : values.drop_front())
    product = isa<FloatType>(v.getType()) ? arith::MulFOp::create(b, loc, product, v).getResult()
                                          : arith::MulIOp::create(b, loc, product, v).getResult();
  return product;
}

void writeBody(Block &block, ReduceOp reduce, ArrayRef<unsigned> dims, BodyWriter body) {
  OpBuilder b(reduce.getContext());
  b.setInsertionPointToStart(&block);
  IRMapping mapping;
  for (unsigned d : dims)
    mapping.map(reduce.getBlock().getArgument(d), block.addArgument(b.getIndexType(), reduce.getBlock().getArgument(d).getLoc()));
  Value made = body(b, mapping);
  YieldOp::create(b, reduce.getLoc(), made, Value());
}

ReduceOp makeSum(OpBuilder &b, ReduceOp reduce, ArrayRef<unsigned> dims, size_t parallel, IntegerSetAttr where, StringAttr name,
                 BodyWriter body) {
  auto type = RankedTensorType::get(SmallVector<int64_t>(parallel, ShapedType::kDynamic), reduce.getResult().getType().getElementType());
  auto sum = ReduceOp::create(b, reduce.getLoc(), type, Combiner::Sum, indicesOf(reduce, dims), parallel, extentsOf(reduce, dims), where,
                              Value(), AffineMapAttr(), AffineMapAttr(), name);
  writeBody(sum.getBody().emplaceBlock(), reduce, dims, body);
  return sum;
}

} // namespace kernelc::te
