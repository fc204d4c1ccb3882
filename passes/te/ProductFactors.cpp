// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/ProductFactors.h"

#include "ir/te/Factors.h"
#include "ir/te/TeShape.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/plan/Chain.h"
#include "passes/plan/ChainSets.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// A factor that is made of results of products at one place, and of what has that place's subscripts, and is rounded.
struct MadeFactor {
  Value factor, value; ///< `factor` widens `value`
  SmallVector<ReadOp> products, others;
  llvm::SetVector<Operation *> slice; ///< what leads to the value, in the reduction's body
};

ReduceOp productOf(ReadOp read) {
  auto made = read.getTensor().getDefiningOp<ReduceOp>();
  return made && !made.getInit() && !made.getOutMap() && !made.getShape() && findContraction(made) ? made : ReduceOp();
}

/// The subscripts of `read` as forms of `leaves`, to which its operands are added.
SmallVector<AffineExpr> subscriptsOf(ReadOp read, SmallVectorImpl<Value> &leaves) {
  SmallVector<AffineExpr> to;
  for (Value v : read.getOperands_()) {
    auto *at = llvm::find(leaves, v);
    to.push_back(getAffineDimExpr(at - leaves.begin(), read.getContext()));
    if (at == leaves.end())
      leaves.push_back(v);
  }
  AffineMap map = read.getMapOrIdentity();
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr e) { return e.replaceDims(to); });
}

/// The place of each subscript of `read` among those of `of`; nothing where one is none of them and no constant.
std::optional<SmallVector<AffineExpr>> placesIn(ReadOp read, ReadOp of) {
  SmallVector<Value> leaves;
  SmallVector<AffineExpr> all = subscriptsOf(of, leaves), places;
  for (AffineExpr e : subscriptsOf(read, leaves)) {
    auto *at = llvm::find(all, e);
    if (at == all.end() && !isa<AffineConstantExpr>(e))
      return std::nullopt;
    places.push_back(at == all.end() ? e : getAffineDimExpr(at - all.begin(), read.getContext()));
  }
  return places;
}

std::optional<MadeFactor> findMade(ReduceOp reduce, Value factor) {
  MadeFactor m{.factor = factor, .value = stripWidening(factor)};
  auto type = dyn_cast<FloatType>(m.value.getType());
  if (m.value == factor || !type || m.value.getDefiningOp<ReadOp>() || !m.value.getDefiningOp())
    return std::nullopt;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == &reduce.getBlock(); };
  if (failed(getBackwardSlice(m.value, &m.slice, options)))
    return std::nullopt;
  for (Operation *op : m.slice) {
    auto read = dyn_cast<ReadOp>(op);
    if (!read) { // (an index in the value itself has no place in the tensor)
      if (!isPure(op) || llvm::any_of(op->getOperandTypes(), [](Type t) { return t.isIndex(); }))
        return std::nullopt;
      continue;
    }
    if (read.getBounds() != BoundsMode::InBounds)
      return std::nullopt;
    (productOf(read) ? m.products : m.others).push_back(read);
  }
  if (m.products.empty())
    return std::nullopt;
  AffineMap extents = getTensorShape(m.products.front().getTensor());
  for (ReadOp read : llvm::concat<ReadOp>(m.products, m.others)) {
    std::optional<SmallVector<AffineExpr>> places = placesIn(read, m.products.front());
    bool isOwn = productOf(read) && places && getTensorShape(read.getTensor()) == extents &&
                 AffineMap::get(places->size(), 0, *places, read.getContext()).isIdentity();
    if (!places || (productOf(read) && !isOwn))
      return std::nullopt;
    Operation *made = read.getTensor().getDefiningOp();
    if (!productOf(read) && made && !isa<ComputeOp>(made)) // what other reductions leave is none of the product's launch
      return std::nullopt;
  }
  return m;
}

class Writer {
public:
  Writer(KernelOp kernel, const Target &target, const SizeFacts &facts) : kernel_(kernel), target_(target), facts_(facts) {}

  void run() {
    if (!hasWalk())
      return;
    llvm::DenseSet<Operation *> inSets;
    for (ChainSet &set : findChainSets(kernel_, target_, facts_))
      for (SetReader &reader : set.readers)
        inSets.insert(reader.op);
    for (ReduceOp reduce : llvm::to_vector(kernel_.getBlock().getOps<ReduceOp>()))
      if (std::optional<Contraction> c = findContraction(reduce))
        if (!inSets.contains(reduce) && !findChain(reduce, target_, facts_, ChainUse::Shared))
          for (Value factor : {c->a, c->b})
            if (std::optional<MadeFactor> made = findMade(reduce, factor))
              read(reduce, *made, write(reduce, *made));
  }

private:
  /// Whether something other than a product reduces what a product makes.
  bool hasWalk() {
    auto isWalk = [&](ReduceOp r) {
      bool ofProduct = false;
      // (Rows of one tile are reduced in it: a walk over 77 keys took twice as long.)
      int64_t walked = knownMax(r.getExtents().getResults().back(), facts_);
      if (!findGeneralContraction(r) && (walked < 0 || walked > target_.costs->chains.tileRows))
        r.walk([&](ReadOp read) { ofProduct |= bool(productOf(read)); });
      return ofProduct;
    };
    return target_.chainRate && llvm::any_of(kernel_.getBlock().getOps<ReduceOp>(), isWalk);
  }

  /// The tensor of the factor's values over all of the products' points: one that is known, or a new one ahead of `reduce`.
  ComputeOp write(ReduceOp reduce, const MadeFactor &m) {
    ReduceOp product = productOf(m.products.front());
    OpBuilder b(reduce);
    SmallVector<AffineExpr> extents(getTensorShape(product.getResult()).getResults()), rows = extents;
    int64_t row = target_.costs->copies.workspaceRowBytes * 8 / m.value.getType().getIntOrFloatBitWidth();
    if (knownDivisor(rows.back(), facts_) % row)
      rows.back() = rows.back().ceilDiv(row) * row;
    auto mapOf = [&](ArrayRef<AffineExpr> e) { return AffineMap::get(0, kernel_.getNumSizes(), e, b.getContext()); };
    auto type = RankedTensorType::get(SmallVector<int64_t>(extents.size(), ShapedType::kDynamic), m.value.getType());
    std::string name = product.getNameAttr() ? product.getNameAttr().str() : "operand";
    SmallVector<Attribute> indices(ArrayRef(product.getIndices().getValue()).take_front(extents.size()));
    auto made = ComputeOp::create(b, m.factor.getLoc(), type, b.getArrayAttr(indices), mapOf(extents), IntegerSetAttr(), Value(),
                                  AffineMapAttr(), AffineMapAttr::get(mapOf(rows)), b.getStringAttr(name + "_rows"), false);
    fill(made, m, reduce);
    for (ComputeOp known : written_)
      if (known->isBeforeInBlock(made) && known.getExtents() == made.getExtents() && known.getResult().getType() == type &&
          OperationEquivalence::isRegionEquivalentTo(&known.getBody(), &made.getBody(), OperationEquivalence::IgnoreLocations)) {
        made.erase();
        return known;
      }
    written_.push_back(made);
    return made;
  }

  static void fill(ComputeOp made, const MadeFactor &m, ReduceOp reduce) {
    OpBuilder b(made);
    Block &body = made.getBody().emplaceBlock();
    SmallVector<Value> point;
    for (unsigned d = 0; d < made.getNumDims(); ++d)
      point.push_back(body.addArgument(b.getIndexType(), made.getLoc()));
    b.setInsertionPointToStart(&body);
    IRMapping mapping;
    for (Operation &op : reduce.getBlock()) {
      if (!m.slice.contains(&op))
        continue;
      auto read = dyn_cast<ReadOp>(op);
      if (!read) {
        b.clone(op, mapping);
        continue;
      }
      AffineMap map =
          AffineMap::get(point.size(), read.getMapOrIdentity().getNumSymbols(), *placesIn(read, m.products.front()), op.getContext());
      mapping.map(read.getResult(),
                  ReadOp::create(b, op.getLoc(), read.getResult().getType(), read.getTensor(), point,
                                 map.isIdentity() ? AffineMapAttr() : AffineMapAttr::get(map), read.getBoundsAttr(), Value())
                      .getResult());
    }
    YieldOp::create(b, made.getLoc(), mapping.lookup(m.value), Value());
  }

  /// `reduce` reads the tensor where it had the factor.
  static void read(ReduceOp reduce, MadeFactor &m, ComputeOp made) {
    ReadOp place = m.products.front();
    OpBuilder b(m.value.getDefiningOp());
    Value narrow = ReadOp::create(b, m.factor.getLoc(), m.value.getType(), made.getResult(), place.getOperands_(), place.getMapAttr(),
                                  BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
    m.value.replaceAllUsesWith(narrow);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(reduce.getBlock())))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  KernelOp kernel_;
  const Target &target_;
  const SizeFacts &facts_;
  SmallVector<ComputeOp> written_;
};

} // namespace

void writeProductFactors(KernelOp kernel, const Target &target, const SizeFacts &facts) { Writer(kernel, target, facts).run(); }

} // namespace kernelc::te
