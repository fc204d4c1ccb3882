// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-derive-cascades: see Passes.td. This file finds reductions that feed each other and writes the cascade; how their states
// move is Separate's business.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/CSE.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Reduction.h"
#include "passes/index/Affine.h"
#include "passes/plan/Chain.h"
#include "passes/plan/Grouping.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/Schedule.h"
#include "passes/plan/Sharing.h"
#include "passes/te/Separate.h"

#include <set>

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEDERIVECASCADES
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Clones what `v` is computed from in its block, as far as `mapping` does not say what stands for it.
Value cloneValue(Value v, IRMapping &mapping, OpBuilder &b) {
  if (Value known = mapping.lookupOrNull(v))
    return known;
  Operation *op = v.getDefiningOp();
  if (!op || isDomainOp(op) || isa<KernelOp>(op->getParentOp()))
    return v;
  for (Value operand : op->getOperands())
    cloneValue(operand, mapping, b);
  b.clone(*op, mapping);
  return mapping.lookup(v);
}

//===- The op that a separation says -===//

class CascadeWriter {
public:
  CascadeWriter(const Chain &chain, Separation &s) : chain_(chain), s_(s), first_(chain.members.front()), b_(chain.members.back()) {}

  CascadeOp write() {
    chooseResults();
    SmallVector<StringRef> kinds;
    SmallVector<Type> results;
    for (auto [k, c] : llvm::enumerate(s_.components)) {
      kinds.push_back(stringifyCombiner(c.kind));
      types_.push_back(c.term ? c.term.getType() : chain_.terms[c.member].getType());
      std::optional<unsigned> m = memberOf_[k];
      own_.push_back(m ? chain_.own[*m] : ownDimsOf(c));
      results.push_back(m ? ReduceOp(chain_.members[*m]).getType()
                          : RankedTensorType::get(SmallVector<int64_t>(own_.back().size(), ShapedType::kDynamic), types_.back()));
    }
    auto isWhole = [&](ArrayRef<unsigned> own) { return llvm::equal(own, llvm::seq(0u, chain_.parallel)); };
    SmallVector<Attribute> dims;
    for (ArrayRef<unsigned> own : own_)
      dims.push_back(b_.getI64ArrayAttr(llvm::to_vector_of<int64_t>(own)));
    StringAttr name;
    for (ReduceOp r : chain_.members)
      name = r.getNameAttr() ? r.getNameAttr() : name;
    auto op = CascadeOp::create(b_, first_.getLoc(), results, b_.getStrArrayAttr(kinds), chain_.domain.indices, chain_.parallel,
                                llvm::all_of(own_, isWhole) ? ArrayAttr() : b_.getArrayAttr(dims), chain_.domain.extents,
                                chain_.domain.condition, name);
    writeElement(op);
    writeRescale(op);
    writeFinalize(op);
    for (auto [k, m] : llvm::enumerate(memberOf_))
      if (m) {
        ReduceOp member = chain_.members[*m];
        member.getResult().replaceAllUsesWith(op.getResult(k));
      }
    return op;
  }

private:
  Location loc() { return first_.getLoc(); }

  /// The parallel dims that a component which is no member's result has: those of its terms and of what these use.
  SmallVector<unsigned> ownDimsOf(const Component &c) {
    llvm::BitVector own = findSupport(c.term ? c.term : chain_.terms[c.member], chain_.dims);
    own.resize(chain_.parallel);
    if (c.motion != Motion::Stays)
      for (unsigned d : chain_.own[c.member])
        own.set(d);
    return llvm::to_vector_of<unsigned>(own.set_bits());
  }

  /// Which component's result each member is.
  void chooseResults() {
    memberOf_.assign(s_.components.size(), std::nullopt);
    for (unsigned m = 0; m < chain_.members.size(); ++m) {
      unsigned k = s_.members[m][0].component;
      if (memberOf_[k]) { // another one is a multiple of the same sum
        s_.components.push_back(Component(s_.components[k]));
        memberOf_.push_back(std::nullopt);
        k = s_.components.size() - 1;
      }
      memberOf_[k] = m;
    }
  }

  Block &open(Region &region, unsigned indices, unsigned times) {
    Block &block = region.emplaceBlock();
    for (unsigned i = 0; i < indices; ++i)
      block.addArgument(b_.getIndexType(), loc());
    for (unsigned i = 0; i < times; ++i)
      for (Type t : types_)
        block.addArgument(t, loc());
    b_.setInsertionPointToStart(&block);
    return block;
  }

  Value constant(Type type, double v) { return arith::ConstantOp::create(b_, loc(), cast<TypedAttr>(b_.getFloatAttr(type, v))); }
  Value isEqual(Value x, Value y) { return arith::CmpFOp::create(b_, loc(), arith::CmpFPredicate::OEQ, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b_, loc(), x, y); }
  Value choose(Value c, Value x, Value y) { return arith::SelectOp::create(b_, loc(), c, x, y); }
  Value times(Value x, Value y) { return arith::MulFOp::create(b_, loc(), x, y); }
  Value over(Value x, Value y) { return arith::DivFOp::create(b_, loc(), x, y); }
  Value plus(Value x, Value y) { return arith::AddFOp::create(b_, loc(), x, y); }
  Value minus(Value x, Value y) { return arith::SubFOp::create(b_, loc(), x, y); }
  Value power(Value x, unsigned p) {
    Value all = x;
    for (unsigned i = 1; i < p; ++i)
      all = times(all, x);
    return all;
  }
  /// The x at which the terms seen so far say nothing of what they come to for another x: no term is larger in size than exp(-inf) or
  /// 0 there, and 0 / 0 and inf - inf come of them.
  Value singular(const Component &c) {
    if (c.motion == Motion::Power)
      return constant(types_[c.reference], 0);
    Combiner kind = s_.components[c.reference].kind;
    return arith::ConstantOp::create(b_, loc(), identityOf(kind, types_[c.reference], b_));
  }

  void writeElement(CascadeOp op) {
    OpBuilder::InsertionGuard guard(b_);
    Block &block = open(op.getElement(), chain_.dims, 1);
    IRMapping mapping;
    for (unsigned d = 0; d < chain_.dims; ++d)
      mapping.map(chain_.block->getArgument(d), block.getArgument(d));
    auto component = [&](unsigned k) { return block.getArgument(chain_.dims + k); };
    for (const Component &c : s_.components)
      if (c.motion == Motion::Exponential || c.motion == Motion::Power)
        mapping.map(chain_.argument(c.member), component(c.reference));
    SmallVector<Value> terms;
    for (auto [k, c] : llvm::enumerate(s_.components)) {
      if (!c.term) {
        terms.push_back(constant(types_[k], 1));
      } else if (c.motion == Motion::Moment) {
        Value v = cloneValue(c.term, mapping, b_);
        terms.push_back(power(minus(v, over(component(c.reference), component(c.count))), c.power));
      } else if (c.weighted) {
        // While x says nothing, a term counts as zero times its factor: of the factor's NaN it stays one.
        IRMapping guarded = mapping;
        Value whole = cloneValue(c.exponential, guarded, b_);
        guarded.map(c.exponential, choose(isEqual(component(c.reference), singular(c)), constant(whole.getType(), 0), whole));
        terms.push_back(cloneValue(c.term, guarded, b_));
      } else {
        terms.push_back(cloneValue(c.term, mapping, b_));
      }
    }
    YieldOp::create(b_, loc(), terms, Value());
  }

  /// M + Σ_{1 < q < p} C(p, q) d^(p-q) M_q + n d^p: the moment about what lies d below.
  Value moveMoment(const Component &c, Value moment, Value n, Value d, llvm::function_ref<Value(unsigned)> component) {
    Value sum = plus(moment, times(n, power(d, c.power)));
    for (unsigned q = 2, binomial = c.power; q < c.power; ++q) {
      binomial = binomial * (c.power - q + 1) / q;
      sum = plus(sum, times(times(constant(d.getType(), binomial), power(d, c.power - q)), component(c.lower[q - 2])));
    }
    return choose(isEqual(n, constant(n.getType(), 0)), moment, sum);
  }

  void writeRescale(CascadeOp op) {
    OpBuilder::InsertionGuard guard(b_);
    unsigned n = types_.size();
    Block &block = open(op.getRescale(), 0, 2);
    SmallVector<Value> moved;
    for (auto [k, c] : llvm::enumerate(s_.components)) {
      Value a = block.getArgument(k), x = block.getArgument(c.reference), y = block.getArgument(n + c.reference);
      if (c.motion == Motion::Stays) {
        moved.push_back(a);
        continue;
      }
      if (c.motion == Motion::Moment) {
        Value d = minus(over(x, block.getArgument(c.count)), over(y, block.getArgument(n + c.count)));
        moved.push_back(moveMoment(c, a, block.getArgument(c.count), d, [&](unsigned q) { return block.getArgument(q); }));
        continue;
      }
      Value zero = constant(types_[k], 0), by;
      if (c.motion == Motion::Power) {
        by = power(over(x, y), c.power);
      } else {
        Value d = minus(x, y);
        if (c.scale != 1)
          d = times(d, constant(d.getType(), c.scale));
        bool natural = isa<math::ExpOp>(c.exponential.getDefiningOp());
        by = natural ? math::ExpOp::create(b_, loc(), d).getResult() : math::Exp2Op::create(b_, loc(), d).getResult();
      }
      Value isZero = isEqual(a, zero), sum = a;
      if (c.motion == Motion::Exponential && c.power > 0) {
        Value d = times(minus(x, y), constant(types_[k], c.shift));
        for (unsigned q = 0, binomial = 1; q < c.power; binomial = binomial * (c.power - q) / (q + 1), ++q) {
          Value lower = block.getArgument(c.lower[q]);
          isZero = arith::AndIOp::create(b_, loc(), isZero, isEqual(lower, zero));
          sum = plus(sum, times(times(constant(types_[k], binomial), power(d, c.power - q)), lower));
        }
      }
      Value none = isEqual(x, singular(c));
      if (c.weighted && c.power == 0) { // one factor for all results of a row
        moved.push_back(times(a, choose(either(isEqual(x, y), none), constant(types_[k], 1), by)));
        continue;
      }
      Value kept = either(isZero, isEqual(x, y)), scaled = times(sum, by);
      if (c.weighted)
        kept = either(kept, none);
      else
        scaled = choose(none, zero, scaled);
      moved.push_back(choose(kept, a, scaled));
    }
    YieldOp::create(b_, loc(), moved, Value());
  }

  void writeFinalize(CascadeOp op) {
    OpBuilder::InsertionGuard guard(b_);
    Block &block = open(op.getFinalize(), chain_.parallel, 1);
    IRMapping mapping;
    for (unsigned d = 0; d < chain_.parallel; ++d)
      mapping.map(chain_.block->getArgument(d), block.getArgument(d));
    auto component = [&](unsigned k) { return block.getArgument(chain_.parallel + k); };
    SmallVector<Value> results;
    for (unsigned k = 0; k < types_.size(); ++k)
      results.push_back(component(k));
    for (unsigned m = 0; m < chain_.members.size(); ++m) {
      Value sum;
      for (const Part &part : s_.members[m]) {
        Value v = valueOf(part, mapping, component);
        sum = !sum ? (part.negative ? arith::NegFOp::create(b_, loc(), v).getResult() : v) : part.negative ? minus(sum, v) : plus(sum, v);
      }
      mapping.map(chain_.argument(m), sum);
      results[llvm::find(memberOf_, std::optional<unsigned>(m)) - memberOf_.begin()] = sum;
    }
    YieldOp::create(b_, loc(), results, Value());
  }

  /// What a part of a member comes to, but for its sign.
  Value valueOf(const Part &part, IRMapping &mapping, llvm::function_ref<Value(unsigned)> component) {
    const Component &c = s_.components[part.component];
    Value v = component(part.component);
    if (part.plain) // every term is NaN, if there is one
      v = choose(isEqual(component(c.reference), singular(c)), component(*part.plain), v);
    if (c.motion == Motion::Moment) {
      Value n = component(c.count), center = cloneValue(part.center, mapping, b_);
      v = moveMoment(c, v, n, minus(over(component(c.reference), n), center), component);
    }
    for (Value f : part.factors)
      v = times(v, cloneValue(f, mapping, b_));
    for (Value f : part.divisors)
      v = over(v, cloneValue(f, mapping, b_));
    return v;
  }

  const Chain &chain_;
  Separation &s_;
  ReduceOp first_;
  OpBuilder b_;
  SmallVector<Type> types_;
  SmallVector<SmallVector<unsigned>> own_; ///< per component
  SmallVector<std::optional<unsigned>> memberOf_; ///< per component
};

//===- The reductions that it is made of -===//

/// Reductions that may become one cascade, and whose indices are whose.
struct Family {
  SmallVector<ReduceOp> members;
  SmallVector<std::pair<Attribute, AffineExpr>> parallel;           ///< name and extent of each index that some member has
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
    if (r.isArg() || r.getInit() || r.getOutMap() || r.getYield().getCondition() || r.getNumParallel() == r.getNumDims() ||
        r->hasAttr(kInTile) || !getThinDims(r).empty())
      return false;
    if (findGeneralContraction(r))
      return merge_ == Merge::WhereItPays && findChain(r, target_, facts_, ChainUse::InCascade);
    bool ofProduct = false;
    r.walk([&](ReadOp read) {
      auto made = dyn_cast_or_null<ReduceOp>(read.getTensor().getDefiningOp());
      ofProduct |= made && findGeneralContraction(made);
    });
    if (ofProduct) { // read where they are made, by a launch that goes over them
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
    return knownPoints(r.getExtents(), reduced, facts_) > kLargestHeld && !findColumn(r, facts_) &&
           (merge_ == Merge::Launch || !findHeldRow(r, facts_, target_));
  }

  static bool hasSameDomain(ReduceOp a, ReduceOp b) {
    return a.getExtents() == b.getExtents() && a.getNumParallel() == b.getNumParallel() && a.getConditionAttr() == b.getConditionAttr();
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
    r.walk([&](ReadOp read) {
      auto made = dyn_cast_or_null<ReduceOp>(read.getTensor().getDefiningOp());
      if (!made || !llvm::is_contained(family.members, made))
        return;
      reads = true;
      ArrayRef<unsigned> own = family.indicesOf[made];
      for (auto [at, e] : llvm::enumerate(read.getMapOrIdentity().getResults())) {
        auto dim = dyn_cast<AffineDimExpr>(e);
        std::optional<unsigned> d = dim ? findIndex(r, read.getOperands_()[dim.getPosition()]) : std::nullopt;
        ok &= d && *d < indices.size() && (indices[*d] == kNone || indices[*d] == own[at]) && !(indices[*d] = own[at], false) &&
              r.getExtents().getResult(*d) == family.parallel[own[at]].second;
      }
    });
    unsigned reduced = first.getNumDims() - first.getNumParallel();
    if (!ok || !reads || !findContraction(r) || r.getNumDims() - r.getNumParallel() != reduced ||
        r.getExtents().getResults().take_back(reduced) != first.getExtents().getResults().take_back(reduced))
      return std::nullopt;
    for (auto [d, index] : llvm::enumerate(indices))
      if (index == kNone) {
        index = family.parallel.size();
        family.parallel.push_back({r.getIndices()[d], r.getExtents().getResult(d)});
      }
    return conditionOf(r, indices) == conditionOf(first, family.indicesOf[first]) ? std::optional(indices) : std::nullopt;
  }

  /// Its condition as constraints over the family's indices, the reduced ones first.
  static std::set<std::pair<const void *, bool>> conditionOf(ReduceOp r, ArrayRef<unsigned> indices) {
    std::set<std::pair<const void *, bool>> constraints;
    std::optional<IntegerSet> set = r.getCondition();
    unsigned reduced = r.getNumDims() - r.getNumParallel();
    SmallVector<AffineExpr> by;
    for (unsigned index : indices)
      by.push_back(getAffineDimExpr(reduced + index, r.getContext()));
    for (unsigned d = 0; d < reduced; ++d)
      by.push_back(getAffineDimExpr(d, r.getContext()));
    for (unsigned i = 0; set && i < set->getNumConstraints(); ++i)
      constraints.insert({simplifyAffineExpr(set->getConstraint(i).replaceDims(by), 64, set->getNumSymbols()).getAsOpaquePointer(), set->isEq(i)});
    return constraints;
  }

  /// Whether `read`, in r, is of the point's own element of what member `made` gives.
  static bool isOwnPoint(ReadOp read, ReduceOp r, ArrayRef<unsigned> indices, ArrayRef<unsigned> own) {
    AffineMap map = read.getMapOrIdentity();
    if (map.getNumResults() != own.size() || read.getBounds() != BoundsMode::InBounds)
      return false;
    for (auto [at, e] : llvm::enumerate(map.getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(e);
      std::optional<unsigned> d = dim ? findIndex(r, read.getOperands_()[dim.getPosition()]) : std::nullopt;
      if (!d || *d >= indices.size() || indices[*d] != own[at])
        return false;
    }
    return true;
  }

  /// The members of `chain` that r reads at its own point.
  static SmallVector<ReduceOp> readOf(ReduceOp r, ArrayRef<ReduceOp> chain) {
    SmallVector<ReduceOp> found;
    r.walk([&](ReadOp read) {
      auto made = dyn_cast_or_null<ReduceOp>(read.getTensor().getDefiningOp());
      if (made && llvm::is_contained(chain, made) && !llvm::is_contained(found, made))
        found.push_back(made);
    });
    return found;
  }

  /// Whether r needs what some member of the family gives in another way than by reading it at its own point.
  static bool needsElsewhere(ReduceOp r, ArrayRef<unsigned> indices, Family &family) {
    bool found = false;
    SmallVector<Operation *> work;
    llvm::SmallPtrSet<Operation *, 16> seen;
    auto visit = [&](Operation *statement, bool direct) {
      statement->walk([&](ReadOp read) {
        Operation *made = read.getTensor().getDefiningOp();
        if (!made)
          return;
        auto reduce = dyn_cast<ReduceOp>(made);
        if (reduce && llvm::is_contained(family.members, reduce))
          found |= !direct || !isOwnPoint(read, r, indices, family.indicesOf[reduce]);
        else if (seen.insert(made).second)
          work.push_back(made);
      });
      for (Value init : statement->getOperands())
        if (Operation *made = init.getDefiningOp(); made && seen.insert(made).second)
          work.push_back(made);
    };
    visit(r, true);
    while (!work.empty() && !found)
      visit(work.pop_back_val(), false);
    return found;
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
        CascadeOp made = CascadeWriter(chain, separation).write();
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

  /// Gives the chain the indices of its members, the parallel ones in the order of the member that has most; which dim of the domain
  /// each index of the family becomes.
  static SmallVector<unsigned> setDomain(Family &family, Chain &chain) {
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
    if (std::optional<IntegerSet> set = most.getCondition())
      chain.domain.condition = IntegerSetAttr::get(set->replaceDimsAndSymbols(by, {}, chain.dims, symbols));
    return dimOf;
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
    for (auto [m, r] : llvm::enumerate(members)) {
      IRMapping mapping;
      for (auto [d, arg] : llvm::enumerate(ReduceOp(r).getBlock().getArguments()))
        mapping.map(arg, block.getArgument(d < chain.own[m].size() ? chain.own[m][d] : chain.parallel + d - chain.own[m].size()));
      for (Operation &op : ReduceOp(r).getBlock().without_terminator()) {
        auto read = dyn_cast<ReadOp>(op);
        auto made = read ? dyn_cast_or_null<ReduceOp>(read.getTensor().getDefiningOp()) : ReduceOp();
        auto member = llvm::find(members, made);
        if (made && member != members.end())
          mapping.map(read.getResult(), chain.argument(member - members.begin()));
        else
          b.clone(op, mapping);
      }
      terms.push_back(mapping.lookupOrDefault(ReduceOp(r).getYield().getValues()[0]));
    }
    auto yield = YieldOp::create(b, first.getLoc(), terms, Value());
    DominanceInfo dominance;
    IRRewriter rewriter(kernel_.getContext());
    eliminateCommonSubExpressions(rewriter, dominance, scratch);
    chain.terms = llvm::to_vector_of<Value>(yield.getValues());
    return scratch;
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
    Deriver(getOperation(), *known->target, known->facts(), schedule->merge, always).run();
  }
};

} // namespace
} // namespace kernelc
