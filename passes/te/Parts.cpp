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

} // namespace

void sketchParts(RewriteSketch &sketch, StatementSketch r, ArrayRef<unsigned> outer, unsigned at) {
  PartOrder order(r.parallel, r.extents.getNumResults(), outer, at);
  TensorSketch part{extentsOf(r.extents, order.resultDims()), r.stores[0].element};
  SmallVector<unsigned> results = llvm::to_vector(llvm::seq(0u, r.parallel));
  sketch.make({r.kind, extentsOf(r.extents, order.parts), order.results, r.loads, {part}});
  sketch.make({r.kind, extentsOf(r.extents, order.merged), r.parallel, {part}, {{extentsOf(r.extents, results), part.element}}});
}

ReduceOp reduceByParts(ReduceOp r, ArrayRef<unsigned> outer, unsigned at) {
  OpBuilder b(r);
  Location loc = r.getLoc();
  unsigned parallel = r.getNumParallel(), dims = r.getNumDims(), symbols = r.getExtents().getNumSymbols();
  const PartOrder order(parallel, dims, outer, at);
  auto make = [&](ArrayRef<unsigned> list, unsigned rank, StringAttr name, IntegerSetAttr where) {
    SmallVector<Attribute> names = llvm::map_to_vector(list, [&](unsigned d) -> Attribute { return r.getIndices()[d]; });
    auto type = RankedTensorType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic), r.getResult().getType().getElementType());
    auto op = ReduceOp::create(b, loc, type, r.getKind(), b.getArrayAttr(names), rank, extentsOf(r.getExtents(), list), where, Value(),
                               AffineMapAttr(), AffineMapAttr(), name);
    Block &block = op.getBody().emplaceBlock();
    for (size_t i = 0; i < list.size(); ++i)
      block.addArgument(b.getIndexType(), loc);
    return op;
  };
  IntegerSetAttr where;
  if (std::optional<IntegerSet> set = getCondition(r)) {
    SmallVector<AffineExpr> moved(dims), constraints;
    for (auto [place, d] : llvm::enumerate(order.parts))
      moved[d] = b.getAffineDimExpr(place);
    for (AffineExpr e : set->getConstraints())
      constraints.push_back(e.replaceDims(moved));
    where = IntegerSetAttr::get(IntegerSet::get(dims, symbols, constraints, set->getEqFlags()));
  }
  StringAttr partName = r.getNameAttr() ? b.getStringAttr(r.getNameAttr().getValue() + "_part") : StringAttr();
  ReduceOp part = make(order.parts, order.results, partName, where);
  if (ArrayRef<int64_t> thin = getStreamedDims(r); !thin.empty()) {
    SmallVector<int64_t> moved;
    for (int64_t d : thin)
      moved.push_back(llvm::find(order.parts, unsigned(d)) - order.parts.begin());
    part.setStreamed(moved);
  }
  IRMapping mapping;
  for (auto [place, d] : llvm::enumerate(order.parts))
    mapping.map(r.getBlock().getArgument(d), part.getBlock().getArgument(place));
  OpBuilder inside = OpBuilder::atBlockEnd(&part.getBlock());
  for (Operation &op : r.getBlock())
    inside.clone(op, mapping);

  ReduceOp whole = make(order.merged, parallel, r.getNameAttr(), {});
  SmallVector<Value> point;
  for (unsigned d : order.resultDims())
    point.push_back(whole.getBlock().getArgument(llvm::find(order.merged, d) - order.merged.begin()));
  inside = OpBuilder::atBlockEnd(&whole.getBlock());
  Value v = ReadOp::create(inside, loc, part.getResult().getType().getElementType(), part.getResult(), point, AffineMapAttr(),
                           BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
  YieldOp::create(inside, loc, v, Value());
  whole.getResult().setType(r.getResult().getType());
  r.replaceAllUsesWith(whole.getResult());
  r.erase();
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
