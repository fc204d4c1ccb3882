// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See IndexModel.h.
#include "frontend/IndexModel.h"

#include <limits>

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::frontend {

/// Nodes of one subscript beyond this many are taken for any number: each costs a few proofs.
constexpr unsigned kMaxModelled = 64;
/// No tensor has more elements.
constexpr int64_t kLargestSize = int64_t(1) << 58;

bool areSame(const Node *a, const Node *b, unsigned depth) {
  if (a == b)
    return true;
  if (depth > 16 || a->kind != b->kind || a->type != b->type || a->ops.size() != b->ops.size() || a->kind == Node::Reduce)
    return false;
  if (a->affine || b->affine)
    return a->affine == b->affine;
  if (a->intValue != b->intValue || a->index != b->index || a->tensor != b->tensor || a->predicate != b->predicate ||
      a->castTo != b->castTo || a->callee != b->callee || a->bounds != b->bounds || a->kind == Node::ConstFloat)
    return false;
  if (bool(a->padding) != bool(b->padding) || (a->padding && !areSame(a->padding, b->padding, depth + 1)))
    return false;
  return llvm::all_of(llvm::zip(a->ops, b->ops), [&](auto p) { return areSame(std::get<0>(p), std::get<1>(p), depth + 1); });
}

AffineExpr IndexModel::of(const Node *n) {
  if (n->affine)
    return n->affine;
  for (auto &[other, e] : known)
    if (areSame(n, other))
      return e;
  if (known.size() >= kMaxModelled)
    return unknownOf(n);
  size_t place = known.size();
  known.push_back({n, unknown()}); // counts it
  AffineExpr e = build(n);
  return known[place].second = e;
}

void IndexModel::assume(const Node *condition, bool negated) {
  using P = arith::CmpIPredicate;
  if (condition->kind != Node::Cmp || !isInt(condition->ops[0]->type) || !isInt(condition->ops[1]->type))
    return;
  AffineExpr a = of(condition->ops[0]), b = of(condition->ops[1]);
  switch (negated ? arith::invertPredicate(condition->predicate) : condition->predicate) {
  case P::eq: return prover.assume(a - b, true);
  case P::slt: return prover.assume(b - a - 1);
  case P::sle: return prover.assume(b - a);
  case P::sgt: return prover.assume(a - b - 1);
  case P::sge: return prover.assume(a - b);
  default: return;
  }
}

/// A number in lo..hi, either of which may be missing.
AffineExpr IndexModel::between(AffineExpr lo, AffineExpr hi) {
  AffineExpr e = unknown();
  if (lo)
    prover.assume(e - lo);
  if (hi)
    prover.assume(hi - e);
  return e;
}

/// What its type says.
AffineExpr IndexModel::unknownOf(const Node *n) {
  auto constant = [&](int64_t c) { return getAffineConstantExpr(c, context); };
  if (n->type == Ty::Bool)
    return between(constant(0), constant(1));
  ElementType t = n->narrow ? *n->narrow : elementOf(n->type);
  if (!isInt(n->type) || elementBits(t) > 32)
    return n->type == Ty::U64 ? between(constant(0), {}) : unknown();
  int64_t values = int64_t(1) << elementBits(t), lowest = isSignedInteger(t) ? -values / 2 : 0;
  return between(constant(lowest), constant(lowest + values - 1));
}

bool isOfIndicesAlone(const Node *n) {
  bool found = false;
  walk(const_cast<Node *>(n), [&](Node *o) { found |= o->kind == Node::Read || o->kind == Node::Reduce || o->kind == Node::ScalarParam; });
  return !found;
}

/// `e` where the type of `n` holds all of its values, so that it does not wrap.
AffineExpr IndexModel::ifItFits(const Node *n, AffineExpr e) {
  if ((n->type == Ty::I64 || n->type == Ty::IntLit) && isOfIndicesAlone(n)) // index arithmetic does not wrap
    return e;
  bool isWide = elementBits(elementOf(n->type)) == 64;
  int64_t values = int64_t(1) << (isWide ? 63 - 1 : 32), lowest = isUnsigned(n->type) ? 0 : -values / 2;
  Prover bounded = prover;
  if (isWide)
    for (unsigned i = 0; i < numSizes; ++i)
      bounded.assume(-getAffineSymbolExpr(i, context) + kLargestSize);
  return bounded.proves(e - lowest) && bounded.proves(-e + (lowest + values - 1)) ? e : unknownOf(n);
}

/// A cast keeps what fits.
AffineExpr IndexModel::ofCast(const Node *n) {
  const Node *from = n->ops[0];
  if (!isInt(from->type) && from->type != Ty::Bool)
    return unknownOf(n);
  AffineExpr e = of(from), wrapped = unknownOf(n);
  if (n->castTo == ElementType::i64 && from->type != Ty::U64)
    return e;
  unsigned bits = elementBits(n->castTo);
  if (kernelc::isFloat(n->castTo))
    return wrapped;
  if (bits == 64) {
    bool fits = isNatural(e) && (n->castTo == ElementType::u64 || isNatural(-e + std::numeric_limits<int64_t>::max()));
    return fits ? e : wrapped;
  }
  int64_t values = int64_t(1) << bits, lowest = isSignedInteger(n->castTo) ? -values / 2 : 0;
  return isNatural(e - lowest) && isNatural(-e + (lowest + values - 1)) ? e : wrapped;
}

AffineExpr IndexModel::ofProduct(const Node *n, AffineExpr a, AffineExpr b) {
  if (isa<AffineConstantExpr>(a) || isa<AffineConstantExpr>(b))
    return ifItFits(n, a * b);
  constexpr int64_t kLargest = int64_t(1) << 31; // the product of two such does not wrap in 64 bits
  bool isWide = n->type == Ty::I64 || n->type == Ty::IntLit || n->type == Ty::U64;
  bool natural = isWide && llvm::all_of(ArrayRef{a, b}, [&](AffineExpr e) { return isNatural(e) && isNatural(-e + kLargest); });
  return natural ? between(getAffineConstantExpr(0, context), {}) : unknownOf(n);
}

/// `a | bits`, `a ^ bits`: the bits above those of a number that is not negative stay as they are, of negative `a`, too.
AffineExpr IndexModel::ofLowBits(const Node *n, AffineExpr a, int64_t bits) {
  constexpr int64_t kMost = int64_t(1) << 30;
  if (bits < 0 || bits >= kMost || (!isNatural(a) && isUnsigned(n->type)))
    return unknownOf(n);
  int64_t block = int64_t(llvm::NextPowerOf2(uint64_t(bits)));
  AffineExpr start = a.floorDiv(block) * block, e = between(start + (n->kind == Node::BitOr ? bits : 0), start + (block - 1));
  prover.assume(n->kind == Node::BitOr ? e - a : e - (a - bits));
  prover.assume(a + bits - e);
  if (isNatural(a))
    prover.assume(e);
  return e;
}

AffineExpr IndexModel::ofBits(const Node *n, AffineExpr a, AffineExpr b) {
  AffineExpr zero = getAffineConstantExpr(0, context);
  bool first = isNatural(a), second = isNatural(b);
  if (n->kind != Node::BitAnd && (isa<AffineConstantExpr>(a) || isa<AffineConstantExpr>(b)))
    return isa<AffineConstantExpr>(a) ? ofLowBits(n, b, cast<AffineConstantExpr>(a).getValue())
                                      : ofLowBits(n, a, cast<AffineConstantExpr>(b).getValue());
  if (n->kind != Node::BitAnd)
    return first && second ? between(zero, a + b) : unknownOf(n);
  if (!first && !second)
    return unknownOf(n);
  AffineExpr e = between(zero, first ? a : b);
  if (first && second)
    prover.assume(b - e);
  return e;
}

AffineExpr IndexModel::ofChoice(const Node *n, AffineExpr a, AffineExpr b) {
  AffineExpr zero = getAffineConstantExpr(0, context);
  if (n->kind == Node::Min) {
    AffineExpr e = between(isNatural(a) && isNatural(b) ? zero : AffineExpr(), a);
    prover.assume(b - e);
    return e;
  }
  if (n->kind == Node::Max) {
    AffineExpr e = between(a, {});
    prover.assume(e - b);
    return e;
  }
  AffineExpr c = of(n->ops[2]); // a select
  if (isNatural(b - c) || isNatural(c - b)) {
    bool isLess = isNatural(c - b);
    return between(isLess ? b : c, isLess ? c : b);
  }
  return between(isNatural(b) && isNatural(c) ? zero : AffineExpr(), {});
}

AffineExpr IndexModel::build(const Node *n) {
  AffineExpr zero = getAffineConstantExpr(0, context);
  if (n->kind == Node::Cast)
    return ofCast(n);
  if (n->kind == Node::ConstInt) // of an u64 the upper half is no i64
    return n->type == Ty::U64 && n->intValue < 0 ? unknownOf(n) : getAffineConstantExpr(n->intValue, context);
  if (!isInt(n->type) || n->ops.empty() || n->kind == Node::Read || n->kind == Node::Reduce ||
      llvm::any_of(n->ops, [](Node *o) { return !isInt(o->type) && o->type != Ty::Bool; }))
    return unknownOf(n);
  AffineExpr a = of(n->ops[0]), b = n->ops.size() > 1 ? of(n->ops[1]) : AffineExpr();
  auto shift = [&]() -> int64_t { // by a number
    return n->ops[1]->kind == Node::ConstInt && n->ops[1]->intValue >= 0 && n->ops[1]->intValue <= 30 ? n->ops[1]->intValue : -1;
  };
  switch (n->kind) {
  case Node::Neg: return ifItFits(n, -a);
  case Node::Add: return ifItFits(n, a + b);
  case Node::Sub: return ifItFits(n, a - b);
  case Node::Mul: return ofProduct(n, a, b);
  case Node::Mod: return isNatural(b - 1) ? between(zero, b - 1) : unknownOf(n);
  case Node::FloorDiv:
    if (auto c = dyn_cast<AffineConstantExpr>(b); c && c.getValue() > 0)
      return a.floorDiv(b);
    return isNatural(a) && isNatural(b) ? between(zero, a) : unknownOf(n);
  case Node::Shr:
    if (shift() >= 0)
      return a.floorDiv(int64_t(1) << shift());
    return isNatural(a) ? between(zero, a) : unknownOf(n);
  case Node::Shl: return shift() >= 0 ? ifItFits(n, a * (int64_t(1) << shift())) : unknownOf(n);
  case Node::BitAnd:
  case Node::BitOr:
  case Node::BitXor: return ofBits(n, a, b);
  case Node::Min:
  case Node::Max:
  case Node::Select: return ofChoice(n, a, b);
  case Node::Math:
    if (n->callee == "abs")
      return isNatural(a) ? a : isNatural(-a) ? ifItFits(n, -a) : ifItFits(n, -a) == -a ? between(zero, {}) : unknownOf(n);
    return unknownOf(n);
  default: return unknownOf(n);
  }
}

} // namespace kernelc::frontend
