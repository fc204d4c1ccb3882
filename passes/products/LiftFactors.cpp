// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-lift-factors: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/Factors.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Definitions.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TELIFTFACTORS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// What stands before a factor of a product is rounded to bf16, which has the range of f32, for this product alone.
arith::MulFOp findRounded(Value factor) {
  auto wide = factor.getDefiningOp<arith::ExtFOp>();
  auto narrow = wide && wide->hasOneUse() ? wide.getIn().getDefiningOp<arith::TruncFOp>() : nullptr;
  if (!narrow || !narrow->hasOneUse() || !narrow.getType().isBF16() || !narrow.getIn().getType().isF32() || !narrow.getIn().hasOneUse())
    return nullptr;
  return narrow.getIn().getDefiningOp<arith::MulFOp>();
}

class Lifter {
public:
  explicit Lifter(ReduceOp reduce) : reduce_(reduce), parallel_(reduce.getNumParallel()), dims_(reduce.getNumDims()) {}

  void run() {
    if (reduce_.getInit() || reduce_.getOutMap() || reduce_.getYield().getCondition() || !findContraction(reduce_) || !canScaleReads())
      return;
    for (OpOperand *factor : findFactors(reduce_.getYield().getValues()[0]))
      if (arith::MulFOp product = findRounded(factor->get()))
        lift(product);
  }

private:
  /// Whether each read of the sums is at points whose indices are known.
  bool canScaleReads() {
    return llvm::all_of(reduce_->getUsers(), [](Operation *user) {
      auto read = dyn_cast<ReadOp>(user);
      return read && read.getBounds() == BoundsMode::InBounds &&
             llvm::all_of(read.getMapOrIdentity().getResults(), llvm::IsaPred<AffineDimExpr>);
    });
  }

  /// Where a product of factors is a number of the tensor as it lies times what no summed index has, that is all of it; else numbers that
  /// are the same for all points, which cost an operation a point.
  void lift(arith::MulFOp product) {
    SmallVector<Value> rows, numbers, rest;
    for (OpOperand *use : findFactors(product.getResult())) {
      llvm::BitVector support = findSupport(use->get(), dims_);
      bool isFree = support.find_next(int(parallel_) - 1) < 0;
      (support.none() ? numbers : isFree ? rows : rest).push_back(use->get());
    }
    auto isPlain = [](Value v) {
      auto wide = v.getDefiningOp<arith::ExtFOp>();
      return wide && wide.getIn().getType().isBF16() && wide.getIn().getDefiningOp<ReadOp>();
    };
    if (rest.size() == 1 && isPlain(rest[0])) {
      llvm::append_range(numbers, rows);
      rows.clear();
    }
    if (numbers.empty() || rest.empty())
      return;
    llvm::append_range(rest, rows);
    OpBuilder b(product);
    Value left = rest[0];
    for (Value v : ArrayRef(rest).drop_front())
      left = arith::MulFOp::create(b, product.getLoc(), left, v);
    for (Operation *user : llvm::to_vector(reduce_->getUsers()))
      scale(cast<ReadOp>(user), numbers);
    product.replaceAllUsesWith(left);
  }

  void scale(ReadOp read, ArrayRef<Value> factors) {
    OpBuilder b(read->getContext());
    b.setInsertionPointAfter(read);
    IRMapping mapping;
    for (auto [d, e] : llvm::enumerate(read.getMapOrIdentity().getResults()))
      mapping.map(reduce_.getBlock().getArgument(d), read.getOperands_()[cast<AffineDimExpr>(e).getPosition()]);
    SmallPtrSet<Operation *, 4> own;
    Value scaled = read.getResult();
    for (Value f : factors) {
      scaled = arith::MulFOp::create(b, read.getLoc(), scaled, cloneValue(f, mapping, b));
      own.insert(scaled.getDefiningOp());
    }
    read.getResult().replaceUsesWithIf(scaled, [&](OpOperand &use) { return !own.contains(use.getOwner()); });
  }

  ReduceOp reduce_;
  unsigned parallel_, dims_;
};

struct TeLiftFactorsPass : impl::TeLiftFactorsBase<TeLiftFactorsPass> {
  void runOnOperation() override {
    for (ReduceOp reduce : llvm::to_vector(getOperation().getBlock().getOps<ReduceOp>()))
      Lifter(reduce).run();
  }
};

} // namespace
} // namespace kernelc
