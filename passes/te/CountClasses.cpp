// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/CountClasses.h"

#include <limits>

#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Definitions.h"
#include "passes/index/TileCondition.h"
#include "passes/te/StatementWriter.h"

using namespace mlir;

namespace kernelc::te {

static bool isNumber(Value v, int64_t n) {
  auto constant = v.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return false;
  if (auto i = dyn_cast<IntegerAttr>(constant.getValue()))
    return i.getValue() == n;
  auto f = dyn_cast<FloatAttr>(constant.getValue());
  return f && f.getValue().isExactlyValue(double(n));
}

Value findCountedTest(ReduceOp reduce) {
  Value v = reduce.getYield().getValues()[0], condition = reduce.getYield().getCondition();
  if (condition)
    return isNumber(v, 1) ? condition : Value();
  if (auto select = v.getDefiningOp<arith::SelectOp>(); select && isNumber(select.getTrueValue(), 1) && isNumber(select.getFalseValue(), 0))
    return select.getCondition();
  Operation *def = v.getDefiningOp();
  return isa_and_nonnull<arith::ExtUIOp, arith::UIToFPOp>(def) && def->getOperand(0).getType().isInteger(1) ? def->getOperand(0) : Value();
}

namespace {

class ClassCounter : StatementWriter {
public:
  explicit ClassCounter(ReduceOp reduce)
      : StatementWriter(reduce, reduce.getName().value_or("count")), reduce_(reduce), parallel_(reduce.getNumParallel()),
        named_(parallel_) {}

  /// Whether data names some of the results that a point counts for.
  bool find() {
    bool isPlain = reduce_.getKind() == Combiner::Sum && !reduce_.getInit() && !reduce_.getOutMap() && !reduce_.getCondition();
    Value test = isPlain ? findCountedTest(reduce_) : Value();
    for (Value part : test ? splitConjuncts(test) : SmallVector<Value>()) {
      std::optional<std::pair<unsigned, Value>> named = findNamedDim(part);
      if (named && named->first < parallel_ && !named_[named->first]) {
        named_[named->first] = named->second;
        isNamed_.resize(reduce_.getNumDims());
        isNamed_.set(named->first);
      } else {
        rest_.push_back(part);
      }
    }
    auto isApart = [&](Value v) { return !v || !findSupport(v, reduce_.getNumDims()).anyCommon(isNamed_); };
    return isNamed_.any() && llvm::all_of(named_, isApart) && llvm::all_of(rest_, isApart);
  }

  /// Points that are scattered, and as many results as each would be asked for.
  std::pair<Count, Count> sizes(const SizeFacts &facts) {
    Count points = 1, results = 1;
    for (unsigned d = 0; d < reduce_.getNumDims(); ++d)
      (isNamed_[d] ? results : points) *= countOf(reduce_.getExtents().getResult(d), facts);
    return {points, results};
  }

  void count() {
    auto type = reduce_.getResult().getType();
    bool isFloat = isa<FloatType>(type.getElementType());
    Type word = isFloat ? Type(b.getI32Type()) : type.getElementType();
    auto kept = reduce_.getExtents().getResults().take_front(parallel_);
    SmallVector<StringRef> names = llvm::map_to_vector(reduce_.getIndices().getValue().take_front(parallel_),
                                                       [](Attribute a) { return cast<StringAttr>(a).getValue(); });
    Value zeros = makeCompute(named("_zeros"), names, kept, word, [&](ValueRange) { return one(word, 0); }).getResult();
    Value counts = scatter(zeros, word);
    if (isFloat)
      counts = makeCompute(reduce_.getNameAttr(), names, kept, type.getElementType(), [&](ValueRange at) -> Value {
                 return arith::UIToFPOp::create(b, loc(), type.getElementType(), read(counts, at));
               }).getResult();
    reduce_.getResult().replaceAllUsesWith(counts);
    reduce_.erase();
  }

private:
  Value one(Type word, int64_t n) { return arith::ConstantOp::create(b, loc(), b.getIntegerAttr(word, n)); }

  Value scatter(Value zeros, Type word) {
    SmallVector<Attribute> names;
    SmallVector<AffineExpr> extents;
    for (unsigned d = 0; d < reduce_.getNumDims(); ++d)
      if (!isNamed_[d]) {
        names.push_back(reduce_.getIndices()[d]);
        extents.push_back(reduce_.getExtents().getResult(d));
      }
    auto shape = over(reduce_.getExtents().getResults().take_front(parallel_));
    auto op = ScatterOp::create(b, loc(), cast<RankedTensorType>(zeros.getType()), CombinerAttr::get(b.getContext(), Combiner::Sum),
                                b.getArrayAttr(names), over(extents), IntegerSetAttr(), zeros, shape,
                                isa<FloatType>(reduce_.getResult().getType().getElementType()) ? named("_counts") : reduce_.getNameAttr(),
                                false, false);
    OpBuilder::InsertionGuard guard(b);
    Block &block = op.getBody().emplaceBlock();
    IRMapping mapping;
    for (unsigned d = 0; d < reduce_.getNumDims(); ++d)
      if (!isNamed_[d])
        mapping.map(reduce_.getBlock().getArgument(d), block.addArgument(b.getIndexType(), loc()));
    b.setInsertionPointToStart(&block);
    SmallVector<Value> yields{one(word, 1)};
    Value counts;
    for (unsigned d = 0; d < parallel_; ++d) {
      yields.push_back(isNamed_[d] ? toIndex(cloneValue(named_[d], mapping, b)) : mapping.lookup(reduce_.getBlock().getArgument(d)));
      if (!isNamed_[d])
        continue;
      Value inside = isWithin(yields.back(), reduce_.getExtents().getResult(d));
      counts = counts ? both(counts, inside) : inside;
    }
    for (Value part : rest_)
      counts = both(counts, cloneValue(part, mapping, b));
    YieldOp::create(b, loc(), yields, counts);
    return op.getResult();
  }

  ReduceOp reduce_;
  unsigned parallel_;
  SmallVector<Value> named_; ///< per parallel dim, what says it of a point; null: nothing
  llvm::BitVector isNamed_;
  SmallVector<Value> rest_; ///< conditions that a point counts under
};

} // namespace

void countClasses(KernelOp kernel, const SizeFacts &facts, const SizeFacts &likely, const SortingCosts &costs) {
  constexpr int kLaunches = 2; // zeros, and the points
  for (ReduceOp reduce : llvm::to_vector(kernel.getBlock().getOps<ReduceOp>())) {
    ClassCounter counter(reduce);
    if (!counter.find() || counter.sizes(facts).first > std::numeric_limits<int32_t>::max())
      continue;
    auto [points, results] = counter.sizes(likely);
    double asked = double(int64_t(points)) * double(int64_t(results)) * costs.comparison;
    if ((kLaunches * costs.launch + double(int64_t(points)) * costs.atomic) * costs.timesAsFast < asked)
      counter.count();
  }
}

} // namespace kernelc::te
