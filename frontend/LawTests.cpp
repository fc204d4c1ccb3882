// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/LawTests.h"

#include <cmath>
#include <random>

#include "frontend/ScalarProgram.h"
#include "llvm/ADT/STLExtras.h"

namespace kernelc::frontend {
namespace {

using State = llvm::SmallVector<Number, 4>;

constexpr size_t kAll = 64;      ///< so many states: all triples
constexpr size_t kPairs = 288;   ///< so many: all pairs
constexpr size_t kElements = 72; ///< to try of large domains
constexpr size_t kStates = 160;
constexpr size_t kTriples = 4000;
constexpr size_t kThirds = 8; ///< third states beside all pairs

class Tester {
public:
  Tester(const ReducerForm &form, llvm::ArrayRef<Node *> element)
      : form_(form), program_(form.combined), leaves_(findLeaves(element)), makesElement_(element, leaves_), random_(20251125) {
    for (Node *n : form.identity) {
      identity_.emplace_back();
      ScalarProgram(n).run({}, identity_.back());
    }
  }

  LawReport run() {
    if (!program_.isKnown() || !makesElement_.isKnown()) {
      report_.laws = {false, false, false};
      report_.text = name() + " has operations that the compiler does not evaluate, so that its laws are not known";
      return finish();
    }
    makeElements();
    makeStates();
    testIdentity();
    testPairs();
    testTriples();
    return finish();
  }

private:
  std::string name() const { return "reducer '" + form_.def->name.str() + "'"; }
  size_t count() const { return form_.types.size(); }

  State combine(const State &a, const State &b) const {
    State both(a), result(count());
    both.append(b.begin(), b.end());
    program_.run(both, result);
    return result;
  }

  //===- States -===//

  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }

  Number random(ElementType t) {
    Number v;
    int64_t wide = int64_t(random_());
    int how = int(pick(0, 3));
    if (kernelc::isFloat(t)) {
      bool isSmall = elementBits(t) <= 16;
      double x = how == 0   ? double(pick(-8, 8))
                 : how == 1 ? double(pick(-1000, 1000)) / 64
                 : how == 2 ? std::ldexp(double(pick(-1000000, 1000000)) / 1000000, int(pick(isSmall ? -4 : -30, isSmall ? 4 : 30)))
                            : double(pick(-200, 200));
      v.f = t == ElementType::f64 ? x : isSmall ? fromF16(toF16(x)) : float(x);
      return v;
    }
    int64_t x = how == 0 ? pick(-8, 8) : how == 1 ? pick(-1000, 1000) : how == 2 ? wide : wide % 100000;
    return ofType(x, t);
  }

  static Number ofType(int64_t x, ElementType t) {
    Number v;
    int bits = t == ElementType::boolean ? 1 : elementBits(t);
    if (bits < 64) {
      uint64_t low = uint64_t(x) & ((uint64_t(1) << bits) - 1);
      x = isSignedInteger(t) && (low >> (bits - 1)) ? int64_t(low) - (int64_t(1) << bits) : int64_t(low);
    }
    v.i = x;
    return v;
  }

  static Number real(long double f) {
    Number v;
    v.f = f;
    return v;
  }

  /// Values of a type that mistakes are likely at.
  static std::vector<Number> specials(ElementType t) {
    std::vector<Number> all;
    if (kernelc::isFloat(t)) {
      double most = t == ElementType::f64    ? 1.7976931348623157e308
                    : t == ElementType::f32  ? 3.4028234663852886e38
                    : t == ElementType::bf16 ? 3.3895313892515355e38
                    : t == ElementType::f16  ? 65504
                                             : 448;
      for (double x : {0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, -2.5, 7.0, 10.0, 100.0, -100.0, most, -most, double(INFINITY),
                       -double(INFINITY), double(NAN)})
        all.push_back(real(x));
      return all;
    }
    int64_t low = elementBits(t) == 64 ? (isSignedInteger(t) ? std::numeric_limits<int64_t>::min() : 0) : lowestOf(t);
    int64_t high = elementBits(t) == 64 ? (isSignedInteger(t) ? std::numeric_limits<int64_t>::max() : -1) : highestOf(t);
    for (int64_t x : {int64_t(0), int64_t(1), int64_t(-1), int64_t(2), int64_t(3), int64_t(5), int64_t(7), int64_t(10), int64_t(100), low,
                      high, low + 1, high - 1})
      all.push_back(ofType(x, t));
    return all;
  }

  /// The type of what a leaf of the elements gives.
  static ElementType typeOf(const Node *leaf) {
    if (leaf->kind == Node::Read || leaf->kind == Node::ScalarParam)
      return leaf->tensor->element;
    return leaf->narrow ? *leaf->narrow : elementOf(leaf->type);
  }

  /// The values that a leaf has: all of them, or specials (`isAll` is false then).
  static std::vector<Number> valuesOf(const Node *leaf, bool &isAll) {
    ElementType t = typeOf(leaf);
    std::vector<Number> all;
    if (!kernelc::isFloat(t) && (t == ElementType::boolean || elementBits(t) <= 8)) {
      for (int64_t x = lowestOf(t); x <= highestOf(t); ++x)
        all.push_back(ofType(x, t));
      return all;
    }
    isAll = false;
    if (leaf->kind != Node::Index && leaf->kind != Node::Size)
      return specials(t);
    for (int64_t x : {0, 1, 2, 3, 4, 5, 9, 1000, 123456})
      all.push_back(ofType(x, t));
    return all;
  }

  void addElement(const std::vector<Number> &leaves) {
    State s(count());
    makesElement_.run(leaves, s);
    elements_.push_back(std::move(s));
  }

  void makeElements() {
    bool isAll = true;
    std::vector<std::vector<Number>> values;
    size_t combinations = 1;
    for (Node *leaf : leaves_) {
      values.push_back(valuesOf(leaf, isAll));
      combinations = std::min<size_t>(combinations * values.back().size(), kPairs + 1);
    }
    std::vector<Number> at(leaves_.size());
    if (combinations <= kPairs && (isAll || leaves_.size() == 1)) {
      addAll(values, at, 0);
      if (isAll)
        return;
    }
    isExhaustive_ = false;
    auto any = [&](size_t k) { return values[k][size_t(pick(0, int64_t(values[k].size()) - 1))]; };
    auto isFree = [&](size_t k) { return leaves_[k]->kind != Node::Index && leaves_[k]->kind != Node::Size; };
    auto anyOrRandom = [&](size_t k, bool special) { return isFree(k) && !special ? random(typeOf(leaves_[k])) : any(k); };
    for (size_t k = 0; k < leaves_.size() && elements_.size() < 2 * kElements; ++k)
      for (const Number &v : values[k]) { // each special beside others that are none
        for (size_t j = 0; j < leaves_.size(); ++j)
          at[j] = j == k ? v : anyOrRandom(j, false);
        addElement(at);
      }
    for (size_t n = 0; n < kElements; ++n) {
      for (size_t j = 0; j < leaves_.size(); ++j)
        at[j] = anyOrRandom(j, pick(0, 2) == 0);
      addElement(at);
    }
  }

  void addAll(const std::vector<std::vector<Number>> &values, std::vector<Number> &at, size_t k) {
    if (k == at.size())
      return addElement(at);
    for (const Number &v : values[k]) {
      at[k] = v;
      addAll(values, at, k + 1);
    }
  }

  bool isSame(const State &a, const State &b) const {
    for (size_t k = 0; k < count(); ++k)
      if (kernelc::isFloat(form_.types[k]) ? !(a[k].f == b[k].f || (std::isnan(a[k].f) && std::isnan(b[k].f))) : a[k].i != b[k].i)
        return false;
    return true;
  }

  void addState(State s) {
    for (Number &v : s)
      v.vague = false;
    if (llvm::none_of(states_, [&](const State &o) { return isSame(o, s); }))
      states_.push_back(std::move(s));
  }

  void makeStates() {
    addState(identity_);
    for (const State &s : elements_)
      addState(s);
    if (isExhaustive_ && states_.size() <= kPairs) { // all that they combine to
      for (size_t n = 0; n < states_.size() && states_.size() <= kPairs; ++n)
        for (size_t m = 0; m <= n && states_.size() <= kPairs; ++m) {
          addState(combine(states_[n], states_[m]));
          addState(combine(states_[m], states_[n]));
        }
      return;
    }
    size_t own = states_.size();
    for (size_t n = 0; n < kStates; ++n) {
      State s = states_[size_t(pick(0, int64_t(own) - 1))];
      for (int64_t steps = pick(1, 3); steps > 0; --steps)
        s = combine(s, states_[size_t(pick(0, int64_t(own) - 1))]);
      bool vague = llvm::any_of(s, [](const Number &v) { return v.vague; });
      if (!vague)
        addState(s);
    }
  }

  //===- Laws -===//

  /// Looks for numbers that are not finite in the states: `own`, infinities that stand in the identity, too; `other`, the rest, NaN among
  /// them.
  void classify(llvm::ArrayRef<const State *> states, bool &own, bool &other) const {
    own = other = false;
    for (const State *s : states)
      for (size_t k = 0; k < count(); ++k)
        if (kernelc::isFloat(form_.types[k]) && !std::isfinite((*s)[k].f))
          ((*s)[k].f == identity_[k].f ? own : other) = true;
  }

  static long double unitOf(ElementType t) {
    switch (t) {
    case ElementType::f64: return 0x1p-52L;
    case ElementType::f32: return 0x1p-23L;
    case ElementType::f16: return 0x1p-10L;
    case ElementType::bf16: return 0x1p-7L;
    default: return 0x1p-2L;
    }
  }

  /// Whether results differ by more than rounding; what is vague counts only where `isStrict`.
  bool differ(const State &x, const State &y, llvm::ArrayRef<const State *> from, bool isStrict) const {
    long double scale = 0;
    auto measure = [&](const State &s) {
      for (size_t k = 0; k < count(); ++k)
        if (kernelc::isFloat(form_.types[k]) && std::isfinite(s[k].f))
          scale = std::max(scale, std::fabs(s[k].f));
    };
    measure(x);
    measure(y);
    for (const State *s : from)
      measure(*s);
    for (size_t k = 0; k < count(); ++k) {
      if (!isStrict && (x[k].vague || y[k].vague))
        continue;
      if (!kernelc::isFloat(form_.types[k])) {
        if (x[k].i != y[k].i)
          return true;
        continue;
      }
      long double a = x[k].f, b = y[k].f;
      if (std::isnan(a) != std::isnan(b))
        return true;
      if (a == b || std::isnan(a))
        continue;
      if (std::isinf(a) || std::isinf(b) || std::fabs(a - b) > 16 * unitOf(form_.types[k]) * scale)
        return true;
    }
    return false;
  }

  void testIdentity() {
    for (const State &x : states_)
      for (bool left : {true, false}) {
        State r = left ? combine(identity_, x) : combine(x, identity_);
        bool own, other;
        classify({&x}, own, other);
        if (!differ(r, x, {}, /*isStrict=*/!other))
          continue;
        report_.laws.neutral = false;
        add("its identity " + print(identity_) + " is not neutral: " + call(left ? identity_ : x, left ? x : identity_) + " is " +
            print(r));
        return;
      }
  }

  void testPairs() {
    size_t n = states_.size(), pairs = isExhaustive_ && n <= kPairs ? n * n : kTriples;
    for (size_t at = 0; at < pairs; ++at) {
      bool all = isExhaustive_ && n <= kPairs;
      const State &a = states_[all ? at / n : size_t(pick(0, int64_t(n) - 1))],
                  &b = states_[all ? at % n : size_t(pick(0, int64_t(n) - 1))];
      State ab = combine(a, b), ba = combine(b, a);
      bool own, other;
      classify({&a, &b}, own, other);
      if (!differ(ab, ba, {&a, &b}, own && !other))
        continue;
      report_.laws.commutative = false;
      add("it is not commutative: " + call(a, b) + " is " + print(ab) + ", " + call(b, a) + " is " + print(ba));
      return;
    }
  }

  bool breaksAssociativity(const State &a, const State &b, const State &c) {
    State ab = combine(a, b), bc = combine(b, c), left = combine(ab, c), right = combine(a, bc);
    // What is vague on the way is so at the end.
    auto vague = [](const State &s) { return llvm::any_of(s, [](const Number &v) { return v.vague; }); };
    bool own, other;
    classify({&a, &b, &c}, own, other);
    bool isStrict = own && !other;
    if ((!isStrict && (vague(ab) || vague(bc))) || !differ(left, right, {&a, &b, &c, &ab, &bc}, isStrict))
      return false;
    report_.laws.associative = false;
    add("it is not associative: with a = " + print(a) + ", b = " + print(b) + ", c = " + print(c) + " combining a and b first gives " +
        print(left) + ", b and c first " + print(right));
    return true;
  }

  void testTriples() {
    size_t n = states_.size();
    auto any = [&]() -> const State & { return states_[size_t(pick(0, int64_t(n) - 1))]; };
    if (n <= kAll) {
      for (const State &a : states_)
        for (const State &b : states_)
          for (const State &c : states_)
            if (breaksAssociativity(a, b, c))
              return;
      return;
    }
    if (isExhaustive_ && n <= kPairs)
      for (const State &a : states_)
        for (const State &b : states_)
          for (size_t third = 0; third < kThirds; ++third)
            if (breaksAssociativity(a, b, any()))
              return;
    for (size_t t = 0; t < kTriples; ++t)
      if (breaksAssociativity(any(), any(), any()))
        return;
  }

  //===- Text -===//

  std::string print(const State &s) const {
    std::string text;
    for (size_t k = 0; k < count(); ++k)
      text += (k ? ", " : "") + frontend::print(s[k], form_.types[k]);
    return form_.isScalar() ? text : "(" + text + ")";
  }
  std::string call(const State &a, const State &b) const { return form_.def->name.str() + " of " + print(a) + " and " + print(b); }

  void add(const std::string &sentence) { report_.text += report_.text.empty() ? name() + ": " + sentence : "; " + sentence; }

  LawReport finish() {
    if (!report_.laws.isMonoid())
      report_.text += "; it runs in the order of the index from its identity, never split or padded";
    else if (!report_.laws.commutative)
      report_.text += "; what is reduced in parts keeps its order";
    return report_;
  }

  const ReducerForm &form_;
  ScalarProgram program_;
  llvm::SmallVector<Node *> leaves_; ///< what elements are computed from
  ScalarProgram makesElement_;
  std::mt19937_64 random_;
  State identity_;
  std::vector<State> elements_, states_;
  bool isExhaustive_ = true;
  LawReport report_;
};

} // namespace

LawReport testLaws(const ReducerForm &form, llvm::ArrayRef<Node *> element) { return Tester(form, element).run(); }

} // namespace kernelc::frontend
