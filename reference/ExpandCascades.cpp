// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/ExpandCascades.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace kernelc::reference {
namespace {

class Expander {
public:
  explicit Expander(te::CascadeOp op) : op_(op), b_(op) {}

  void run() {
    for (unsigned k = 0; k < op_.getNumComponents(); ++k)
      components_.push_back(reduceComponent(k));
    for (unsigned k = 0; k < op_.getNumComponents(); ++k)
      op_.getResult(k).replaceAllUsesWith(finalizeComponent(k));
    op_.erase();
  }

private:
  RankedTensorType tensorOf(Type element) {
    return RankedTensorType::get(SmallVector<int64_t>(op_.getNumParallel(), ShapedType::kDynamic), element);
  }

  /// Fills the body of `made`: a copy of `from` that yields `value` and reads the
  /// components so far.
  void fillBody(Region &made, Block &from, unsigned indices, Value value, Value condition) {
    OpBuilder::InsertionGuard guard(b_);
    Block &block = made.emplaceBlock();
    IRMapping mapping;
    for (unsigned i = 0; i < indices; ++i)
      mapping.map(from.getArgument(i), block.addArgument(b_.getIndexType(), from.getArgument(i).getLoc()));
    b_.setInsertionPointToStart(&block);
    auto parallel = llvm::to_vector_of<Value>(block.getArguments().take_front(op_.getNumParallel()));
    for (auto [k, tensor] : llvm::enumerate(components_))
      mapping.map(from.getArgument(indices + k),
                  te::ReadOp::create(b_, op_.getLoc(), cast<RankedTensorType>(tensor.getType()).getElementType(), tensor, parallel,
                                     AffineMapAttr(), te::BoundsModeAttr::get(b_.getContext(), te::BoundsMode::InBounds), Value())
                      .getResult());
    // What belongs to later components is dropped: their arguments have no value yet.
    llvm::SmallPtrSet<Operation *, 16> needed;
    SmallVector<Value> work{value};
    if (condition)
      work.push_back(condition);
    while (!work.empty())
      if (Operation *op = work.pop_back_val().getDefiningOp(); op && op->getBlock() == &from && needed.insert(op).second)
        llvm::append_range(work, op->getOperands());
    for (Operation &op : from)
      if (needed.contains(&op))
        b_.clone(op, mapping);
    te::YieldOp::create(b_, op_.getLoc(), mapping.lookupOrDefault(value), condition ? mapping.lookupOrDefault(condition) : Value());
  }

  Value reduceComponent(unsigned k) {
    te::YieldOp yield = op_.getYield();
    auto reduce = te::ReduceOp::create(b_, op_.getLoc(), tensorOf(op_.getComponentType(k)), op_.getComponentKind(k), op_.getIndices(),
                                       op_.getParallel(), op_.getExtents(), op_.getConditionAttr(), Value(), AffineMapAttr(),
                                       AffineMapAttr(), op_.getNameAttr());
    fillBody(reduce.getBody(), op_.getBlock(), op_.getNumDims(), yield.getValues()[k], yield.getCondition());
    return reduce.getResult();
  }

  Value finalizeComponent(unsigned k) {
    AffineMap extents = op_.getResultShape();
    auto compute = te::ComputeOp::create(b_, op_.getLoc(), op_.getResult(k).getType(),
                                         b_.getArrayAttr(op_.getIndices().getValue().take_front(op_.getNumParallel())), extents,
                                         IntegerSetAttr(), Value(), AffineMapAttr(), AffineMapAttr(), op_.getNameAttr(), false);
    fillBody(compute.getBody(), op_.getFinalize().front(), op_.getNumParallel(), op_.getFinalValue(k), {});
    return compute.getResult();
  }

  te::CascadeOp op_;
  OpBuilder b_;
  SmallVector<Value> components_;
};

} // namespace

void expandCascades(te::KernelOp kernel) {
  for (te::CascadeOp op : llvm::to_vector(kernel.getBlock().getOps<te::CascadeOp>()))
    Expander(op).run();
}

} // namespace kernelc::reference
