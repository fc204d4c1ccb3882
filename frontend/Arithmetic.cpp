// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Core nodes: making, folding, and the integer algebra that goes with them.
#include <cmath>

#include "frontend/Elaborate.h"
#include "support/FloorDivide.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

/// Integers beyond this stay out of the index algebra, where they could overflow.
constexpr unsigned kMaxAffineHeight = 48;

/// Conditions of more parts are not turned round by 'not': those of functions may share parts many times.
constexpr int kMaxTurnedRound = 32;

/// Takes the parts of a condition from `left`; whether they were so few.
bool countOf(const Node *n, int &left) {
  return --left >= 0 &&
         ((n->kind != Node::And && n->kind != Node::Or) || llvm::all_of(n->ops, [&](const Node *o) { return countOf(o, left); }));
}

/// Holds what two integers of 64 bits give under any operator but a wide shift.
using Wide = __int128;

/// The value of an operator of two numbers; nothing where it is no constant.
std::optional<double> evaluate(Node::Kind kind, double a, double b) {
  switch (kind) {
  case Node::Neg: return -a;
  case Node::Add: return a + b;
  case Node::Sub: return a - b;
  case Node::Mul: return a * b;
  case Node::Div: return a / b;
  case Node::FloorDiv: return std::floor(a / b);
  case Node::Mod: { // with the sign of the divisor, as Python's
    double r = std::fmod(a, b);
    return r == 0 ? std::copysign(0.0, b) : (r < 0) != (b < 0) ? r + b : r;
  }
  case Node::Min: return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
  case Node::Max: return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
  case Node::Pow: return std::pow(a, b);
  default: return std::nullopt;
  }
}

/// Of integers that have a width; shift counts are taken modulo 64.
std::optional<Wide> evaluateWrapping(Node::Kind kind, int64_t a, int64_t b) {
  switch (kind) {
  case Node::Neg: return -Wide(a);
  case Node::Add: return Wide(a) + b;
  case Node::Sub: return Wide(a) - b;
  case Node::Mul: return Wide(a) * b;
  case Node::FloorDiv: return b == -1 ? -Wide(a) : Wide(floorDivide(a, b));
  case Node::Mod: return b == 0 || b == -1 ? Wide(0) : Wide(a) - Wide(floorDivide(a, b)) * b;
  case Node::BitAnd: return Wide(a & b);
  case Node::BitOr: return Wide(a | b);
  case Node::BitXor: return Wide(a ^ b);
  case Node::Shl: return Wide(int64_t(uint64_t(a) << (b & 63)));
  case Node::Shr: return Wide(a >> (b & 63));
  case Node::Min: return Wide(std::min(a, b));
  case Node::Max: return Wide(std::max(a, b));
  default: return std::nullopt;
  }
}

/// Of literals, which have none: a shift multiplies or divides by a power of two. What no 64 bits hold is any number beyond them.
std::optional<Wide> evaluateExactly(Node::Kind kind, int64_t a, int64_t b) {
  if (kind == Node::Shl)
    return b <= 64 ? Wide(a) * (Wide(1) << b) : a == 0 ? Wide(0) : std::numeric_limits<Wide>::max();
  if (kind == Node::Shr)
    return Wide(a >> std::min<int64_t>(b, 63));
  return evaluateWrapping(kind, a, b);
}

bool hasDims(AffineExpr e) {
  bool found = false;
  e.walk([&](AffineExpr x) { found |= x.getKind() == AffineExprKind::DimId; });
  return found;
}

StringRef spellingOf(Node::Kind kind) {
  switch (kind) {
  case Node::Add: return "+";
  case Node::Sub: return "-";
  case Node::Mul: return "*";
  case Node::Div: return "/";
  case Node::FloorDiv: return "//";
  case Node::Mod: return "%";
  case Node::BitAnd: return "&";
  case Node::BitOr: return "|";
  case Node::BitXor: return "^";
  case Node::Shl: return "<<";
  case Node::Shr: return ">>";
  case Node::Min: return "min";
  default: return "max";
  }
}

} // namespace

Node *Elaborator::make(Node::Kind kind, Ty type, Loc loc) {
  Node &n = kernel.nodes.emplace_back();
  n.kind = kind;
  n.type = type;
  n.loc = at(loc);
  return &n;
}

Node *Elaborator::makeInt(int64_t v, Ty type, Loc loc) {
  Node *n = make(Node::ConstInt, type, loc);
  n->intValue = v;
  if (isUnsigned(type)) // these are bits: the index algebra is signed
    return n;
  n->pureIndex = true;
  if (std::abs(v) <= kMaxAffineConstant && v != std::numeric_limits<int64_t>::min())
    n->affine = getAffineConstantExpr(v, context());
  return n;
}

Node *Elaborator::makeFloat(double v, Ty type, Loc loc) {
  Node *n = make(Node::ConstFloat, type, loc);
  n->floatValue = v;
  return n;
}

Node *Elaborator::makeBool(bool v, Loc loc) {
  Node *n = make(Node::ConstBool, Ty::Bool, loc);
  n->intValue = v;
  return n;
}

Node *Elaborator::makeIdentity(te::Combiner kind, ElementType element, Loc loc) {
  using C = te::Combiner;
  Ty type = widened(element);
  bool f = isFloat(type);
  if (type == Ty::Bool && kind == C::Xor)
    return makeBool(false, loc);
  switch (kind) {
  case C::Sum:
  case C::Or:
  case C::Xor: return f ? makeFloat(0, type, loc) : makeInt(0, type, loc);
  case C::Prod: return f ? makeFloat(1, type, loc) : makeInt(1, type, loc);
  case C::And: return makeInt(-1, type, loc);
  case C::All: return makeBool(true, loc);
  case C::Any: return makeBool(false, loc);
  default: break;
  }
  bool isMax = kind == C::Max || kind == C::MaxU;
  if (f)
    return makeFloat(isMax ? -INFINITY : INFINITY, type, loc);
  if (isUnsigned(type))
    return makeInt(isMax ? 0 : -1, type, loc);
  if (type == Ty::I64)
    return makeInt(isMax ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max(), type, loc);
  return makeInt(isMax ? lowestOf(element) : highestOf(element), type, loc);
}

Node *Elaborator::makeAffine(AffineExpr e, Loc loc) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return makeInt(c.getValue(), Ty::I64, loc);
  Node *n = make(Node::Size, Ty::I64, loc);
  n->affine = e;
  n->pureIndex = true;
  return n;
}

Node *Elaborator::makeCompare(arith::CmpIPredicate p, Node *a, Node *b, Loc loc) {
  if (a->type == Ty::Bool && b->type == Ty::Bool) {
    if (p != arith::CmpIPredicate::eq && p != arith::CmpIPredicate::ne) {
      error(loc) << "conditions have no order; use '==', '!=', 'and', 'or'";
      return nullptr;
    }
  } else if (!unify(a, b, loc, "a comparison")) {
    return nullptr;
  }
  if (a->kind == Node::ConstInt && b->kind == Node::ConstInt && !isUnsigned(a->type))
    return makeBool(arith::applyCmpPredicate(p, APInt(64, a->intValue, true), APInt(64, b->intValue, true)), loc);
  if (isLiteral(a->type)) {
    a = concrete(a);
    b = concrete(b);
    if (!unify(a, b, loc, "a comparison"))
      return nullptr;
  }
  // k < min(a, b) of indices is k < a and k < b, which the index algebra knows.
  using P = arith::CmpIPredicate;
  bool less = p == P::slt || p == P::sle, greater = p == P::sgt || p == P::sge;
  if (a->pureIndex && b->pureIndex && (less || greater)) {
    SmallVector<Node *> left = boundsOf(a, less ? Node::Max : Node::Min), right = boundsOf(b, less ? Node::Min : Node::Max), parts;
    if (left.size() + right.size() > 2) {
      for (Node *l : left)
        for (Node *r : right)
          parts.push_back(makeCompare(p, l, r, loc));
      return makeAnd(parts, loc);
    }
  }
  Node *n = make(Node::Cmp, Ty::Bool, loc);
  n->predicate = p;
  n->ops = {a, b};
  return n;
}

Node *Elaborator::makeNot(Node *n, Loc loc) {
  int left = kMaxTurnedRound;
  bool isSmall = countOf(n, left);
  if (n->kind == Node::ConstBool)
    return makeBool(!n->intValue, loc);
  if (n->kind == Node::Not)
    return n->ops[0];
  if (n->kind == Node::Cmp && !isFloat(n->ops[0]->type)) { // neither of < and >= holds of a NaN
    Node *turned = make(Node::Cmp, Ty::Bool, loc);
    turned->ops = n->ops;
    turned->predicate = arith::invertPredicate(n->predicate);
    return turned;
  }
  if (isSmall && (n->kind == Node::And || n->kind == Node::Or)) {
    Node *either = make(n->kind == Node::And ? Node::Or : Node::And, Ty::Bool, loc);
    either->ops = {makeNot(n->ops[0], loc), makeNot(n->ops[1], loc)};
    return either;
  }
  Node *opposite = make(Node::Not, Ty::Bool, loc);
  opposite->ops.push_back(n);
  return opposite;
}

Node *Elaborator::makeAnd(ArrayRef<Node *> parts, Loc loc) {
  Node *n = nullptr;
  for (Node *p : parts) {
    if (p->kind == Node::ConstBool) {
      if (!p->intValue)
        return p;
      continue;
    }
    if (!n) {
      n = p;
      continue;
    }
    Node *both = make(Node::And, Ty::Bool, loc);
    both->ops = {n, p};
    n = both;
  }
  return n ? n : makeBool(true, loc);
}

/// The count's type does not matter to the result, but to a literal, which has none of its own.
bool Elaborator::unifyShift(Node *&a, Node *&b, Loc loc, StringRef what) {
  if (!isInt(a->type) || !isInt(b->type)) {
    error(loc) << "'" << what << "' shifts bits and needs integers, not " << name(isInt(a->type) ? b->type : a->type)
               << "; write a cast, as in i32(..), or '* 2 ** n'";
    return false;
  }
  if (a->type == Ty::IntLit && b->type == Ty::IntLit && b->kind == Node::ConstInt && b->intValue < 0) {
    error(loc) << "'" << what << "' of a literal takes a count that is not negative, not " << b->intValue;
    return false;
  }
  if (a->type == Ty::IntLit && b->type != Ty::IntLit && !(a = convert(a, b->type)))
    return false;
  if (b->type != a->type) {
    bool isConst = b->kind == Node::ConstInt;
    b = isConst ? makeInt(b->intValue, a->type, b->loc) : castTo(b, elementOf(a->type), b->loc);
  }
  return b;
}

void Elaborator::reportFloatBits(Node::Kind kind, Node *a, Node *b, Loc loc) {
  auto d = error(loc);
  d << "'" << spellingOf(kind) << "' works on bits and needs integers, not " << name(isFloat(a->type) ? a->type : b->type);
  if (kind == Node::BitXor)
    d << "; a power is written '**'";
  else
    d << "; write a cast, as in i32(..)" << (kind == Node::BitAnd ? ", or 'and' between conditions" : ", or 'or' between conditions");
}

/// Of literals it is a real number.
bool Elaborator::divideIntegers(Node *&a, Node *&b, Loc loc) {
  if (a->type == Ty::IntLit && a->isConst() && b->isConst()) {
    a = convert(a, Ty::FloatLit);
    b = convert(b, Ty::FloatLit);
    return true;
  }
  auto d = error(loc);
  d << "'/' of integers; write '//' for the floor";
  if (!a->pureIndex || !b->pureIndex || !(inSubscript || inInteger))
    d << ", or a cast, as in f32(..)";
  return false;
}

/// The type below 32 bits that what `kind` makes of two values keeps to; they have `x` and `y`.
static std::optional<ElementType> narrowOf(Node::Kind kind, Node *a, Node *b, std::optional<ElementType> x, std::optional<ElementType> y) {
  auto literalFits = [&](std::optional<ElementType> narrow, Node *lit) {
    return narrow && lit->kind == Node::ConstInt && lit->intValue >= 0 &&
           lit->intValue < (int64_t(1) << (elementBits(*narrow) - (isSignedInteger(*narrow) ? 1 : 0)));
  };
  std::optional<ElementType> narrow;
  if (llvm::is_contained({Node::BitAnd, Node::BitOr, Node::BitXor, Node::Min, Node::Max}, kind)) {
    if ((x && y && *x == *y) || literalFits(x, b))
      narrow = x;
    if (literalFits(y, a))
      narrow = y;
  }
  // x & 255 is a u8 whatever x is.
  if (kind == Node::BitAnd)
    for (Node *o : {a, b})
      if (o->kind == Node::ConstInt && o->intValue >= 0 && o->intValue <= 0xffff && !narrow)
        narrow = o->intValue <= 15 ? ElementType::u4 : o->intValue <= 255 ? ElementType::u8 : ElementType::u16;
  // An unsigned narrow value masked, shifted right, divided or reduced stays small.
  bool shrinks = kind == Node::Shr || kind == Node::FloorDiv || kind == Node::Mod;
  if (shrinks && x && isUnsignedInteger(*x) && b->kind == Node::ConstInt && b->intValue > 0)
    narrow = x;
  return narrow;
}

Node *Elaborator::makeBinary(Node::Kind kind, Node *a, Node *b, Loc loc) {
  StringRef what = spellingOf(kind);
  bool bitwise = kind == Node::BitAnd || kind == Node::BitOr || kind == Node::BitXor;
  bool bothBool = a->type == Ty::Bool && b->type == Ty::Bool;
  if (bothBool && !bitwise) {
    a = convert(a, Ty::I32);
    b = convert(b, Ty::I32);
  }
  auto narrowA = a->narrow, narrowB = b->narrow;
  if (kind == Node::Shl || kind == Node::Shr) {
    if (!unifyShift(a, b, loc, what))
      return nullptr;
  } else if (bitwise && (isFloat(a->type) || isFloat(b->type))) {
    reportFloatBits(kind, a, b, loc);
    return nullptr;
  } else if (!unify(a, b, loc, what)) {
    return nullptr;
  }
  if (!a || !b)
    return nullptr;
  if (kind == Node::Div && !isFloat(a->type) && !divideIntegers(a, b, loc))
    return nullptr;
  Node *n = make(kind, a->type, loc);
  n->ops = {a, b};
  if (std::optional<ElementType> narrow = narrowOf(kind, a, b, narrowA, narrowB))
    n->narrow = narrow;
  fold(n);
  inferAffine(n);
  return n;
}

void Elaborator::fold(Node *n) {
  if (llvm::any_of(n->ops, [](Node *o) { return !o->isConst() || o->kind == Node::ConstBool; }))
    return;
  Node *a = n->ops[0], *b = n->ops.back();
  if (a->kind == Node::ConstFloat && (isLiteral(n->type) || n->kind == Node::Neg)) {
    if (std::optional<double> r = evaluate(n->kind, a->floatValue, b->floatValue)) {
      n->kind = Node::ConstFloat;
      n->floatValue = *r;
      n->ops.clear();
    }
    return;
  }
  if (a->kind != Node::ConstInt || (n->type != Ty::IntLit && n->type != Ty::I64))
    return;
  std::optional<Wide> exact =
      n->type == Ty::IntLit ? evaluateExactly(n->kind, a->intValue, b->intValue) : evaluateWrapping(n->kind, a->intValue, b->intValue);
  if (!exact)
    return;
  // A literal has its value; an i64 wraps.
  bool isUnsignedOnly =
      n->type == Ty::IntLit && *exact > std::numeric_limits<int64_t>::max() && *exact <= std::numeric_limits<uint64_t>::max();
  bool fits = *exact == Wide(int64_t(*exact));
  if (n->type == Ty::IntLit && !fits && !isUnsignedOnly)
    error(n->loc) << "this constant does not fit 64 bits";
  n->kind = Node::ConstInt;
  n->intValue = int64_t(*exact);
  n->ops.clear();
  if (isUnsignedOnly) {
    n->type = Ty::U64;
    return;
  }
  n->pureIndex = true;
  if (fits && std::abs(n->intValue) <= kMaxAffineConstant)
    n->affine = getAffineConstantExpr(n->intValue, context());
}

void Elaborator::inferAffine(Node *n) {
  if (n->isConst() || (n->type != Ty::I64 && n->type != Ty::IntLit))
    return;
  unsigned height = 0;
  for (Node *o : n->ops) {
    if (!o->pureIndex)
      return;
    height = std::max(height, o->affineHeight);
  }
  if (height >= kMaxAffineHeight) // plain integer arithmetic from here on
    return;
  switch (n->kind) {
  case Node::Neg:
  case Node::Add:
  case Node::Sub:
  case Node::Mul:
  case Node::FloorDiv:
  case Node::Mod:
  case Node::Min:
  case Node::Max: n->pureIndex = true; break;
  default: return;
  }
  n->affineHeight = height + 1;
  if (llvm::any_of(n->ops, [](Node *o) { return !o->affine; }))
    return;
  AffineExpr a = n->ops[0]->affine, b = n->ops.size() > 1 ? n->ops[1]->affine : AffineExpr();
  switch (n->kind) {
  case Node::Neg: n->affine = -a; break;
  case Node::Add: n->affine = a + b; break;
  case Node::Sub: n->affine = a - b; break;
  case Node::Mul:
    if (!hasDims(a) || !hasDims(b))
      n->affine = hasDims(b) ? b * a : a * b;
    break;
  case Node::FloorDiv:
  case Node::Mod:
    if (auto c = dyn_cast<AffineConstantExpr>(b)) {
      if (c.getValue() > 0)
        n->affine = n->kind == Node::Mod ? a % b : a.floorDiv(b);
    } else if (!hasDims(b)) {
      // Semi-affine: valid where the divisor is positive, which Bounds proves.
      n->affine = n->kind == Node::Mod ? a % b : a.floorDiv(b);
    }
    break;
  default: break;
  }
}

} // namespace kernelc::frontend
