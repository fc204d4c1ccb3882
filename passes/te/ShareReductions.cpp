// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-share-reductions: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/te/RecurrenceTerms.h"
#include "passes/te/TurnDims.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESHAREREDUCTIONS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Whether nothing else is written where its results are.
bool isPlain(ReduceOp r) { return !r.getInit() && !r.getOutMap(); }

/// A read's operands that its map depends on, in the order in which the subscripts name them, and the map over these.
std::pair<SmallVector<Value>, AffineMap> compressed(ReadOp read, AffineMap map) {
  SmallVector<Value> operands;
  SmallVector<AffineExpr> dims(map.getNumDims(), getAffineConstantExpr(0, map.getContext()));
  for (AffineExpr subscript : map.getResults())
    subscript.walk([&](AffineExpr e) {
      auto d = dyn_cast<AffineDimExpr>(e);
      if (!d || !isa<AffineConstantExpr>(dims[d.getPosition()]))
        return;
      dims[d.getPosition()] = getAffineDimExpr(operands.size(), map.getContext());
      operands.push_back(read.getOperands_()[d.getPosition()]);
    });
  SmallVector<AffineExpr> results = llvm::map_to_vector(map.getResults(), [&](AffineExpr e) { return e.replaceDims(dims); });
  return {operands, AffineMap::get(operands.size(), map.getNumSymbols(), results, map.getContext())};
}

/// The read of `tensor` that takes the place of `read`, whose subscript r it has at place `order[r]`, of `rank`; -1: nowhere.
void readInstead(ReadOp read, Value tensor, ArrayRef<int64_t> order, size_t rank) {
  OpBuilder b(read);
  SmallVector<AffineExpr> results(rank);
  for (auto [r, e] : llvm::enumerate(read.getMapOrIdentity().getResults()))
    if (order[r] >= 0)
      results[order[r]] = e;
  AffineMap old = read.getMapOrIdentity();
  auto [operands, map] = compressed(read, AffineMap::get(old.getNumDims(), old.getNumSymbols(), results, b.getContext()));
  auto fresh = ReadOp::create(b, read.getLoc(), read.getResult().getType(), tensor, operands,
                              map.isIdentity() ? AffineMapAttr() : AffineMapAttr::get(map), read.getBoundsAttr(), read.getPadding());
  read.replaceAllUsesWith(fresh.getResult());
  read.erase();
}

/// Which dim of one reduction each dim of another one is, found while their bodies are compared.
class Match {
public:
  Match(ReduceOp from, ReduceOp to) : from_(from), to_(to), dims_(from.getNumDims(), -1) {}

  bool run() {
    Value condition = from_.getYield().getCondition(), other = to_.getYield().getCondition();
    if (from_.getKind() != to_.getKind() || from_.getNumDims() != to_.getNumDims() || from_.getNumParallel() != to_.getNumParallel() ||
        from_.getResult().getType().getElementType() != to_.getResult().getType().getElementType() || bool(condition) != bool(other) ||
        int64_t(from_.getBlock().getOperations().size()) > kLargest)
      return false;
    if (!match(from_.getYield().getValues()[0], to_.getYield().getValues()[0], dims_) || (condition && !match(condition, other, dims_)))
      return false;
    for (unsigned d = 0; d < dims_.size(); ++d) // those that nothing depends on, in their order
      for (unsigned o = 0; o < dims_.size() && dims_[d] < 0; ++o)
        pair(d, o, dims_);
    return !llvm::is_contained(dims_, -1) && haveOneDomain();
  }
  ArrayRef<int64_t> dims() const { return dims_; }

private:
  static constexpr int64_t kLargest = 64; ///< operations of a body: both orders of operands are tried
  using Dims = SmallVector<int64_t>;

  bool pair(unsigned d, unsigned o, Dims &dims) {
    if (dims[d] >= 0)
      return dims[d] == int64_t(o);
    if (llvm::is_contained(dims, int64_t(o)) || (d < from_.getNumParallel()) != (o < to_.getNumParallel()) ||
        from_.getExtents().getResult(d) != to_.getExtents().getResult(o))
      return false;
    dims[d] = o;
    return true;
  }

  bool match(Value v, Value w, Dims &dims) {
    std::optional<unsigned> d = findIndex(from_, v), o = findIndex(to_, w);
    if (d || o)
      return d && o && pair(*d, *o, dims);
    if (v == w)
      return true;
    Operation *a = v.getDefiningOp(), *b = w.getDefiningOp();
    if (!a || !b || a->getName() != b->getName() || a->getNumOperands() != b->getNumOperands() ||
        a->getAttrDictionary() != b->getAttrDictionary() || a->getResultTypes() != b->getResultTypes() || isDomainOp(a))
      return false;
    auto matchAll = [&](bool swapped) {
      Dims tried(dims);
      for (unsigned n = 0; n < a->getNumOperands(); ++n)
        if (!match(a->getOperand(n), b->getOperand(swapped ? 1 - n : n), tried))
          return false;
      dims = tried;
      return true;
    };
    return matchAll(false) || (a->hasTrait<OpTrait::IsCommutative>() && a->getNumOperands() == 2 && matchAll(true));
  }

  bool haveOneDomain() {
    std::optional<IntegerSet> own = getCondition(from_), other = getCondition(to_);
    if (!own || !other)
      return !own && !other;
    SmallVector<AffineExpr> moved = llvm::map_to_vector(dims_, [&](int64_t d) { return getAffineDimExpr(d, from_.getContext()); });
    SmallVector<AffineExpr> constraints = llvm::map_to_vector(
        own->getConstraints(), [&](AffineExpr e) { return simplifyAffineExpr(e.replaceDims(moved), dims_.size(), own->getNumSymbols()); });
    auto same = [&](AffineExpr e, AffineExpr f) { return e == simplifyAffineExpr(f, dims_.size(), other->getNumSymbols()); };
    return own->getEqFlags() == other->getEqFlags() && constraints.size() == other->getConstraints().size() &&
           llvm::all_of(llvm::zip(constraints, other->getConstraints()), [&](auto p) { return same(std::get<0>(p), std::get<1>(p)); });
  }

  ReduceOp from_, to_;
  Dims dims_;
};

class Sharer {
public:
  explicit Sharer(KernelOp kernel) : kernel_(kernel) {}

  void run() {
    for (ReduceOp r : llvm::to_vector(kernel_.getBlock().getOps<ReduceOp>()))
      if (isPlain(r))
        dropUnusedDims(r);
    SmallVector<ReduceOp> kept;
    for (ReduceOp r : llvm::to_vector(kernel_.getBlock().getOps<ReduceOp>()))
      if (isPlain(r) && !share(r, kept))
        kept.push_back(r);
  }

private:
  //===- Indices that a reduction is free of -===//

  static bool isUsed(ReduceOp r, unsigned d) {
    std::optional<IntegerSet> set = getCondition(r);
    return !r.getBlock().getArgument(d).use_empty() ||
           (set && llvm::any_of(set->getConstraints(), [&](AffineExpr e) { return e.isFunctionOfDim(d); }));
  }

  /// s[i, j] = ⊕_k f(i, k)   →   s'[i] = ⊕_k f(i, k), which readers of s[i, j] read, and what is returned is made of.
  void dropUnusedDims(ReduceOp r) {
    unsigned parallel = r.getNumParallel();
    SmallVector<int64_t> order(parallel, -1);
    SmallVector<unsigned> dims;
    for (unsigned d = 0; d < r.getNumDims(); ++d) {
      if (d < parallel && !isUsed(r, d))
        continue;
      if (d < parallel)
        order[d] = dims.size();
      dims.push_back(d);
    }
    size_t rank = llvm::count_if(order, [](int64_t o) { return o >= 0; });
    if (rank == parallel)
      return;
    ReduceOp fewer = withDims(r, dims, rank);
    for (Operation *user : llvm::to_vector(r->getUsers()))
      if (auto read = dyn_cast<ReadOp>(user))
        readInstead(read, fewer.getResult(), order, rank);
    if (!r->use_empty()) {
      fewer.removeNameAttr();
      r.getResult().replaceAllUsesWith(spread(r, fewer, order));
    }
    r.erase();
  }

  /// r over some of its dims, the parallel ones first.
  static ReduceOp withDims(ReduceOp r, ArrayRef<unsigned> dims, size_t rank) {
    OpBuilder b(r);
    SmallVector<Attribute> names;
    SmallVector<AffineExpr> extents, moved(r.getNumDims(), b.getAffineConstantExpr(0));
    for (auto [n, d] : llvm::enumerate(dims)) {
      names.push_back(r.getIndices()[d]);
      extents.push_back(r.getExtents().getResult(d));
      moved[d] = b.getAffineDimExpr(n);
    }
    IntegerSetAttr where;
    if (std::optional<IntegerSet> set = getCondition(r)) {
      SmallVector<AffineExpr> constraints = llvm::map_to_vector(set->getConstraints(), [&](AffineExpr e) { return e.replaceDims(moved); });
      where = IntegerSetAttr::get(IntegerSet::get(dims.size(), set->getNumSymbols(), constraints, set->getEqFlags()));
    }
    auto type = RankedTensorType::get(SmallVector<int64_t>(rank, ShapedType::kDynamic), r.getResult().getType().getElementType());
    AffineMap map = AffineMap::get(0, r.getExtents().getNumSymbols(), extents, b.getContext());
    auto fewer = ReduceOp::create(b, r.getLoc(), type, r.getKind(), b.getArrayAttr(names), rank, map, where, Value(), AffineMapAttr(),
                                  AffineMapAttr(), r.getNameAttr());
    fewer.setAnyOrder(r.getAnyOrder());
    Block &block = fewer.getBody().emplaceBlock();
    IRMapping mapping;
    for (unsigned d : dims)
      mapping.map(r.getBlock().getArgument(d), block.addArgument(b.getIndexType(), r.getBlock().getArgument(d).getLoc()));
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    for (Operation &op : r.getBlock())
      inside.clone(op, mapping);
    return fewer;
  }

  /// The tensor that r gives, from another reduction's results.
  static Value spread(ReduceOp r, ReduceOp from, ArrayRef<int64_t> order) {
    OpBuilder b(r);
    unsigned parallel = r.getNumParallel();
    AffineMap extents = AffineMap::get(0, r.getExtents().getNumSymbols(), r.getExtents().getResults().take_front(parallel), b.getContext());
    auto all = ComputeOp::create(b, r.getLoc(), r.getResult().getType(), b.getArrayAttr(r.getIndices().getValue().take_front(parallel)),
                                 extents, IntegerSetAttr(), Value(), AffineMapAttr(), AffineMapAttr(), r.getNameAttr(), false);
    Block &body = all.getBody().emplaceBlock();
    for (unsigned d = 0; d < parallel; ++d)
      body.addArgument(b.getIndexType(), r.getLoc());
    b.setInsertionPointToStart(&body);
    SmallVector<Value> point(from.getNumParallel());
    for (unsigned d = 0; d < parallel; ++d)
      if (order[d] >= 0)
        point[order[d]] = body.getArgument(d);
    Value v = ReadOp::create(b, r.getLoc(), r.getResult().getType().getElementType(), from.getResult(), point, AffineMapAttr(),
                             BoundsModeAttr::get(b.getContext(), BoundsMode::InBounds), Value());
    YieldOp::create(b, r.getLoc(), v, Value());
    return all.getResult();
  }

  //===- Reductions that are computed already -===//

  /// Whether an earlier reduction gives what `r` does: it takes its place.
  static bool share(ReduceOp r, ArrayRef<ReduceOp> earlier) {
    for (ReduceOp e : earlier) {
      Match match(r, e);
      if (!match.run())
        continue;
      ArrayRef<int64_t> order = match.dims().take_front(r.getNumParallel());
      for (Operation *user : llvm::to_vector(r->getUsers()))
        if (auto read = dyn_cast<ReadOp>(user))
          readInstead(read, e.getResult(), order, order.size());
      auto isWanted = [](ReduceOp op) { return llvm::any_of(op->getUsers(), [](Operation *user) { return !isa<ReadOp>(user); }); };
      if (isWanted(r) && !isWanted(e) && llvm::equal(order, llvm::seq<int64_t>(0, order.size()))) {
        e.setNameAttr(r.getNameAttr());
        r.getResult().replaceAllUsesWith(e.getResult());
      } else if (isWanted(r)) { // one output is not another
        r.getResult().replaceAllUsesWith(spread(r, e, order));
      }
      r.erase();
      return true;
    }
    return false;
  }

  KernelOp kernel_;
};

struct TeShareReductionsPass : impl::TeShareReductionsBase<TeShareReductionsPass> {
  void runOnOperation() override {
    Sharer(getOperation()).run();
    for (RecurrenceOp op : llvm::to_vector(getOperation().getBlock().getOps<RecurrenceOp>()))
      shareTerms(op);
    takeReadersOrder(getOperation());
  }
};

} // namespace
} // namespace kernelc
