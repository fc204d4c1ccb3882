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
  RankedTensorType tensorOf(unsigned k, Type element) {
    return RankedTensorType::get(SmallVector<int64_t>(op_.getOwnDims(k).size(), ShapedType::kDynamic), element);
  }
  /// The dims of the statement for component k: its own, and for its reduction the reduced ones.
  SmallVector<unsigned> dimsOf(unsigned k, bool reduced) {
    SmallVector<unsigned> dims = op_.getOwnDims(k);
    for (unsigned d = op_.getNumParallel(); reduced && d < op_.getNumDims(); ++d)
      dims.push_back(d);
    return dims;
  }
  ArrayAttr namesOf(ArrayRef<unsigned> dims) {
    return b_.getArrayAttr(llvm::map_to_vector(dims, [&](unsigned d) { return op_.getIndices()[d]; }));
  }
  AffineMap extentsOf(ArrayRef<unsigned> dims) {
    AffineMap all = op_.getExtents();
    auto own = llvm::map_to_vector(dims, [&](unsigned d) { return all.getResult(d); });
    return AffineMap::get(0, all.getNumSymbols(), own, b_.getContext());
  }
  /// The condition over `dims`, which all that it names are among.
  IntegerSetAttr conditionOver(ArrayRef<unsigned> dims) {
    std::optional<IntegerSet> set = op_.getCondition();
    if (!set || dims.size() == op_.getNumDims())
      return op_.getConditionAttr();
    SmallVector<AffineExpr> moved(op_.getNumDims(), b_.getAffineConstantExpr(0)), constraints;
    for (auto [place, d] : llvm::enumerate(dims))
      moved[d] = b_.getAffineDimExpr(place);
    for (AffineExpr e : set->getConstraints())
      constraints.push_back(e.replaceDims(moved));
    return IntegerSetAttr::get(IntegerSet::get(dims.size(), set->getNumSymbols(), constraints, set->getEqFlags()));
  }

  /// Fills the body of `made`, over `dims`: a copy of `from` that yields `value` and reads the
  /// components so far. `from` has `indices` index arguments.
  void fillBody(Region &made, Block &from, ArrayRef<unsigned> dims, unsigned indices, Value value, Value condition) {
    OpBuilder::InsertionGuard guard(b_);
    Block &block = made.emplaceBlock();
    IRMapping mapping;
    for (unsigned d : dims)
      mapping.map(from.getArgument(d), block.addArgument(b_.getIndexType(), from.getArgument(d).getLoc()));
    b_.setInsertionPointToStart(&block);
    for (auto [k, tensor] : llvm::enumerate(components_)) {
      SmallVector<unsigned> own = op_.getOwnDims(k);
      if (!llvm::all_of(own, [&](unsigned d) { return llvm::is_contained(dims, d); }))
        continue; // nothing here depends on it
      auto at = llvm::map_to_vector(own, [&](unsigned d) { return mapping.lookup(from.getArgument(d)); });
      mapping.map(from.getArgument(indices + k),
                  te::ReadOp::create(b_, op_.getLoc(), cast<RankedTensorType>(tensor.getType()).getElementType(), tensor, at,
                                     AffineMapAttr(), te::BoundsModeAttr::get(b_.getContext(), te::BoundsMode::InBounds), Value())
                      .getResult());
    }
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
    SmallVector<unsigned> dims = dimsOf(k, /*reduced=*/true);
    auto reduce = te::ReduceOp::create(b_, op_.getLoc(), tensorOf(k, op_.getComponentType(k)), op_.getComponentKind(k), namesOf(dims),
                                       op_.getOwnDims(k).size(), extentsOf(dims), conditionOver(dims), Value(), AffineMapAttr(),
                                       AffineMapAttr(), op_.getNameAttr());
    fillBody(reduce.getBody(), op_.getBlock(), dims, op_.getNumDims(), yield.getValues()[k], yield.getCondition());
    return reduce.getResult();
  }

  Value finalizeComponent(unsigned k) {
    SmallVector<unsigned> dims = dimsOf(k, /*reduced=*/false);
    auto compute = te::ComputeOp::create(b_, op_.getLoc(), op_.getResult(k).getType(), namesOf(dims), extentsOf(dims), IntegerSetAttr(),
                                         Value(), AffineMapAttr(), AffineMapAttr(), op_.getNameAttr(), false);
    fillBody(compute.getBody(), op_.getFinalize().front(), dims, op_.getNumParallel(), op_.getFinalValue(k), {});
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

void expandFolds(te::KernelOp kernel) {
  for (te::FoldOp op : llvm::to_vector(kernel.getBlock().getOps<te::FoldOp>())) {
    if (op.getNumResults() == 1)
      continue;
    OpBuilder b(op);
    for (auto [field, result] : llvm::zip(op.getFields(), op.getResults())) {
      if (result.use_empty())
        continue;
      auto own = te::FoldOp::create(b, op.getLoc(), TypeRange{result.getType()}, op.getIndices(), op.getParallel(), op.getExtents(),
                                    op.getConditionAttr(), op.getIdentity(), ArrayRef<int64_t>{field}, op.getMonoid(), op.getCommutative(),
                                    op.getDescending(), op.getNameAttr());
      IRMapping element, combine;
      op.getElement().cloneInto(&own.getElement(), element);
      op.getCombine().cloneInto(&own.getCombine(), combine);
      result.replaceAllUsesWith(own.getResult(0));
    }
    op.erase();
  }
}

} // namespace kernelc::reference
