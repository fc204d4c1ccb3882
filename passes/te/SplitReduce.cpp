// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-split-reduce: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Affine.h"
#include "passes/plan/Chain.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/Rewrite.h"
#include "passes/plan/Schedule.h"
#include "passes/plan/Sharing.h"
#include "passes/plan/SumParts.h"
#include "passes/plan/WalkParts.h"
#include "passes/te/Cascade.h"
#include "passes/te/Digits.h"
#include "passes/te/Fold.h"
#include "passes/te/LikelySizes.h"
#include "passes/te/Parts.h"
#include "passes/te/RowParts.h"
#include "passes/te/SearchAhead.h"
#include "passes/te/SplitWalk.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESPLITREDUCE
#include "passes/Passes.h.inc"

using namespace te;

namespace {

class Splitter {
public:
  Splitter(KernelOp kernel, const KnownTarget &known, const SizeFacts &likely, const KernelSchedule &schedule)
      : kernel_(kernel), target_(*known.target), facts_(known.facts()), schedule_(schedule),
        by_{target_, facts_, known.expected(), likely, schedule} {}

  struct Site {
    Operation *op;
    std::optional<ProductWalk> walk; ///< of products' results, cut by `parts` with the products
    std::optional<RowParts> rows;    ///< cut with what rows are reduced to
    ReductionParts parts;
  };
  StringRef name() const { return "te-split-reduce"; }

  /// Fails with a diagnostic where a reduction cannot be cut as the schedule says.
  FailureOr<std::optional<Site>> find(Operation *op) {
    auto fold = dyn_cast<FoldOp>(op);
    if (!isa<ReduceOp, CascadeOp>(op) && !(fold && fold.getMonoid()))
      return std::optional<Site>();
    if (auto cascade = dyn_cast<CascadeOp>(op))
      if (std::optional<ProductWalk> walk = findJoinedWalk(cascade, target_, facts_); walk && !schedule_.parts) {
        int64_t chunk = cascade.getCondition() ? 0 : partsOfWalk(cascade, *walk, target_, facts_).chunk;
        if (!chunk || !canSplitWalk(cascade, *walk, chunk, facts_))
          return std::optional<Site>(); // its results stay in registers
        return std::optional(Site{op, walk, std::nullopt, {0, chunk}});
      }
    if (auto r = dyn_cast<ReduceOp>(op); r && !schedule_.parts && schedule_.merge == Merge::WhereItPays)
      if (std::optional<RowParts> rows = findRowParts(r, facts_, target_))
        return std::optional(Site{op, std::nullopt, rows, {}});
    FailureOr<ReductionParts> parts = chooseParts(op, by_);
    if (failed(parts))
      return failure();
    return parts->areSeveral() ? std::optional(Site{op, std::nullopt, std::nullopt, *parts}) : std::nullopt;
  }

  RewriteSketch sketch(const Site &site) const {
    RewriteSketch s;
    auto reduce = dyn_cast<ReduceOp>(site.op);
    if (site.walk)
      sketchSplitWalk(s, cast<CascadeOp>(site.op), *site.walk, site.parts.chunk, facts_);
    else if (site.rows)
      sketchSplitRows(s, reduce, *site.rows, facts_);
    else if (isPlainReduction(site.op))
      sketchParts(s, reduce, dimsOf(reduce, site.parts), placeOf(reduce), site.parts.added);
    else if (auto fold = dyn_cast<FoldOp>(site.op))
      sketchSplitFold(s, fold, site.parts.chunk, site.parts.lastIsShorter);
    else if (!reduce || isConvertible(reduce))
      sketchSplitCascade(s, site.op, site.parts.chunk, site.parts.lastIsShorter);
    return s;
  }

  void apply(const Site &site) {
    auto r = dyn_cast<ReduceOp>(site.op);
    const ReductionParts &parts = site.parts;
    if (site.walk)
      return splitWalk(cast<CascadeOp>(site.op), *site.walk, parts.chunk, facts_);
    if (site.rows)
      return splitRows(r, *site.rows, facts_);
    keepApart(site.op);
    if (isPlainReduction(site.op))
      split(r, parts);
    else if (auto fold = dyn_cast<FoldOp>(site.op))
      splitFold(fold, parts.chunk, parts.lastIsShorter);
    else if (CascadeOp cascade = r ? convertArgReduction(r) : cast<CascadeOp>(site.op))
      splitCascade(cascade, parts.chunk, parts.lastIsShorter);
  }

  /// Where the schedule asks for adds in memory and no sum may have them.
  void remarkOnMerge() {
    auto isAdded = [](ReduceOp r) { return r.getInSet() && r.getInit(); }; // by te-chain-products
    if (schedule_.addsInMemory && !adds_ && llvm::none_of(kernel_.getBlock().getOps<ReduceOp>(), isAdded))
      kernel_.emitRemark() << "schedule: 'merge' is memory, and there is no sum in parts that may add up in any order ('order(any)')";
  }

private:
  /// T[.., k, ..]  →  T.pad(0)[.., k, ..]  in both factors.
  static void padFactors(const Contraction &c) {
    for (Value factor : {c.a, c.b}) {
      ReadOp read = findOperandRead(factor);
      OpBuilder b(read);
      Value zero = arith::ConstantOp::create(b, read.getLoc(), b.getZeroAttr(read.getResult().getType()));
      auto padded = ReadOp::create(b, read.getLoc(), read.getResult().getType(), read.getTensor(), read.getOperands_(), read.getMapAttr(),
                                   BoundsModeAttr::get(b.getContext(), BoundsMode::Pad), zero);
      read.replaceAllUsesWith(padded.getResult());
      read.erase();
    }
  }

  /// The results' indices alone do not fill the device: what walks further ones for each of them is not to
  /// do so in the blocks that merge the parts.
  void keepApart(Operation *op) {
    for (Value result : op->getResults())
      for (Operation *user : result.getUsers())
        if (auto compute = user->getParentOfType<ComputeOp>(); compute && getExtents(compute).getNumResults() > getNumParallel(op))
          setBehindParts(compute);
  }

  /// The summed dims that parts are points of. The last part may be shorter: f of a product is zero beyond K, of other reductions k' ends
  /// before.
  static SmallVector<PartDim> dimsOf(ReduceOp r, const ReductionParts &parts) {
    unsigned next = r.getNumParallel() + parts.whole;
    SmallVector<PartDim> dims;
    for (unsigned d = r.getNumParallel(); d < next; ++d)
      dims.push_back({d});
    if (parts.chunk) {
      Digits digits = digitsOfParts(r.getExtents().getResult(next), parts.chunk, parts.lastIsShorter);
      digits.endsEarly &= !findGeneralContraction(r);
      dims.push_back({next, digits});
    }
    return dims;
  }
  /// The place of the parts among the results. Parts of a product are a batch: rows and columns stay the fastest, as do results that a
  /// block has side by side.
  unsigned placeOf(ReduceOp r) const { return findGeneralContraction(r) || findColumn(r, facts_) ? 0 : r.getNumParallel(); }

  void split(ReduceOp r, const ReductionParts &parts) {
    SmallVector<PartDim> dims = dimsOf(r, parts);
    unsigned at = placeOf(r);
    if (std::optional<Contraction> product = findGeneralContraction(r); product && parts.chunk && parts.lastIsShorter)
      padFactors(*product);
    adds_ |= parts.added;
    if (parts.added)
      addParts(r, dims, at);
    else
      reduceByParts(r, dims, at);
  }

  KernelOp kernel_;
  const Target &target_;
  SizeFacts facts_;
  KernelSchedule schedule_;
  PartChoice by_;
  bool adds_ = false; ///< some parts are added in memory
};

struct TeSplitReducePass : impl::TeSplitReduceBase<TeSplitReducePass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<KnownTarget> known = getKnownTarget(getOperation(), target, sizeDiv, sizeMax, sizeLike);
    if (failed(known))
      return signalPassFailure();
    FailureOr<KernelSchedule> schedule = getKernelSchedule(getOperation(), target);
    if (failed(schedule))
      return signalPassFailure();
    SmallVector<int64_t> likely = likelySizes(known->sizeMax, sizeLike);
    Splitter splitter(getOperation(), *known, {known->sizeDiv, likely}, *schedule);
    if (failed(rewriteEach(getOperation(), splitter)))
      return signalPassFailure();
    splitter.remarkOnMerge();
    // Last, since cascades have their final form only now, and since no pass may split the searches that this one adds.
    searchAhead(getOperation(), *known->target, known->facts(), known->expected());
  }
};

} // namespace
} // namespace kernelc
