// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/Contraction.h"

#include "llvm/ADT/SetVector.h"

#include "ir/te/Factors.h"
#include "ir/te/Hints.h"
#include "ir/te/Scan.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/Affine.h"
#include "passes/index/Domain.h"
#include "passes/index/LinearRead.h"
#include "passes/index/TileCondition.h"

using namespace mlir;

namespace kernelc::te {

bool isStreamedRead(Operation *op, ReadOp read) {
  ArrayRef<int64_t> thin = getStreamedDims(op);
  if (thin.empty())
    return true;
  llvm::BitVector support = findSupport(read.getResult(), getExtents(op).getNumResults());
  return llvm::none_of(thin, [&](int64_t d) { return support[unsigned(d)]; });
}

void Contraction::swapOperands() {
  std::swap(a, b);
  std::swap(m, n);
  std::swap(aType, bType);
  std::swap(aUnsigned, bUnsigned);
  std::swap(aWhere, bWhere);
  std::swap(aMask, bMask);
}

namespace {

bool isZeroExtended(Value factor) { return isa_and_nonnull<arith::ExtUIOp>(factor.getDefiningOp()); }

/// Gives every constraint of the reduction's condition, and every bound of points by data, to the factors. What speaks of
/// summed and batch indices alone (`k < n[b]`) both get: what they hold there is never a value. Else a factor gets it that
/// has its dims, or one that becomes an operand of them (a mask that makes `a[k]` an operand over i and k, or `a[i, k]` one
/// over the summed g too). `inA`, `inB` grow with what the factors take on. What speaks of no summed index (`j <= i`) is
/// the result's own. False where a constraint ties both factors together.
class ConditionShares {
public:
  ConditionShares(const Summation &sum, Contraction &c, llvm::BitVector &inA, llvm::BitVector &inB)
      : sum_(sum), c_(c), inA_(inA), inB_(inB), parallel_(sum.parallel), dims_(sum.dims) {
    // A computed factor passes through registers, where a mask costs least.
    auto isRead = [](Value v) { return bool(stripWidening(v).getDefiningOp<ReadOp>()); };
    preferB_ = isRead(c.a) && !isRead(c.b);
  }

  bool share() {
    const std::optional<IntegerSet> &set = sum_.condition;
    SmallVector<unsigned> forA, forB, forResult;
    for (unsigned i = 0; set && i < set->getNumConstraints(); ++i) {
      llvm::BitVector dims(dims_);
      collectDims(set->getConstraint(i), dims);
      if (dims.find_next(parallel_ - 1) < 0)
        forResult.push_back(i);
      else if (!give(i, dims, forA, forB))
        return false;
    }
    for (Value part : c_.where ? splitConjuncts(c_.where) : SmallVector<Value>())
      if (!findLinearBound(part))
        c_.tied = true;
      else if (!give(part, findSupport(part, dims_), c_.aMask, c_.bMask))
        return false;
    if (!forA.empty())
      c_.aWhere = select(*set, forA);
    if (!forB.empty())
      c_.bWhere = select(*set, forB);
    if (!forResult.empty())
      c_.resultWhere = select(*set, forResult);
    return true;
  }

private:
  /// Whether both factors tell all points apart that a condition over `dims` does.
  bool isCommon(const llvm::BitVector &dims) {
    llvm::BitVector both = inA_;
    both &= inB_;
    return !dims.test(both);
  }

  /// Whether a factor over `own` takes a condition over `dims` on, without parallel dims of the `other`.
  bool fits(const llvm::BitVector &dims, const llvm::BitVector &own, const llvm::BitVector &other) {
    llvm::BitVector extra = dims;
    extra.reset(own).reset(parallel_, dims_);
    return !extra.anyCommon(other);
  }

  /// Adds `part` of the condition to what the factors it belongs to count in.
  template <typename T> bool give(T part, const llvm::BitVector &dims, SmallVectorImpl<T> &forA, SmallVectorImpl<T> &forB) {
    if (isCommon(dims)) {
      forA.push_back(part);
      forB.push_back(part);
      return true;
    }
    bool a = fits(dims, inA_, inB_), b = fits(dims, inB_, inA_);
    if (!a && !b)
      return false;
    bool toB = preferB_ ? b : !a;
    c_.tied = true;
    (toB ? inB_ : inA_) |= dims;
    (toB ? forB : forA).push_back(part);
    return true;
  }

  const Summation &sum_;
  Contraction &c_;
  llvm::BitVector &inA_, &inB_;
  unsigned parallel_, dims_;
  bool preferB_;
};

/// The factors of a product, and the indices of its reduction that each depends on.
struct Factor {
  Value value;
  llvm::BitVector support, reduced;
};

SmallVector<Factor> findFactorsOf(const Summation &sum) {
  SmallVector<Factor> factors;
  for (OpOperand *use : findFactors(sum.term)) {
    llvm::BitVector support = findSupport(use->get(), sum.dims), reduced = support;
    reduced.reset(0, sum.parallel);
    factors.push_back({use->get(), support, reduced});
  }
  return factors;
}

/// Factors `a` and `b` as operands, the others as scales: they share a reduced index that no other factor depends on, and
/// have every parallel index of the others.
bool takeScales(const Summation &sum, ArrayRef<Factor> factors, const Factor &a, const Factor &b, Contraction &c) {
  llvm::BitVector scaled(sum.dims), scales = scaled, shared = a.reduced, operands = a.support;
  for (const Factor &f : factors) {
    if (&f == &a || &f == &b)
      continue;
    (f.reduced.none() ? c.sumScales : c.partScales).push_back(f.value);
    scaled |= f.reduced;
    scales |= f.support;
  }
  operands |= b.support;
  scales.reset(operands);
  shared &= b.reduced;
  shared.reset(scaled);
  if (shared.none() || scales.any() || !isa<FloatType>(a.value.getType()))
    return false;
  c.a = a.value;
  c.b = b.value;
  for (unsigned d : scaled.set_bits())
    c.scaledK.push_back(d);
  return true;
}

/// The reduced dims that constraints bound by batch dims alone, each of which has the dim in steps: what a phase walks. (A part of a sum
/// that ends early goes on in ones: its tiles are as long as others', and the last of them is masked.)
llvm::SmallSetVector<unsigned, 4> findEnded(const Summation &sum, ArrayRef<unsigned> batch) {
  llvm::SmallSetVector<unsigned, 4> ended;
  const std::optional<IntegerSet> &set = sum.condition;
  for (unsigned i = 0; set && i < set->getNumConstraints(); ++i) {
    llvm::BitVector own(sum.dims);
    collectDims(set->getConstraint(i), own);
    int d = own.find_last();
    if (set->isEq(i) || d < int(sum.parallel) || std::abs(linearCoefficient(set->getConstraint(i), d).value_or(0)) <= 1)
      continue;
    own.reset(d);
    if (own.any() && llvm::all_of(own.set_bits(), [&](unsigned b) { return llvm::is_contained(batch, b); }))
      ended.insert(d);
  }
  return ended;
}

} // namespace

bool Contraction::isPhase(unsigned d) const {
  for (unsigned i = 0; resultWhere && i < resultWhere->getNumConstraints(); ++i)
    if (resultWhere->isEq(i) && resultWhere->getConstraint(i).isFunctionOfDim(d))
      return true;
  return false;
}

SmallVector<unsigned> Contraction::tiledOf(ArrayRef<unsigned> side) const {
  return llvm::to_vector(llvm::make_filter_range(side, [&](unsigned d) { return side.size() == 1 || !isPhase(d); }));
}

/// Whether the points of a factor's rows, `own`, are bounded from both sides, by data from one at least, and nothing else tells these rows
/// apart: each point is of few of them (those of a segment), and a tile of rows would multiply all with each.
static bool isSegmented(const Summation &sum, Value factor, ArrayRef<unsigned> own, ArrayRef<Value> mask,
                        const std::optional<IntegerSet> &where) {
  bool begins = false, ends = false;
  for (unsigned i = 0; where && i < where->getNumConstraints(); ++i)
    for (unsigned d = sum.parallel; d < sum.dims; ++d)
      if (int64_t c = linearCoefficient(where->getConstraint(i), d).value_or(0)) {
        begins |= where->isEq(i) || c > 0;
        ends |= where->isEq(i) || c < 0;
      }
  for (Value part : mask)
    if (std::optional<LinearBound> bound = findLinearBound(part)) {
      bool isLow = bound->relation == arith::CmpIPredicate::sge || bound->relation == arith::CmpIPredicate::sgt;
      (isLow ? begins : ends) = true;
    }
  return !mask.empty() && begins && ends && llvm::none_of(findReads(factor), [&](ReadOp read) {
    llvm::BitVector support = findSupport(read.getResult(), sum.dims);
    return support.find_next(int(sum.parallel) - 1) >= 0 && llvm::any_of(own, [&](unsigned d) { return support[d]; });
  });
}

std::optional<Contraction> classify(const Summation &sum, Contraction c) {
  unsigned dims = sum.dims, parallel = sum.parallel;
  llvm::BitVector inA = findSupport(c.a, dims), inB = findSupport(c.b, dims);
  if (!ConditionShares(sum, c, inA, inB).share())
    return std::nullopt;
  for (unsigned d = 0; d < dims; ++d) {
    if (d >= parallel) {
      if (!inA[d] && !inB[d])
        return std::nullopt;
      c.k.push_back(d);
      if (!inA[d] || !inB[d])
        c.ownK.push_back(d);
    } else if (inA[d] && inB[d]) {
      c.batch.push_back(d);
    } else if (inA[d]) {
      c.m.push_back(d);
    } else if (inB[d]) {
      c.n.push_back(d);
    } else if (sum.own[d] && c.isPhase(d)) {
      c.batch.push_back(d); // which only says whether there is a result
    } else if (sum.own[d]) {
      return std::nullopt;
    }
  }
  for (unsigned d : findEnded(sum, c.batch))
    c.endedK.push_back(d);
  if (c.m.empty() || c.n.empty() || llvm::none_of(c.k, [&](unsigned d) { return c.isTiledK(d); }) ||
      isSegmented(sum, c.a, c.m, c.aMask, c.aWhere) || isSegmented(sum, c.b, c.n, c.bMask, c.bWhere))
    return std::nullopt;
  // A condition on data that is decided anew for every few points is a mask, not a choice of blocks.
  constexpr int64_t kSmallestBlock = 8;
  auto inBlocks = [&](unsigned d) {
    int64_t tile = findUniformTile(c.where, d);
    return tile == 0 || tile >= kSmallestBlock;
  };
  if (c.where && !(llvm::any_of(c.m, inBlocks) && llvm::any_of(c.n, inBlocks) && llvm::any_of(c.k, inBlocks))) {
    if (!llvm::all_of(splitConjuncts(c.where), [](Value part) { return findLinearBound(part).has_value(); }))
      return std::nullopt;
    c.where = {};
  }
  // The first factor carries the earlier output index, so that rows of the
  // accumulator are rows of the output.
  if (c.m.back() > c.n.back())
    c.swapOperands();
  c.aType = stripWidening(c.a).getType();
  c.bType = stripWidening(c.b).getType();
  c.aUnsigned = isZeroExtended(c.a);
  c.bUnsigned = isZeroExtended(c.b);
  c.unitType = findUnitType(c.a, c.b, sum.term.getType());
  return c;
}

namespace {

/// How well tiles of a product suit a matrix unit, compared lexicographically: whether one takes its factors, whether tiles can
/// have the reduced points of one of its instructions, how many factors run in memory along an index that tiles have several
/// points of, and how many reduced points tiles can have.
using Rank = std::tuple<bool, bool, int, int64_t>;
Rank rankOf(const Summation &sum, const Contraction &c) {
  constexpr int64_t kLeast = 16, kMany = 64; // (of a size that is not known)
  int64_t points = 1;
  SmallVector<unsigned> tiled(c.m);
  llvm::append_range(tiled, c.n);
  for (unsigned d : c.k)
    if (c.isTiledK(d)) {
      auto constant = dyn_cast<AffineConstantExpr>(getExtents(sum.op).getResult(d));
      points = std::min(kMany, points * (constant ? std::max<int64_t>(1, constant.getValue()) : kMany));
      tiled.push_back(d);
    }
  int runs = 0;
  for (Value factor : {c.a, c.b})
    if (ReadOp read = findOperandRead(factor))
      runs += runsAlong(read, tiled);
  return {bool(c.unitType), points >= kLeast, runs, points};
}

} // namespace

Summation::Summation(ReduceOp reduce)
    : op(reduce), kind(reduce.getKind()), term(reduce.getYield().getValues()[0]), where(reduce.getYield().getCondition()),
      condition(reduce.getCondition()), parallel(reduce.getNumParallel()), dims(reduce.getNumDims()), own(parallel, true) {}

Summation::Summation(CascadeOp cascade, unsigned component)
    : op(cascade), kind(cascade.getComponentKind(component)), term(cascade.getElementValue(component)),
      where(cascade.getYield().getCondition()), condition(cascade.getCondition()), parallel(cascade.getNumParallel()),
      dims(cascade.getNumDims()), own(parallel) {
  for (unsigned d : cascade.getOwnDims(component))
    own.set(d);
}

namespace {

std::optional<Contraction> findProduct(const Summation &sum) {
  Operation *last = sum.term.getDefiningOp();
  if (sum.kind != Combiner::Sum || !last || !isa<arith::MulFOp, arith::MulIOp>(last))
    return std::nullopt;
  // Scales by themselves where that frees operands for a matrix unit, or makes a product at all.
  SmallVector<Factor> factors = findFactorsOf(sum);
  auto scaledBy = [&](const Factor &a, const Factor &b) -> std::optional<Contraction> {
    Contraction c;
    c.where = sum.where;
    return takeScales(sum, factors, a, b, c) ? classify(sum, c) : std::nullopt;
  };
  auto isWhole = [&](const Factor &f) { return f.reduced.count() == sum.dims - sum.parallel; };
  SmallVector<const Factor *> whole;
  for (const Factor &f : factors)
    if (isWhole(f))
      whole.push_back(&f);
  std::optional<Contraction> found = whole.size() == 2 ? scaledBy(*whole[0], *whole[1]) : std::nullopt;
  if (found && found->unitType)
    return found;
  Contraction written;
  written.where = sum.where;
  written.a = last->getOperand(0);
  written.b = last->getOperand(1);
  std::optional<Contraction> plain = classify(sum, written);
  if (plain && plain->unitType)
    return plain;
  // Else operands that have some of the reduced indices each: where a matrix unit takes them, or nothing else makes a product.
  constexpr size_t kMostFactors = 8;
  std::optional<Rank> best;
  std::optional<Contraction> pair;
  for (size_t i = 0; factors.size() <= kMostFactors && i < factors.size(); ++i)
    for (size_t j = i + 1; j < factors.size(); ++j)
      if (std::optional<Contraction> c = scaledBy(factors[i], factors[j])) {
        Rank rank = rankOf(sum, *c);
        if (best && rank <= *best)
          continue;
        best = rank;
        pair = c;
      }
  if (pair && pair->unitType)
    return pair;
  if (plain && plain->ownK.empty())
    return plain;
  return found ? found : pair ? pair : plain;
}

} // namespace

std::optional<Contraction> findContraction(ReduceOp reduce) {
  bool isElsewhere = reduce.getInit() || reduce.getOutMap();
  if ((isElsewhere && !reduce.getInSet()) || // (a set's sum that blocks add to memory starts at zero)
      !getStreamedDims(reduce).empty() || findScan(reduce))
    return std::nullopt;
  return findProduct(reduce);
}

std::optional<Contraction> findContraction(CascadeOp cascade, unsigned component) { return findProduct(Summation(cascade, component)); }

} // namespace kernelc::te
