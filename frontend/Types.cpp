// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conversions and the types of operators: the rules of "Expressions and types" in
// docs/language.md.
#include <cmath>

#include "frontend/Elaborate.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

bool fitsElement(int64_t v, ElementType t) {
  int bits = elementBits(t);
  if (t == ElementType::boolean)
    return v == 0 || v == 1;
  if (isSignedInteger(t))
    return bits == 64 || (v >= -(int64_t(1) << (bits - 1)) && v < (int64_t(1) << (bits - 1)));
  return v >= 0 && (bits == 64 || v < (int64_t(1) << bits));
}

/// All values of `from` are values of `to`.
bool embeds(ElementType from, ElementType to) {
  if (from == to)
    return true;
  int f = from == ElementType::boolean ? 1 : elementBits(from);
  int t = elementBits(to);
  if (from == ElementType::boolean || isUnsignedInteger(from))
    return isUnsignedInteger(to) ? f <= t : isSignedInteger(to) && f < t;
  return isSignedInteger(from) && isSignedInteger(to) && f <= t;
}

ElementType narrowest(const Node *n) { return n->narrow ? *n->narrow : elementOf(n->type); }

bool isUnsignedNarrow(const Node *n) {
  return n->type == Ty::Bool || (n->narrow && (isUnsignedInteger(*n->narrow) || *n->narrow == ElementType::boolean));
}

} // namespace

Ty Elaborator::join(const Node *a, const Node *b) {
  Ty x = a->type, y = b->type;
  if (x == y)
    return x;
  if (x == Ty::Error || y == Ty::Error)
    return Ty::Error;
  if (isLiteral(y) && !isLiteral(x)) {
    std::swap(a, b);
    std::swap(x, y);
  }
  if (x == Ty::IntLit)
    return y == Ty::Bool ? Ty::IntLit : y;
  if (x == Ty::FloatLit)
    return isInt(y) && y != Ty::IntLit ? Ty::Error : y == Ty::IntLit || y == Ty::Bool ? Ty::FloatLit : y;
  if (x == Ty::Bool || y == Ty::Bool)
    return x == Ty::Bool ? y : x;
  if (isFloat(x) != isFloat(y))
    return Ty::Error;
  if (isFloat(x))
    return Ty::F64;
  bool wide = x == Ty::I64 || x == Ty::U64 || y == Ty::I64 || y == Ty::U64;
  if (isUnsigned(x) == isUnsigned(y))
    return isUnsigned(x) ? Ty::U64 : Ty::I64;
  const Node *s = isUnsigned(x) ? b : a;
  if (s->type == Ty::I32 && isUnsignedNarrow(s))
    return wide ? Ty::U64 : Ty::U32;
  return Ty::Error;
}

bool Elaborator::unify(Node *&a, Node *&b, Loc loc, StringRef what) {
  Ty t = join(a, b);
  if (t == Ty::Error) {
    if (a->type == Ty::Error || b->type == Ty::Error)
      return false;
    auto d = error(loc);
    std::string subject = what.contains(' ') ? what.str() : ("'" + what + "'").str();
    if (isFloat(a->type) != isFloat(b->type)) {
      Ty f = isFloat(a->type) ? a->type : b->type;
      d << subject << " mixes " << name(a->type) << " with " << name(b->type) << "; write a cast, as in "
        << (isLiteral(f) ? "f32" : name(f)) << "(..) of the integer";
    } else {
      d << subject << " mixes signed " << name(isUnsigned(a->type) ? b->type : a->type) << " with unsigned "
        << name(isUnsigned(a->type) ? a->type : b->type) << "; cast one of them, as in " << name(isUnsigned(a->type) ? a->type : b->type)
        << "(..) of the signed one";
    }
    return false;
  }
  a = convert(a, t);
  b = convert(b, t);
  return a && b;
}

void Elaborator::reportUnfit(const Node *n, ElementType element) {
  StringRef type(elementTypeName(element).data(), elementTypeName(element).size());
  auto d = error(n->loc);
  d << n->intValue << " does not fit " << type;
  if (elementBits(element) < 64)
    d << ", which holds " << lowestOf(element) << " to " << highestOf(element) << "; a cast wraps it, as in " << type << "(" << n->intValue
      << ")";
}

Node *Elaborator::convert(Node *n, Ty to) {
  if (!n || n->type == to)
    return n;
  if (n->kind == Node::ConstInt && (n->type != Ty::U32 && n->type != Ty::U64) && isInt(to)) {
    Ty from = n->type;
    if (from == Ty::IntLit && !fitsElement(n->intValue, elementOf(to)) && to != Ty::IntLit) {
      reportUnfit(n, elementOf(to));
      return nullptr;
    }
    Node *c = makeInt(n->intValue, to, n->loc);
    c->narrow = n->narrow;
    return c;
  }
  if (isLiteral(n->type) && n->isConst()) {
    double v = n->kind == Node::ConstFloat ? n->floatValue : double(n->intValue);
    if (isFloat(to))
      return makeFloat(v, to, n->loc);
    error(n->loc) << "a float where " << name(to) << " is needed; write a cast, as in " << name(to) << "(..)";
    return nullptr;
  }
  if (isLiteral(n->type)) { // a tree over literals adapts as a whole
    if (n->type == Ty::FloatLit && !isFloat(to)) {
      error(n->loc) << "a float where " << name(to) << " is needed; write a cast";
      return nullptr;
    }
    Node *copy = make(n->kind, to, n->loc);
    *copy = *n;
    copy->type = to;
    copy->narrow.reset();
    bool logicOps = n->kind == Node::Cmp;
    for (auto [i, op] : llvm::enumerate(copy->ops)) {
      if (logicOps || (n->kind == Node::Select && i == 0))
        continue;
      if (isLiteral(op->type) || op->type == Ty::Bool)
        if (!(op = convert(op, to)))
          return nullptr;
    }
    return copy;
  }
  if (n->kind == Node::ConstBool && !isFloat(to))
    return makeInt(n->intValue, to, n->loc);
  if (n->kind == Node::ConstBool)
    return makeFloat(n->intValue, to, n->loc);
  bool allowed = n->type == Ty::Bool || (isFloat(n->type) && isFloat(to) && to == Ty::F64) || (isInt(n->type) && isInt(to));
  if (!allowed) {
    error(n->loc) << "cannot use " << name(n->type) << " as " << name(to) << "; write a cast, as in " << name(to) << "(..)";
    return nullptr;
  }
  if (to == Ty::IntLit)
    to = Ty::I32;
  if (to == Ty::FloatLit)
    to = Ty::F32;
  Node *c = make(Node::Cast, to, n->loc);
  c->ops.push_back(n);
  c->castTo = elementOf(to);
  c->narrow = n->type == Ty::Bool ? std::optional(ElementType::boolean) : n->narrow;
  if (isFloat(to))
    c->narrow.reset();
  return c;
}

Node *Elaborator::concrete(Node *n) {
  if (!n || !isLiteral(n->type))
    return n;
  if (n->type == Ty::FloatLit)
    return convert(n, Ty::F32);
  bool wide = n->kind == Node::ConstInt && !fitsElement(n->intValue, ElementType::i32);
  return convert(n, wide ? Ty::I64 : Ty::I32);
}

bool Elaborator::isOfType(const Node *n, ElementType element) {
  return n->kind == Node::ConstInt ? fitsElement(n->intValue, element) : embeds(narrowest(n), element);
}

Node *Elaborator::convertForStore(Node *n, ElementType element, StringRef into) {
  if (!n)
    return nullptr;
  Ty wide = widened(element);
  auto refuse = [&](StringRef how) -> Node * {
    error(n->loc) << "cannot store " << name(n->type) << " into " << into << " of "
                  << StringRef(elementTypeName(element).data(), elementTypeName(element).size()) << "; " << how;
    return nullptr;
  };
  std::string cast = ("write the cast " + StringRef(elementTypeName(element).data(), elementTypeName(element).size()) + "(..)").str();
  if (n->kind == Node::Cast && n->castTo == element && widened(element) == n->type)
    return n;
  if (kernelc::isFloat(element)) {
    if (!isFloat(n->type) && n->type != Ty::IntLit)
      return refuse(cast);
    if (isLiteral(n->type))
      n = convert(n, wide);
    if (n && n->isConst()) // the store rounds it
      return n;
    if (!n || (elementOf(n->type) == element))
      return n;
    if (n->type == Ty::F32 && element == ElementType::f64)
      return convert(n, Ty::F64);
    return castTo(n, element, n->loc);
  }
  if (element == ElementType::boolean) {
    if (n->type == Ty::Bool)
      return n;
    if (narrowest(n) == ElementType::boolean) // max, min and xor of bools
      return castTo(n, element, n->loc);
    return refuse("compare with 0, as in '.. != 0'");
  }
  if (isFloat(n->type))
    return refuse(cast);
  if (n->kind == Node::ConstInt && n->type == Ty::IntLit) {
    if (!fitsElement(n->intValue, element)) {
      reportUnfit(n, element);
      return nullptr;
    }
    Node *c = convert(n, wide);
    c->narrow = element;
    return c;
  }
  if (n->type == Ty::IntLit)
    n = convert(n, wide);
  if (!n)
    return nullptr;
  if (!embeds(narrowest(n), element))
    return refuse(cast);
  return castTo(n, element, n->loc);
}

Node *Elaborator::convertAsStored(Node *n, ElementType element, StringRef into) {
  n = convertForStore(n, element, into);
  if (n && n->kind == Node::ConstFloat && kernelc::isFloat(element) && elementBits(element) < 32) { // no store will round it
    Node *wide = makeFloat(n->floatValue, Ty::F32, n->loc);
    n = make(Node::Cast, Ty::F32, n->loc);
    n->ops.push_back(wide);
    n->castTo = element;
  }
  return n ? convert(n, widened(element)) : nullptr;
}

Node *Elaborator::castTo(Node *n, ElementType element, Loc loc) {
  Ty to = widened(element);
  if (n->isConst() && n->kind != Node::ConstBool) {
    if (n->type == Ty::FloatLit || n->kind == Node::ConstFloat) {
      if (element == ElementType::f32 || element == ElementType::f64)
        return makeFloat(n->type == Ty::F32 ? double(float(n->floatValue)) : n->floatValue, to, loc);
    } else if (element == ElementType::f64 || element == ElementType::f32) {
      return makeFloat(isUnsigned(n->type) ? double(uint64_t(n->intValue)) : double(n->intValue), to, loc);
    } else if (!kernelc::isFloat(element) && element != ElementType::boolean && fitsElement(n->intValue, element)) {
      Node *c = makeInt(n->intValue, to, loc);
      c->narrow = element;
      return c;
    }
  }
  n = concrete(n);
  if (!n)
    return nullptr;
  if (element == ElementType::boolean) {
    if (n->type == Ty::Bool)
      return n;
    Node *zero = isFloat(n->type) ? makeFloat(0, n->type, loc) : makeInt(0, n->type, loc);
    return makeCompare(arith::CmpIPredicate::ne, n, zero, loc);
  }
  bool isSame = elementOf(n->type) == element;
  if ((isSame && !n->narrow) || (n->narrow == element && n->type == to))
    return n;
  Node *c = make(Node::Cast, to, loc);
  c->ops.push_back(n);
  c->castTo = element;
  if (isSame) { // of a narrow value: the same number, and from here on of this type
    c->affine = n->affine;
    c->affineHeight = n->affineHeight;
    c->pureIndex = n->pureIndex;
  }
  if (!kernelc::isFloat(element) && elementBits(element) < 32)
    c->narrow = element;
  return c;
}

} // namespace kernelc::frontend
