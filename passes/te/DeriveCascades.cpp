// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-derive-cascades: see Passes.td. This file finds reductions that feed each other; how their states move is Separate's
// business, and CascadeWriter writes the op.
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
#include "passes/index/TileCondition.h"
#include "passes/plan/Chain.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/Schedule.h"
#include "passes/plan/Sharing.h"
#include "passes/te/CascadeWriter.h"
#include "passes/te/PointReaders.h"

#include <set>

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEDERIVECASCADES
#include "passes/Passes.h.inc"

using namespace te;

namespace {

//===- The reductions that it is made of -===//

/// A read in the body of a reduction, or in that of a pointwise statement which it reads at points of its own.
struct ReachedRead {
  ReadOp read;
  SmallVector<std::optional<unsigned>> subscripts; ///< the reduction's dim that each is; nothing where it is something else

  Operation *maker() { return read.getTensor().getDefiningOp(); }
};

/// What `read` reads, where that is defined point by point and its subscripts are what the statement's dims stand for.
ComputeOp findDefinition(ReadOp read) {
  auto c = dyn_cast_or_null<ComputeOp>(read.getTensor().getDefiningOp());
  bool isPlain = c && !c.getInit() && !c.getOutMap() && !c.getCondition() && !c.getYield().getCondition();
  return isPlain && read.getBounds() == BoundsMode::InBounds ? c : ComputeOp();
}

void collectReads(Operation *statement, llvm::function_ref<std::optional<unsigned>(Value)> dimOf, SmallVectorImpl<ReachedRead> &into) {
  statement->walk([&](ReadOp read) {
    ReachedRead reached{read, {}};
    bool areDims = read.getBounds() == BoundsMode::InBounds;
    for (AffineExpr e : read.getMapOrIdentity().getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(e);
      reached.subscripts.push_back(dim ? dimOf(read.getOperands_()[dim.getPosition()]) : std::nullopt);
      areDims &= reached.subscripts.back().has_value();
    }
    if (ComputeOp c = areDims ? findDefinition(read) : ComputeOp())
      return collectReads(
          c,
          [&](Value v) {
            auto d = findIndex(c, v);
            return d ? reached.subscripts[*d] : std::nullopt;
          },
          into);
    into.push_back(std::move(reached));
  });
}

SmallVector<ReachedRead> collectReads(ReduceOp r) {
  SmallVector<ReachedRead> reads;
  collectReads(r, [&](Value v) { return findIndex(r, v); }, reads);
  return reads;
}

/// Reductions that may become one cascade, and whose indices are whose.
struct Family {
  SmallVector<ReduceOp> members;
  SmallVector<std::pair<Attribute, AffineExpr>> parallel;       ///< name and extent of each index that some member has
  llvm::DenseMap<Operation *, SmallVector<unsigned>> indicesOf; ///< per member: those of its parallel dims

  void add(ReduceOp r, ArrayRef<unsigned> indices) {
    members.push_back(r);
    indicesOf[r].assign(indices.begin(), indices.end());
  }
};

class Deriver {
public:
  Deriver(KernelOp kernel, const Target &target, const SizeFacts &facts, Merge merge, bool always)
      : kernel_(kernel), target_(target), facts_(facts), merge_(merge), always_(always) {}

  void run() {
    SmallVector<ReduceOp> all;
    for (auto reduce : kernel_.getBlock().getOps<ReduceOp>())
      if (isCandidate(reduce))
        all.push_back(reduce);
    for (Family &family : collect(all))
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
    return points > most && !findColumn(r, facts_) && (merge_ == Merge::Launch || !findHeldRow(r, facts_, target_));
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

  static bool hasSameDomain(ReduceOp a, ReduceOp b) {
    auto own = llvm::to_vector(llvm::seq(0u, a.getNumParallel()));
    return a.getExtents() == b.getExtents() && a.getNumParallel() == b.getNumParallel() && a.getConditionAttr() == b.getConditionAttr() &&
           haveSameWhere(a, own, b, own);
  }

  /// Whether the same points of two members count, by data. `ofA`, `ofB`: the family's indices that their parallel dims are.
  static bool haveSameWhere(ReduceOp a, ArrayRef<unsigned> ofA, ReduceOp b, ArrayRef<unsigned> ofB) {
    auto indexOf = [](ReduceOp r, ArrayRef<unsigned> indices, BlockArgument arg) -> int64_t {
      unsigned d = arg.getArgNumber();
      return d < indices.size() ? indices[d] : -1 - int64_t(d - indices.size());
    };
    std::function<LogicalResult(Value, Value)> areSame = [&](Value x, Value y) -> LogicalResult {
      auto argX = dyn_cast<BlockArgument>(x), argY = dyn_cast<BlockArgument>(y);
      if (x == y || (argX && argY && argX.getOwner() == &a.getBlock() && argY.getOwner() == &b.getBlock()))
        return success(x == y || indexOf(a, ofA, argX) == indexOf(b, ofB, argY));
      Operation *ofX = x.getDefiningOp(), *ofY = y.getDefiningOp();
      return success(ofX && ofY && ofX->getBlock() == &a.getBlock() && ofY->getBlock() == &b.getBlock() &&
                     OperationEquivalence::isEquivalentTo(ofX, ofY, areSame, nullptr, OperationEquivalence::IgnoreLocations));
    };
    auto parts = [](ReduceOp r) {
      Value condition = r.getYield().getCondition();
      return condition ? splitConjuncts(condition) : SmallVector<Value>();
    };
    SmallVector<Value> all = parts(a), others = parts(b);
    auto isIn = [&](Value x) { return llvm::any_of(others, [&](Value y) { return succeeded(areSame(x, y)); }); };
    auto isInFirst = [&](Value y) { return llvm::any_of(all, [&](Value x) { return succeeded(areSame(x, y)); }); };
    return llvm::all_of(all, isIn) && llvm::all_of(others, isInFirst);
  }

  /// The family's index that each parallel dim of r is: where r has the domain of the family's first member, or is a product that reads
  /// members' results; dims that only r has become indices of their own.
  static std::optional<SmallVector<unsigned>> findIndices(ReduceOp r, Family &family) {
    ReduceOp first = family.members.front();
    if (hasSameDomain(first, r))
      return family.indicesOf[first];
    constexpr unsigned kNone = ~0u;
    SmallVector<unsigned> indices(r.getNumParallel(), kNone);
    bool ok = true, reads = false;
    for (ReachedRead &reached : collectReads(r)) {
      auto made = dyn_cast_or_null<ReduceOp>(reached.maker());
      if (!made || !llvm::is_contained(family.members, made))
        continue;
      reads = true;
      for (auto [d, index] : llvm::zip(reached.subscripts, family.indicesOf[made])) {
        ok = ok && d && *d < indices.size() && (indices[*d] == kNone || indices[*d] == index) &&
             r.getExtents().getResult(*d) == family.parallel[index].second;
        if (ok)
          indices[*d] = index;
      }
    }
    unsigned reduced = first.getNumDims() - first.getNumParallel();
    if (!ok || !reads || !findContraction(r) || r.getNumDims() - r.getNumParallel() != reduced ||
        r.getExtents().getResults().take_back(reduced) != first.getExtents().getResults().take_back(reduced))
      return std::nullopt;
    for (auto [d, index] : llvm::enumerate(indices))
      if (index == kNone) {
        index = family.parallel.size();
        family.parallel.push_back({r.getIndices()[d], r.getExtents().getResult(d)});
      }
    unsigned count = family.parallel.size();
    bool countAlike = conditionOf(r, indices, count) == conditionOf(first, family.indicesOf[first], count) &&
                      haveSameWhere(r, indices, first, family.indicesOf[first]);
    return countAlike ? std::optional(indices) : std::nullopt;
  }

  /// Its condition as constraints over the family's indices, the reduced ones first and then `count` parallel ones.
  static std::set<std::pair<const void *, bool>> conditionOf(ReduceOp r, ArrayRef<unsigned> indices, unsigned count) {
    std::set<std::pair<const void *, bool>> constraints;
    std::optional<IntegerSet> set = r.getCondition();
    unsigned reduced = r.getNumDims() - r.getNumParallel();
    SmallVector<AffineExpr> by;
    for (unsigned index : indices)
      by.push_back(getAffineDimExpr(reduced + index, r.getContext()));
    for (unsigned d = 0; d < reduced; ++d)
      by.push_back(getAffineDimExpr(d, r.getContext()));
    for (unsigned i = 0; set && i < set->getNumConstraints(); ++i)
      constraints.insert(
          {simplifyAffineExpr(set->getConstraint(i).replaceDims(by), reduced + count, set->getNumSymbols()).getAsOpaquePointer(),
           set->isEq(i)});
    return constraints;
  }

  /// Whether a reduction with `indices` reads the point's own element of what a member with indices `own` gives.
  static bool isOwnPoint(const ReachedRead &reached, ArrayRef<unsigned> indices, ArrayRef<unsigned> own) {
    return ReadOp(reached.read).getBounds() == BoundsMode::InBounds && llvm::all_of(llvm::zip(reached.subscripts, own), [&](auto pair) {
             std::optional<unsigned> d = std::get<0>(pair);
             return d && *d < indices.size() && indices[*d] == std::get<1>(pair);
           });
  }

  /// The members of `chain` that r reads at its own point.
  static SmallVector<ReduceOp> readOf(ReduceOp r, ArrayRef<ReduceOp> chain) {
    SmallVector<ReduceOp> found;
    for (ReachedRead &reached : collectReads(r)) {
      auto made = dyn_cast_or_null<ReduceOp>(reached.maker());
      if (made && llvm::is_contained(chain, made) && !llvm::is_contained(found, made))
        found.push_back(made);
    }
    return found;
  }

  /// Whether r needs what some member of the family gives in another way than by reading it at its own point.
  static bool needsElsewhere(ReduceOp r, ArrayRef<unsigned> indices, Family &family) {
    SmallVector<Operation *> work;
    llvm::SmallPtrSet<Operation *, 16> seen;
    auto isMember = [&](Operation *made) { return isa<ReduceOp>(made) && llvm::is_contained(family.members, cast<ReduceOp>(made)); };
    auto add = [&](Operation *made) {
      if (made && seen.insert(made).second)
        work.push_back(made);
    };
    for (ReachedRead &reached : collectReads(r)) {
      Operation *made = reached.maker();
      if (!made || !isMember(made))
        add(made);
      else if (!isOwnPoint(reached, indices, family.indicesOf[made]))
        return true;
    }
    while (!work.empty()) {
      Operation *statement = work.pop_back_val();
      if (isMember(statement))
        return true;
      statement->walk([&](ReadOp read) { add(read.getTensor().getDefiningOp()); });
      for (Value init : statement->getOperands())
        add(init.getDefiningOp());
    }
    return false;
  }

  /// Whether two reductions read some tensor at the same points.
  static bool readInCommon(ReduceOp a, ReduceOp b) {
    bool found = false;
    a.walk([&](ReadOp x) {
      b.walk([&](ReadOp y) {
        if (x.getTensor() != y.getTensor() || x.getMapOrIdentity() != y.getMapOrIdentity())
          return;
        bool reduced = false;
        bool same = llvm::all_of(llvm::zip(x.getOperands_(), y.getOperands_()), [&](auto pair) {
          std::optional<unsigned> d = findIndex(a, std::get<0>(pair));
          reduced |= d && *d >= a.getNumParallel();
          return d && d == findIndex(b, std::get<1>(pair));
        });
        found |= same && reduced;
      });
    });
    return found;
  }

  std::vector<Family> collect(ArrayRef<ReduceOp> all) {
    std::vector<Family> families;
    for (ReduceOp r : all) {
      bool joined = false;
      for (Family &family : families) {
        Family with = family; // (r may add indices)
        std::optional<SmallVector<unsigned>> indices = joined ? std::nullopt : findIndices(r, with);
        if (!indices || needsElsewhere(r, *indices, family))
          continue;
        if (readOf(r, family.members).empty() && llvm::none_of(family.members, [&](ReduceOp m) { return readInCommon(m, r); }))
          continue;
        with.add(r, *indices);
        family = std::move(with);
        joined = true;
      }
      if (joined || findGeneralContraction(r))
        continue;
      Family own;
      for (unsigned d = 0; d < r.getNumParallel(); ++d)
        own.parallel.push_back({r.getIndices()[d], r.getExtents().getResult(d)});
      own.add(r, llvm::to_vector(llvm::seq(0u, r.getNumParallel())));
      families.push_back(std::move(own));
    }
    return families;
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
      ComputeOp definition = read ? findDefinition(read) : ComputeOp();
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
      ComputeOp inner = findDefinition(read);
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
    if (schedule->merge == Merge::WhereItPays)
      recomputeForPoints(getOperation(), *known->target, known->facts());
    Deriver(getOperation(), *known->target, known->facts(), schedule->merge, always).run();
  }
};

} // namespace
} // namespace kernelc
