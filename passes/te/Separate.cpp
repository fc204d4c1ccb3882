// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/Separate.h"

#include "ir/te/Combiners.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "passes/analysis/Contraction.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace kernelc::te {
namespace {

/// A sum of values with constant coefficients.
struct LinearForm {
  llvm::MapVector<Value, double> terms;
  double constant = 0;
};

/// A product: of what depends on the index alone, on earlier results alone, on both by one exponential, and others.
struct Product {
  struct Terms {
    SmallVector<Value> factors, divisors;
    bool empty() const { return factors.empty() && divisors.empty(); }
  };
  Terms terms;
  Operation *rounding = nullptr; ///< the widening of a narrowed product, which has the exponential and `rounded`
  Terms rounded;
  SmallVector<Value> free, freeDivisors, exponentials, mixed;
  bool negative = false;
  bool isPlain() const { return terms.empty() && !rounding && free.empty() && freeDivisors.empty(); }
};

class Separator {
public:
  Separator(const Chain &chain, Separation &into) : chain_(chain), into_(into) {}

  std::optional<Inseparable> run() {
    into_.members.resize(chain_.members.size());
    for (unsigned m = 0; m < chain_.members.size(); ++m) {
      member_ = m;
      isContraction_ = findContraction(chain_.members[m]).has_value();
      failed_ = nullptr;
      Value term = chain_.terms[m];
      if (isPure(term))
        into_.members[m] = {addPure(m, term)};
      else if (chain_.kindOf(m) != Combiner::Sum || !isa<FloatType>(term.getType()))
        return Inseparable{m, term.getDefiningOp()};
      else if (!separateSum(term, false))
        return Inseparable{m, failed_};
    }
    return std::nullopt;
  }

private:
  //===- What a value depends on -===//

  /// The block's arguments that `v` depends on.
  const llvm::BitVector &supportOf(Value v) {
    if (auto it = support_.find(v); it != support_.end())
      return it->second;
    llvm::BitVector own(chain_.block->getNumArguments());
    if (auto arg = dyn_cast<BlockArgument>(v)) {
      if (arg.getOwner() == chain_.block)
        own.set(arg.getArgNumber());
    } else if (Operation *op = v.getDefiningOp(); op->getBlock() == chain_.block) {
      for (Value operand : op->getOperands())
        own |= supportOf(operand);
    }
    return support_[v] = own;
  }
  /// Whether it depends on no earlier result.
  bool isPure(Value v) { return supportOf(v).find_first_in(chain_.dims, chain_.block->getNumArguments()) < 0; }
  /// Whether it is free of the index.
  bool isFree(Value v) { return chain_.parallel == chain_.dims || supportOf(v).find_first_in(chain_.parallel, chain_.dims) < 0; }

  /// A member that uses nothing earlier. The maximum of u times a positive number is that number times the maximum of u.
  Part addPure(unsigned m, Value term) {
    Component c{chain_.kindOf(m), Motion::Stays, term};
    auto product = term.getDefiningOp<arith::MulFOp>();
    bool isExtreme = c.kind == Combiner::Max || c.kind == Combiner::Min;
    for (unsigned i : {0u, 1u})
      if (Value f = product && isExtreme && !c.factor ? product->getOperand(i) : Value(); f && supportOf(f).none() && isPositive(f)) {
        c.factor = f;
        c.term = product->getOperand(1 - i);
      }
    Part part{add(c)};
    if (c.factor)
      part.factors.push_back(c.factor);
    return part;
  }
  /// Whether it is above zero, or NaN.
  static bool isPositive(Value v) {
    if (std::optional<double> c = constantOf(v))
      return *c > 0;
    auto rsqrt = v.getDefiningOp<math::RsqrtOp>();
    return rsqrt && (isPositive(rsqrt.getOperand()) || rsqrt.getOperand().getDefiningOp<arith::UIToFPOp>() ||
                     rsqrt.getOperand().getDefiningOp<arith::SIToFPOp>()); // (of a number below zero it is NaN)
  }

  bool fail(Value at) {
    Operation *op = at.getDefiningOp();
    failed_ = op ? op : chain_.terms[member_].getDefiningOp();
    return false;
  }

  //===- Forms -===//

  static std::optional<double> constantOf(Value v) {
    FloatAttr f;
    return matchPattern(v, m_Constant(&f)) ? std::optional(f.getValueAsDouble()) : std::nullopt;
  }

  void addLinear(Value v, double by, LinearForm &form) {
    Operation *op = v.getDefiningOp();
    if (std::optional<double> c = constantOf(v)) {
      form.constant += by * *c;
      return;
    }
    if (isa_and_nonnull<arith::AddFOp, arith::SubFOp>(op)) {
      addLinear(op->getOperand(0), by, form);
      return addLinear(op->getOperand(1), isa<arith::SubFOp>(op) ? -by : by, form);
    }
    if (isa_and_nonnull<arith::NegFOp>(op))
      return addLinear(op->getOperand(0), -by, form);
    if (isa_and_nonnull<arith::MulFOp>(op))
      for (unsigned i : {0u, 1u})
        if (std::optional<double> c = constantOf(op->getOperand(i)))
          return addLinear(op->getOperand(1 - i), by * *c, form);
    if (isa_and_nonnull<arith::DivFOp>(op))
      if (std::optional<double> c = constantOf(op->getOperand(1)); c && *c != 0)
        return addLinear(op->getOperand(0), by / *c, form);
    form.terms[v] += by;
  }
  LinearForm linearForm(Value v) {
    LinearForm form;
    addLinear(v, 1, form);
    return form;
  }
  /// Whether a = κ b.
  static bool isMultiple(LinearForm a, const LinearForm &b, double scale) {
    auto isZero = [&](double rest, double of) { return std::abs(rest) <= 1e-9 * std::abs(of); };
    for (auto &[v, c] : b.terms) {
      a.terms[v] -= scale * c;
      if (!isZero(a.terms[v], scale * c))
        return false;
      a.terms.erase(v);
    }
    return isZero(a.constant - scale * b.constant, scale * b.constant) &&
           llvm::all_of(a.terms, [](auto &entry) { return entry.second == 0; });
  }

  /// `inside`: of the narrowed product.
  void addFactors(Value v, bool divides, Product &p, bool inside = false) {
    Product::Terms &terms = inside ? p.rounded : p.terms;
    if (isPure(v))
      return (divides ? terms.divisors : terms.factors).push_back(v);
    if (isFree(v))
      return (divides ? p.freeDivisors : p.free).push_back(v);
    Operation *op = v.getDefiningOp();
    // A cast that feeds only a contraction states a precision: what is free of the index leaves it, too.
    if (auto narrowed = isa<arith::ExtFOp>(op) ? op->getOperand(0).getDefiningOp<arith::TruncFOp>() : arith::TruncFOp();
        narrowed && !divides && !p.rounding && isContraction_) {
      p.rounding = op;
      return addFactors(narrowed.getIn(), divides, p, true);
    }
    if (isa<arith::MulFOp>(op)) {
      addFactors(op->getOperand(0), divides, p, inside);
      return addFactors(op->getOperand(1), divides, p, inside);
    }
    if (isa<arith::DivFOp>(op) && !isQuotient(op)) {
      addFactors(op->getOperand(0), divides, p, inside);
      return addFactors(op->getOperand(1), !divides, p, inside);
    }
    if (isa<arith::NegFOp>(op)) {
      p.negative = !p.negative;
      return addFactors(op->getOperand(0), divides, p, inside);
    }
    bool exponential = isa<math::ExpOp, math::Exp2Op>(op) && !divides;
    (exponential ? p.exponentials : p.mixed).push_back(v);
  }

  //===- Earlier results -===//

  /// The one earlier result that `v` depends on, whose component it is as it stands.
  std::optional<unsigned> onlyMember(Value v) {
    std::optional<unsigned> found;
    for (unsigned m = 0; m < chain_.members.size(); ++m)
      if (supportOf(v).test(chain_.dims + m)) {
        if (found)
          return std::nullopt;
        found = m;
      }
    return found && isDirect(*found) ? found : std::nullopt;
  }
  /// Whether member m is a component that uses nothing earlier, or that times its factor.
  bool isDirect(unsigned m) {
    ArrayRef<Part> parts = into_.members[m];
    return parts.size() == 1 && into_.components[parts[0].component].motion == Motion::Stays && !parts[0].negative &&
           (parts[0].factors.empty() || into_.components[parts[0].component].factor) && parts[0].divisors.empty();
  }
  unsigned componentOf(unsigned m) { return into_.members[m][0].component; }

  /// v / x, where x is the maximum of |v|: at most one, whichever points x has seen.
  bool isQuotient(Operation *op) {
    auto x = dyn_cast<BlockArgument>(op->getOperand(1));
    std::optional<unsigned> m = x && !isPure(x) ? onlyMember(x) : std::nullopt;
    if (!m || chain_.kindOf(*m) != Combiner::Max)
      return false;
    auto size = chain_.terms[*m].getDefiningOp<math::AbsFOp>();
    Value v = op->getOperand(0), of = size ? size.getOperand() : Value();
    if (auto own = v.getDefiningOp<math::AbsFOp>())
      v = own.getOperand();
    return of && of == v;
  }

  //===- Families -===//

  unsigned add(Component c) {
    into_.components.push_back(std::move(c));
    return into_.components.size() - 1;
  }
  unsigned findOrAdd(const Component &c) {
    for (auto [n, o] : llvm::enumerate(into_.components))
      if (o.kind == c.kind && o.motion == c.motion && o.term == c.term && o.member == c.member && o.power == c.power &&
          o.exponential == c.exponential && (c.motion != Motion::Stays || !c.term))
        return n;
    return add(c);
  }

  bool separateSum(Value v, bool negative) {
    auto done = [&](Part part) {
      part.negative ^= negative;
      into_.members[member_].push_back(std::move(part));
      return true;
    };
    if (isPure(v))
      return done(Part{add({Combiner::Sum, Motion::Stays, v})});
    if (isFree(v))
      return fail(v);
    Product p;
    addFactors(v, false, p);
    if (std::optional<Part> part = matchMoment(p))
      return done(*part);
    if (std::optional<Part> part = matchPower(p))
      return done(*part);
    if (p.exponentials.size() == 1) {
      if (std::optional<Part> part = matchExponential(p, v.getLoc()))
        return done(*part);
      return fail(p.mixed.empty() ? p.exponentials[0] : p.mixed[0]);
    }
    if (std::optional<Part> part = matchFree(p, v.getLoc()))
      return done(*part);
    Operation *op = v.getDefiningOp();
    if (isa<arith::AddFOp, arith::SubFOp>(op))
      return separateSum(op->getOperand(0), negative) && separateSum(op->getOperand(1), negative ^ isa<arith::SubFOp>(op));
    return fail(!p.mixed.empty() ? p.mixed[0] : p.exponentials.size() > 1 ? p.exponentials[1] : v);
  }

  /// Whether `form` is a multiple of v - x, for one earlier result x that is the maximum or minimum of v; by how much, and which.
  std::optional<std::pair<double, unsigned>> matchDifference(LinearForm form) {
    std::optional<unsigned> m;
    for (auto &[leaf, c] : form.terms)
      if (!isPure(leaf)) {
        std::optional<unsigned> only = isa<BlockArgument>(leaf) ? onlyMember(leaf) : std::nullopt;
        if (m || !only)
          return std::nullopt;
        m = only;
      }
    if (!m || (chain_.kindOf(*m) != Combiner::Max && chain_.kindOf(*m) != Combiner::Min))
      return std::nullopt;
    double scale = -form.terms[chain_.argument(*m)];
    form.terms.erase(chain_.argument(*m));
    if (scale == 0 || !isMultiple(form, linearForm(chain_.terms[*m]), scale))
      return std::nullopt;
    return std::pair(scale, *m);
  }

  /// The earlier results that `y` is the largest or the smallest of, beside others free of the index.
  void collectExtremes(Value y, Combiner kind, SmallVectorImpl<Value> &into) {
    Operation *op = y.getDefiningOp();
    if (kind == Combiner::Max ? isa_and_nonnull<arith::MaximumFOp>(op) : isa_and_nonnull<arith::MinimumFOp>(op))
      for (Value v : op->getOperands())
        collectExtremes(v, kind, into);
    else if (isa<BlockArgument>(y) && !isPure(y))
      into.push_back(y);
  }

  /// What an exponent is a multiple of: v - x, or v - y, where y is the larger (smaller) one of x and others; by how much, which
  /// result x is, and y.
  struct Exponent {
    double scale;
    unsigned member;
    Value beside;
  };
  std::optional<Exponent> matchExponent(const LinearForm &form) {
    if (auto plain = matchDifference(form))
      return Exponent{plain->first, plain->second, Value()};
    for (auto &[y, c] : form.terms)
      for (Combiner kind : {Combiner::Max, Combiner::Min}) {
        if (isPure(y) || !isFree(y) || isa<BlockArgument>(y))
          continue;
        SmallVector<Value> extremes;
        collectExtremes(y, kind, extremes);
        for (Value x : extremes) {
          LinearForm of = form;
          of.terms.erase(y);
          of.terms[x] += c;
          auto found = matchDifference(of);
          if (found && chain_.kindOf(found->second) == kind)
            return Exponent{found->first, found->second, y};
        }
      }
    return std::nullopt;
  }

  /// exp(κ (v - x)) w (λ (v - x))^p; with a y beside x, exp(κ (x - y)) leaves the sum.
  std::optional<Part> matchExponential(const Product &p, Location loc) {
    Operation *exponential = p.exponentials[0].getDefiningOp();
    std::optional<Exponent> exponent = matchExponent(linearForm(exponential->getOperand(0)));
    if (!exponent || !llvm::all_equal(p.mixed) || (exponent->beside && !p.mixed.empty()))
      return std::nullopt;
    auto [scale, m, beside] = *exponent;
    if (chain_.kindOf(m) == Combiner::Max ? scale < 0 : scale > 0)
      return std::nullopt; // terms would be larger than one, for some of the points
    Component c{Combiner::Sum, Motion::Exponential, p.exponentials[0], m, componentOf(m), scale, p.exponentials[0]};
    if (!p.mixed.empty()) {
      auto factor = matchDifference(linearForm(p.mixed[0]));
      if (!factor || factor->second != m)
        return std::nullopt;
      c.shift = factor->first;
    }
    Part part{0, p.negative, p.free, p.freeDivisors, std::nullopt, Value()};
    if (beside)
      part.outside = exponentialOfDistance(exponential, scale, chain_.argument(m), beside);
    bool hasFactor = !p.terms.empty() || p.rounding;
    if (hasFactor || !p.mixed.empty())
      part.plain = findOrAdd(c);
    for (unsigned power = 0; power <= p.mixed.size(); ++power) {
      Component of = c;
      of.power = power;
      if (power > 0 || hasFactor) {
        of.weighted = true;
        of.term = product(p, power, loc);
      }
      of.lower = c.lower;
      part.component = findOrAdd(of);
      c.lower.push_back(part.component);
    }
    return part;
  }

  /// w, times what is free of the index: that leaves the sum.
  std::optional<Part> matchFree(const Product &p, Location loc) {
    if (!p.mixed.empty() || !p.exponentials.empty() || (p.rounding && !hasRangeOfF32(p.rounding->getOperand(0).getType())))
      return std::nullopt;
    Part part{add({Combiner::Sum, Motion::Stays, product(p, 0, loc)}), p.negative, p.free, p.freeDivisors};
    if (chain_.mayBeEmpty) {
      Component count{Combiner::Sum, Motion::Stays, Value()};
      for (unsigned m = 0; m <= member_; ++m) // of the dims that fewest have
        if (isa<FloatType>(chain_.terms[m].getType()) && chain_.own[m].size() < chain_.own[count.member].size())
          count.member = m;
      if (!isa<FloatType>(chain_.terms[count.member].getType()))
        count.member = member_;
      part.count = findOrAdd(count);
    }
    return part;
  }
  /// Whether what was in range beside a free factor is in range without it, as f32's are.
  static bool hasRangeOfF32(Type type) { return type.isBF16() || type.isF32(); }

  /// exp(κ (x - y)), of the base of `like`.
  Value exponentialOfDistance(Operation *like, double scale, Value x, Value y) {
    OpBuilder b(chain_.block, chain_.block->getTerminator()->getIterator());
    Location loc = like->getLoc();
    Value d = arith::SubFOp::create(b, loc, x, y);
    if (scale != 1)
      d = arith::MulFOp::create(b, loc, d, arith::ConstantOp::create(b, loc, b.getFloatAttr(d.getType(), scale)));
    return isa<math::ExpOp>(like) ? math::ExpOp::create(b, loc, d).getResult() : math::Exp2Op::create(b, loc, d).getResult();
  }

  /// The product without what leaves the sum, and with `power` of its differences.
  Value product(const Product &p, unsigned power, Location loc) {
    OpBuilder b(chain_.block, chain_.block->getTerminator()->getIterator());
    Value v = p.exponentials.empty() ? Value() : p.exponentials[0];
    auto multiply = [&](const Product::Terms &terms) {
      for (Value w : terms.factors)
        v = v ? arith::MulFOp::create(b, loc, v, w).getResult() : w;
      if (!v && !terms.divisors.empty())
        v = arith::ConstantOp::create(b, loc, b.getFloatAttr(terms.divisors[0].getType(), 1));
      for (Value w : terms.divisors)
        v = arith::DivFOp::create(b, loc, v, w);
    };
    multiply(p.rounded);
    for (unsigned i = 0; i < power; ++i)
      v = arith::MulFOp::create(b, loc, v, p.mixed[0]);
    if (p.rounding) {
      v = arith::TruncFOp::create(b, loc, p.rounding->getOperand(0).getType(), v);
      v = arith::ExtFOp::create(b, loc, p.rounding->getResult(0).getType(), v);
    }
    multiply(p.terms);
    return v;
  }

  /// (v / x)^p.
  std::optional<Part> matchPower(const Product &p) {
    if (p.mixed.empty() || !p.exponentials.empty() || !p.isPlain())
      return std::nullopt;
    Operation *quotient = p.mixed[0].getDefiningOp();
    if (!isa_and_nonnull<arith::DivFOp>(quotient) || !isQuotient(quotient) || !llvm::all_equal(p.mixed))
      return std::nullopt;
    unsigned m = *onlyMember(quotient->getOperand(1));
    OpBuilder b(chain_.block, chain_.block->getTerminator()->getIterator());
    Value term = p.mixed[0];
    for (size_t i = 1; i < p.mixed.size(); ++i)
      term = arith::MulFOp::create(b, quotient->getLoc(), term, p.mixed[0]);
    Component c{Combiner::Sum, Motion::Power, term, m, componentOf(m)};
    c.power = p.mixed.size();
    return Part{add(c), p.negative};
  }

  /// s / n or s · c, with n and c free of all reductions; null where it is neither.
  std::optional<unsigned> sumMultiple(Value y) {
    Operation *op = y.getDefiningOp();
    if (!isa_and_nonnull<arith::DivFOp, arith::MulFOp>(op))
      return std::nullopt;
    Value s = op->getOperand(0), by = op->getOperand(1);
    if (isa<arith::MulFOp>(op) && isPure(s))
      std::swap(s, by);
    if (!isa<BlockArgument>(s) || isPure(s) || !isPure(by) || !isFree(by))
      return std::nullopt;
    return onlyMember(s);
  }

  /// (v - y)^p, where y is a multiple of the sum of v.
  std::optional<Part> matchMoment(const Product &p) {
    constexpr size_t kMost = 4;
    if (p.mixed.size() < 2 || p.mixed.size() > kMost || !p.exponentials.empty() || !p.isPlain() || !llvm::all_equal(p.mixed))
      return std::nullopt;
    auto difference = p.mixed[0].getDefiningOp<arith::SubFOp>();
    if (!difference)
      return std::nullopt;
    Value v = difference.getLhs(), y = difference.getRhs();
    bool turned = isPure(y);
    if (turned)
      std::swap(v, y);
    if (!isPure(v) || !isFree(y))
      return std::nullopt;
    std::optional<unsigned> m = sumMultiple(y);
    if (!m || chain_.kindOf(*m) != Combiner::Sum || chain_.terms[*m] != v)
      return std::nullopt;
    Component count{Combiner::Sum, Motion::Stays, Value()};
    count.member = *m;
    unsigned n = findOrAdd(count);
    SmallVector<unsigned> lower;
    for (unsigned power = 2; power <= p.mixed.size(); ++power) {
      Component c{Combiner::Sum, Motion::Moment, v, *m, componentOf(*m)};
      c.power = power;
      c.count = n;
      c.lower = lower;
      lower.push_back(findOrAdd(c));
    }
    Part part{lower.back(), bool(p.negative ^ (turned && p.mixed.size() % 2))};
    part.center = y;
    return part;
  }

  const Chain &chain_;
  Separation &into_;
  unsigned member_ = 0;
  bool isContraction_ = false; ///< that member
  Operation *failed_ = nullptr;
  llvm::DenseMap<Value, llvm::BitVector> support_;
};

} // namespace

std::optional<Inseparable> separate(const Chain &chain, Separation &into) { return Separator(chain, into).run(); }

} // namespace kernelc::te
