// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See FewTerms.h.
#include "passes/te/FewTerms.h"

#include "ir/te/Precision.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// Terms up to which a reader computes them in the time in which memory brings their sum.
constexpr int64_t kMostTerms = 4;

/// The points that are summed: all of their reduced indices' values, the last the fastest; none where they are many or not known.
SmallVector<SmallVector<int64_t>> findTerms(ReduceOp reduce) {
  SmallVector<SmallVector<int64_t>> terms{{}};
  for (AffineExpr e : reduce.getExtents().getResults().drop_front(reduce.getNumParallel())) {
    auto extent = dyn_cast<AffineConstantExpr>(e);
    if (!extent || extent.getValue() < 1 || extent.getValue() * int64_t(terms.size()) > kMostTerms)
      return {};
    SmallVector<SmallVector<int64_t>> longer;
    for (const auto &term : terms)
      for (int64_t i = 0; i < extent.getValue(); ++i) {
        longer.push_back(term);
        longer.back().push_back(i);
      }
    terms = std::move(longer);
  }
  return terms;
}

/// Whether results are of pairs: all that is read lacks an index that they have.
bool isOfPairs(ReduceOp reduce) {
  unsigned parallel = reduce.getNumParallel();
  return !reduce
              .walk([&](ReadOp read) {
                llvm::BitVector support = findSupport(read.getResult(), reduce.getNumDims());
                support.resize(parallel);
                return support.all() ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

/// Whether reductions alone read it, each over one of its indices.
bool isReducedByAll(ReduceOp reduce) {
  return !reduce.getResult().use_empty() && llvm::all_of(reduce.getResult().getUsers(), [](Operation *user) {
    auto read = dyn_cast<ReadOp>(user);
    auto reader = read ? dyn_cast<ReduceOp>(read->getParentOp()) : ReduceOp();
    return reader && llvm::any_of(read.getOperands_(), [&](Value v) {
             std::optional<unsigned> d = findIndex(reader, v);
             return d && *d >= reader.getNumParallel();
           });
  });
}

void writeOut(ReduceOp reduce, ArrayRef<SmallVector<int64_t>> terms) {
  OpBuilder b(reduce);
  unsigned parallel = reduce.getNumParallel();
  ComputeOp compute = makeComputeOf(b, reduce);
  Block &block = compute.getBlock();
  b.setInsertionPointToStart(&block);
  Value sum;
  for (const SmallVector<int64_t> &term : terms) {
    IRMapping mapping;
    for (unsigned d = 0; d < parallel; ++d)
      mapping.map(reduce.getBlock().getArgument(d), block.getArgument(d));
    for (auto [n, i] : llvm::enumerate(term))
      mapping.map(reduce.getBlock().getArgument(parallel + n), arith::ConstantIndexOp::create(b, reduce.getLoc(), i).getResult());
    for (Operation &op : reduce.getBlock().without_terminator())
      b.clone(op, mapping);
    Value v = mapping.lookupOrDefault(reduce.getYield().getValues()[0]);
    if (!sum)
      sum = v;
    else if (isa<FloatType>(v.getType()))
      sum = arith::AddFOp::create(b, reduce.getLoc(), sum, v);
    else
      sum = arith::AddIOp::create(b, reduce.getLoc(), sum, v);
  }
  YieldOp::create(b, reduce.getLoc(), sum, Value());
  reduce.getResult().replaceAllUsesWith(compute.getResult());
  reduce.erase();
}

} // namespace

int64_t mostFewTerms() { return kMostTerms; }

ComputeOp makeComputeOf(OpBuilder &b, ReduceOp reduce) {
  const unsigned parallel = reduce.getNumParallel();
  AffineMap extents = reduce.getExtents();
  auto compute = ComputeOp::create(b, reduce.getLoc(), reduce.getResult().getType(),
                                   ArrayAttr::get(b.getContext(), reduce.getIndices().getValue().take_front(parallel)),
                                   AffineMap::get(0, extents.getNumSymbols(), extents.getResults().take_front(parallel), b.getContext()),
                                   IntegerSetAttr(), Value(), AffineMapAttr(), reduce.getShapeAttr(), reduce.getNameAttr(), false);
  Block &block = compute.getBody().emplaceBlock();
  for (unsigned d = 0; d < parallel; ++d)
    block.addArgument(b.getIndexType(), reduce.getBlock().getArgument(d).getLoc());
  return compute;
}

bool writeFewTermsOut(KernelOp kernel) {
  FailureOr<PrecisionPolicy> policy = getPrecision(kernel);
  if (failed(policy) || !policy->empty()) // (what a policy rounds are the factors of sums)
    return false;
  bool changed = false;
  for (ReduceOp reduce : llvm::to_vector(kernel.getBlock().getOps<ReduceOp>())) {
    if (reduce.getKind() != Combiner::Sum || reduce.getInit() || reduce.getOutMap() || reduce.getCondition() ||
        reduce.getYield().getCondition())
      continue;
    SmallVector<SmallVector<int64_t>> terms = findTerms(reduce);
    if (terms.empty() || !isOfPairs(reduce) || !isReducedByAll(reduce))
      continue;
    if (std::optional<Contraction> c = findContraction(reduce); c && c->unitType)
      continue;
    writeOut(reduce, terms);
    changed = true;
  }
  return changed;
}

} // namespace kernelc::te
