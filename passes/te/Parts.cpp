// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/Parts.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc::te {

ReduceOp reduceByParts(ReduceOp r, ArrayRef<unsigned> outer, unsigned at) {
  OpBuilder b(r);
  Location loc = r.getLoc();
  unsigned parallel = r.getNumParallel(), dims = r.getNumDims(), symbols = r.getExtents().getNumSymbols();
  // The dims of r in the order that the parts have them, and the second step.
  SmallVector<unsigned> results = llvm::to_vector(llvm::seq(0u, parallel)), merged = results;
  results.insert(results.begin() + at, outer.begin(), outer.end());
  llvm::append_range(merged, outer);
  SmallVector<unsigned> order(results);
  for (unsigned d = parallel; d < dims; ++d)
    if (!llvm::is_contained(outer, d))
      order.push_back(d);
  auto make = [&](ArrayRef<unsigned> list, unsigned rank, StringAttr name, IntegerSetAttr where) {
    SmallVector<Attribute> names;
    SmallVector<AffineExpr> extents;
    for (unsigned d : list) {
      names.push_back(r.getIndices()[d]);
      extents.push_back(r.getExtents().getResult(d));
    }
    auto type = RankedTensorType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic), r.getResult().getType().getElementType());
    auto op = ReduceOp::create(b, loc, type, r.getKind(), b.getArrayAttr(names), rank, AffineMap::get(0, symbols, extents, b.getContext()),
                               where, Value(), AffineMapAttr(), AffineMapAttr(), name);
    Block &block = op.getBody().emplaceBlock();
    for (size_t i = 0; i < list.size(); ++i)
      block.addArgument(b.getIndexType(), loc);
    return op;
  };
  IntegerSetAttr where;
  if (std::optional<IntegerSet> set = getCondition(r)) {
    SmallVector<AffineExpr> moved(dims), constraints;
    for (auto [place, d] : llvm::enumerate(order))
      moved[d] = b.getAffineDimExpr(place);
    for (AffineExpr e : set->getConstraints())
      constraints.push_back(e.replaceDims(moved));
    where = IntegerSetAttr::get(IntegerSet::get(dims, symbols, constraints, set->getEqFlags()));
  }
  StringAttr partName = r.getNameAttr() ? b.getStringAttr(r.getNameAttr().getValue() + "_part") : StringAttr();
  ReduceOp part = make(order, results.size(), partName, where);
  if (ArrayRef<int64_t> thin = getStreamedDims(r); !thin.empty()) {
    SmallVector<int64_t> moved;
    for (int64_t d : thin)
      moved.push_back(llvm::find(order, unsigned(d)) - order.begin());
    part.setStreamed(moved);
  }
  IRMapping mapping;
  for (auto [place, d] : llvm::enumerate(order))
    mapping.map(r.getBlock().getArgument(d), part.getBlock().getArgument(place));
  OpBuilder inside = OpBuilder::atBlockEnd(&part.getBlock());
  for (Operation &op : r.getBlock())
    inside.clone(op, mapping);

  ReduceOp whole = make(merged, parallel, r.getNameAttr(), {});
  SmallVector<Value> point;
  for (unsigned d : results)
    point.push_back(whole.getBlock().getArgument(llvm::find(merged, d) - merged.begin()));
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
