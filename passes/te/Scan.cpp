// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-scan: see Passes.td.
#include "ir/te/Scan.h"

#include "passes/Passes.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/te/Digits.h"
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

std::optional<Tied> findTied(Operation *op) {
  std::optional<IntegerSet> set = getCondition(op);
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!set || (reduce && (reduce.getInit() || reduce.getOutMap())))
    return std::nullopt;
  for (unsigned c = 0; c < set->getNumConstraints(); ++c)
    for (unsigned j = 0; j < getNumParallel(op); ++j) {
      if (!op->getRegion(0).front().getArgument(j).use_empty())
        continue;
      bool isOnly = llvm::none_of(llvm::seq(0u, set->getNumConstraints()),
                                  [&](unsigned other) { return other != c && set->getConstraint(other).isFunctionOfDim(j); });
      for (unsigned k = getNumParallel(op); isOnly && k < getExtents(op).getNumResults(); ++k)
        if (std::optional<ScanTie> tie = findScanTie(op, c, j, k))
          return Tied{j, k, *tie};
    }
  return std::nullopt;
}

/// Whether `key` stands before `best` in an arg reduction, where `best` is the earlier one: NaN is the largest (Combine.cpp of
/// reference/ has the same rule).
Value isBetter(OpBuilder &b, Location loc, Combiner kind, Value best, Value key) {
  bool isMax = kind == Combiner::ArgMax || kind == Combiner::ArgMaxU;
  if (!isa<FloatType>(key.getType())) {
    using P = arith::CmpIPredicate;
    bool isUnsigned = kind == Combiner::ArgMaxU || kind == Combiner::ArgMinU;
    return arith::CmpIOp::create(b, loc, isUnsigned ? (isMax ? P::ugt : P::ult) : (isMax ? P::sgt : P::slt), key, best);
  }
  using P = arith::CmpFPredicate;
  Value beyond = arith::CmpFOp::create(b, loc, isMax ? P::UGT : P::ULT, key, best), other = isMax ? best : key;
  return arith::AndIOp::create(b, loc, beyond, arith::CmpFOp::create(b, loc, P::ORD, other, other));
}

/// argmax[k, k <= j](x[k])  =  the fold of pairs (x[k], k), of which the first of the largest stays: a monoid whose identity has
/// position -1, whatever the key. `r` is a scan of positions.
FoldOp foldPositions(ReduceOp r) {
  OpBuilder b(r);
  Location loc = r.getLoc();
  Type key = r.getYield().getValues()[0].getType(), i64 = b.getI64Type();
  auto op =
      FoldOp::create(b, loc, TypeRange(r.getResult().getType()), r.getIndices(), r.getParallel(), r.getExtents(), r.getConditionAttr(),
                     b.getArrayAttr({b.getZeroAttr(key), b.getI64IntegerAttr(-1)}), ArrayRef<int64_t>{1}, /*monoid=*/true,
                     /*commutative=*/false, /*descending=*/false, r.getNameAttr());
  op.getElement().takeBody(r.getBody());
  YieldOp yield = op.getYield();
  OpBuilder inside(yield);
  Value at = arith::IndexCastOp::create(inside, loc, i64, op.getBlock().getArgument(r.getNumParallel()));
  yield.getValuesMutable().append(at);

  Block &combine = op.getCombine().emplaceBlock();
  inside = OpBuilder::atBlockEnd(&combine);
  Value k1 = combine.addArgument(key, loc), p1 = combine.addArgument(i64, loc), k2 = combine.addArgument(key, loc),
        p2 = combine.addArgument(i64, loc), zero = arith::ConstantOp::create(inside, loc, b.getI64IntegerAttr(0));
  Value isNone1 = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::slt, p1, zero);
  Value isThere2 = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::sge, p2, zero);
  Value takes = arith::OrIOp::create(inside, loc, isNone1, isBetter(inside, loc, r.getKind(), k1, k2));
  takes = arith::AndIOp::create(inside, loc, isThere2, takes);
  YieldOp::create(inside, loc,
                  ValueRange{arith::SelectOp::create(inside, loc, takes, k2, k1), arith::SelectOp::create(inside, loc, takes, p2, p1)},
                  Value());
  r.replaceAllUsesWith(op.getResult(0));
  r.erase();
  return op;
}

/// The dims of a reduction that is written anew.
struct NewDims {
  SmallVector<Attribute> names;
  SmallVector<AffineExpr> extents, constraints;
  SmallVector<bool> equalities;
};

/// A reduction as `op`, over these dims; its body is empty.
Operation *makeReduction(OpBuilder &b, Operation *op, const NewDims &d, unsigned parallel, StringAttr name) {
  unsigned symbols = getExtents(op).getNumSymbols();
  IntegerSetAttr where;
  if (!d.constraints.empty())
    where = IntegerSetAttr::get(IntegerSet::get(d.names.size(), symbols, d.constraints, d.equalities));
  AffineMap extents = AffineMap::get(0, symbols, d.extents, b.getContext());
  SmallVector<int64_t> shape(parallel, ShapedType::kDynamic);
  SmallVector<Type> types = llvm::map_to_vector(
      op->getResultTypes(), [&](Type t) -> Type { return RankedTensorType::get(shape, cast<RankedTensorType>(t).getElementType()); });
  Operation *made;
  if (auto fold = dyn_cast<FoldOp>(op)) {
    auto f = FoldOp::create(b, op->getLoc(), types, b.getArrayAttr(d.names), parallel, extents, where, fold.getIdentity(), fold.getFields(),
                            fold.getMonoid(), fold.getCommutative(), fold.getDescending(), name);
    copyHints(op, f);
    IRMapping mapping;
    fold.getCombine().cloneInto(&f.getCombine(), mapping);
    made = f;
  } else {
    made = ReduceOp::create(b, op->getLoc(), types[0], cast<ReduceOp>(op).getKind(), b.getArrayAttr(d.names), parallel, extents, where,
                            Value(), AffineMapAttr(), AffineMapAttr(), name);
  }
  Block &block = made->getRegion(0).emplaceBlock();
  for (size_t i = 0; i < d.names.size(); ++i)
    block.addArgument(b.getIndexType(), op->getLoc());
  return made;
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
  SmallVector<AffineExpr> moved(r.getNumDims(), b.getAffineConstantExpr(0));
  NewDims terms, scanned;
  for (auto [place, d] : llvm::enumerate(order)) {
    moved[d] = b.getAffineDimExpr(place);
    terms.names.push_back(r.getIndices()[d]);
    terms.extents.push_back(r.getExtents().getResult(d));
  }
  IntegerSet set = *r.getCondition();
  for (unsigned c = 0; c < set.getNumConstraints(); ++c)
    if (c != t.tie.constraint) {
      terms.constraints.push_back(set.getConstraint(c).replaceDims(moved));
      terms.equalities.push_back(set.isEq(c));
    }
  StringAttr name = r.getNameAttr() ? b.getStringAttr(r.getNameAttr().getValue() + "_terms") : StringAttr();
  auto first = cast<ReduceOp>(makeReduction(b, r, terms, parallel, name));
  IRMapping mapping;
  for (auto [place, d] : llvm::enumerate(order))
    mapping.map(r.getBlock().getArgument(d), first.getBlock().getArgument(place));
  OpBuilder inside = OpBuilder::atBlockEnd(&first.getBlock());
  for (Operation &op : r.getBlock())
    inside.clone(op, mapping);

  llvm::append_range(scanned.names, r.getIndices().getValue().take_front(parallel));
  llvm::append_range(scanned.extents, r.getExtents().getResults().take_front(parallel));
  scanned.names.push_back(r.getIndices()[t.k]);
  scanned.extents.push_back(r.getExtents().getResult(t.k));
  SmallVector<AffineExpr> places(r.getNumDims());
  for (unsigned d = 0; d < r.getNumDims(); ++d)
    places[d] = b.getAffineDimExpr(d < parallel ? d : parallel);
  scanned.constraints.push_back(simplifyAffineExpr(set.getConstraint(t.tie.constraint).replaceDims(places), parallel + 1, symbols));
  scanned.equalities.push_back(false);
  auto scan = cast<ReduceOp>(makeReduction(b, r, scanned, parallel, r.getNameAttr()));
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

/// Rewrites k <= j + offset as k' <= j by a shift of k. The scan goes over enough points that no term is left out: as many as j has,
/// or more (`k <= j + 1`); then a statement behind it reads the part that was asked for. Nothing where nobody knows which are more.
class EndMover {
public:
  EndMover(Operation *r, const Tied &t) : r_(r), t_(t), b_(r), from_(getExtents(r)), by_(t.tie.reverse ? -t.tie.offset : t.tie.offset) {}

  void run() {
    AffineExpr J = from_.getResult(t_.j), K = from_.getResult(t_.k);
    if (t_.tie.reverse) { // the last k' has to be a point of the scan
      auto room = dyn_cast<AffineConstantExpr>(simplify(J - K + by_));
      if (!room)
        return;
      length_ = room.getValue() >= 0 ? J : simplify(K - by_);
    } else {
      shift_ = std::max<int64_t>(by_, 0); // y[j] = scan[j + shift]
      by_ = std::min<int64_t>(by_, 0);
      length_ = simplify(J + shift_);
    }
    Operation *made = makeScan();
    if (length_ == J)
      llvm::for_each(llvm::zip(r_->getResults(), made->getResults()), [](auto pair) {
        std::get<1>(pair).setType(std::get<0>(pair).getType());
        std::get<0>(pair).replaceAllUsesWith(std::get<1>(pair));
      });
    else
      for (auto [old, scan] : llvm::zip(r_->getResults(), made->getResults()))
        old.replaceAllUsesWith(makePart(old, scan));
    r_->erase();
  }

private:
  AffineExpr simplify(AffineExpr e, unsigned dims = 0) { return simplifyAffineExpr(e, dims, from_.getNumSymbols()); }
  StringAttr name() { return r_->getAttrOfType<StringAttr>("name"); }

  /// The scan over `length_` points, of which k = k' + by.
  Operation *makeScan() {
    unsigned dims = from_.getNumResults();
    AffineExpr K = from_.getResult(t_.k), k = b_.getAffineDimExpr(t_.k);
    IntegerSet set = *getCondition(r_);
    NewDims to;
    llvm::append_range(to.names, getIndices(r_));
    llvm::append_range(to.extents, from_.getResults());
    SmallVector<AffineExpr> moved;
    for (unsigned d = 0; d < dims; ++d)
      moved.push_back(b_.getAffineDimExpr(d) + (d == t_.k ? by_ : 0));
    auto add = [&](AffineExpr e, bool isEquality) {
      to.constraints.push_back(simplify(e, dims));
      to.equalities.push_back(isEquality);
    };
    for (unsigned c = 0; c < set.getNumConstraints(); ++c)
      if (c == t_.tie.constraint) // of a scan from the start j' = j + shift takes the rest of the offset
        add(set.getConstraint(c).replaceDims(moved) - (t_.tie.reverse ? 0 : shift_), set.isEq(c));
      else
        add(set.getConstraint(c).replaceDims(moved), set.isEq(c));
    if (by_ < 0)
      add(k + by_, false);
    if (simplify(length_ - K + by_) != b_.getAffineConstantExpr(0) || by_ > 0)
      add(K - 1 - k - by_, false);
    to.extents[t_.j] = to.extents[t_.k] = length_;
    StringAttr own = name() && length_ != from_.getResult(t_.j) ? b_.getStringAttr(name().getValue() + "_scan") : name();
    Operation *made = makeReduction(b_, r_, to, getNumParallel(r_), own);
    fill(made->getRegion(0).front());
    return made;
  }

  void fill(Block &block) {
    Block &body = r_->getRegion(0).front();
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    IRMapping mapping;
    for (auto [old, arg] : llvm::zip(body.getArguments(), block.getArguments()))
      mapping.map(old, arg);
    if (by_)
      mapping.map(body.getArgument(t_.k), arith::AddIOp::create(inside, r_->getLoc(), block.getArgument(t_.k),
                                                                arith::ConstantIndexOp::create(inside, r_->getLoc(), by_)));
    for (Operation &op : body)
      inside.clone(op, mapping);
  }

  /// y[.., j, ..] = scan[.., j + shift, ..]
  Value makePart(Value old, Value scan) {
    unsigned rank = getNumParallel(r_);
    SmallVector<Attribute> names(getIndices(r_).getValue().take_front(rank));
    auto op = ComputeOp::create(b_, r_->getLoc(), old.getType(), b_.getArrayAttr(names), takeExtents(from_, rank), IntegerSetAttr(),
                                Value(), AffineMapAttr(), AffineMapAttr(), name(), /*partial=*/false);
    Block &block = op.getBody().emplaceBlock();
    SmallVector<AffineExpr> at;
    for (unsigned d = 0; d < rank; ++d) {
      block.addArgument(b_.getIndexType(), r_->getLoc());
      at.push_back(b_.getAffineDimExpr(d) + (d == t_.j ? shift_ : 0));
    }
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    Value v = ReadOp::create(inside, r_->getLoc(), cast<RankedTensorType>(old.getType()).getElementType(), scan,
                             SmallVector<Value>(block.getArguments()),
                             AffineMapAttr::get(AffineMap::get(rank, from_.getNumSymbols(), at, b_.getContext())),
                             BoundsModeAttr::get(b_.getContext(), BoundsMode::InBounds), Value());
    YieldOp::create(inside, r_->getLoc(), v, Value());
    return op.getResult();
  }

  Operation *r_;
  Tied t_;
  OpBuilder b_;
  AffineMap from_;
  int64_t by_, shift_ = 0;
  AffineExpr length_;
};

struct TeScanPass : impl::TeScanBase<TeScanPass> {
  void runOnOperation() override {
    SmallVector<Operation *> work;
    for (Operation &op : getOperation().getBlock())
      if (isa<ReduceOp, FoldOp>(op))
        work.push_back(&op);
    while (!work.empty()) {
      Operation *op = work.pop_back_val();
      std::optional<Tied> tied = findTied(op);
      if (!tied || findScanOf(op))
        continue;
      auto reduce = dyn_cast<ReduceOp>(op);
      if (reduce && reduce.isArg()) {
        work.push_back(foldPositions(reduce));
      } else if (getExtents(op).getNumResults() == getNumParallel(op) + 1) {
        EndMover(op, *tied).run();
      } else if (reduce) {
        ReduceOp first = reduceBeside(reduce, *tied);
        work.push_back(first);
        work.push_back(&*std::next(first->getIterator()));
      }
    }
  }
};

} // namespace
} // namespace kernelc
