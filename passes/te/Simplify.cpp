// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-simplify: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Definitions.h"
#include "passes/analysis/Memories.h"
#include "passes/index/Domain.h"
#include "passes/index/IndexArithmetic.h"
#include "passes/index/LinearRead.h"
#include "passes/te/FewResults.h"
#include "passes/te/FewTerms.h"
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
/// And that the kernel computes once more for each statement but one that takes in links of one chain: from there on memory brings an
/// element faster.
constexpr int64_t kMostAgain = 64;

/// Whether several statements read it.
bool isShared(te::ComputeOp definition) {
  Operation *first = nullptr;
  return llvm::any_of(definition.getResult().getUsers(), [&](Operation *user) {
    Operation *reader = isa<te::ReadOp>(user) ? user->getParentOp() : nullptr;
    first = first ? first : reader;
    return reader && reader != first;
  });
}

/// Adds to `kept` links of chains of definitions: those from which on, up to the next one that is kept, more operations would be
/// computed again than memory takes to bring what they start from.
void keepLinks(te::KernelOp kernel, llvm::DenseSet<Operation *> &kept) {
  struct Taken {
    llvm::SmallPtrSet<Operation *, 8> readers; ///< statements that take the definition in, through others or not
    int64_t again = 0;                         ///< operations of it, and of those that take it in, that are computed more than once
  };
  llvm::DenseMap<Operation *, Taken> taken;
  auto computed = llvm::to_vector(kernel.getBlock().getOps<te::ComputeOp>());
  for (te::ComputeOp definition : llvm::reverse(computed)) {
    if (!te::isDefinition(definition))
      continue;
    Taken own;
    llvm::SmallPtrSet<Operation *, 8> links;
    for (Operation *user : definition.getResult().getUsers()) {
      Operation *reader = isa<te::ReadOp>(user) ? user->getParentOp() : user;
      auto link = taken.find(reader);
      if (link == taken.end() || kept.contains(reader))
        own.readers.insert(reader);
      else if (links.insert(reader).second) {
        own.readers.insert(link->second.readers.begin(), link->second.readers.end());
        own.again += link->second.again;
      }
    }
    own.again += int64_t(definition.getBlock().getOperations().size()) * (int64_t(own.readers.size()) - 1);
    own.again = std::min(own.again, kLargestBody);
    if (own.again > kMostAgain && isShared(definition))
      kept.insert(definition);
    taken[definition] = std::move(own);
  }
}

/// Whether memory has it in any case, and else only sums of all of it read it, which stand in launches of their own: to load an element is
/// less than to load the several that it is computed of.
bool isStoredForSums(te::ComputeOp definition) {
  bool isReturned = false;
  for (Operation *user : definition.getResult().getUsers()) {
    auto reduce = dyn_cast<te::ReduceOp>(user->getParentOp());
    isReturned |= isa<te::ReturnOp>(user);
    auto read = dyn_cast<te::ReadOp>(user);
    auto isReduced = [&](unsigned index) { return index >= reduce.getNumParallel(); };
    auto isSummed = [&](AffineExpr e) { return te::movesWith(read, e, isReduced); }; // (of parts, too)
    if (!isa<te::ReturnOp>(user) && !(read && reduce && llvm::all_of(read.getMapOrIdentity().getResults(), isSummed)))
      return false;
  }
  int64_t loads = llvm::range_size(definition.getBlock().getOps<te::ReadOp>());
  return isReturned && !definition.getResult().hasOneUse() && loads > 1;
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
    if ((size > kLargestShared && isShared(definition)) || isStoredForSums(definition))
      kept.insert(definition);
  }
  keepLinks(kernel, kept);
  return kept;
}

/// Loads of a window of a definition up to which its reader takes it in: more, of elements that have addresses of their own, take
/// longer than memory does to bring what the definition would write.
constexpr int64_t kLargestWindow = 16;

/// The same at elements that are inside, whose addresses differ by numbers: from about 20 loads on, memory is faster.
constexpr int64_t kLargestInside = 64;

/// Whether `read` is one of a window of `producer` for which each element would be loaded too often.
bool isLargeWindow(te::ReadOp read, te::ComputeOp producer) {
  bool mayBeOutside = read.getBounds() == te::BoundsMode::Edge || read.getBounds() == te::BoundsMode::Pad;
  int64_t points = llvm::count_if(read.getTensor().getUsers(), [&](Operation *user) { return user->getBlock() == read->getBlock(); });
  return points * int64_t(llvm::range_size(producer.getBlock().getOps<te::ReadOp>())) > (mayBeOutside ? kLargestWindow : kLargestInside);
}

/// Whether some read of a definition leaves it a tensor: to compute an element of several loads again is more than to load it.
bool isLoaded(te::ComputeOp producer) {
  if (llvm::range_size(producer.getBlock().getOps<te::ReadOp>()) < 2)
    return false;
  return llvm::any_of(producer.getResult().getUsers(), [&](Operation *user) {
    auto read = dyn_cast<te::ReadOp>(user);
    return read && te::findDefinition(read) && isLargeWindow(read, producer);
  });
}

/// Operations from which an element of a table is loaded rather than computed once more. A load by data from a table in the first
/// cache takes about as long as eight operations of integers do.
constexpr int64_t kTableWork = 8;
/// Elements along an index that data chooses, up to which it is one: it stays in that cache.
constexpr int64_t kLargestTable = 65536;

/// Whether `read` is of a table: data says which of its elements, there are few along the index that it chooses, and each takes work.
bool isOfTable(te::ReadOp read, te::ComputeOp producer) {
  int64_t work = llvm::count_if(producer.getBlock(), [](Operation &op) {
    return !isa<arith::ConstantOp, te::ReadOp, te::SizeOp>(op) && op.getNumResults() == 1 && !op.getResult(0).getType().isIndex();
  });
  if (work < kTableWork)
    return false;
  AffineMap map = read.getMapOrIdentity();
  for (auto [r, e] : llvm::enumerate(map.getResults()))
    for (auto [n, v] : llvm::enumerate(read.getOperands_())) {
      auto extent = dyn_cast<AffineConstantExpr>(producer.getExtents().getResult(r));
      if (e.isFunctionOfDim(n) && !te::findReads(v).empty() && extent && extent.getValue() <= kLargestTable)
        return true;
    }
  return false;
}

///   %p = te.compute [i] { yield f(i) }           %p = ...
///   ... te.read %p[m(j)] ...               =>    ... f(m(j)) ...
struct InlineRead : OpRewritePattern<te::ReadOp> {
  InlineRead(MLIRContext *c, const llvm::DenseSet<Operation *> &kept) : OpRewritePattern(c), kept_(kept) {}
  LogicalResult matchAndRewrite(te::ReadOp read, PatternRewriter &rewriter) const override {
    te::ComputeOp producer = te::findDefinition(read);
    if (!producer || kept_.contains(producer) || isLargeWindow(read, producer) || isLoaded(producer) || isOfTable(read, producer) ||
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

/// Whether `e` is `size`, or a product that is nothing where `size` is.
bool isMultiple(AffineExpr e, AffineExpr size) {
  auto product = dyn_cast<AffineBinaryOpExpr>(e);
  return e == size ||
         (product && e.getKind() == AffineExprKind::Mul && (isMultiple(product.getLHS(), size) || isMultiple(product.getRHS(), size)));
}

/// A division by a size C in a body over C points, or a multiple of C: where C is zero there is no point.
///   %c = arith.select (C == 0 or C == -1), 1, C     =>   C
struct PlainDivisor : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SelectOp select, PatternRewriter &rewriter) const override {
    auto sizeOf = [](Value v) -> AffineExpr {
      auto size = v.getDefiningOp<te::SizeOp>();
      return size && isa<AffineSymbolExpr>(size.getMap().getResult(0)) ? size.getMap().getResult(0) : AffineExpr();
    };
    Operation *op = select->getParentOp();
    AffineExpr size = sizeOf(select.getFalseValue());
    bool isInBody = size && te::isDomainOp(op) && select->getBlock() == &op->getRegion(0).front();
    if (!isInBody || !matchPattern(select.getTrueValue(), m_One()) ||
        llvm::none_of(te::getExtents(op).getResults(), [&](AffineExpr e) { return isMultiple(e, size); }))
      return failure();
    SmallVector<Value> work{select.getCondition()};
    while (!work.empty()) {
      Value v = work.pop_back_val();
      auto either = v.getDefiningOp<arith::OrIOp>();
      auto equal = v.getDefiningOp<arith::CmpIOp>();
      if (either)
        work.append({either.getLhs(), either.getRhs()});
      else if (APInt c; !equal || equal.getPredicate() != arith::CmpIPredicate::eq || sizeOf(equal.getLhs()) != size ||
                        !matchPattern(equal.getRhs(), m_ConstantInt(&c)) || c.isStrictlyPositive())
        return failure();
    }
    rewriter.replaceOp(select, select.getFalseValue());
    return success();
  }
};

/// An index that is summed over one point is no index:
///   Σ_{c, r < 1} x[c, i + r] · f[c, r]    =>    Σ_c x[c, i] · f[c, 0]
/// A window of one tap has a subscript that is an index plus another, and its operand would not lie along any.
struct DropOnePoint : OpRewritePattern<te::ReduceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(te::ReduceOp reduce, PatternRewriter &rewriter) const override {
    AffineMap extents = reduce.getExtents();
    const unsigned parallel = reduce.getNumParallel(), dims = reduce.getNumDims();
    unsigned d = parallel;
    std::optional<IntegerSet> set = reduce.getCondition();
    auto isAsked = [&] { return set && llvm::any_of(set->getConstraints(), [&](AffineExpr e) { return e.isFunctionOfDim(d); }); };
    while (d < dims && (extents.getResult(d) != rewriter.getAffineConstantExpr(1) || isAsked()))
      ++d;
    if (d == dims || dims - parallel == 1) // a reduction reduces something
      return failure();
    rewriter.setInsertionPointToStart(&reduce.getBlock());
    Value first = arith::ConstantIndexOp::create(rewriter, reduce.getLoc(), 0);
    rewriter.modifyOpInPlace(reduce, [&] {
      rewriter.replaceAllUsesWith(reduce.getBlock().getArgument(d), first);
      te::dropDim(reduce, d);
    });
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

/// The size that a condition says is one number, and this number.
///
///     C - 32 == 0          C is 32
std::optional<std::pair<unsigned, int64_t>> findRequiredSize(AffineExpr zero) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(zero);
  auto size = sum && zero.getKind() == AffineExprKind::Add ? dyn_cast<AffineSymbolExpr>(sum.getLHS()) : AffineSymbolExpr(nullptr);
  auto less = size ? dyn_cast<AffineConstantExpr>(sum.getRHS()) : AffineConstantExpr(nullptr);
  if (!less || less.getValue() >= 0)
    return std::nullopt;
  return std::pair(size.getPosition(), -less.getValue());
}

/// Writes sizes that the program requires to be one number as that number: every call is asked for it, and extents that come of it are
/// equal to those that the program gives in numbers.
void writeRequiredSizes(te::KernelOp kernel) {
  SmallVector<AffineExpr> sizes;
  for (unsigned i = 0; i < kernel.getNumSizes(); ++i)
    sizes.push_back(getAffineSymbolExpr(i, kernel.getContext()));
  bool any = false;
  for (Attribute a : kernel.getRequirements()) {
    IntegerSet set = cast<IntegerSetAttr>(a).getValue();
    for (auto [zero, isEquality] : llvm::zip(set.getConstraints(), set.getEqFlags()))
      if (auto required = isEquality ? findRequiredSize(zero) : std::nullopt; required && required->first < sizes.size()) {
        sizes[required->first] = getAffineConstantExpr(required->second, kernel.getContext());
        any = true;
      }
  }
  if (any)
    te::replaceSizes(kernel, sizes, kernel.getNumSizes());
}

/// Whether `read` asks each element of its tensor once, or the element of its own point.
bool readsInOrder(te::ReadOp read, te::ComputeOp definition) {
  Operation *reader = read->getParentOp();
  if (read->getParentRegion() != &reader->getRegion(0) || read.getBounds() != te::BoundsMode::InBounds || !te::isDomainOp(reader))
    return false;
  AffineMap map = read.getMapOrIdentity(), extents = te::getExtents(reader), own = definition.getExtents();
  llvm::BitVector seen(extents.getNumResults());
  if (map.getNumResults() != extents.getNumResults() || own.getNumResults() != extents.getNumResults())
    return false;
  for (auto [r, e] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(e);
    std::optional<unsigned> index = dim ? te::findIndex(reader, read.getOperands_()[dim.getPosition()]) : std::nullopt;
    if (!index || seen[*index] || extents.getResult(*index) != own.getResult(r) || (isa<te::ComputeOp>(reader) && *index != r))
      return false;
    seen.set(*index);
  }
  return true;
}

/// The definition that `copy` stores as it is, in the place of what an `inout` held; null for anything else.
te::ComputeOp findStored(te::ComputeOp copy) {
  auto read = copy.getYield().getValues()[0].getDefiningOp<te::ReadOp>();
  auto definition = read ? read.getTensor().getDefiningOp<te::ComputeOp>() : te::ComputeOp();
  return definition && te::isDefinition(copy) && te::isDefinition(definition) && readsInOrder(read, definition) ? definition
                                                                                                                : te::ComputeOp();
}

/// What an update stores of a `let` is read where it is stored, if a reduction reads it, too, as if the text had named the update:
///   %t = te.compute { f(x) }; te.reduce { g(%t[i]) }; %x' = te.compute { %t[i] }
///     =>   %t = ..; %x' = te.compute { %t[i] }; te.reduce { g(%x'[i]) }
/// The reduction would compute f again otherwise, of all that it reads.
void readStored(te::KernelOp kernel) {
  te::Memories memories(kernel);
  for (const te::Memory &m : memories.all()) {
    auto copy = m.versions.size() == 2 ? m.versions.back().getDefiningOp<te::ComputeOp>() : te::ComputeOp();
    te::ComputeOp definition = copy ? findStored(copy) : te::ComputeOp();
    if (!definition)
      continue;
    SmallVector<OpOperand *> uses;
    bool inOrder = true, isReduced = false;
    for (OpOperand &use : definition.getResult().getUses()) {
      auto read = dyn_cast<te::ReadOp>(use.getOwner());
      if (read && read->getParentOp() == copy)
        continue;
      inOrder &= read && readsInOrder(read, definition);
      isReduced |= read && isa<te::ReduceOp>(read->getParentOp());
      uses.push_back(&use);
    }
    if (!inOrder || !isReduced)
      continue;
    copy->moveAfter(definition);
    for (OpOperand *use : uses)
      use->set(copy.getResult());
  }
}

struct TeSimplifyPass : impl::TeSimplifyBase<TeSimplifyPass> {
  void runOnOperation() override {
    writeRequiredSizes(getOperation());
    readStored(getOperation());
    if (failed(inlineDefinitions()))
      return signalPassFailure();
    // Who reads a sum shows once what lies between them has been taken in.
    if (te::writeFewTermsOut(getOperation()) && failed(inlineDefinitions()))
      return signalPassFailure();
    if (te::writeFewResultsOut(getOperation()) && failed(inlineDefinitions()))
      signalPassFailure();
  }

  LogicalResult inlineDefinitions() {
    llvm::DenseSet<Operation *> kept = findKept(getOperation());
    RewritePatternSet patterns(&getContext());
    patterns.add<InlineRead>(&getContext(), kept);
    patterns.add<ComposeSubscripts, PlainDivisor, DropOnePoint, DropDead>(&getContext());
    return applyPatternsGreedily(getOperation(), std::move(patterns));
  }
};

} // namespace
} // namespace kernelc
