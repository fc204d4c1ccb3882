// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See IndexModel.h.
#include "frontend/IndexModel.h"

using namespace mlir;

namespace kernelc::frontend {

/// Nodes of one subscript beyond this many are taken for any number: each costs a few proofs.
constexpr unsigned kMaxModelled = 64;

static bool isSignedInt(Ty t) { return t == Ty::I32 || t == Ty::I64 || t == Ty::IntLit; }

AffineExpr IndexModel::of(const Node *n) {
  if (n->affine)
    return n->affine;
  if (AffineExpr e = known.lookup(n))
    return e;
  if (known.size() >= kMaxModelled)
    return unknownOf(n);
  known[n] = unknown(); // counts it
  return known[n] = build(n);
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
    return unknown();
  int64_t values = int64_t(1) << elementBits(t), lowest = isSignedInteger(t) ? -values / 2 : 0;
  return between(constant(lowest), constant(lowest + values - 1));
}

AffineExpr IndexModel::build(const Node *n) {
  AffineExpr zero = getAffineConstantExpr(0, context);
  if (n->kind == Node::Cast) {
    const Node *from = n->ops[0];
    if (!isInt(from->type) && from->type != Ty::Bool)
      return unknownOf(n);
    // A cast keeps what fits.
    AffineExpr e = of(from), wrapped = unknownOf(n);
    if (n->castTo == ElementType::i64 && from->type != Ty::U64)
      return e;
    unsigned bits = elementBits(n->castTo);
    if (kernelc::isFloat(n->castTo) || bits > 32)
      return wrapped;
    int64_t values = int64_t(1) << bits, lowest = isSignedInteger(n->castTo) ? -values / 2 : 0;
    return isNatural(e - lowest) && isNatural(-e + (lowest + values - 1)) ? e : wrapped;
  }
  bool exact = n->type == Ty::I64 || n->type == Ty::IntLit; // index arithmetic does not wrap
  if (!isSignedInt(n->type) || llvm::any_of(n->ops, [](Node *o) { return !isSignedInt(o->type) && o->type != Ty::Bool; }))
    return unknownOf(n);
  if (n->ops.empty() || n->kind == Node::Read || n->kind == Node::Reduce)
    return unknownOf(n);
  AffineExpr a = of(n->ops[0]), b = n->ops.size() > 1 ? of(n->ops[1]) : AffineExpr();
  auto shift = [&]() -> int64_t { // by a number
    return n->ops[1]->kind == Node::ConstInt && n->ops[1]->intValue >= 0 && n->ops[1]->intValue <= 30 ? n->ops[1]->intValue : -1;
  };
  switch (n->kind) {
  case Node::Neg: return exact ? -a : unknownOf(n);
  case Node::Add: return exact ? a + b : unknownOf(n);
  case Node::Sub: return exact ? a - b : unknownOf(n);
  case Node::Mul: {
    if (!exact)
      return unknownOf(n);
    if (isa<AffineConstantExpr>(a) || isa<AffineConstantExpr>(b))
      return a * b;
    constexpr int64_t kLargest = int64_t(1) << 31; // the product of two such does not wrap
    bool natural = llvm::all_of(ArrayRef{a, b}, [&](AffineExpr e) { return isNatural(e) && isNatural(-e + kLargest); });
    return between(natural ? zero : AffineExpr(), {});
  }
  case Node::Mod: return isNatural(b - 1) ? between(zero, b - 1) : unknownOf(n);
  case Node::FloorDiv:
    if (auto c = dyn_cast<AffineConstantExpr>(b); c && c.getValue() > 0)
      return a.floorDiv(b);
    return isNatural(a) && isNatural(b) ? between(zero, a) : unknownOf(n);
  case Node::Shr:
    if (shift() >= 0)
      return a.floorDiv(int64_t(1) << shift());
    return isNatural(a) ? between(zero, a) : unknownOf(n);
  case Node::Shl: return exact && shift() >= 0 ? a * (int64_t(1) << shift()) : unknownOf(n);
  case Node::BitAnd: {
    bool first = isNatural(a), second = isNatural(b);
    if (!first && !second)
      return unknownOf(n);
    AffineExpr e = between(zero, first ? a : b);
    if (first && second)
      prover.assume(b - e);
    return e;
  }
  case Node::BitOr:
  case Node::BitXor: return isNatural(a) && isNatural(b) ? between(zero, a + b) : unknownOf(n);
  case Node::Min: {
    AffineExpr e = between(isNatural(a) && isNatural(b) ? zero : AffineExpr(), a);
    prover.assume(b - e);
    return e;
  }
  case Node::Max: {
    AffineExpr e = between(a, {});
    prover.assume(e - b);
    return e;
  }
  case Node::Select: {
    AffineExpr c = of(n->ops[2]);
    if (isNatural(b - c) || isNatural(c - b)) {
      bool isLess = isNatural(c - b);
      return between(isLess ? b : c, isLess ? c : b);
    }
    return between(isNatural(b) && isNatural(c) ? zero : AffineExpr(), {});
  }
  case Node::Math:
    if (n->callee == "abs" && exact)
      return isNatural(a) ? a : isNatural(-a) ? -a : between(zero, {});
    return unknownOf(n);
  default: return unknownOf(n);
  }
}

} // namespace kernelc::frontend
