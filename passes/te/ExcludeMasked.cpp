// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-exclude-masked: see Passes.td.
#include "passes/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Definitions.h"
#include "passes/analysis/MaskedTerms.h"
#include "passes/analysis/Memories.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEEXCLUDEMASKED
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Bodies of copies larger than this are not searched: definitions that are read at several points double them with every
/// step, and every comparison costs a walk.
constexpr size_t kLargestBody = 512;
constexpr unsigned kMostComparisons = 32;

/// One sum whose terms are products.
class Excluder {
public:
  Excluder(ReduceOp op, const llvm::DenseSet<Operation *> &kept, IRRewriter &rewriter) : op_(op), kept_(kept), rewriter_(rewriter) {}

  void run() {
    rewriter_.setInsertionPoint(op_);
    copy_ = cast<ReduceOp>(rewriter_.clone(*op_));
    takeDefinitionsIn();
    exclude();
    copy_.erase();
  }

private:
  /// Lets the copy compute what it reads of definitions.
  void takeDefinitionsIn() {
    for (bool changed = true; changed;) {
      changed = false;
      for (ReadOp read : llvm::to_vector(copy_.getBlock().getOps<ReadOp>())) {
        ComputeOp definition = findDefinition(read);
        if (!definition || kept_.contains(definition) ||
            copy_.getBlock().getOperations().size() + definition.getBlock().getOperations().size() > kLargestBody)
          continue;
        if (succeeded(inlineRead(rewriter_, read))) {
          changed = true;
          break; // equal reads are gone, too
        }
      }
    }
    DominanceInfo dominance;
    eliminateCommonSubExpressions(rewriter_, dominance, copy_);
  }

  void exclude() {
    MaskFinder finder(copy_, copy_.getBlock());
    SmallVector<Mask> masks = finder.findAll(kMostComparisons, [&](Mask &m) {
      return !isKnown(m) && (!m.bound || isOfSumOrBatch(*m.bound)) && finder.classifyTerm(m.compare, m.masking) != kZero;
    });
    if (masks.empty())
      return;
    rewriter_.setInsertionPointAfter(op_);
    Value result = op_.getResult();
    SmallPtrSet<Operation *, 4> sums;
    for (const Mask &m : masks)
      if (m.carrier) {
        Operation *sum = nullptr;
        result = finder.addMasked(rewriter_, result, m, sum);
        sums.insert(sum);
      }
    if (result != op_.getResult())
      op_.getResult().replaceAllUsesExcept(result, sums);
    for (Mask &m : masks)
      if (m.constraint) {
        restrict(op_, m, {}, {}, rewriter_);
      } else {
        Value lhs = m.compare.getLhs(), rhs = m.compare.getRhs();
        rewriter_.setInsertionPoint(op_.getYield());
        IRMapping copies = copiesOf({lhs, rhs});
        restrict(op_, m, copies.lookup(lhs), copies.lookup(rhs), rewriter_);
      }
  }

  /// Whether the condition of the sum says so already.
  bool isKnown(Mask &m) {
    if (std::optional<IntegerSet> set = copy_.getCondition(); set && m.constraint && implies(*set, *m.constraint))
      return true;
    Value condition = copy_.getYield().getCondition();
    return condition && llvm::is_contained(splitConjuncts(condition), m.compare.getResult());
  }

  /// Whether a bound by data speaks of indices alone that every factor has, summed and batch ones.
  bool isOfSumOrBatch(const LinearBound &bound) {
    unsigned dims = op_.getNumDims();
    llvm::BitVector says = findSupport(bound.bound, dims);
    collectDims(bound.form, says);
    says.reset(op_.getNumParallel(), dims);
    auto product = op_.getYield().getValues()[0].getDefiningOp<arith::MulFOp>();
    for (Value factor : product->getOperands())
      if (says.test(findSupport(factor, dims)))
        return false;
    return true;
  }

  /// Values of the copy's body, computed in the sum's own.
  IRMapping copiesOf(ArrayRef<Value> values) {
    llvm::DenseSet<Operation *> slice;
    SmallVector<Value> work(values);
    while (!work.empty()) {
      Operation *def = work.pop_back_val().getDefiningOp();
      if (def && def->getBlock() == &copy_.getBlock() && slice.insert(def).second)
        llvm::append_range(work, def->getOperands());
    }
    IRMapping mapping;
    mapping.map(copy_.getBlock().getArguments(), op_.getBlock().getArguments());
    for (Value v : values)
      if (v.getParentBlock() != &copy_.getBlock())
        mapping.map(v, v);
    for (Operation &op : copy_.getBlock())
      if (slice.contains(&op))
        rewriter_.clone(op, mapping);
    return mapping;
  }

  ReduceOp op_, copy_;
  const llvm::DenseSet<Operation *> &kept_;
  IRRewriter &rewriter_;
};

struct TeExcludeMaskedPass : impl::TeExcludeMaskedBase<TeExcludeMaskedPass> {
  void runOnOperation() override {
    bool compares = getOperation().walk([](arith::CmpIOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (!compares)
      return;                         // most programs
    llvm::DenseSet<Operation *> kept; // what stands there before an inout is overwritten stays a tensor
    Memories memories(getOperation());
    for (const Memory &m : memories.all())
      for (Value written : m.versions)
        if (Operation *writer = written.getDefiningOp())
          kept.insert(writer);
    IRRewriter rewriter(&getContext());
    for (ReduceOp op : llvm::to_vector(getOperation().getBlock().getOps<ReduceOp>()))
      if (op.getKind() == Combiner::Sum && op.getYield().getValues()[0].getDefiningOp<arith::MulFOp>())
        Excluder(op, kept, rewriter).run();
  }
};

} // namespace
} // namespace kernelc
