// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-search-counts: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Definitions.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/Rewrite.h"
#include "passes/te/ChosenTerms.h"
#include "passes/te/CountClasses.h"
#include "passes/te/LikelySizes.h"
#include "passes/te/StatementWriter.h"
#include "passes/te/WidenComparisons.h"
#include "support/TargetCosts.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESEARCHCOUNTS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

constexpr int64_t kMostExact = int64_t(1) << 24; ///< ones that an f32 counts

/// A comparison that a sum counts, with what the summed index tells apart on the left.
struct Counted {
  Operation *compare;
  Value left, right;
  bool isSwapped;
  SmallVector<unsigned> batch; ///< dims that the left has, beside the summed one
};

bool isOrder(arith::CmpIPredicate p) { return p != arith::CmpIPredicate::eq && p != arith::CmpIPredicate::ne; }
bool isOrder(arith::CmpFPredicate p) {
  using P = arith::CmpFPredicate;
  return p == P::OLT || p == P::OLE || p == P::OGT || p == P::OGE;
}

std::optional<Counted> findCounted(ReduceOp reduce) {
  unsigned parallel = reduce.getNumParallel();
  bool isPlain = reduce.getKind() == Combiner::Sum && reduce.getNumDims() == parallel + 1 && !reduce.getInit() && !reduce.getOutMap() &&
                 !reduce.getCondition();
  Value test = isPlain ? findCountedTest(reduce) : Value();
  Operation *compare = test ? test.getDefiningOp() : nullptr;
  auto i = dyn_cast_or_null<arith::CmpIOp>(compare);
  auto f = dyn_cast_or_null<arith::CmpFOp>(compare);
  if (!(i && isOrder(i.getPredicate()) && i.getLhs().getType().isInteger()) && !(f && isOrder(f.getPredicate())))
    return std::nullopt;
  Counted c{compare, compare->getOperand(0), compare->getOperand(1), false, {}};
  c.isSwapped = !findSupport(c.left, reduce.getNumDims())[parallel];
  if (c.isSwapped)
    std::swap(c.left, c.right);
  llvm::BitVector left = findSupport(c.left, reduce.getNumDims());
  if (!left[parallel] || findSupport(c.right, reduce.getNumDims())[parallel])
    return std::nullopt;
  llvm::copy_if(left.set_bits(), std::back_inserter(c.batch), [&](unsigned d) { return d < parallel; });
  return c;
}

class CountSearcher : StatementWriter {
public:
  /// `most`: of points that are counted.
  CountSearcher(ReduceOp reduce, const Counted &counted, int64_t most)
      : StatementWriter(reduce, reduce.getName().value_or("count")), reduce_(reduce), c_(counted),
        length_(reduce.getExtents().getResult(reduce.getNumParallel())), most_(most) {
    for (unsigned d : c_.batch)
      shape_.push_back(reduce_.getExtents().getResult(d));
    shape_.push_back(length_);
  }

  /// What search() makes.
  RewriteSketch sketch() {
    SmallVector<AffineExpr> pairs(shape_);
    pairs.push_back(length_);
    AffineMap every = over(reduce_.getExtents().getResults().take_front(reduce_.getNumParallel()));
    TensorSketch ranks{over(shape_), b.getI32Type()}, sorted{over(shape_), c_.left.getType()};
    RewriteSketch s;
    s.drop(reduce_);
    s.make({ReduceOp::getOperationName(), over(pairs), unsigned(shape_.size()), loadsOf(c_.left), {ranks}});
    s.make({ScatterOp::getOperationName(), over(shape_), unsigned(shape_.size()), loadsOf(c_.left, ranks), {sorted}});
    s.make(
        {ComputeOp::getOperationName(), every, reduce_.getNumParallel(), loadsOf(c_.right, sorted), {sketchTensor(reduce_.getResult())}});
    return s;
  }

  void search() {
    Value sorted = sort();
    auto op = ComputeOp::create(b, loc(), reduce_.getResult().getType(),
                                b.getArrayAttr(reduce_.getIndices().getValue().take_front(reduce_.getNumParallel())),
                                over(reduce_.getExtents().getResults().take_front(reduce_.getNumParallel())), IntegerSetAttr(), Value(),
                                AffineMapAttr(), AffineMapAttr(), reduce_.getNameAttr(), false);
    fill(op, [&](ValueRange at) {
      IRMapping mapping;
      for (unsigned d = 0; d < reduce_.getNumParallel(); ++d)
        mapping.map(reduce_.getBlock().getArgument(d), at[d]);
      return SmallVector<Value>{asResult(find(sorted, at, cloneValue(c_.right, mapping, b)))};
    });
    reduce_.replaceAllUsesWith(op.getResult());
    reduce_.erase();
  }

private:
  /// The tensors that `v` is made of, and `made`.
  static SmallVector<TensorSketch> loadsOf(Value v, std::optional<TensorSketch> made = {}) {
    llvm::SetVector<Value> values, tensors;
    values.insert(v);
    for (size_t i = 0; i < values.size(); ++i) {
      Operation *def = values[i].getDefiningOp();
      if (auto read = dyn_cast_or_null<ReadOp>(def))
        tensors.insert(read.getTensor());
      for (Value operand : def ? def->getOperands() : ValueRange())
        if (!isa<RankedTensorType>(operand.getType()))
          values.insert(operand);
    }
    SmallVector<TensorSketch> loads = llvm::map_to_vector(tensors, sketchTensor);
    if (made)
      loads.push_back(*made);
    return loads;
  }
  Value leftAt(ValueRange batch, Value j) {
    IRMapping mapping;
    for (auto [d, v] : llvm::zip(c_.batch, batch))
      mapping.map(reduce_.getBlock().getArgument(d), v);
    mapping.map(reduce_.getBlock().getArgument(reduce_.getNumParallel()), j);
    return cloneValue(c_.left, mapping, b);
  }
  /// The comparison that is counted.
  Value holds(Value left, Value right) {
    IRMapping mapping;
    mapping.map(c_.compare->getOperand(0), c_.isSwapped ? right : left);
    mapping.map(c_.compare->getOperand(1), c_.isSwapped ? left : right);
    return b.clone(*c_.compare, mapping)->getResult(0);
  }
  /// Whether x stands before y where they are not alike: what compares with more points does.
  Value isBefore(Value x, Value y) {
    auto compareF = [&](arith::CmpFPredicate p, Value u, Value v) { return arith::CmpFOp::create(b, loc(), p, u, v).getResult(); };
    if (auto i = dyn_cast<arith::CmpIOp>(c_.compare)) {
      using P = arith::CmpIPredicate;
      bool isUnsigned = llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, i.getPredicate());
      return compare(isFalling() ? isUnsigned ? P::ugt : P::sgt : isUnsigned ? P::ult : P::slt, x, y);
    }
    using P = arith::CmpFPredicate;
    Value isNone = compareF(P::UNO, y, y), is = compareF(P::ORD, x, x);
    return arith::OrIOp::create(b, loc(), compareF(isFalling() ? P::OGT : P::OLT, x, y), both(is, isNone));
  }
  /// Whether large values compare with more points than small ones.
  bool isFalling() {
    bool isGreater = false;
    if (auto i = dyn_cast<arith::CmpIOp>(c_.compare)) {
      using P = arith::CmpIPredicate;
      isGreater = llvm::is_contained({P::sgt, P::sge, P::ugt, P::uge}, i.getPredicate());
    } else {
      using P = arith::CmpFPredicate;
      isGreater = llvm::is_contained({P::OGT, P::OGE}, cast<arith::CmpFOp>(c_.compare).getPredicate());
    }
    return isGreater != c_.isSwapped;
  }

  Value sort() {
    unsigned rank = shape_.size();
    SmallVector<StringRef> names =
        llvm::map_to_vector(c_.batch, [&](unsigned d) { return cast<StringAttr>(reduce_.getIndices()[d]).getValue(); });
    names.push_back("rank_j");
    SmallVector<StringRef> pairs(names);
    pairs.push_back("rank_i");
    SmallVector<AffineExpr> extents(shape_);
    extents.push_back(length_);
    Type word = b.getI32Type(), element = c_.left.getType();
    Value ranks = makeSum("_ranks", pairs, extents, IntegerSetAttr(), word, [&](ValueRange at) -> Value {
                    Value j = at[rank - 1], i = at[rank];
                    Value own = leftAt(at.take_front(rank - 1), j), other = leftAt(at.take_front(rank - 1), i);
                    Value isAlike = arith::XOrIOp::create(b, loc(), isBefore(own, other), arith::ConstantIntOp::create(b, loc(), 1, 1));
                    Value isFirst = both(isAlike, compare(arith::CmpIPredicate::slt, i, j));
                    return arith::ExtUIOp::create(b, loc(), word, arith::OrIOp::create(b, loc(), isBefore(other, own), isFirst));
                  }).getResult();
    auto sorted = ScatterOp::create(b, loc(), typeOf(shape_, element), CombinerAttr(), b.getStrArrayAttr(names), over(shape_),
                                    IntegerSetAttr(), Value(), over(shape_), named("_sorted"), false, false);
    fill(sorted, [&](ValueRange at) {
      SmallVector<Value> yields{leftAt(at.drop_back(), at.back())};
      llvm::append_range(yields, at.drop_back());
      yields.push_back(toIndex(read(ranks, at)));
      return yields;
    });
    return sorted.getResult();
  }

  /// Up to where the comparison with `right` holds.
  Value find(Value sorted, ValueRange at, Value right) {
    Value count = index(0), last = value(length_, {});
    for (int64_t step = int64_t(llvm::bit_floor(uint64_t(most_))); step >= 1; step /= 2) {
      Value next = arith::AddIOp::create(b, loc(), count, index(step));
      Value exists = compare(arith::CmpIPredicate::sle, next, last);
      SmallVector<Value> operands = llvm::map_to_vector(c_.batch, [&](unsigned d) { return at[d]; });
      operands.push_back(arith::SelectOp::create(b, loc(), exists, next, last));
      SmallVector<AffineExpr> subscripts;
      for (unsigned d = 0; d < c_.batch.size(); ++d)
        subscripts.push_back(dim(d));
      subscripts.push_back(dim(c_.batch.size()) - 1);
      Value isBelow = both(holds(read(sorted, operands, subscripts), right), exists);
      count = arith::SelectOp::create(b, loc(), isBelow, next, count);
    }
    return count;
  }

  Value asResult(Value count) {
    Type element = reduce_.getResult().getType().getElementType();
    if (!isa<FloatType>(element))
      return arith::IndexCastOp::create(b, loc(), element, count);
    return arith::UIToFPOp::create(b, loc(), element, arith::IndexCastOp::create(b, loc(), b.getI32Type(), count));
  }

  ReduceOp reduce_;
  Counted c_;
  AffineExpr length_;
  int64_t most_;
  SmallVector<AffineExpr> shape_; ///< of what is sorted
};

class CountSearch {
public:
  /// `likely`: sizes of the call that the plan is made for; other calls may have others.
  CountSearch(const SizeFacts &facts, const SizeFacts &likely, const SortingCosts &costs) : facts_(facts), likely_(likely), costs_(costs) {}

  struct Site {
    ReduceOp reduce;
    Counted counted;
    int64_t most; ///< points that are counted
  };
  StringRef name() const { return "te-search-counts"; }

  FailureOr<std::optional<Site>> find(Operation *op) {
    auto reduce = dyn_cast<ReduceOp>(op);
    std::optional<Counted> counted = reduce ? findCounted(reduce) : std::nullopt;
    if (!counted)
      return std::optional<Site>();
    AffineExpr length = lengthOf(reduce);
    int64_t most = knownMax(length, facts_);
    bool isExact = !isa<FloatType>(reduce.getResult().getType().getElementType()) || most <= kMostExact;
    if (most < 0 || !isExact || !knownPositive(length, facts_))
      return std::optional<Site>();
    return std::optional<Site>(Site{reduce, *counted, most});
  }
  RewriteSketch sketch(const Site &site) const { return CountSearcher(site.reduce, site.counted, site.most).sketch(); }
  bool pays(const Site &site, const RewriteSketch &) const {
    ReduceOp reduce = site.reduce;
    ArrayRef<unsigned> own = site.counted.batch;
    double points = 1, batch = 1, length = double(knownMax(lengthOf(reduce), likely_));
    for (unsigned d = 0; d < reduce.getNumParallel(); ++d) {
      int64_t extent = knownMax(reduce.getExtents().getResult(d), likely_);
      if (extent < 0)
        return false;
      (llvm::is_contained(own, d) ? batch : points) *= double(extent);
    }
    double bytes = length * site.counted.left.getType().getIntOrFloatBitWidth() / 8;
    double step = own.empty() && bytes <= costs_.bytesOfTable ? costs_.found : costs_.foundInCaches;
    double searched = costs_.launchesOfSearch * costs_.launch + batch * length * length * costs_.comparison +
                      batch * points * llvm::Log2_64_Ceil(uint64_t(site.most) + 1) * step;
    return searched * costs_.timesAsFast < batch * points * length * costs_.comparison;
  }
  void apply(const Site &site) { CountSearcher(site.reduce, site.counted, site.most).search(); }

private:
  static AffineExpr lengthOf(ReduceOp reduce) { return reduce.getExtents().getResult(reduce.getNumParallel()); }

  SizeFacts facts_, likely_;
  const SortingCosts &costs_;
};

struct TeSearchCountsPass : impl::TeSearchCountsBase<TeSearchCountsPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<KnownTarget> known = getKnownTarget(getOperation(), target, sizeDiv, sizeMax);
    if (failed(known))
      return signalPassFailure();
    SmallVector<int64_t> likely = likelySizes(known->sizeMax, sizeLike);
    const SortingCosts &costs = known->target->costs->sorting;
    widenComparisons(getOperation(), known->facts());
    takeChosenTerms(getOperation());
    countClasses(getOperation(), known->facts(), {known->sizeDiv, likely}, costs);
    if (failed(rewriteEach(getOperation(), CountSearch(known->facts(), {known->sizeDiv, likely}, costs))))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
