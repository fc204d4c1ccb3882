// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/products/SeparateWindows.h"

#include "ir/te/Factors.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Meeting.h"
#include "passes/products/StepCosts.h"
#include "passes/products/SumBody.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// A window's dim `along`, by which results of dim `results` read `step` elements apart: at step * results + along.
struct Cut {
  unsigned along = 0, results = 0;
  int64_t step = 0;                 ///< 0: not known yet
  SmallVector<Value> first, second; ///< factors of what is reduced first, over the other dims, and of what is then
  llvm::BitVector kept;             ///< dims of the reduction that the first one's results have, `along` in place of `results`
  double cost = 0;
};

class WindowCutter {
public:
  WindowCutter(KernelOp kernel, ReduceOp reduce, const SizeFacts &facts)
      : kernel_(kernel), reduce_(reduce), facts_(facts), points_(kernel, facts.max), dims_(reduce.getNumDims()),
        parallel_(reduce.getNumParallel()) {}

  ReduceOp run() {
    if (!isPlain())
      return {};
    std::optional<Cut> best;
    for (unsigned r = parallel_; r < dims_; ++r)
      if (std::optional<Cut> cut = findCut(r); cut && (!best || cut->cost < best->cost))
        best = cut;
    double direct = pointsOf(llvm::BitVector(dims_, true));
    if (!best || best->cost * factorCosts().worthwhile > direct || !isInside(*best))
      return {};
    return apply(*best, direct);
  }

private:
  bool isPlain() {
    bool isKind = llvm::is_contained({Combiner::Sum, Combiner::Max, Combiner::Min}, reduce_.getKind());
    if (!isKind || dims_ < parallel_ + 2 || reduce_.getInit() || reduce_.getOutMap() || reduce_.getCondition() ||
        reduce_.getYield().getCondition())
      return false;
    std::optional<Contraction> c = findContraction(reduce_);
    return !c || !c->unitType; // (units multiply the window as it is)
  }

  AffineExpr extent(unsigned d) { return reduce_.getExtents().getResult(d); }
  double pointsOf(const llvm::BitVector &dims) const { return points_.of(reduce_, dims); }

  SmallVector<Value> factorsOf() {
    Value term = reduce_.getYield().getValues()[0];
    SmallVector<Value> factors;
    if (reduce_.getKind() == Combiner::Sum)
      for (OpOperand *use : findFactors(term))
        factors.push_back(use->get());
    return factors.empty() ? SmallVector<Value>{term} : factors;
  }

  std::optional<Cut> findCut(unsigned r) {
    Cut cut{r};
    llvm::BitVector first(dims_), summed(dims_), alone(dims_);
    summed.set(parallel_, dims_);
    summed.reset(r);
    for (Value factor : factorsOf()) {
      llvm::BitVector support = findSupport(factor, dims_);
      if (!support.anyCommon(summed)) {
        cut.second.push_back(factor);
        continue;
      }
      cut.first.push_back(factor);
      first |= support;
    }
    if (!first[r] || !llvm::all_of(cut.first, [&](Value factor) { return takeForm(factor, cut, alone); }) || cut.step == 0 || alone[r] ||
        alone[cut.results])
      return std::nullopt;
    first.reset(cut.results);
    llvm::BitVector left = summed;
    if (left.reset(first).any())
      return std::nullopt;
    cut.kept = first;
    cut.kept.reset(summed);
    double reach = (points_.along(extent(cut.results)) - 1) * cut.step + points_.along(extent(r));
    llvm::BitVector others = first, results(dims_), kept = cut.kept;
    others.reset(r);
    kept.reset(r);
    results.set(0, parallel_);
    results.set(r);
    cut.cost = reach * pointsOf(others) + reach * pointsOf(kept) * factorCosts().element + factorCosts().statement + pointsOf(results);
    return cut;
  }

  /// Takes in the form of `along` and `results` that `factor` has, and the dims that it asks for `alone`; false where the form is none, or
  /// another one.
  bool takeForm(Value factor, Cut &cut, llvm::BitVector &alone) {
    Block &body = reduce_.getBlock();
    SmallVector<Value> work{factor};
    bool ok = true;
    while (!work.empty()) {
      Value v = work.pop_back_val();
      if (auto dim = dyn_cast<BlockArgument>(v)) {
        if (dim.getOwner() == &body)
          alone.set(dim.getArgNumber());
        continue;
      }
      Operation *op = v.getDefiningOp();
      if (!op || op->getBlock() != &body)
        continue;
      auto read = dyn_cast<ReadOp>(op);
      if (!read) {
        ok &= op->getNumRegions() == 0;
        llvm::append_range(work, op->getOperands());
        continue;
      }
      if (read.getPadding())
        work.push_back(read.getPadding());
      ok &= takeRead(read, cut, alone);
    }
    return ok;
  }

  bool takeRead(ReadOp read, Cut &cut, llvm::BitVector &alone) {
    SmallVector<AffineExpr> dims;
    for (Value v : read.getOperands_()) {
      auto dim = dyn_cast<BlockArgument>(v);
      if (!dim || dim.getOwner() != &reduce_.getBlock())
        return false;
      dims.push_back(getAffineDimExpr(dim.getArgNumber(), read.getContext()));
    }
    for (AffineExpr e : read.getMapOrIdentity().getResults()) {
      e = e.replaceDims(dims);
      if (!e.isFunctionOfDim(cut.along)) {
        collectDims(e, alone);
        continue;
      }
      std::optional<int64_t> by = linearCoefficient(e, cut.along);
      unsigned results = 0, found = 0;
      for (unsigned d = 0; d < dims_; ++d)
        if (d != cut.along && e.isFunctionOfDim(d)) {
          results = d;
          ++found;
        }
      std::optional<int64_t> step = linearCoefficient(e, results);
      if (!by || *by <= 0 || found != 1 || results >= parallel_ || !step || *step <= 0 || *step % *by != 0 ||
          (cut.step != 0 && (cut.results != results || cut.step != *step / *by)))
        return false;
      cut.results = results;
      cut.step = *step / *by;
    }
    return true;
  }

  AffineExpr reachOf(const Cut &cut) { return (extent(cut.results) - 1) * cut.step + extent(cut.along); }

  /// Whether what is reduced first reads inside its tensors, also where there is no result.
  bool isInside(const Cut &cut) {
    Meeting points(kernel_, facts_);
    SmallVector<AffineExpr> extents, dims;
    for (unsigned d = 0; d < dims_; ++d) {
      extents.push_back(d == cut.along ? reachOf(cut) : extent(d));
      dims.push_back(d == cut.results ? getAffineConstantExpr(0, kernel_.getContext()) : getAffineDimExpr(d, kernel_.getContext()));
    }
    extents[cut.results] = getAffineConstantExpr(1, kernel_.getContext());
    unsigned p = points.addPoint(extents);
    for (Value factor : cut.first)
      for (ReadOp read : findReads(factor)) {
        if (read.getBounds() != BoundsMode::InBounds)
          continue;
        AffineMap map = read.getMapOrIdentity(), shape = getTensorShape(read.getTensor());
        SmallVector<AffineExpr> operands =
            llvm::map_to_vector(read.getOperands_(), [&](Value v) { return dims[cast<BlockArgument>(v).getArgNumber()]; });
        for (auto [e, n] : llvm::zip(map.getResults(), shape.getResults())) {
          AffineExpr at = e.replaceDims(operands);
          if (at.isFunctionOfDim(cut.along) && !(points.isNeverNegative(at, p) && points.isNeverNegative(n - 1 - at, p)))
            return false;
        }
      }
    return true;
  }

  /// Subscripts without what is zero.
  static void foldZeros(ReadOp read) {
    AffineMap map = read.getMapOrIdentity();
    SmallVector<AffineExpr> dims;
    SmallVector<Value> operands;
    for (Value v : read.getOperands_()) {
      bool isDim = isa<BlockArgument>(v);
      dims.push_back(isDim ? getAffineDimExpr(operands.size(), read.getContext()) : getAffineConstantExpr(0, read.getContext()));
      if (isDim)
        operands.push_back(v);
    }
    SmallVector<AffineExpr> results = llvm::map_to_vector(map.getResults(), [&](AffineExpr e) { return e.replaceDims(dims); });
    read.setMapAttr(AffineMapAttr::get(AffineMap::get(operands.size(), map.getNumSymbols(), results, read.getContext())));
    read.getOperands_Mutable().assign(operands);
  }

  ReduceOp makeFirst(const Cut &cut) {
    SmallVector<unsigned> order;
    for (unsigned d = 0; d < parallel_; ++d)
      if (d == cut.results)
        order.push_back(cut.along);
      else if (cut.kept[d])
        order.push_back(d);
    unsigned kept = order.size();
    for (unsigned d = parallel_; d < dims_; ++d)
      if (d != cut.along)
        order.push_back(d);
    OpBuilder b(reduce_);
    SmallVector<AffineExpr> extents;
    SmallVector<Attribute> names;
    for (unsigned d : order) {
      extents.push_back(d == cut.along ? reachOf(cut) : extent(d));
      names.push_back(reduce_.getIndices()[d == cut.along ? cut.results : d]);
    }
    auto type = RankedTensorType::get(SmallVector<int64_t>(kept, ShapedType::kDynamic), reduce_.getResult().getType().getElementType());
    auto first = ReduceOp::create(b, reduce_.getLoc(), type, reduce_.getKind(), b.getArrayAttr(names), kept,
                                  AffineMap::get(0, reduce_.getExtents().getNumSymbols(), extents, b.getContext()), IntegerSetAttr(),
                                  Value(), AffineMapAttr(), AffineMapAttr(), StringAttr());
    first.setAnyOrder(reduce_.getAnyOrder());
    fillBody(first.getBody().emplaceBlock(), order, cut.first, [](OpBuilder &, IRMapping &) { return Value(); });
    first.walk([](ReadOp read) { foldZeros(read); });
    return first;
  }

  ReduceOp apply(const Cut &cut, double direct) {
    ReduceOp first = makeFirst(cut);
    SmallVector<unsigned> order = llvm::to_vector(llvm::seq(parallel_));
    order.push_back(cut.along);
    OpBuilder b(reduce_);
    auto second = ReduceOp::create(b, reduce_.getLoc(), reduce_.getResult().getType(), reduce_.getKind(), indicesOf(reduce_, order),
                                   parallel_, extentsOf(reduce_, order), IntegerSetAttr(), Value(), AffineMapAttr(), reduce_.getShapeAttr(),
                                   reduce_.getNameAttr());
    second.setAnyOrder(reduce_.getAnyOrder());
    fillBody(second.getBody().emplaceBlock(), order, cut.second, [&](OpBuilder &b, IRMapping &mapping) -> Value {
      SmallVector<Value> point;
      SmallVector<AffineExpr> subscripts;
      for (unsigned d : order)
        point.push_back(mapping.lookup(reduce_.getBlock().getArgument(d)));
      for (unsigned d = 0; d < parallel_; ++d) {
        AffineExpr at = b.getAffineDimExpr(d);
        if (d == cut.results)
          subscripts.push_back(at * cut.step + b.getAffineDimExpr(parallel_));
        else if (cut.kept[d])
          subscripts.push_back(at);
      }
      AffineMap map = AffineMap::get(order.size(), reduce_.getExtents().getNumSymbols(), subscripts, b.getContext());
      return ReadOp::create(b, reduce_.getLoc(), first.getResult().getType().getElementType(), first.getResult(), point,
                            AffineMapAttr::get(map), BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
    });
    std::string text;
    llvm::raw_string_ostream os(text);
    StringRef along = cast<StringAttr>(reduce_.getIndices()[cut.along]).getValue();
    os << "this window is taken a dim at a time, index '" << along << "' last: " << llvm::format("%.3g", cut.cost)
       << " operations instead of " << llvm::format("%.3g", direct);
    emitRemark(reduce_.getLoc()) << text;
    reduce_.getResult().replaceAllUsesWith(second.getResult());
    reduce_.erase();
    return first;
  }

  /// A body over `order`, dims of the reduction, with the product of `factors` and of what `more` reads, if it is something.
  void fillBody(Block &block, ArrayRef<unsigned> order, ArrayRef<Value> factors, BodyWriter more) {
    writeBody(block, reduce_, order, [&](OpBuilder &b, IRMapping &mapping) {
      cloneTerms(b, reduce_, factors, mapping);
      SmallVector<Value> values = llvm::map_to_vector(factors, [&](Value v) { return mapping.lookupOrDefault(v); });
      if (Value read = more(b, mapping))
        values.push_back(read);
      return multiplyAll(b, reduce_.getLoc(), values);
    });
  }

  KernelOp kernel_;
  ReduceOp reduce_;
  SizeFacts facts_;
  BoundedPoints points_;
  unsigned dims_, parallel_;
};

} // namespace

ReduceOp separateWindow(KernelOp kernel, ReduceOp reduce, const SizeFacts &facts) { return WindowCutter(kernel, reduce, facts).run(); }

} // namespace kernelc::te
