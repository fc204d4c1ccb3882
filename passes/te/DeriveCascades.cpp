// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-derive-cascades: see Passes.td. Which reductions feed each other: Families. Of which it pays to make one, and what
// one body of theirs says, is decided here; how their states move is Separate's business, and CascadeWriter writes the op.
#include "passes/Passes.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/FoldUtils.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Reduction.h"
#include "passes/index/Affine.h"
#include "passes/index/Domain.h"
#include "passes/plan/Chain.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/Schedule.h"
#include "passes/plan/Sharing.h"
#include "passes/te/CascadeWriter.h"
#include "passes/te/Families.h"
#include "passes/te/PointReaders.h"
#include "passes/te/WalkReaders.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEDERIVECASCADES
#include "passes/Passes.h.inc"

using namespace te;

namespace {

class Deriver {
public:
  Deriver(KernelOp kernel, const Target &target, const SizeFacts &facts, Merge merge, bool always)
      : kernel_(kernel), target_(target), facts_(facts), merge_(merge), always_(always) {}

  void run() {
    SmallVector<ReduceOp> all;
    for (auto reduce : kernel_.getBlock().getOps<ReduceOp>())
      if (isCandidate(reduce))
        all.push_back(reduce);
    for (Family &family : collectFamilies(all))
      derive(std::move(family));
  }

private:
  /// A plain reduction that reads no product's results which would be cut at the product's tiles, or a product that takes them
  /// from registers.
  bool isCandidate(ReduceOp r) {
    if (r.isArg() || r.getInit() || r.getOutMap() || r.getNumParallel() == r.getNumDims() || isInTile(r) || !getStreamedDims(r).empty())
      return false;
    if (findGeneralContraction(r))
      return merge_ == Merge::WhereItPays && findChain(r, target_, facts_, ChainUse::InCascade);
    bool ofProduct = false;
    r.walk([&](ReadOp read) {
      auto made = dyn_cast_or_null<ReduceOp>(read.getTensor().getDefiningOp());
      ofProduct |= made && findGeneralContraction(made);
    });
    if (ofProduct) { // the product's launch may read its results itself, tile by tile
      std::optional<ProductWalk> walk = findWalk(r, target_, facts_);
      return walk && merge_ == Merge::WhereItPays && paysToWalk(*walk, target_, facts_);
    }
    return always_ || isWalkedAgain(r);
  }

  /// Whether the points of a result are more than a block, or a cluster, has registers for, and lie along memory: a second reduction over
  /// them would read them again.
  bool isWalkedAgain(ReduceOp r) {
    SmallVector<unsigned> reduced = llvm::to_vector(llvm::seq(r.getNumParallel(), r.getNumDims()));
    for (unsigned d : reduced)
      if (knownMax(r.getExtents().getResult(d), facts_) < 0)
        return false;
    const RowCosts &costs = target_.costs->rows;
    int64_t points = knownPoints(r.getExtents(), reduced, facts_), most = isReducedAlone(r) ? costs.longRowFrom : costs.largestHeld;
    return points > most && !findColumn(r, facts_) && (merge_ == Merge::Launch || !findHeldRow(r, facts_, target_) || isFastWalkedTwice(r));
  }

  /// Whether blocks that walk a row twice, each at a place of its own, are faster than those of a cluster that hold it and wait for each
  /// other.
  bool isFastWalkedTwice(ReduceOp r) {
    bool isNarrow = true;
    r.walk([&](ReadOp read) { // (what other reductions have left is one value a row)
      isNarrow &=
          !isa<BlockArgument>(read.getTensor()) || read.getResult().getType().getIntOrFloatBitWidth() <= target_.costs->rows.twiceBits;
    });
    int64_t rows = knownPoints(r.getExtents(), llvm::to_vector(llvm::seq(0u, r.getNumParallel())), facts_);
    return isNarrow && rows >= target_.costs->rows.twiceRows * target_.smCount;
  }

  /// Whether no statement goes over r's points to make a point of each: then nothing waits for the whole row, and a block that held it
  /// would load nothing while it reduces.
  bool isReducedAlone(ReduceOp r) {
    return llvm::none_of(kernel_.getBlock().getOps<ComputeOp>(), [&](ComputeOp c) {
      SmallVector<AffineExpr> left(c.getExtents().getResults());
      return llvm::all_of(r.getExtents().getResults(), [&](AffineExpr e) { // an index of its own for each of r's
        auto *own = llvm::find(left, e);
        if (own == left.end())
          return false;
        left.erase(own);
        return true;
      });
    });
  }

  /// Derives the cascade of as many members as can be separated.
  void derive(Family family) {
    SmallVector<ReduceOp> &members = family.members;
    while (members.size() > 1) {
      Chain chain;
      ComputeOp scratch = write(family, chain);
      Separation separation;
      std::optional<Inseparable> bad = separate(chain, separation);
      if (!bad) {
        moveUsersBehind(members);
        CascadeOp made = writeCascade(chain, separation);
        scratch.erase();
        for (ReduceOp r : llvm::reverse(members))
          r.erase();
        DominanceInfo dominance;
        IRRewriter rewriter(kernel_.getContext());
        eliminateCommonSubExpressions(rewriter, dominance, made);
        return;
      }
      Location at = bad->factor ? bad->factor->getLoc() : members[bad->member].getLoc();
      mlir::emitRemark(at) << "this factor depends on what is reduced and on an earlier reduction over it, and is no product of a "
                              "function of each: the points are read once more for it";
      scratch.erase();
      drop(members, bad->member);
    }
  }

  /// Leaves out member m and those that use it.
  static void drop(SmallVector<ReduceOp> &members, unsigned m) {
    SmallVector<ReduceOp> left(members.begin(), members.begin() + m), gone{members[m]};
    for (ReduceOp r : ArrayRef<ReduceOp>(members).drop_front(m + 1))
      (readOf(r, gone).empty() ? left : gone).push_back(r);
    members = left;
  }

  /// Gives the chain the indices of its members, the parallel ones in the order of the member that has most.
  void setDomain(Family &family, Chain &chain) {
    ReduceOp most = *llvm::max_element(family.members, [](ReduceOp a, ReduceOp b) { return a.getNumParallel() < b.getNumParallel(); });
    SmallVector<unsigned> order(family.indicesOf[most]), dimOf(family.parallel.size());
    for (ReduceOp r : family.members)
      for (unsigned index : family.indicesOf[r])
        if (!llvm::is_contained(order, index))
          order.push_back(index);
    SmallVector<Attribute> names;
    SmallVector<AffineExpr> extents, by;
    for (auto [d, index] : llvm::enumerate(order)) {
      dimOf[index] = d;
      names.push_back(family.parallel[index].first);
      extents.push_back(family.parallel[index].second);
    }
    chain.members.assign(family.members.begin(), family.members.end());
    for (ReduceOp r : family.members)
      chain.own.push_back(llvm::map_to_vector(family.indicesOf[r], [&](unsigned index) { return dimOf[index]; }));
    chain.parallel = order.size();
    for (unsigned d : chain.own[llvm::find(family.members, most) - family.members.begin()])
      by.push_back(getAffineDimExpr(d, most.getContext()));
    for (unsigned d = most.getNumParallel(); d < most.getNumDims(); ++d) {
      by.push_back(getAffineDimExpr(extents.size(), most.getContext()));
      names.push_back(most.getIndices()[d]);
      extents.push_back(most.getExtents().getResult(d));
    }
    chain.dims = extents.size();
    unsigned symbols = most.getExtents().getNumSymbols();
    chain.domain.indices = ArrayAttr::get(most.getContext(), names);
    chain.domain.extents = AffineMap::get(0, symbols, extents, most.getContext());
    std::optional<IntegerSet> set = most.getCondition();
    if (set)
      chain.domain.condition = IntegerSetAttr::get(set->replaceDimsAndSymbols(by, {}, chain.dims, symbols));
    if (set)
      set = chain.domain.condition.getValue();
    chain.mayBeEmpty = most.getYield().getCondition() || !hasPointEverywhere(set, chain.domain.extents, chain.parallel, facts_);
  }

  /// The bodies of all members in one block, in which equal values are one.
  ComputeOp write(Family &family, Chain &chain) {
    ArrayRef<ReduceOp> members = family.members;
    ReduceOp first = members.front();
    OpBuilder b(members.back());
    setDomain(family, chain);
    auto type = RankedTensorType::get(SmallVector<int64_t>(chain.dims, ShapedType::kDynamic), b.getF32Type());
    auto scratch = ComputeOp::create(b, first.getLoc(), type, chain.domain.indices, chain.domain.extents, IntegerSetAttr(), Value(),
                                     AffineMapAttr(), AffineMapAttr(), StringAttr(), false);
    Block &block = scratch.getBody().emplaceBlock();
    for (unsigned d = 0; d < chain.dims; ++d)
      block.addArgument(b.getIndexType(), first.getLoc());
    for (ReduceOp r : members)
      block.addArgument(r.getYield().getValues()[0].getType(), r.getLoc());
    chain.block = &block;
    b.setInsertionPointToStart(&block);
    SmallVector<Value> terms;
    Value where;
    for (auto [m, r] : llvm::enumerate(members)) {
      IRMapping mapping;
      for (auto [d, arg] : llvm::enumerate(ReduceOp(r).getBlock().getArguments()))
        mapping.map(arg, block.getArgument(d < chain.own[m].size() ? chain.own[m][d] : chain.parallel + d - chain.own[m].size()));
      terms.push_back(cloneBody(ReduceOp(r).getBlock(), mapping, chain, b));
      if (Value condition = ReduceOp(r).getYield().getCondition()) // (one for all)
        where = mapping.lookupOrDefault(condition);
    }
    auto yield = YieldOp::create(b, first.getLoc(), terms, where);
    DominanceInfo dominance;
    IRRewriter rewriter(kernel_.getContext());
    eliminateCommonSubExpressions(rewriter, dominance, scratch);
    OperationFolder folder(kernel_.getContext());
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      (void)folder.tryToFold(&op); // te-mask-to-domain leaves selects whose conditions are decided
    takeFactorsOutOfMasks(block);
    chain.terms = llvm::to_vector_of<Value>(yield.getValues());
    chain.where = yield.getCondition();
    return scratch;
  }

  /// `f * x if c else -inf` is f times `x if c else -inf` where f is a positive constant: the maximum of what is masked has the factor
  /// that the maximum of all has.
  static void takeFactorsOutOfMasks(Block &block) {
    std::function<bool(Value)> isPositive = [&](Value v) {
      FloatAttr c;
      if (matchPattern(v, m_Constant(&c)))
        return c.getValue().isFiniteNonZero() && !c.getValue().isNegative();
      auto rsqrt = v.getDefiningOp<math::RsqrtOp>();
      return rsqrt && isPositive(rsqrt.getOperand());
    };
    for (auto mask : llvm::make_early_inc_range(block.getOps<arith::SelectOp>())) {
      auto product = mask.getTrueValue().getDefiningOp<arith::MulFOp>();
      if (!product || !matchPattern(mask.getFalseValue(), m_NegInfFloat()))
        continue;
      for (unsigned i : {0u, 1u})
        if (Value factor = product->getOperand(i); isPositive(factor)) {
          OpBuilder b(mask);
          Value masked = arith::SelectOp::create(b, mask.getLoc(), mask.getCondition(), product->getOperand(1 - i), mask.getFalseValue());
          mask.replaceAllUsesWith(arith::MulFOp::create(b, product.getLoc(), masked, factor).getResult());
          mask.erase();
          break;
        }
    }
  }

  /// Clones a statement's body into the chain's, with what members come to in place of reads of it, also within definitions. Returns
  /// what it yields.
  static Value cloneBody(Block &body, IRMapping &mapping, Chain &chain, OpBuilder &b) {
    for (Operation &op : body.without_terminator()) {
      auto read = dyn_cast<ReadOp>(op);
      auto made = read ? dyn_cast_or_null<ReduceOp>(read.getTensor().getDefiningOp()) : ReduceOp();
      auto member = llvm::find(chain.members, made);
      ComputeOp definition = read ? findPlainDefinition(read) : ComputeOp();
      if (made && member != chain.members.end()) {
        mapping.map(read.getResult(), chain.argument(member - chain.members.begin()));
      } else if (definition && usesMembers(definition, chain)) {
        IRMapping inner;
        for (auto [arg, e] : llvm::zip(definition.getBlock().getArguments(), read.getMapOrIdentity().getResults()))
          inner.map(arg, mapping.lookup(read.getOperands_()[cast<AffineDimExpr>(e).getPosition()]));
        mapping.map(read.getResult(), cloneBody(definition.getBlock(), inner, chain, b));
      } else {
        b.clone(op, mapping);
      }
    }
    return mapping.lookupOrDefault(cast<YieldOp>(body.getTerminator()).getValues()[0]);
  }

  static bool usesMembers(ComputeOp definition, const Chain &chain) {
    bool found = false;
    definition.walk([&](ReadOp read) {
      auto made = dyn_cast_or_null<ReduceOp>(read.getTensor().getDefiningOp());
      ComputeOp inner = findPlainDefinition(read);
      found |= (made && llvm::is_contained(chain.members, made)) || (inner && usesMembers(inner, chain));
    });
    return found;
  }

  /// Statements between the members that need one of them go behind the last, in their order.
  static void moveUsersBehind(ArrayRef<ReduceOp> members) {
    llvm::SmallPtrSet<Operation *, 16> users;
    Operation *behind = members.back();
    for (Operation *op = members.front()->getNextNode(), *next; op != members.back(); op = next) {
      next = op->getNextNode();
      if (llvm::any_of(members, [&](ReduceOp r) { return r.getOperation() == op; }))
        continue;
      bool uses = false;
      auto visit = [&](Value v) {
        Operation *made = v.getDefiningOp();
        uses |= made && (users.contains(made) || llvm::any_of(members, [&](ReduceOp r) { return r.getOperation() == made; }));
      };
      op->walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), visit); });
      if (uses) {
        users.insert(op);
        op->moveAfter(behind);
        behind = op;
      }
    }
  }

  KernelOp kernel_;
  const Target &target_;
  SizeFacts facts_;
  Merge merge_;
  bool always_;
};

struct TeDeriveCascadesPass : impl::TeDeriveCascadesBase<TeDeriveCascadesPass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<KnownTarget> known = getKnownTarget(getOperation(), target, sizeDiv, sizeMax);
    if (failed(known))
      return signalPassFailure();
    FailureOr<KernelSchedule> schedule = getKernelSchedule(getOperation(), target);
    if (failed(schedule))
      return signalPassFailure();
    if (schedule->merge == Merge::WhereItPays) {
      computeFewPoints(getOperation(), *known->target, known->facts());
      recomputeForPoints(getOperation(), *known->target, known->facts());
    }
    Deriver(getOperation(), *known->target, known->facts(), schedule->merge, always).run();
  }
};

} // namespace
} // namespace kernelc
