// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See FewResults.h.
#include "passes/te/FewResults.h"

#include "ir/te/Hints.h"
#include "ir/te/Precision.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Domain.h"
#include "passes/te/FewTerms.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// The extent of `dim` where it is a small constant; else 0.
int64_t resultsAlong(ReduceOp reduce, unsigned dim) {
  auto extent = dyn_cast<AffineConstantExpr>(reduce.getExtents().getResult(dim));
  return extent && extent.getValue() > 1 && extent.getValue() <= mostFewTerms() ? extent.getValue() : 0;
}

/// Whether `op` computes a float: it is more than an element that is read, an index or a comparison of indices.
bool isWork(Operation &op) {
  return !isa<arith::ConstantOp, ReadOp, SizeOp, YieldOp>(op) && op.getNumResults() == 1 && isa<FloatType>(op.getResult(0).getType());
}

/// Whether `reduce` computes something of pairs that does not depend on `dim`: no read has all of the other indices, but a value that is
/// computed of several reads, and without `dim`, has.
bool sharesPairs(ReduceOp reduce, unsigned dim) {
  const unsigned dims = reduce.getNumDims();
  auto hasAllOthers = [&](Value v) {
    llvm::BitVector support = findSupport(v, dims);
    support.set(dim);
    return support.all();
  };
  for (ReadOp read : reduce.getBlock().getOps<ReadOp>())
    if (hasAllOthers(read.getResult()))
      return false;
  return llvm::any_of(reduce.getBlock(), [&](Operation &op) {
    return isWork(op) && hasAllOthers(op.getResult(0)) && !findSupport(op.getResult(0), dims).test(dim);
  });
}

/// Whether a tensor is a scan, or is computed of one point by point.
bool isOfScan(Value tensor) {
  Operation *maker = tensor.getDefiningOp();
  auto compute = dyn_cast_or_null<ComputeOp>(maker);
  return maker && (findScanOf(maker, /*positions=*/true) || (compute && llvm::any_of(compute.getBlock().getOps<ReadOp>(), [](ReadOp read) {
                                                               Operation *of = read.getTensor().getDefiningOp();
                                                               return of && findScanOf(of, /*positions=*/true);
                                                             })));
}

/// Whether `reduce` goes over rows of a scan, weights along a ray, which do not depend on `dim`.
bool weighsByScan(ReduceOp reduce, unsigned dim) {
  return reduce.getNumDims() == reduce.getNumParallel() + 1 && llvm::any_of(reduce.getBlock().getOps<ReadOp>(), [&](ReadOp read) {
           llvm::BitVector support = findSupport(read, reduce.getNumDims());
           support.flip(dim); // all but this one
           return support.all() && isOfScan(read.getTensor());
         });
}

/// The index that tells apart a point's results, which share a value of pairs; nothing where there is none.
std::optional<unsigned> findFewResults(ReduceOp reduce) {
  std::optional<IntegerSet> set = reduce.getCondition();
  if (reduce.isArg() || reduce.getInit() || reduce.getOutMap() || reduce.getYield().getValues().size() != 1 ||
      reduce.getYield().getCondition() || findContraction(reduce) ||
      !getStreamedDims(reduce).empty()) // (te-thin-products has done so already)
    return std::nullopt;
  for (unsigned dim = 0; dim < reduce.getNumParallel(); ++dim) {
    bool isAsked = set && llvm::any_of(set->getConstraints(), [&](AffineExpr e) { return e.isFunctionOfDim(dim); });
    if (resultsAlong(reduce, dim) > 0 && !isAsked && (sharesPairs(reduce, dim) || weighsByScan(reduce, dim)))
      return dim;
  }
  return std::nullopt;
}

/// A copy of `reduce` at one point `at` of its index `dim`, which the copy lacks.
ReduceOp writePart(OpBuilder &b, ReduceOp reduce, unsigned dim, int64_t at) {
  IRMapping mapping;
  auto part = cast<ReduceOp>(b.clone(*reduce, mapping));
  Block &block = part.getBlock();
  OpBuilder inside = OpBuilder::atBlockBegin(&block);
  block.getArgument(dim).replaceAllUsesWith(arith::ConstantIndexOp::create(inside, reduce.getLoc(), at));
  dropDim(part, dim);
  part.setParallel(reduce.getNumParallel() - 1);
  part.removeShapeAttr();
  if (StringAttr name = reduce.getNameAttr())
    part.setNameAttr(b.getStringAttr(name.getValue() + Twine(at)));
  auto whole = cast<RankedTensorType>(reduce.getResult().getType());
  SmallVector<int64_t> shape(whole.getShape());
  shape.erase(shape.begin() + dim);
  part.getResult().setType(RankedTensorType::get(shape, whole.getElementType()));
  return part;
}

/// Replaces `reduce` by its copies at each point of `dim`, and a statement that chooses among them by that index.
void writeOut(ReduceOp reduce, unsigned dim) {
  OpBuilder b(reduce);
  SmallVector<ReduceOp> parts;
  for (int64_t at = 0; at < resultsAlong(reduce, dim); ++at)
    parts.push_back(writePart(b, reduce, dim, at));
  ComputeOp compute = makeComputeOf(b, reduce);
  Block &block = compute.getBlock();
  SmallVector<Value> point(block.args_begin(), block.args_end());
  point.erase(point.begin() + dim);
  b.setInsertionPointToStart(&block);
  Value chosen;
  for (auto [at, part] : llvm::enumerate(parts)) {
    Value v = ReadOp::create(b, reduce.getLoc(), part.getResult().getType().getElementType(), part.getResult(), point, AffineMapAttr(),
                             BoundsModeAttr(), Value());
    if (chosen) {
      Value n = arith::ConstantIndexOp::create(b, reduce.getLoc(), at);
      Value isThis = arith::CmpIOp::create(b, reduce.getLoc(), arith::CmpIPredicate::eq, block.getArgument(dim), n);
      v = arith::SelectOp::create(b, reduce.getLoc(), isThis, v, chosen);
    }
    chosen = v;
  }
  YieldOp::create(b, reduce.getLoc(), chosen, Value());
  reduce.getResult().replaceAllUsesWith(compute.getResult());
  reduce.erase();
}

} // namespace

bool writeFewResultsOut(KernelOp kernel) {
  FailureOr<PrecisionPolicy> policy = getPrecision(kernel);
  if (failed(policy) || !policy->empty())
    return false;
  bool changed = false;
  for (ReduceOp reduce : llvm::to_vector(kernel.getBlock().getOps<ReduceOp>()))
    if (std::optional<unsigned> dim = findFewResults(reduce)) {
      writeOut(reduce, *dim);
      changed = true;
    }
  return changed;
}

} // namespace kernelc::te
