// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/ScalarProgram.h"

#include <cmath>

#include "frontend/IndexModel.h"
#include "support/FloorDivide.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

using Real = long double;

Real (*functionNamed(StringRef name))(Real) {
  return llvm::StringSwitch<Real (*)(Real)>(name)
      .Case("exp", [](Real x) { return std::exp(x); })
      .Case("exp2", [](Real x) { return std::exp2(x); })
      .Case("expm1", [](Real x) { return std::expm1(x); })
      .Case("log", [](Real x) { return std::log(x); })
      .Case("log2", [](Real x) { return std::log2(x); })
      .Case("log10", [](Real x) { return std::log10(x); })
      .Case("log1p", [](Real x) { return std::log1p(x); })
      .Case("sqrt", [](Real x) { return std::sqrt(x); })
      .Case("rsqrt", [](Real x) { return 1 / std::sqrt(x); })
      .Case("cbrt", [](Real x) { return std::cbrt(x); })
      .Case("sin", [](Real x) { return std::sin(x); })
      .Case("cos", [](Real x) { return std::cos(x); })
      .Case("tan", [](Real x) { return std::tan(x); })
      .Case("asin", [](Real x) { return std::asin(x); })
      .Case("acos", [](Real x) { return std::acos(x); })
      .Case("atan", [](Real x) { return std::atan(x); })
      .Case("sinh", [](Real x) { return std::sinh(x); })
      .Case("cosh", [](Real x) { return std::cosh(x); })
      .Case("tanh", [](Real x) { return std::tanh(x); })
      .Case("asinh", [](Real x) { return std::asinh(x); })
      .Case("acosh", [](Real x) { return std::acosh(x); })
      .Case("atanh", [](Real x) { return std::atanh(x); })
      .Case("erf", [](Real x) { return std::erf(x); })
      .Case("erfc", [](Real x) { return std::erfc(x); })
      .Case("floor", [](Real x) { return std::floor(x); })
      .Case("ceil", [](Real x) { return std::ceil(x); })
      .Case("round", [](Real x) { return std::round(x); })
      .Case("rint", [](Real x) { return std::rint(x); })
      .Case("trunc", [](Real x) { return std::trunc(x); })
      .Cases({"abs", "fabs"}, [](Real x) { return std::fabs(x); })
      .Default(nullptr);
}

bool isTest(StringRef name) { return name == "isnan" || name == "isinf" || name == "isfinite"; }

bool isFloatType(Ty t) { return isFloat(t); }

/// An integer as type `t` holds it.
int64_t wrapped(int64_t v, Ty t) {
  switch (t) {
  case Ty::Bool: return v & 1;
  case Ty::I32: return int32_t(v);
  case Ty::U32: return int64_t(uint32_t(v));
  default: return v;
  }
}

int64_t wrappedTo(int64_t v, ElementType t) {
  int bits = elementBits(t);
  if (t == ElementType::boolean)
    return v != 0;
  if (bits == 64)
    return v;
  uint64_t low = uint64_t(v) & ((uint64_t(1) << bits) - 1);
  return isSignedInteger(t) && (low >> (bits - 1)) ? int64_t(low) - (int64_t(1) << bits) : int64_t(low);
}

int64_t integerOf(Real v, ElementType t) { // truncates and saturates, NaN is 0
  if (std::isnan(v))
    return 0;
  int bits = t == ElementType::boolean ? 1 : elementBits(t);
  bool isSigned = isSignedInteger(t);
  Real low = isSigned ? -std::ldexp(Real(1), bits - 1) : 0, high = std::ldexp(Real(1), bits - isSigned) - 1;
  v = std::trunc(std::min(std::max(v, low), high));
  return v > 9223372036854775807.0L ? int64_t(uint64_t(v)) : int64_t(v);
}

Real rounded(Real v, ElementType t) {
  switch (t) {
  case ElementType::f32: return float(v);
  case ElementType::f16: return fromF16(toF16(double(v)));
  case ElementType::bf16: return fromBF16(toBF16(double(v)));
  case ElementType::f8e4m3: return fromF8E4M3(toF8E4M3(double(v)));
  case ElementType::f8e5m2: return fromF8E5M2(toF8E5M2(double(v)));
  default: return v;
  }
}

Number castNumber(const Number &v, Ty from, ElementType to, Ty type) {
  Number r = v;
  if (isFloat(from) && kernelc::isFloat(to))
    r.f = rounded(v.f, to);
  else if (isFloat(from))
    r.i = wrapped(integerOf(v.f, to), type);
  else if (kernelc::isFloat(to))
    r.f = rounded(from == Ty::U64 ? Real(uint64_t(v.i)) : Real(v.i), to);
  else
    r.i = wrapped(wrappedTo(v.i, to), type);
  return r;
}

int64_t integerBinary(Node::Kind kind, int64_t a, int64_t b, Ty type) {
  uint64_t x = uint64_t(a), y = uint64_t(b);
  unsigned width = type == Ty::I64 || type == Ty::U64 ? 64 : 32;
  bool u = isUnsigned(type);
  switch (kind) {
  case Node::Add: return int64_t(x + y);
  case Node::Sub: return int64_t(x - y);
  case Node::Mul: return int64_t(x * y);
  case Node::FloorDiv: return u ? (y ? int64_t(x / y) : 0) : floorDivide(a, b);
  case Node::Mod: return b == 0 || (!u && b == -1) ? 0 : u ? int64_t(x % y) : a - floorDivide(a, b) * b;
  case Node::BitAnd: return a & b;
  case Node::BitOr: return a | b;
  case Node::BitXor: return a ^ b;
  case Node::Shl: return int64_t(x << (y % width));
  case Node::Shr: return u ? int64_t(x >> (y % width)) : a >> (y % width);
  case Node::Min: return u ? int64_t(std::min(x, y)) : std::min(a, b);
  case Node::Max: return u ? int64_t(std::max(x, y)) : std::max(a, b);
  default: return 0;
  }
}

Real floatBinary(Node::Kind kind, Real a, Real b) {
  switch (kind) {
  case Node::Add: return a + b;
  case Node::Sub: return a - b;
  case Node::Mul: return a * b;
  case Node::Div: return a / b;
  case Node::FloorDiv: return std::floor(a / b);
  case Node::Mod: {
    Real r = std::fmod(a, b);
    return r == 0 ? std::copysign(Real(0), b) : (r < 0) != (b < 0) ? r + b : r;
  }
  case Node::Min: return std::isnan(a) || std::isnan(b) ? Real(NAN) : std::min(a, b);
  case Node::Max: return std::isnan(a) || std::isnan(b) ? Real(NAN) : std::max(a, b);
  default: return std::pow(a, b);
  }
}

bool holds(arith::CmpIPredicate p, Real a, Real b) {
  using P = arith::CmpIPredicate;
  switch (p) {
  case P::eq: return a == b;
  case P::ne: return a != b;
  case P::slt: return a < b;
  case P::sle: return a <= b;
  case P::sgt: return a > b;
  default: return a >= b;
  }
}

bool holds(arith::CmpIPredicate p, int64_t a, int64_t b, bool isUnsigned) {
  if (isUnsigned)
    return holds(p, Real(uint64_t(a)), Real(uint64_t(b)));
  return holds(p, Real(a), Real(b));
}

bool isBinary(Node::Kind k) { return k >= Node::Add && k <= Node::Pow; }

} // namespace

static bool isLeaf(const Node *n) {
  return n->kind == Node::Read || n->kind == Node::ScalarParam || n->kind == Node::Reduce || n->kind == Node::Field ||
         n->kind == Node::Index || n->kind == Node::Size;
}

SmallVector<Node *> findLeaves(ArrayRef<Node *> roots) {
  SmallVector<Node *> leaves, work(roots);
  llvm::DenseMap<const Node *, bool> seen;
  while (!work.empty()) {
    Node *n = work.pop_back_val();
    if (!seen.try_emplace(n, true).second)
      continue;
    if (isLeaf(n)) {
      if (llvm::none_of(leaves, [&](Node *known) { return areSame(known, n); }))
        leaves.push_back(n);
    } else
      work.append(n->ops.begin(), n->ops.end());
  }
  return leaves;
}

ScalarProgram::ScalarProgram(ArrayRef<Node *> roots, ArrayRef<Node *> leaves) {
  llvm::DenseMap<const Node *, unsigned> numbers;
  for (auto [k, leaf] : llvm::enumerate(leaves)) {
    numbers[leaf] = unsigned(steps_.size());
    steps_.push_back({leaf, {}, nullptr, int(k)});
  }
  // Operands first; a loop, since chains are long.
  for (Node *root : roots) {
    SmallVector<Node *> work{root};
    while (!work.empty()) {
      Node *n = work.back();
      if (numbers.contains(n)) {
        work.pop_back();
        continue;
      }
      if (auto *same = llvm::find_if(leaves, [&](Node *leaf) { return isLeaf(n) && areSame(leaf, n); }); same != leaves.end()) {
        numbers[n] = unsigned(same - leaves.begin());
        work.pop_back();
        continue;
      }
      size_t before = work.size();
      for (Node *o : n->ops)
        if (!numbers.contains(o))
          work.push_back(o);
      if (work.size() > before)
        continue;
      work.pop_back();
      Step s{n, {}, nullptr, -1};
      for (Node *o : n->ops)
        s.operands.push_back(numbers.lookup(o));
      if (n->kind == Node::Math) {
        s.function = functionNamed(n->callee);
        known_ &= s.function || isTest(n->callee) || n->callee == "popcount" || n->ops.size() > 1;
      } else {
        bool isKnown = isBinary(n->kind) || n->isConst() || n->kind == Node::Param || n->kind == Node::Neg || n->kind == Node::Not ||
                       n->kind == Node::BitNot || n->kind == Node::Cmp || n->kind == Node::And || n->kind == Node::Or ||
                       n->kind == Node::Select || n->kind == Node::Cast;
        known_ &= isKnown;
      }
      numbers[n] = unsigned(steps_.size());
      steps_.push_back(std::move(s));
    }
    roots_.push_back(numbers.lookup(root));
  }
  values_.resize(steps_.size());
}

static Number evaluateMath(const Node *n, long double (*function)(long double), ArrayRef<Number> x) {
  Number r;
  if (isTest(n->callee)) {
    r.i = n->callee == "isnan" ? std::isnan(x[0].f) : n->callee == "isinf" ? std::isinf(x[0].f) : std::isfinite(x[0].f);
  } else if (n->callee == "popcount") {
    r.i = llvm::popcount(n->type == Ty::I32 || n->type == Ty::U32 ? uint64_t(uint32_t(x[0].i)) : uint64_t(x[0].i));
  } else if (!isFloatType(n->type)) { // abs
    r.i = wrapped(x[0].i < 0 && !isUnsigned(n->type) ? int64_t(0 - uint64_t(x[0].i)) : x[0].i, n->type);
  } else if (function) {
    r.f = function(x[0].f);
  } else if (n->callee == "fma") {
    r.f = x[0].f * x[1].f + x[2].f;
  } else {
    r.f = n->callee == "atan2"      ? std::atan2(x[0].f, x[1].f)
          : n->callee == "copysign" ? std::copysign(x[0].f, x[1].f)
          : n->callee == "fmod"     ? std::fmod(x[0].f, x[1].f)
                                    : std::pow(x[0].f, x[1].f);
  }
  return r;
}

Number ScalarProgram::evaluate(const Step &s, ArrayRef<Number> values, ArrayRef<Number> params) const {
  const Node *n = s.node;
  if (s.param >= 0)
    return params[size_t(s.param)];
  Number x[3], r;
  for (size_t k = 0; k < std::min<size_t>(3, s.operands.size()); ++k) {
    x[k] = values[s.operands[k]];
    r.vague |= x[k].vague;
  }
  bool floats = isFloat(n->type);
  switch (n->kind) {
  case Node::Param: return params[size_t(n->intValue)];
  case Node::ConstFloat: r.f = n->floatValue; return r;
  case Node::ConstInt:
  case Node::ConstBool:
    r.i = n->intValue;
    r.f = Real(n->intValue);
    return r;
  case Node::Not: r.i = !x[0].i; return r;
  case Node::BitNot: r.i = wrapped(~x[0].i, n->type); return r;
  case Node::And: r.i = x[0].i & x[1].i; return r;
  case Node::Or: r.i = x[0].i | x[1].i; return r;
  case Node::Select: {
    Number chosen = x[0].i ? x[1] : x[2];
    chosen.vague |= x[0].vague;
    return chosen;
  }
  case Node::Cmp: {
    Ty of = n->ops[0]->type;
    r.i = isFloat(of) ? holds(n->predicate, x[0].f, x[1].f) : holds(n->predicate, x[0].i, x[1].i, isUnsigned(of));
    return r;
  }
  case Node::Cast: {
    Number c = castNumber(x[0], n->ops[0]->type, n->castTo, n->type);
    c.vague = x[0].vague;
    return c;
  }
  case Node::Neg:
    r.f = -x[0].f;
    r.i = wrapped(int64_t(0 - uint64_t(x[0].i)), n->type);
    return r;
  case Node::Math: {
    Number m = evaluateMath(n, s.function, x);
    m.vague = r.vague;
    bool made = n->type != Ty::Bool && isFloat(n->type) && std::isnan(m.f);
    m.vague |= made;
    return m;
  }
  default: break;
  }
  if (!floats) {
    r.i = wrapped(integerBinary(n->kind, x[0].i, x[1].i, n->type), n->type);
    return r;
  }
  r.f = floatBinary(n->kind, x[0].f, x[1].f);
  bool chooses = n->kind == Node::Min || n->kind == Node::Max;
  bool byZero = (n->kind == Node::Div || n->kind == Node::FloorDiv) && x[1].f == 0;
  r.vague |= !chooses && (std::isnan(r.f) || byZero);
  return r;
}

void ScalarProgram::run(ArrayRef<Number> params, MutableArrayRef<Number> results) const {
  for (auto [k, s] : llvm::enumerate(steps_))
    values_[k] = evaluate(s, values_, params);
  for (auto [result, root] : llvm::zip(results, roots_))
    result = values_[root];
}

bool isConstant(Node *n) {
  ScalarProgram program(n);
  bool constant = program.isKnown();
  SmallVector<Node *> work{n};
  while (!work.empty() && constant) {
    Node *top = work.pop_back_val();
    constant &= top->kind != Node::Param;
    work.append(top->ops.begin(), top->ops.end());
  }
  return constant;
}

TypedAttr evaluateConstant(Node *n, Type type) {
  Number v;
  ScalarProgram(n).run({}, v);
  auto floating = dyn_cast<FloatType>(type);
  if (!floating)
    return IntegerAttr::get(type, APInt(type.getIntOrFloatBitWidth(), uint64_t(v.i), false, /*implicitTrunc=*/true));
  APFloat value{double(v.f)};
  bool lost;
  value.convert(floating.getFloatSemantics(), APFloat::rmNearestTiesToEven, &lost);
  return FloatAttr::get(type, value);
}

std::string print(const Number &v, ElementType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!kernelc::isFloat(type)) {
    if (type == ElementType::boolean)
      os << (v.i ? "True" : "False");
    else if (type == ElementType::u64)
      os << uint64_t(v.i);
    else
      os << v.i;
    return text;
  }
  if (std::isnan(v.f))
    return "nan";
  if (std::isinf(v.f))
    return v.f < 0 ? "-inf" : "inf";
  os << llvm::format("%.6g", double(v.f));
  return text;
}

} // namespace kernelc::frontend
