// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-scan: see Passes.td.
#include "ir/te/Scan.h"

#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESCAN
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// A reduced dim that one constraint alone ties to a parallel dim, of which the rest of the statement is free.
struct Tied {
  unsigned j, k;
  ScanTie tie;
};

std::optional<Tied> findTied(ReduceOp r) {
  std::optional<IntegerSet> set = r.getCondition();
  if (!set || r.isArg() || r.getInit() || r.getOutMap())
    return std::nullopt;
  for (unsigned c = 0; c < set->getNumConstraints(); ++c)
    for (unsigned j = 0; j < r.getNumParallel(); ++j) {
      if (!r.getBlock().getArgument(j).use_empty())
        continue;
      bool isOnly = llvm::none_of(llvm::seq(0u, set->getNumConstraints()),
                                  [&](unsigned other) { return other != c && set->getConstraint(other).isFunctionOfDim(j); });
      for (unsigned k = r.getNumParallel(); isOnly && k < r.getNumDims(); ++k)
        if (std::optional<ScanTie> tie = findScanTie(r, c, j, k))
          return Tied{j, k, *tie};
    }
  return std::nullopt;
}

/// A reduction as `r`, over dims with these names, extents and constraints; its body is empty.
ReduceOp makeReduce(OpBuilder &b, ReduceOp r, ArrayRef<Attribute> names, ArrayRef<AffineExpr> extents, unsigned parallel,
                    ArrayRef<AffineExpr> constraints, ArrayRef<bool> equalities, StringAttr name) {
  unsigned symbols = r.getExtents().getNumSymbols();
  IntegerSetAttr where;
  if (!constraints.empty())
    where = IntegerSetAttr::get(IntegerSet::get(names.size(), symbols, constraints, equalities));
  auto type = RankedTensorType::get(SmallVector<int64_t>(parallel, ShapedType::kDynamic), r.getResult().getType().getElementType());
  auto op = ReduceOp::create(b, r.getLoc(), type, r.getKind(), b.getArrayAttr(names), parallel,
                             AffineMap::get(0, symbols, extents, b.getContext()), where, Value(), AffineMapAttr(), AffineMapAttr(), name);
  Block &block = op.getBody().emplaceBlock();
  for (size_t i = 0; i < names.size(); ++i)
    block.addArgument(b.getIndexType(), r.getLoc());
  return op;
}

/// sum[k, o, k <= j, ..](f)  =  sum[k, k <= j](sum[o, ..](f)): what is beside the tied index is reduced first. Returns that
/// reduction; the scan stands in place of `r`.
ReduceOp reduceBeside(ReduceOp r, const Tied &t) {
  OpBuilder b(r);
  unsigned parallel = r.getNumParallel(), symbols = r.getExtents().getNumSymbols();
  SmallVector<unsigned> order; // the dims of `r` that the first step has
  for (unsigned d = 0; d < r.getNumDims(); ++d)
    if (d != t.k)
      order.push_back(d == t.j ? t.k : d);
  SmallVector<AffineExpr> moved(r.getNumDims(), b.getAffineConstantExpr(0)), extents, constraints;
  SmallVector<Attribute> names;
  SmallVector<bool> equalities;
  for (auto [place, d] : llvm::enumerate(order)) {
    moved[d] = b.getAffineDimExpr(place);
    names.push_back(r.getIndices()[d]);
    extents.push_back(r.getExtents().getResult(d));
  }
  IntegerSet set = *r.getCondition();
  for (unsigned c = 0; c < set.getNumConstraints(); ++c)
    if (c != t.tie.constraint) {
      constraints.push_back(set.getConstraint(c).replaceDims(moved));
      equalities.push_back(set.isEq(c));
    }
  StringAttr name = r.getNameAttr() ? b.getStringAttr(r.getNameAttr().getValue() + "_terms") : StringAttr();
  ReduceOp first = makeReduce(b, r, names, extents, parallel, constraints, equalities, name);
  IRMapping mapping;
  for (auto [place, d] : llvm::enumerate(order))
    mapping.map(r.getBlock().getArgument(d), first.getBlock().getArgument(place));
  OpBuilder inside = OpBuilder::atBlockEnd(&first.getBlock());
  for (Operation &op : r.getBlock())
    inside.clone(op, mapping);

  SmallVector<Attribute> scanNames(r.getIndices().getValue().take_front(parallel));
  SmallVector<AffineExpr> scanExtents(r.getExtents().getResults().take_front(parallel));
  scanNames.push_back(r.getIndices()[t.k]);
  scanExtents.push_back(r.getExtents().getResult(t.k));
  SmallVector<AffineExpr> places(r.getNumDims());
  for (unsigned d = 0; d < r.getNumDims(); ++d)
    places[d] = b.getAffineDimExpr(d < parallel ? d : parallel);
  AffineExpr tie = simplifyAffineExpr(set.getConstraint(t.tie.constraint).replaceDims(places), parallel + 1, symbols);
  ReduceOp scan = makeReduce(b, r, scanNames, scanExtents, parallel, tie, false, r.getNameAttr());
  SmallVector<Value> point(scan.getBlock().getArguments().take_front(parallel));
  point[t.j] = scan.getBlock().getArgument(parallel);
  inside = OpBuilder::atBlockEnd(&scan.getBlock());
  Value v = ReadOp::create(inside, r.getLoc(), first.getResult().getType().getElementType(), first.getResult(), point, AffineMapAttr(),
                           BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
  YieldOp::create(inside, r.getLoc(), v, Value());
  scan.getResult().setType(r.getResult().getType());
  r.replaceAllUsesWith(scan.getResult());
  r.erase();
  return first;
}

/// k' <= j in place of k <= j + offset: k moves, and takes the extent of j. False where terms would be left out.
bool moveEnd(ReduceOp r, const Tied &t) {
  OpBuilder b(r);
  unsigned symbols = r.getExtents().getNumSymbols();
  AffineExpr J = r.getExtents().getResult(t.j), K = r.getExtents().getResult(t.k), k = b.getAffineDimExpr(t.k);
  int64_t by = t.tie.reverse ? -t.tie.offset : t.tie.offset; // k = k' + by
  // From the end the last k' has to be an index of j.
  auto room = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(J - K + by, 0, symbols));
  if (t.tie.reverse ? !room || room.getValue() < 0 : by > 0)
    return false;
  IntegerSet set = *r.getCondition();
  SmallVector<AffineExpr> constraints, extents(r.getExtents().getResults());
  SmallVector<bool> equalities;
  SmallVector<AffineExpr> moved;
  for (unsigned d = 0; d < r.getNumDims(); ++d)
    moved.push_back(b.getAffineDimExpr(d) + (d == t.k ? by : 0));
  for (unsigned c = 0; c < set.getNumConstraints(); ++c) {
    constraints.push_back(simplifyAffineExpr(set.getConstraint(c).replaceDims(moved), r.getNumDims(), symbols));
    equalities.push_back(set.isEq(c));
  }
  auto add = [&](AffineExpr e) {
    constraints.push_back(simplifyAffineExpr(e, r.getNumDims(), symbols));
    equalities.push_back(false);
  };
  if (by < 0)
    add(k + by);
  if (simplifyAffineExpr(J - K + by, 0, symbols) != b.getAffineConstantExpr(0) || by > 0)
    add(K - 1 - k - by);
  extents[t.k] = J;
  ReduceOp made = makeReduce(b, r, r.getIndices().getValue(), extents, r.getNumParallel(), constraints, equalities, r.getNameAttr());
  OpBuilder inside = OpBuilder::atBlockEnd(&made.getBlock());
  IRMapping mapping;
  for (auto [from, to] : llvm::zip(r.getBlock().getArguments(), made.getBlock().getArguments()))
    mapping.map(from, to);
  if (by)
    mapping.map(r.getBlock().getArgument(t.k), arith::AddIOp::create(inside, r.getLoc(), made.getBlock().getArgument(t.k),
                                                                     arith::ConstantIndexOp::create(inside, r.getLoc(), by)));
  for (Operation &op : r.getBlock())
    inside.clone(op, mapping);
  made.getResult().setType(r.getResult().getType());
  r.replaceAllUsesWith(made.getResult());
  r.erase();
  return true;
}

struct TeScanPass : impl::TeScanBase<TeScanPass> {
  void runOnOperation() override {
    SmallVector<ReduceOp> work(getOperation().getBlock().getOps<ReduceOp>());
    while (!work.empty()) {
      ReduceOp r = work.pop_back_val();
      std::optional<Tied> tied = findTied(r);
      if (!tied || findScan(r))
        continue;
      if (r.getNumDims() > r.getNumParallel() + 1) {
        ReduceOp first = reduceBeside(r, *tied);
        work.push_back(first);
        work.push_back(cast<ReduceOp>(*std::next(first->getIterator())));
      } else {
        moveEnd(r, *tied);
      }
    }
  }
};

} // namespace
} // namespace kernelc
