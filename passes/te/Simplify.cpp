// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-simplify: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/analysis/Definitions.h"
#include "passes/analysis/Memories.h"
#include "passes/index/IndexArithmetic.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESIMPLIFY
#include "passes/Passes.h.inc"

namespace {

/// Operations of a body up to which it takes others in: definitions that are read at several points
/// each double it with every step.
constexpr int64_t kLargestBody = 1024;
/// And of a definition that several statements take in: chains of such, each read by the next and by another statement,
/// are quadratic in operations, which the kernel would also all compute.
constexpr int64_t kLargestShared = 64;

/// Whether several statements read it.
bool isShared(te::ComputeOp definition) {
  Operation *first = nullptr;
  return llvm::any_of(definition.getResult().getUsers(), [&](Operation *user) {
    Operation *reader = isa<te::ReadOp>(user) ? user->getParentOp() : nullptr;
    first = first ? first : reader;
    return reader && reader != first;
  });
}

/// The definitions that stay tensors: because with all that they take in they are too large for several readers, or
/// because they overwrite memory, whose old values their readers would then ask for.
llvm::DenseSet<Operation *> findKept(te::KernelOp kernel) {
  llvm::DenseSet<Operation *> kept;
  te::Memories memories(kernel);
  for (const te::Memory &m : memories.all())
    for (Value written : llvm::drop_begin(m.versions))
      kept.insert(written.getDefiningOp());
  llvm::DenseMap<Operation *, int64_t> sizes; // of definitions, with what they take in
  for (auto definition : kernel.getBlock().getOps<te::ComputeOp>()) {
    if (!te::isDefinition(definition))
      continue;
    int64_t size = definition.getBlock().getOperations().size();
    llvm::SmallPtrSet<Operation *, 8> taken;
    definition.walk([&](te::ReadOp read) {
      Operation *producer = read.getTensor().getDefiningOp();
      if (producer && !kept.contains(producer) && taken.insert(producer).second)
        size += sizes.lookup(producer);
    });
    sizes[definition] = std::min<int64_t>(size, kLargestBody);
    if (size > kLargestShared && isShared(definition))
      kept.insert(definition);
  }
  return kept;
}

/// Loads of a window of a definition up to which its reader takes it in: more, of elements that have addresses of their own, take
/// longer than memory does to bring what the definition would write.
constexpr int64_t kLargestWindow = 16;

/// Whether `read` is one of a window of `producer`, at elements that may be outside, for which each would be loaded too often.
bool isLargeWindow(te::ReadOp read, te::ComputeOp producer) {
  if (read.getBounds() != te::BoundsMode::Edge && read.getBounds() != te::BoundsMode::Pad)
    return false;
  int64_t points = llvm::count_if(read.getTensor().getUsers(), [&](Operation *user) { return user->getBlock() == read->getBlock(); });
  return points * int64_t(llvm::range_size(producer.getBlock().getOps<te::ReadOp>())) > kLargestWindow;
}

///   %p = te.compute [i] { yield f(i) }           %p = ...
///   ... te.read %p[m(j)] ...               =>    ... f(m(j)) ...
struct InlineRead : OpRewritePattern<te::ReadOp> {
  InlineRead(MLIRContext *c, const llvm::DenseSet<Operation *> &kept) : OpRewritePattern(c), kept_(kept) {}
  LogicalResult matchAndRewrite(te::ReadOp read, PatternRewriter &rewriter) const override {
    te::ComputeOp producer = te::findDefinition(read);
    if (!producer || kept_.contains(producer) || isLargeWindow(read, producer) ||
        int64_t(read->getBlock()->getOperations().size() + producer.getBlock().getOperations().size()) > kLargestBody)
      return failure();
    return te::inlineRead(rewriter, read);
  }

private:
  const llvm::DenseSet<Operation *> &kept_;
};

/// Subscripts computed by index arithmetic become part of the map:
///   %k = arith.addi %i, %j
///   te.read %x[%k]            =>   te.read %x[%i, %j] map (d0, d1) -> (d0 + d1)
struct ComposeSubscripts : OpRewritePattern<te::ReadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(te::ReadOp read, PatternRewriter &rewriter) const override {
    AffineMap map = read.getMapOrIdentity();
    SmallVector<Value> leaves;
    SmallVector<AffineExpr> replacements;
    for (Value v : read.getOperands_())
      replacements.push_back(te::affineOf(v, leaves));
    SmallVector<AffineExpr> results;
    for (AffineExpr e : map.getResults())
      results.push_back(simplifyAffineExpr(e.replaceDims(replacements), leaves.size(), map.getNumSymbols()));
    AffineMap composed = AffineMap::get(leaves.size(), map.getNumSymbols(), results, read.getContext());
    if (leaves == SmallVector<Value>(read.getOperands_()) && composed == map)
      return failure();
    auto created = te::ReadOp::create(rewriter, read.getLoc(), read.getResult().getType(), read.getTensor(), leaves,
                                      AffineMapAttr::get(composed), read.getBoundsAttr(), read.getPadding());
    rewriter.replaceOp(read, created);
    return success();
  }
};

/// A tensor nobody reads or returns.
struct DropDead : RewritePattern {
  DropDead(MLIRContext *c) : RewritePattern(MatchAnyOpTypeTag(), 1, c) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!te::isDomainOp(op) || !op->use_empty())
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};

struct TeSimplifyPass : impl::TeSimplifyBase<TeSimplifyPass> {
  void runOnOperation() override {
    llvm::DenseSet<Operation *> kept = findKept(getOperation());
    RewritePatternSet patterns(&getContext());
    patterns.add<InlineRead>(&getContext(), kept);
    patterns.add<ComposeSubscripts, DropDead>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
