// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-group-factors: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/Factors.h"
#include "passes/analysis/Contraction.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEGROUPFACTORS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Two groups of factors: what each multiplies, in their order, and the indices that it depends on.
struct Groups {
  SmallVector<Value> a, b;
  llvm::BitVector inA, inB;
};

class Grouper {
public:
  explicit Grouper(ReduceOp reduce) : reduce_(reduce), parallel_(reduce.getNumParallel()) {}

  void run() {
    constexpr size_t kMostFactors = 8;
    Value product = reduce_.getYield().getValues()[0];
    for (OpOperand *use : findFactors(product)) {
      factors_.push_back(use->get());
      supports_.push_back(findSupport(use->get(), reduce_.getNumDims()));
    }
    if (factors_.size() < 3 || factors_.size() > kMostFactors || findContraction(reduce_))
      return;
    // The groups that share most reduced indices, of those that two factors start.
    std::optional<Groups> best;
    unsigned most = 0;
    for (size_t i = 0; i < factors_.size(); ++i)
      for (size_t j = i + 1; j < factors_.size(); ++j)
        if (std::optional<Groups> g = groupAround(i, j)) {
          unsigned shared = reducedOf(g->inA, g->inB).count();
          if (shared > most) {
            most = shared;
            best = g;
          }
        }
    if (best)
      rewrite(*best, product);
  }

private:
  llvm::BitVector parallelOf(llvm::BitVector dims, const llvm::BitVector &without) {
    dims.reset(without).reset(parallel_, dims.size());
    return dims;
  }
  llvm::BitVector reducedOf(llvm::BitVector dims, const llvm::BitVector &also) {
    dims &= also;
    dims.reset(0, parallel_);
    return dims;
  }

  /// The other factors join the one of two that they have a parallel index of its own in common with, or else the one whose
  /// reduced indices they have; nothing where they would take such indices from both.
  std::optional<Groups> groupAround(size_t i, size_t j) {
    Groups g{{}, {}, supports_[i], supports_[j]};
    if (parallelOf(g.inA, g.inB).none() || parallelOf(g.inB, g.inA).none())
      return std::nullopt;
    for (size_t f = 0; f < factors_.size(); ++f) {
      const llvm::BitVector &support = supports_[f];
      bool withA = f == i || parallelOf(g.inA, g.inB).anyCommon(support), withB = f == j || parallelOf(g.inB, g.inA).anyCommon(support);
      if (withA && withB)
        return std::nullopt;
      if (!withA && !withB) {
        llvm::BitVector beyond = support;
        beyond.reset(g.inA);
        withA = beyond.none();
      }
      (withA ? g.a : g.b).push_back(factors_[f]);
      (withA ? g.inA : g.inB) |= support;
    }
    if (parallelOf(g.inA, g.inB).none() || parallelOf(g.inB, g.inA).none())
      return std::nullopt;
    return g;
  }

  Value multiply(OpBuilder &b, ArrayRef<Value> factors, Location loc) {
    Value product = factors.front();
    for (Value f : factors.drop_front())
      product = isa<FloatType>(f.getType()) ? arith::MulFOp::create(b, loc, product, f).getResult()
                                            : arith::MulIOp::create(b, loc, product, f).getResult();
    return product;
  }

  void rewrite(const Groups &g, Value product) {
    Operation *last = product.getDefiningOp();
    OpBuilder b(last);
    Value grouped = multiply(b, {multiply(b, g.a, last->getLoc()), multiply(b, g.b, last->getLoc())}, last->getLoc());
    YieldOp yield = reduce_.getYield();
    yield->replaceUsesOfWith(product, grouped);
    if (!findContraction(reduce_))
      yield->replaceUsesOfWith(grouped, product); // conditions that tie both together, say
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(reduce_.getBlock())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  ReduceOp reduce_;
  unsigned parallel_;
  SmallVector<Value> factors_;
  SmallVector<llvm::BitVector> supports_;
};

struct TeGroupFactorsPass : impl::TeGroupFactorsBase<TeGroupFactorsPass> {
  void runOnOperation() override {
    for (ReduceOp reduce : getOperation().getBlock().getOps<ReduceOp>())
      if (reduce.getKind() == Combiner::Sum)
        Grouper(reduce).run();
  }
};

} // namespace
} // namespace kernelc
