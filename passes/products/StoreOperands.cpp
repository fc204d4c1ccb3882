// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-store-operands: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/Factors.h"
#include "ir/te/Precision.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Definitions.h"
#include "passes/index/Affine.h"
#include "passes/index/IndexArithmetic.h"
#include "passes/index/Runs.h"
#include "passes/plan/PlanAttr.h"
#include "support/Saturating.h"
#include "support/TargetCosts.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESTOREOPERANDS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Where the values of a statement's indices come from: for each, dims of the statement that reads it in the end.
using Origins = SmallVector<llvm::BitVector>;

/// The factors of a sum of products; none of any other reduction.
SmallVector<OpOperand *> findProductFactors(ReduceOp reduce) {
  if (reduce.getKind() != Combiner::Sum || reduce.isArg() || reduce.getYield().getValues().size() != 1)
    return {};
  SmallVector<OpOperand *> factors = findFactors(reduce.getYield().getValues()[0]);
  auto reads = [](OpOperand *factor) { return findOperandRead(factor->get()) || !findReads(factor->get()).empty(); };
  auto first = llvm::find_if(factors, reads);
  bool areSeveral = first != factors.end() && std::any_of(std::next(first), factors.end(), reads);
  return areSeveral ? factors : SmallVector<OpOperand *>();
}

/// Whether a sum of products has two factors that each have an index of the results for themselves: a square or a weighted sum of a row
/// is a reduction like others.
bool multipliesOperands(ReduceOp reduce) {
  SmallVector<llvm::BitVector> own;
  for (OpOperand *factor : findProductFactors(reduce)) {
    own.push_back(findSupport(factor->get(), reduce.getNumDims()));
    own.back().resize(reduce.getNumParallel());
  }
  return llvm::any_of(
      own, [&](const llvm::BitVector &a) { return llvm::any_of(own, [&](const llvm::BitVector &b) { return a.test(b) && b.test(a); }); });
}

/// What a value is made of, through definitions: products, with the dims that each subscript of theirs moves with, and other reductions.
class Sources {
public:
  struct Product {
    ReduceOp op;
    Origins subscripts;
  };
  SmallVector<Product> products;
  llvm::SmallSetVector<Operation *, 4> reductions;

  /// `dims`: of the statement that reads all in the end.
  explicit Sources(unsigned dims) : dims_(dims) {}

  /// Of value `v` in the body of `statement`, whose indices have `origins`.
  void collect(Operation *statement, Value v, const Origins &origins) {
    for (ReadOp read : findReads(v)) {
      Origins subscripts = subscriptsOf(statement, read, origins);
      Operation *made = read.getTensor().getDefiningOp();
      if (auto reduce = dyn_cast_or_null<ReduceOp>(made)) {
        if (findProductFactors(reduce).empty())
          reductions.insert(reduce);
        else
          products.push_back({reduce, std::move(subscripts)});
      } else if (auto definition = dyn_cast_or_null<ComputeOp>(made); definition && isDefinition(definition) && seen_.insert(made).second) {
        collect(definition, definition.getYield().getValues()[0], subscripts);
      }
    }
  }

private:
  Origins subscriptsOf(Operation *statement, ReadOp read, const Origins &origins) const {
    AffineMap map = read.getMapOrIdentity();
    SmallVector<llvm::BitVector> moved;
    for (Value operand : read.getOperands_()) {
      llvm::BitVector dims(dims_);
      for (unsigned d : findSupport(operand, getExtents(statement).getNumResults()).set_bits())
        dims |= origins[d];
      moved.push_back(std::move(dims));
    }
    Origins subscripts;
    for (AffineExpr e : map.getResults()) {
      llvm::BitVector dims(dims_);
      for (auto [n, d] : llvm::enumerate(moved))
        if (e.isFunctionOfDim(n))
          dims |= d;
      subscripts.push_back(std::move(dims));
    }
    return subscripts;
  }

  unsigned dims_;
  llvm::SmallPtrSet<Operation *, 8> seen_;
};

/// The indices of `statement` as they are.
Origins ownIndices(Operation *statement) {
  unsigned dims = getExtents(statement).getNumResults();
  Origins own(dims, llvm::BitVector(dims));
  for (unsigned d = 0; d < dims; ++d)
    own[d].set(d);
  return own;
}

/// Whether a reduction is made of `product`'s results.
bool isMadeOf(ReduceOp reduction, ReduceOp product) {
  Sources sources(reduction.getNumDims());
  for (Value v : reduction.getYield().getValues())
    sources.collect(reduction, v, ownIndices(reduction));
  return llvm::any_of(sources.products, [&](const Sources::Product &p) { return p.op == product; });
}

class OperandStore {
public:
  OperandStore(KernelOp kernel, const Target &target, const SizeFacts &facts) : kernel_(kernel), target_(target), facts_(facts) {}

  void run() {
    for (auto second : kernel_.getBlock().getOps<ReduceOp>())
      for (OpOperand *factor : findProductFactors(second))
        storeOfChain(second, factor);
    for (auto product : kernel_.getBlock().getOps<ReduceOp>())
      storeOfWalk(product);
    for (Operation *definition : stored_)
      store(cast<ComputeOp>(definition));
  }

private:
  /// If `factor` of `second` is made of a product's results and of reductions of these, a row of them each: the operands of both products.
  void storeOfChain(ReduceOp second, OpOperand *factor) {
    Sources sources(second.getNumDims());
    sources.collect(second, factor->get(), ownIndices(second));
    for (const Sources::Product &first : sources.products) {
      bool isReduced = llvm::any_of(sources.reductions, [&](Operation *op) { return isMadeOf(cast<ReduceOp>(op), first.op); });
      if (!isReduced || !walksRows(second, factor, first))
        continue;
      for (OpOperand *operand : findProductFactors(first.op))
        keep(first.op, operand->get());
      for (OpOperand *other : findProductFactors(second))
        if (other != factor)
          keep(second, other->get());
    }
  }

  /// If rows of a product's results are reduced, which may be walked where they are made: its operands, as far as te-repack would write
  /// them in any case.
  void storeOfWalk(ReduceOp product) {
    SmallVector<OpOperand *> factors = findProductFactors(product);
    if (factors.empty() || !target_.wgmma)
      return;
    bool isReduced = false;
    for (auto other : kernel_.getBlock().getOps<ReduceOp>())
      isReduced |= other != product && !multipliesOperands(other) && isMadeOf(other, product);
    if (!isReduced)
      return;
    for (OpOperand *factor : factors)
      if (paysToWrite(product, factor->get()))
        keep(product, factor->get());
  }

  /// Whether te-repack would write a computed operand of the product to memory.
  bool paysToWrite(ReduceOp product, Value operand) const {
    llvm::BitVector has = findSupport(operand, product.getNumDims());
    Count work = 1, written = 1;
    for (auto [d, extent] : llvm::enumerate(product.getExtents().getResults())) {
      int64_t most = knownMax(extent, facts_);
      if (most < 0)
        return false; // (of unknown work nobody says whether it pays)
      work *= most;
      if (has[d])
        written *= most;
    }
    return work >= std::max<Count>(target_.repackWork, written * target_.repackReuse);
  }

  /// The indices whose neighbours `factor` tells apart: of one that it has as the number of a group alone (a key's head, `h // 4`) the
  /// points of a group are rows beside each other.
  static llvm::BitVector toldApart(Value factor, unsigned dims) {
    llvm::BitVector apart(dims);
    for (ReadOp read : findReads(factor))
      for (auto [n, v] : llvm::enumerate(read.getOperands_()))
        for (AffineExpr e : read.getMapOrIdentity().getResults()) {
          auto quotient = dyn_cast<AffineBinaryOpExpr>(e);
          bool isGroup = isa<BlockArgument>(v) && quotient && e.getKind() == AffineExprKind::FloorDiv &&
                         quotient.getLHS() == getAffineDimExpr(n, e.getContext());
          if (e.isFunctionOfDim(n) && !isGroup)
            apart |= findSupport(v, dims);
        }
    return apart;
  }

  /// Whether the product's results are read at rows of `factor` that nothing else of `second` has, along what `second` sums.
  static bool walksRows(ReduceOp second, OpOperand *factor, const Sources::Product &first) {
    unsigned dims = second.getNumDims();
    llvm::BitVector read(dims), others(dims), rows = findSupport(factor->get(), dims);
    for (const llvm::BitVector &subscript : first.subscripts)
      read |= subscript;
    for (OpOperand *other : findProductFactors(second))
      if (other != factor)
        others |= toldApart(other->get(), dims);
    bool walked = read.find_next(int(second.getNumParallel()) - 1) >= 0;
    rows.reset(second.getNumParallel(), dims);
    rows.reset(others);
    read.flip();
    return walked && rows.any() && !rows.anyCommon(read);
  }

  /// The definition, if `operand` of `product` is an element of one that computes: what only reads an element elsewhere does not.
  void keep(ReduceOp product, Value operand) {
    ReadOp read = findOperandRead(operand);
    if (!read || !isReadAgain(product, operand) || !beginsAtColumns(read))
      return;
    while (auto definition = read.getTensor().getDefiningOp<ComputeOp>()) {
      if (!isDefinition(definition) || read.getBounds() != BoundsMode::InBounds)
        return;
      Value element = definition.getYield().getValues()[0];
      auto inner = stripRoundTrip(element).getDefiningOp<ReadOp>();
      if (!inner) {
        if (isTakenByChains(product, element.getType()))
          stored_.insert(definition);
        return;
      }
      read = inner;
    }
  }

  /// Whether a launch of both products takes elements of this type: matrix units 16 bits, CUDA cores words, where all factors are words
  /// that no policy rounds.
  bool isTakenByChains(ReduceOp product, Type element) const {
    if (element.isF16() || element.isBF16())
      return true;
    FailureOr<PrecisionPolicy> policy = getPrecision(kernel_);
    return element.isF32() && succeeded(policy) && policy->empty() && llvm::all_of(findProductFactors(product), [](OpOperand *factor) {
             SmallVector<ReadOp> reads = findReads(factor->get());
             return llvm::all_of(reads, [](ReadOp read) { return read.getTensor().getType().getElementType().isF32(); });
           });
  }

  /// What a rounding gives that has widened it before: the text's types are written out in each definition.
  static Value stripRoundTrip(Value v) {
    auto narrow = v.getDefiningOp<arith::TruncFOp>();
    auto wide = narrow ? narrow.getIn().getDefiningOp<arith::ExtFOp>() : nullptr;
    return wide && wide.getIn().getType() == narrow.getType() ? wide.getIn() : v;
  }

  /// Whether what moves along memory is one index, behind whole rows of a slot or in runs that a copy tells apart: one that begins
  /// elsewhere brings another head's columns.
  bool beginsAtColumns(ReadOp read) const {
    if (read.getMapOrIdentity().getNumResults() == 0) // one number
      return false;
    SmallVector<Value> leaves;
    SmallVector<AffineExpr> operands = llvm::map_to_vector(read.getOperands_(), [&](Value v) { return affineOf(v, leaves); });
    AffineMap map = read.getMapOrIdentity();
    unsigned symbols = map.getNumSymbols();
    AffineExpr last = withPinnedSizes(map.getResults().back().replaceDims(operands), leaves.size(), symbols, facts_);
    SmallVector<unsigned> columns;
    bool areWhole = true;
    for (auto [e, c] : splitTerms(last))
      if (auto column = dyn_cast<AffineDimExpr>(e); column && c == 1)
        columns.push_back(column.getPosition());
      else
        areWhole &= knownDivisor(e * c, facts_) % perRow(read.getResult().getType()) == 0;
    int64_t bytes = read.getResult().getType().getIntOrFloatBitWidth() / 8;
    return columns.size() == 1 && (areWhole || findRun(last, columns[0], leaves.size(), symbols, bytes, facts_));
  }

  int64_t perRow(Type element) const { return target_.costs->copies.elementsOfRow(element.getIntOrFloatBitWidth()); }

  /// Whether several results of `product` take each element of `operand`: there is an index that the operand does not have.
  static bool isReadAgain(ReduceOp product, Value operand) {
    llvm::BitVector has = findSupport(operand, product.getNumDims());
    return llvm::any_of(llvm::seq(product.getNumParallel()), [&](unsigned d) {
      auto extent = dyn_cast<AffineConstantExpr>(product.getExtents().getResult(d));
      return !has[d] && (!extent || extent.getValue() > 1);
    });
  }

  /// A tensor with a shape of its own is no definition. Its rows begin where tensor copies find them, unless the caller has it.
  void store(ComputeOp definition) {
    SmallVector<AffineExpr> shape(definition.getExtents().getResults());
    bool isResult = llvm::is_contained(kernel_.getReturn().getOperands(), definition.getResult());
    int64_t row = perRow(definition.getResult().getType().getElementType());
    if (!isResult && !shape.empty() && knownDivisor(shape.back(), facts_) % row != 0)
      shape.back() = shape.back().ceilDiv(row) * row;
    definition.setShapeAttr(AffineMapAttr::get(AffineMap::get(0, definition.getExtents().getNumSymbols(), shape, kernel_.getContext())));
  }

  KernelOp kernel_;
  const Target &target_;
  const SizeFacts &facts_;
  llvm::SmallSetVector<Operation *, 4> stored_;
};

struct TeStoreOperandsPass : impl::TeStoreOperandsBase<TeStoreOperandsPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<KnownTarget> known = getKnownTarget(getOperation(), target, sizeDiv, sizeMax, {});
    if (failed(known))
      return signalPassFailure();
    if (known->target->chainRate) // else no launch has both products
      OperandStore(getOperation(), *known->target, known->facts()).run();
  }
};

} // namespace
} // namespace kernelc
