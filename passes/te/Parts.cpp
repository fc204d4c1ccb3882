// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/Parts.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc::te {

namespace {

/// The dims of a reduction in the order that its parts have them, of which the first `results` are those of their results, and in that of
/// the second step.
struct PartOrder {
  PartOrder(unsigned parallel, unsigned dims, ArrayRef<unsigned> outer, unsigned at)
      : parts(llvm::to_vector(llvm::seq(0u, parallel))), merged(parts) {
    parts.insert(parts.begin() + at, outer.begin(), outer.end());
    llvm::append_range(merged, outer);
    results = parts.size();
    for (unsigned d = parallel; d < dims; ++d)
      if (!llvm::is_contained(outer, d))
        parts.push_back(d);
  }
  ArrayRef<unsigned> resultDims() const { return ArrayRef(parts).take_front(results); }

  SmallVector<unsigned> parts, merged;
  unsigned results;
};

AffineMap extentsOf(AffineMap all, ArrayRef<unsigned> list) {
  SmallVector<AffineExpr> extents = llvm::map_to_vector(list, [&](unsigned d) { return all.getResult(d); });
  return AffineMap::get(0, all.getNumSymbols(), extents, all.getContext());
}

/// The two steps of a reduction `r`, of which the first has the reduced dims `outer` among its results.
class PartsOfReduction {
public:
  PartsOfReduction(ReduceOp r, ArrayRef<unsigned> outer, unsigned at)
      : r_(r), b_(r), loc_(r.getLoc()), parallel_(r.getNumParallel()), order_(parallel_, r.getNumDims(), outer, at) {}

  ReduceOp makePart() {
    StringAttr name = r_.getNameAttr() ? b_.getStringAttr(r_.getNameAttr().getValue() + "_part") : StringAttr();
    ReduceOp part = makeReduce(order_.parts, order_.results, name, movedCondition());
    if (ArrayRef<int64_t> thin = getStreamedDims(r_); !thin.empty()) {
      SmallVector<int64_t> moved;
      for (int64_t d : thin)
        moved.push_back(llvm::find(order_.parts, unsigned(d)) - order_.parts.begin());
      part.setStreamed(moved);
    }
    IRMapping mapping;
    for (auto [place, d] : llvm::enumerate(order_.parts))
      mapping.map(r_.getBlock().getArgument(d), part.getBlock().getArgument(place));
    OpBuilder inside = OpBuilder::atBlockEnd(&part.getBlock());
    for (Operation &op : r_.getBlock())
      inside.clone(op, mapping);
    return part;
  }

  /// What the parts have become, reduced behind them.
  ReduceOp makeWhole(ReduceOp part) {
    ReduceOp whole = makeReduce(order_.merged, parallel_, r_.getNameAttr(), {});
    SmallVector<Value> point;
    for (unsigned d : order_.resultDims())
      point.push_back(whole.getBlock().getArgument(llvm::find(order_.merged, d) - order_.merged.begin()));
    OpBuilder inside = OpBuilder::atBlockEnd(&whole.getBlock());
    YieldOp::create(inside, loc_, readPart(inside, part, point), Value());
    return whole;
  }

  /// Zeros that parts are added to. In front of the parts: they are there when the first part is.
  ComputeOp makeZeros() {
    SmallVector<unsigned> results = llvm::to_vector(llvm::seq(0u, parallel_));
    StringAttr name = r_.getNameAttr() ? b_.getStringAttr(r_.getNameAttr().getValue() + "_zeros") : StringAttr();
    auto zeros = ComputeOp::create(b_, loc_, r_.getResult().getType(), b_.getArrayAttr(namesOf(results)), extentsOf(results),
                                   IntegerSetAttr(), Value(), AffineMapAttr(), AffineMapAttr(), name, false);
    openBody(zeros.getBody(), parallel_);
    OpBuilder inside = OpBuilder::atBlockEnd(&zeros.getBlock());
    YieldOp::create(inside, loc_, arith::ConstantOp::create(inside, loc_, inside.getZeroAttr(elementType())).getResult(), Value());
    return zeros;
  }

  ScatterOp makeAdds(ReduceOp part, Value zeros) {
    auto adds =
        ScatterOp::create(b_, loc_, r_.getResult().getType(), CombinerAttr::get(b_.getContext(), Combiner::Sum),
                          b_.getArrayAttr(namesOf(order_.resultDims())), extentsOf(order_.resultDims()), IntegerSetAttr(), zeros,
                          extentsOf(llvm::to_vector(llvm::seq(0u, parallel_))), r_.getNameAttr(), /*guarded=*/false, /*any_order=*/true);
    openBody(adds.getBody(), order_.results);
    OpBuilder inside = OpBuilder::atBlockEnd(&adds.getBlock());
    ValueRange point = adds.getBlock().getArguments();
    SmallVector<Value> yielded = {readPart(inside, part, point)};
    for (auto [d, index] : llvm::zip(order_.resultDims(), point))
      if (d < parallel_)
        yielded.push_back(index);
    YieldOp::create(inside, loc_, yielded, Value());
    return adds;
  }

private:
  Type elementType() { return r_.getResult().getType().getElementType(); }
  RankedTensorType typeOf(unsigned rank) { return RankedTensorType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic), elementType()); }
  SmallVector<Attribute> namesOf(ArrayRef<unsigned> dims) {
    return llvm::map_to_vector(dims, [&](unsigned d) { return r_.getIndices()[d]; });
  }
  AffineMap extentsOf(ArrayRef<unsigned> dims) { return te::extentsOf(r_.getExtents(), dims); }
  void openBody(Region &body, size_t dims) {
    Block &block = body.emplaceBlock();
    for (size_t i = 0; i < dims; ++i)
      block.addArgument(b_.getIndexType(), loc_);
  }
  ReduceOp makeReduce(ArrayRef<unsigned> dims, unsigned rank, StringAttr name, IntegerSetAttr where) {
    auto op = ReduceOp::create(b_, loc_, typeOf(rank), r_.getKind(), b_.getArrayAttr(namesOf(dims)), rank, extentsOf(dims), where, Value(),
                               AffineMapAttr(), AffineMapAttr(), name);
    openBody(op.getBody(), dims.size());
    return op;
  }
  Value readPart(OpBuilder &inside, ReduceOp part, ValueRange point) {
    return ReadOp::create(inside, loc_, elementType(), part.getResult(), point, AffineMapAttr(),
                          BoundsModeAttr::get(b_.getContext(), BoundsMode::InBounds), Value());
  }
  /// r's condition, over its dims as the first step has them.
  IntegerSetAttr movedCondition() {
    std::optional<IntegerSet> set = getCondition(r_);
    if (!set)
      return {};
    SmallVector<AffineExpr> moved(r_.getNumDims());
    for (auto [place, d] : llvm::enumerate(order_.parts))
      moved[d] = b_.getAffineDimExpr(place);
    auto constraints = llvm::map_to_vector(set->getConstraints(), [&](AffineExpr e) { return e.replaceDims(moved); });
    return IntegerSetAttr::get(IntegerSet::get(r_.getNumDims(), r_.getExtents().getNumSymbols(), constraints, set->getEqFlags()));
  }

  ReduceOp r_;
  OpBuilder b_;
  Location loc_;
  unsigned parallel_;
  PartOrder order_;
};

/// Where the dims are once those that have digits are two.
SmallVector<unsigned> placesOf(ArrayRef<PartDim> dims) {
  SmallVector<unsigned> places;
  unsigned more = 0;
  for (const PartDim &part : dims) {
    places.push_back(part.dim + more);
    more += part.digits.has_value();
  }
  return places;
}

ReduceOp splitDims(ReduceOp r, ArrayRef<PartDim> dims) {
  for (auto [place, part] : llvm::zip(placesOf(dims), dims))
    if (part.digits)
      r = splitReducedDim(r, place, *part.digits);
  return r;
}

void replace(ReduceOp r, Value by) {
  by.setType(r.getResult().getType());
  r.replaceAllUsesWith(by);
  r.erase();
}

} // namespace

void sketchParts(RewriteSketch &sketch, ReduceOp reduction, ArrayRef<PartDim> dims, unsigned at, bool added) {
  StatementSketch r = sketch.sketchOf(reduction);
  SmallVector<unsigned> outer = placesOf(dims);
  for (auto [d, part] : llvm::zip(outer, dims))
    if (part.digits)
      r.extents = splitExtents(r.extents, d, *part.digits);
  sketch.drop(reduction);
  PartOrder order(r.parallel, r.extents.getNumResults(), outer, at);
  SmallVector<unsigned> results = llvm::to_vector(llvm::seq(0u, r.parallel));
  TensorSketch part{extentsOf(r.extents, order.resultDims()), r.stores[0].element}, whole{extentsOf(r.extents, results), part.element};
  sketch.make({r.kind, extentsOf(r.extents, order.parts), order.results, r.loads, {part}});
  if (!added) {
    sketch.make({r.kind, extentsOf(r.extents, order.merged), r.parallel, {part}, {whole}});
    return;
  }
  sketch.make({ComputeOp::getOperationName(), whole.shape, r.parallel, {}, {whole}});
  sketch.make({ScatterOp::getOperationName(), part.shape, order.results, {whole, part}, {whole}});
}

ReduceOp reduceByParts(ReduceOp r, ArrayRef<PartDim> outer, unsigned at) {
  r = splitDims(r, outer);
  PartsOfReduction steps(r, placesOf(outer), at);
  ReduceOp part = steps.makePart();
  replace(r, steps.makeWhole(part).getResult());
  return part;
}

ReduceOp addParts(ReduceOp r, ArrayRef<PartDim> outer, unsigned at) {
  r = splitDims(r, outer);
  PartsOfReduction steps(r, placesOf(outer), at);
  ComputeOp zeros = steps.makeZeros();
  ReduceOp part = steps.makePart();
  replace(r, steps.makeAdds(part, zeros.getResult()).getResult());
  return part;
}

IntegerSetAttr splitCondition(Operation *op, int64_t chunk, bool isShorter) {
  std::optional<IntegerSet> set = getCondition(op);
  if (!set && !isShorter)
    return {};
  MLIRContext *c = op->getContext();
  unsigned dims = getExtents(op).getNumResults(), at = getNumParallel(op);
  SmallVector<AffineExpr> toPart, constraints;
  for (unsigned d = 0; d < dims; ++d) {
    AffineExpr self = getAffineDimExpr(d < at ? d : d + 1, c);
    toPart.push_back(d == at ? getAffineDimExpr(at, c) * chunk + self : self);
  }
  unsigned symbols = getExtents(op).getNumSymbols();
  SmallVector<bool> equalities;
  if (set) {
    for (AffineExpr e : set->getConstraints())
      constraints.push_back(simplifyAffineExpr(e.replaceDims(toPart), dims + 1, symbols));
    llvm::append_range(equalities, set->getEqFlags());
  }
  if (isShorter) {
    constraints.push_back(getExtents(op).getResult(at) - 1 - toPart[at]);
    equalities.push_back(false);
  }
  return IntegerSetAttr::get(IntegerSet::get(dims + 1, symbols, constraints, equalities));
}

} // namespace kernelc::te
