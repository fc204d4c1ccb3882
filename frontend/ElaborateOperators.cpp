// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operators of expressions. See Elaborate.h.
#include "frontend/Elaborate.h"

using namespace mlir;

namespace kernelc::frontend {

static Node::Kind kindOf(Tok op) {
  switch (op) {
  case Tok::Plus: return Node::Add;
  case Tok::Minus: return Node::Sub;
  case Tok::Star: return Node::Mul;
  case Tok::Slash: return Node::Div;
  case Tok::SlashSlash: return Node::FloorDiv;
  case Tok::Percent: return Node::Mod;
  case Tok::Amp: return Node::BitAnd;
  case Tok::Pipe: return Node::BitOr;
  case Tok::Caret: return Node::BitXor;
  case Tok::Shl: return Node::Shl;
  default: return Node::Shr;
  }
}

Node *Elaborator::elaborateChain(const Expr *e, const Scope *scope) {
  Node *sum = elaborate(e->args[0], scope);
  for (size_t i = 0; i < e->ops.size() && !overBudget; ++i) {
    Node *next = elaborate(e->args[i + 1], scope);
    if (!count(e->args[i + 1]->loc))
      return nullptr;
    sum = sum && next ? makeBinary(kindOf(e->ops[i]), sum, next, e->opLocs[i]) : nullptr;
    if (sum && i > 32 && isLiteral(sum->type) && !sum->isConst())
      sum = concrete(sum);
  }
  return overBudget ? nullptr : sum;
}

Node *Elaborator::elaborateUnary(const Expr *e, const Scope *scope) {
  Node *arg = elaborate(e->args[0], scope);
  if (!arg)
    return nullptr;
  switch (e->ops[0]) {
  case Tok::KwNot: {
    if (arg->type != Ty::Bool) {
      error(e->loc) << "'not' needs a condition, not " << name(arg->type) << "; compare it, as in '.. != 0'";
      return nullptr;
    }
    return makeNot(arg, e->loc);
  }
  case Tok::Tilde: {
    if (!isInt(arg->type)) {
      error(e->loc) << "'~' needs an integer, not " << name(arg->type) << (arg->type == Ty::Bool ? "; write 'not'" : "");
      return nullptr;
    }
    if (arg->kind == Node::ConstInt)
      return makeInt(~arg->intValue, arg->type, e->loc);
    Node *n = make(Node::BitNot, arg->type, e->loc);
    n->ops.push_back(arg);
    return n;
  }
  default: break;
  }
  if (arg->type == Ty::Bool && !(arg = convert(arg, Ty::I32)))
    return nullptr;
  if (e->ops[0] == Tok::Plus)
    return arg;
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  if (e->args[0]->kind == Expr::Integer && arg->type == Ty::U64 && arg->intValue == kLowest) // -9223372036854775808 is an i64
    return makeInt(kLowest, Ty::IntLit, e->loc);
  Node *n = make(Node::Neg, arg->type, e->loc);
  n->ops.push_back(arg);
  fold(n);
  inferAffine(n);
  return n;
}

Node *Elaborator::elaboratePower(const Expr *e, const Scope *scope) {
  Node *base = elaborate(e->args[0], scope);
  Node *exponent = elaborate(e->args[1], scope);
  if (!base || !exponent)
    return nullptr;
  // A float's power is a product whichever way its whole exponent is written, `2.0` or a constant of f32.
  if (exponent->kind == Node::ConstFloat && isFloat(base->type) && std::trunc(exponent->floatValue) == exponent->floatValue &&
      std::abs(exponent->floatValue) <= 64 && (isLiteral(exponent->type) || exponent->type == base->type))
    exponent = makeInt(int64_t(exponent->floatValue), Ty::IntLit, e->loc);
  if (base->type == Ty::Bool && !(base = convert(base, Ty::I32)))
    return nullptr;
  if (exponent->kind == Node::ConstInt && exponent->intValue >= 0 && exponent->intValue <= 64) {
    // Square and multiply; the shared squares are one node each.
    Node *result = nullptr;
    Node *square = base;
    for (int64_t n = exponent->intValue; n > 0 && square; n >>= 1) {
      if (n & 1)
        result = result ? makeBinary(Node::Mul, result, square, e->loc) : square;
      if (n > 1)
        square = makeBinary(Node::Mul, square, square, e->loc);
    }
    return result ? result : isFloat(base->type) ? makeFloat(1, base->type, e->loc) : makeInt(1, base->type, e->loc);
  }
  if (isInt(base->type) && (base->type != Ty::IntLit || isInt(exponent->type))) {
    error(e->loc) << "an integer power needs a constant exponent between 0 and 64; cast the base to a float "
                     "for others";
    return nullptr;
  }
  if (exponent->kind == Node::ConstInt && !isUnsigned(exponent->type) && exponent->intValue >= -64 && exponent->intValue < 0) {
    Expr one;
    Node *p = nullptr, *square = base;
    for (int64_t n = -exponent->intValue; n > 0 && square; n >>= 1) {
      if (n & 1)
        p = p ? makeBinary(Node::Mul, p, square, e->loc) : square;
      if (n > 1)
        square = makeBinary(Node::Mul, square, square, e->loc);
    }
    return p ? makeBinary(Node::Div, makeFloat(1, Ty::FloatLit, e->loc), p, e->loc) : nullptr;
  }
  if (isInt(exponent->type) && exponent->type != Ty::IntLit && exponent->type != Ty::I64 && exponent->type != Ty::I32) {
    error(e->loc) << "the exponent must be a float or a signed integer";
    return nullptr;
  }
  if (!unify(base, exponent, e->loc, "**"))
    return nullptr;
  Node *n = make(Node::Pow, base->type, e->loc);
  n->ops = {base, exponent};
  fold(n);
  return n;
}

Node *Elaborator::elaborateCompare(const Expr *e, const Scope *scope) {
  SmallVector<Node *> values, parts;
  for (const Expr *a : e->args) {
    Node *n = elaborate(a, scope);
    if (!n)
      return nullptr;
    values.push_back(n);
  }
  for (size_t i = 0; i < e->ops.size(); ++i) {
    using P = arith::CmpIPredicate;
    P p = P::eq;
    switch (e->ops[i]) {
    case Tok::Lt: p = P::slt; break;
    case Tok::Le: p = P::sle; break;
    case Tok::Gt: p = P::sgt; break;
    case Tok::Ge: p = P::sge; break;
    case Tok::Ne: p = P::ne; break;
    default: break;
    }
    Node *c = makeCompare(p, values[i], values[i + 1], e->opLocs[i]);
    if (!c)
      return nullptr;
    parts.push_back(c);
  }
  return makeAnd(parts, e->loc);
}

Node *Elaborator::elaborateLogic(const Expr *e, const Scope *scope) {
  bool isAnd = e->kind == Expr::And;
  SmallVector<Node *> parts;
  for (const Expr *a : e->args) {
    Node *n = elaborate(a, scope);
    if (!n)
      return nullptr;
    if (n->type != Ty::Bool) {
      error(a->whole()) << "'" << (isAnd ? "and" : "or") << "' needs conditions, not " << name(n->type) << "; compare it, as in '.. != 0'";
      return nullptr;
    }
    if (n->kind == Node::ConstBool) {
      if (bool(n->intValue) != isAnd)
        return makeBool(!isAnd, e->loc);
      continue;
    }
    parts.push_back(n);
  }
  if (isAnd || parts.empty())
    return parts.empty() ? makeBool(isAnd, e->loc) : makeAnd(parts, e->loc);
  Node *n = parts[0];
  for (Node *p : ArrayRef(parts).drop_front()) {
    Node *both = make(Node::Or, Ty::Bool, e->loc);
    both->ops = {n, p};
    n = both;
  }
  return n;
}

Node *Elaborator::elaborateSelect(const Expr *e, const Scope *scope) {
  Node *cond = elaborate(e->args[1], scope);
  Node *a = elaborateValue(e->args[0], scope), *b = elaborateValue(e->args[2], scope);
  if (!cond || !a || !b)
    return nullptr;
  if (cond->type != Ty::Bool) {
    error(e->args[1]->loc) << "expected a condition after 'if', found " << name(cond->type) << "; compare it, as in '.. != 0'";
    return nullptr;
  }
  if (a->type == Ty::Tuple || b->type == Ty::Tuple)
    return selectTuple(cond, a, b, e->loc);
  return makeSelect(cond, a, b, e->loc);
}

Node *Elaborator::makeSelect(Node *cond, Node *a, Node *b, Loc loc) {
  bool bothBool = a->type == Ty::Bool && b->type == Ty::Bool;
  // Both sides are checked, so that a constant hides no error.
  if ((!bothBool || cond->kind == Node::ConstBool) && !unify(a, b, loc, "if"))
    return nullptr;
  if (cond->kind == Node::ConstBool)
    return cond->intValue ? a : b;
  Node *n = make(Node::Select, a->type, loc);
  n->ops = {cond, a, b};
  if (a->narrow && a->narrow == b->narrow)
    n->narrow = a->narrow;
  return n;
}

} // namespace kernelc::frontend
