// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-reader-windows: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/Affine.h"
#include "passes/index/IndexArithmetic.h"
#include "passes/plan/PlanAttr.h"
#include "support/Saturating.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEREADERWINDOWS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Adds the dims of a sum of dims times positive constants, and of a constant; false for other forms.
bool collectTerms(AffineExpr e, int64_t by, SmallVectorImpl<std::pair<int64_t, unsigned>> &terms) {
  if (isa<AffineConstantExpr>(e))
    return true;
  if (auto d = dyn_cast<AffineDimExpr>(e)) {
    terms.push_back({by, d.getPosition()});
    return true;
  }
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  if (bin && e.getKind() == AffineExprKind::Add)
    return collectTerms(bin.getLHS(), by, terms) && collectTerms(bin.getRHS(), by, terms);
  auto c = bin && e.getKind() == AffineExprKind::Mul ? dyn_cast<AffineConstantExpr>(bin.getRHS()) : AffineConstantExpr();
  return c && c.getValue() > 0 && collectTerms(bin.getLHS(), by * c.getValue(), terms);
}

class Indexer {
public:
  Indexer(KernelOp kernel, const Target &target, const SizeFacts &facts) : kernel_(kernel), target_(target), facts_(facts) {}

  void run() {
    for (ReduceOp product : llvm::to_vector(kernel_.getBlock().getOps<ReduceOp>()))
      if (std::optional<SmallVector<AffineExpr>> windows = findWindows(product))
        indexByReader(product, *windows);
  }

private:
  /// Whether a unit takes the product by windows of `reader`. Products of warpgroups come in boxes of memory, where a window's points are
  /// digits of rows; tiles, which are powers of two, have those of such windows.
  bool takesWindows(ReduceOp product, ReduceOp reader) {
    if (!findGeneralContraction(product))
      return false;
    std::optional<Contraction> c = findContraction(product);
    return !(c && target_.wgmma && findWarpgroupForm(*c)) ||
           llvm::all_of(llvm::seq(reader.getNumParallel(), reader.getNumDims()), [&](unsigned d) {
             auto points = dyn_cast<AffineConstantExpr>(reader.getExtents().getResult(d));
             return points && llvm::isPowerOf2_64(points.getValue());
           });
  }

  static bool isPlain(ReduceOp op) {
    return !op.isArg() && !op.getInit() && !op.getOutMap() && !getCondition(op) && !op.getYield().getCondition();
  }

  /// The one reduction that reads what `product` gives; null where there is another reader, or it reads at several places.
  static ReduceOp findReader(ReduceOp product) {
    ReadOp first;
    for (Operation *user : product->getUsers()) {
      auto read = dyn_cast<ReadOp>(user);
      if (!read || read.getBounds() != BoundsMode::InBounds ||
          (first && (first->getBlock() != read->getBlock() || first.getOperands_() != read.getOperands_() ||
                     first.getMapOrIdentity() != read.getMapOrIdentity())))
        return {};
      first = read;
    }
    return first ? dyn_cast<ReduceOp>(first->getParentOp()) : ReduceOp();
  }

  /// Each index of `product` over the dims of its only reader, if those are windows that do not overlap.
  std::optional<SmallVector<AffineExpr>> findWindows(ReduceOp product) {
    ReduceOp reader = isPlain(product) ? findReader(product) : ReduceOp();
    if (!reader || !isPlain(reader) || !takesWindows(product, reader) || findGeneralContraction(reader))
      return std::nullopt;
    ReadOp read = cast<ReadOp>(*product->getUsers().begin());
    SmallVector<AffineExpr> dims, places;
    for (Value v : read.getOperands_()) {
      std::optional<unsigned> d = findIndex(reader, v);
      if (!d)
        return std::nullopt;
      dims.push_back(getAffineDimExpr(*d, read.getContext()));
    }
    llvm::BitVector seen(reader.getNumDims());
    bool isPermutation = true;
    for (AffineExpr e : read.getMapOrIdentity().getResults()) {
      places.push_back(e.replaceDims(dims));
      isPermutation &= isa<AffineDimExpr>(places.back());
      if (!tellsApart(places.back(), reader, seen))
        return std::nullopt;
    }
    Count points = 1;
    for (unsigned d = reader.getNumParallel(); d < reader.getNumDims(); ++d)
      points *= countOf(reader.getExtents().getResult(d), facts_);
    return seen.all() && !isPermutation && int64_t(points) <= target_.costs->copies.largestWindow ? std::optional(places) : std::nullopt;
  }

  /// Whether no two points of the reader's dims in `e`, none of which has been seen, come to one subscript.
  bool tellsApart(AffineExpr e, ReduceOp reader, llvm::BitVector &seen) {
    SmallVector<std::pair<int64_t, unsigned>> terms;
    if (!collectTerms(e, 1, terms))
      return false;
    llvm::sort(terms);
    int64_t reach = 0; // of the terms so far
    for (auto [by, d] : terms) {
      if (seen[d] || by <= reach)
        return false;
      seen.set(d);
      int64_t most = knownMax(reader.getExtents().getResult(d), facts_);
      if (most < 0 && d != terms.back().second)
        return false;
      reach = addSaturated(reach, mulSaturated(by, std::max<int64_t>(most, 1) - 1));
    }
    return true;
  }

  void indexByReader(ReduceOp product, ArrayRef<AffineExpr> places) {
    ReadOp read = cast<ReadOp>(*product->getUsers().begin());
    auto reader = cast<ReduceOp>(read->getParentOp());
    OpBuilder b(product);
    unsigned parallel = reader.getNumDims(), symbols = product.getExtents().getNumSymbols();
    SmallVector<Attribute> names(reader.getIndices().begin(), reader.getIndices().end());
    SmallVector<AffineExpr> extents(reader.getExtents().getResults());
    for (unsigned d = product.getNumParallel(); d < product.getNumDims(); ++d) {
      names.push_back(product.getIndices()[d]);
      extents.push_back(product.getExtents().getResult(d));
    }
    auto type = RankedTensorType::get(SmallVector<int64_t>(parallel, ShapedType::kDynamic), product.getResult().getType().getElementType());
    auto moved = ReduceOp::create(b, product.getLoc(), type, product.getKind(), b.getArrayAttr(names), parallel,
                                  AffineMap::get(0, symbols, extents, b.getContext()), IntegerSetAttr(), Value(), AffineMapAttr(),
                                  AffineMapAttr(), product.getNameAttr());
    moved.setAnyOrder(product.getAnyOrder());
    Block &block = moved.getBody().emplaceBlock();
    for (size_t d = 0; d < names.size(); ++d)
      block.addArgument(b.getIndexType(), product.getLoc());
    b.setInsertionPointToStart(&block);
    IRMapping mapping;
    for (unsigned d = 0; d < product.getNumDims(); ++d)
      mapping.map(product.getBlock().getArgument(d), d < places.size()
                                                         ? materialize(b, product.getLoc(), places[d], block.getArguments(), symbols)
                                                         : block.getArgument(parallel + d - places.size()));
    for (Operation &op : product.getBlock())
      b.clone(op, mapping);
    for (Operation *user : llvm::to_vector(product->getUsers())) {
      auto old = cast<ReadOp>(user);
      OpBuilder at(old);
      auto whole =
          ReadOp::create(at, old.getLoc(), old.getResult().getType(), moved.getResult(),
                         llvm::to_vector_of<Value>(reader.getBlock().getArguments()), AffineMapAttr(), old.getBoundsAttr(), Value());
      old.replaceAllUsesWith(whole.getResult());
      old.erase();
    }
    product.erase();
  }

  KernelOp kernel_;
  const Target &target_;
  SizeFacts facts_;
};

struct TeReaderWindowsPass : impl::TeReaderWindowsBase<TeReaderWindowsPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<KnownTarget> known = getKnownTarget(getOperation(), target, sizeDiv, sizeMax);
    if (failed(known))
      return signalPassFailure();
    Indexer(getOperation(), *known->target, known->facts()).run();
  }
};

} // namespace
} // namespace kernelc
