// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-thin-products: see Passes.td. Says which products are sums that stream one operand; what tiles such a sum
// has is te-plan's to say.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/Affine.h"
#include "passes/index/LinearRead.h"
#include "passes/index/Strides.h"
#include "passes/plan/GroupWindows.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/Schedule.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TETHINPRODUCTS
#include "passes/Passes.h.inc"

using namespace te;

namespace {

class ThinProducts {
public:
  ThinProducts(KernelOp kernel, const Target &target, const SizeFacts &facts) : kernel_(kernel), target_(target), facts_(facts) {}

  void run() {
    if (schedulesProducts(kernel_))
      return;
    for (ReduceOp reduce : kernel_.getBlock().getOps<ReduceOp>())
      if (std::optional<Contraction> c = findGeneralContraction(reduce))
        mark(reduce, *c);
  }

private:
  void mark(ReduceOp reduce, const Contraction &c) {
    if (c.tied || c.resultWhere || !c.partScales.empty())
      return;
    bool isPlain = !c.where && !c.isAMasked() && !c.isBMasked() && hasUnit(c, target_);
    for (ArrayRef<unsigned> side : {ArrayRef<unsigned>(c.m), ArrayRef<unsigned>(c.n)})
      if (isPlain && side.size() == 1 && isWindowOfGroups(reduce, side[0], facts_, target_))
        return reduce.setStreamed({int64_t(side[0])});
    int64_t rows = pointsOf(reduce, c.m), columns = pointsOf(reduce, c.n);
    bool byRows = rows >= 0 && (columns < 0 || rows <= columns);
    int64_t thin = byRows ? rows : columns, thick = byRows ? columns : rows;
    int64_t meets = thin > 1 ? thin * tapsOf(reduce, byRows ? c.b : c.a, byRows ? c.n : c.m, c) : thin;
    if (thin < 0 || meets > mostThin(c) || (thin > 1 && thick >= 0 && thick < target_.costs->streamed.leastThick))
      return;
    SmallVector<int64_t> dims = llvm::to_vector_of<int64_t>(byRows ? c.m : c.n);
    reduce.setStreamed(dims);
  }

  /// In how many of its windows an element of the streamed `factor` lies: the taps of a filter. It meets all points of the other side in
  /// each, so that multiply-adds are as many times what memory brings. (A unit's few rows have been measured without.)
  int64_t tapsOf(ReduceOp reduce, Value factor, ArrayRef<unsigned> outer, const Contraction &c) const {
    ReadOp read = hasUnit(c, target_) ? ReadOp() : findOperandRead(factor);
    if (!read)
      return 1;
    auto isWindow = [&](unsigned k) {
      return llvm::any_of(read.getMapOrIdentity().getResults(), [&](AffineExpr subscript) {
        return movesWith(read, subscript, [&](unsigned d) { return d == k; }) &&
               movesWith(read, subscript, [&](unsigned d) { return llvm::is_contained(outer, d); });
      });
    };
    SmallVector<unsigned> windows = llvm::filter_to_vector(c.k, isWindow);
    return std::max<int64_t>(1, knownPoints(reduce.getExtents(), windows, facts_));
  }

  /// Up to how many points a side may have: one leaves a unit nothing to do but wait for memory. CUDA cores stream an
  /// operand that meets more, as long as their multiply-adds keep up with memory; so they do for a unit that
  /// would multiply zeros for most of its rows, where nothing else brings it operands in time.
  int64_t mostThin(const Contraction &c) const {
    const StreamedCosts &costs = target_.costs->streamed;
    if (!hasUnit(c, target_))
      return costs.withoutUnit;
    if (!hasRows(c))
      return costs.byElements; // a thread loads as many of the thin side for each element
    return target_.wgmma && findWarpgroupForm(c) ? 1 : costs.besideUnit;
  }

  /// What is made of another product's results a chain has in registers, whatever their order in memory would be.
  bool hasRows(const Contraction &c) const {
    auto isLeft = [&](ReadOp read) {
      auto made = read.getTensor().getDefiningOp<ReduceOp>();
      return target_.chainRate && made && findContraction(made);
    };
    return llvm::all_of(ArrayRef{c.a, c.b}, [&](Value factor) {
      SmallVector<ReadOp> reads = findReads(factor);
      return llvm::any_of(reads, isLeft) || llvm::all_of(reads, [&](ReadOp read) { return hasVectorRows(read, facts_); });
    });
  }

  int64_t pointsOf(ReduceOp reduce, ArrayRef<unsigned> dims) const { return knownPoints(reduce.getExtents(), dims, facts_); }

  KernelOp kernel_;
  const Target &target_;
  SizeFacts facts_;
};

struct TeThinProductsPass : impl::TeThinProductsBase<TeThinProductsPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<KnownTarget> known = getKnownTarget(getOperation(), target, sizeDiv, sizeMax);
    if (failed(known))
      return signalPassFailure();
    ThinProducts(getOperation(), *known->target, known->facts()).run();
  }
};

} // namespace
} // namespace kernelc
