// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/CascadeWriter.h"

#include "ir/te/Combiners.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/Definitions.h"
#include "passes/analysis/Reduction.h"

#include <limits>
#include <numbers>

using namespace mlir;

namespace kernelc::te {
namespace {

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
    if (c.motion != Motion::Stays || !c.term) // (which points it sums may depend on every dim of the member)
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

  /// A region of points: the first `indices` of the chain's dims, and the components.
  Block &openOver(Region &region, unsigned indices, IRMapping &mapping) {
    Block &block = open(region, indices, 1);
    for (unsigned d = 0; d < indices; ++d)
      mapping.map(chain_.block->getArgument(d), block.getArgument(d));
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

  /// What the program calls x, of a component that it is a multiple of.
  Value asMember(const Component &c, Value x, IRMapping &mapping) {
    Value factor = s_.components[c.reference].factor;
    return factor ? times(x, cloneValue(factor, mapping, b_)) : x;
  }

  /// exp(κ f (v - x)), f the factor of the component that x is; base two is the instruction that units have. The terms are at most one,
  /// and one of them is: what is lost below the smallest normal number is nothing beside it.
  Value exponential(const Component &c, Value v, Value x, IRMapping &mapping) {
    bool natural = isa<math::ExpOp>(c.exponential.getDefiningOp());
    Value scale = constant(v.getType(), c.scale * (natural ? std::numbers::log2e : 1)), exponent;
    if (Value factor = s_.components[c.reference].factor) {
      // (What the program rounds, f v and f x, pays for the rounding of one product here.)
      scale = times(cloneValue(factor, mapping, b_), scale);
      Value least = arith::NegFOp::create(b_, loc(), times(x, scale));
      exponent = math::FmaOp::create(b_, loc(), v, scale, least);
    } else {
      exponent = times(minus(v, x), scale);
    }
    return math::Exp2Op::create(b_, loc(), exponent, arith::FastMathFlags::afn);
  }

  bool isWeighted(Value exponential) {
    return llvm::any_of(s_.components, [&](const Component &c) { return c.weighted && c.exponential == exponential; });
  }

  /// Whether the terms of a component are NaN while its reference says nothing, though their exponentials count as zero.
  bool isNanAtFirst(const Component &c) { return c.motion == Motion::Exponential && !c.weighted && isWeighted(c.exponential); }
  Value nan(Type type) { return constant(type, std::numeric_limits<double>::quiet_NaN()); }

  void writeElement(CascadeOp op) {
    OpBuilder::InsertionGuard guard(b_);
    IRMapping mapping;
    Block &block = openOver(op.getElement(), chain_.dims, mapping);
    auto component = [&](unsigned k) { return block.getArgument(chain_.dims + k); };
    for (const Component &c : s_.components) {
      if (c.motion == Motion::Power)
        mapping.map(chain_.argument(c.member), component(c.reference));
      if (c.motion == Motion::Exponential && !mapping.contains(c.exponential)) {
        mapping.map(chain_.argument(c.member), asMember(c, component(c.reference), mapping));
        Value v = cloneValue(s_.components[c.reference].term, mapping, b_), x = component(c.reference);
        if (isWeighted(c.exponential)) // while x says nothing, every v is what x is, and its exponential zero
          x = choose(isEqual(x, singular(c)), constant(x.getType(), 0), x);
        mapping.map(c.exponential, exponential(c, v, x, mapping));
      }
    }
    SmallVector<Value> terms;
    for (auto [k, c] : llvm::enumerate(s_.components)) {
      if (!c.term) {
        terms.push_back(constant(types_[k], 1));
      } else if (c.motion == Motion::Moment) {
        Value v = cloneValue(c.term, mapping, b_);
        terms.push_back(power(minus(v, over(component(c.reference), component(c.count))), c.power));
      } else {
        // While x says nothing, a term counts as zero times its factor: of the factor's NaN it stays one. Without a factor it is NaN; where
        // every result has a term, that is said at the end, once for all of them.
        Value v = cloneValue(c.term, mapping, b_);
        if (isNanAtFirst(c) && chain_.mayBeEmpty)
          v = choose(isEqual(component(c.reference), singular(c)), nan(v.getType()), v);
        terms.push_back(v);
      }
    }
    YieldOp::create(b_, loc(), terms, chain_.where ? cloneValue(chain_.where, mapping, b_) : Value());
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
      IRMapping mapping;
      Value zero = constant(types_[k], 0), by;
      if (c.motion == Motion::Power) {
        by = power(over(x, y), c.power);
      } else {
        by = exponential(c, x, y, mapping);
      }
      Value isZero = isEqual(a, zero), sum = a;
      if (c.motion == Motion::Exponential && c.power > 0) {
        Value d = times(minus(asMember(c, x, mapping), asMember(c, y, mapping)), constant(types_[k], c.shift));
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
    IRMapping mapping;
    Block &block = openOver(op.getFinalize(), chain_.parallel, mapping);
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

  /// Whether `v` is NaN for certain while component `reference` says nothing.
  bool isNanWith(Value v, unsigned reference) {
    if (auto at = nanAt_.find(v); at != nanAt_.end())
      return at->second == reference;
    Operation *op = v.getDefiningOp();
    return isa_and_nonnull<arith::MulFOp, arith::DivFOp, arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::ExtFOp, arith::TruncFOp>(op) &&
           llvm::any_of(op->getOperands(), [&](Value operand) { return isNanWith(operand, reference); });
  }

  /// What a part of a member comes to, but for its sign.
  Value valueOf(const Part &part, IRMapping &mapping, llvm::function_ref<Value(unsigned)> component) {
    const Component &c = s_.components[part.component];
    Value sum = component(part.component), v = sum, isEmpty;
    auto isZero = [&](Value x) { return isEqual(x, constant(x.getType(), 0)); };
    if (part.count)
      isEmpty = isZero(component(*part.count));
    auto clone = [&](Value f) { return cloneValue(f, mapping, b_); };
    SmallVector<Value> factors = llvm::map_to_vector(part.factors, clone), divisors = llvm::map_to_vector(part.divisors, clone);
    bool isNan = false;
    if (c.motion == Motion::Exponential) {
      // Where x says nothing, every term is NaN, if there is one.
      Value none = isEqual(component(c.reference), singular(c)), plain = part.plain ? component(*part.plain) : sum;
      if (!chain_.mayBeEmpty && (isNanAtFirst(c) || (part.plain && isNanAtFirst(s_.components[*part.plain])))) {
        plain = nan(sum.getType());
        if (!part.plain)
          v = choose(none, plain, v);
        else if (!part.outside && llvm::any_of(llvm::concat<Value>(factors, divisors), [&](Value f) { return isNanWith(f, c.reference); }))
          plain = v; // it will be
        isNan = !part.outside;
      }
      if (part.outside || chain_.mayBeEmpty)
        isEmpty = arith::AndIOp::create(b_, loc(), none, isZero(plain));
      if (part.outside) { // all terms of the program are what the factor is there, times their own factors
        Value outside = cloneValue(part.outside, mapping, b_);
        v = choose(none, part.plain ? plus(v, outside) : outside, times(v, outside));
      } else if (part.plain && plain != v) {
        v = choose(none, plain, v);
      }
    }
    if (c.motion == Motion::Moment) {
      Value n = component(c.count), center = cloneValue(part.center, mapping, b_);
      v = moveMoment(c, v, n, minus(over(component(c.reference), n), center), component);
    }
    for (Value f : factors)
      v = times(v, f);
    for (Value f : divisors)
      v = over(v, f);
    if (isNan)
      nanAt_[v] = c.reference;
    bool isMultiple = part.outside || !part.factors.empty() || !part.divisors.empty();
    return isEmpty && isMultiple ? choose(isEmpty, sum, v) : v; // nothing comes to zero, whatever the factors
  }

  const Chain &chain_;
  Separation &s_;
  ReduceOp first_;
  OpBuilder b_;
  SmallVector<Type> types_;
  SmallVector<SmallVector<unsigned>> own_;        ///< per component
  SmallVector<std::optional<unsigned>> memberOf_; ///< per component
  llvm::DenseMap<Value, unsigned> nanAt_;         ///< parts of results that are NaN while this component says nothing
};

} // namespace

CascadeOp writeCascade(const Chain &chain, Separation &separation) { return CascadeWriter(chain, separation).write(); }

} // namespace kernelc::te
