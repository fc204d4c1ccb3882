// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Operators, with Python's precedences. See Parser.h.
#include "frontend/Parser.h"

using namespace mlir;

namespace kernelc::frontend {

bool Parser::Nest::ok() {
  if (p.depth <= kMaxNesting)
    return true;
  if (!p.tooDeep)
    p.diags.error(p.peek().loc) << "nested more than " << kMaxNesting << " levels deep; name the inner parts with 'let'";
  p.tooDeep = true;
  return false;
}

Expr *Parser::make(Expr::Kind kind, Loc loc) {
  Expr &e = result.ast.exprs.emplace_back();
  e.kind = kind;
  e.loc = loc;
  return &e;
}

Expr *Parser::finish(Expr *e, size_t first) {
  e->begin = tokens[first].loc.offset;
  e->end = endOfLast();
  if (e->kind >= Expr::Unary && e->kind <= Expr::Select) {
    e->loc.begin = e->begin;
    e->loc.end = e->end;
  }
  return e;
}

bool Parser::parseOperand(Expr *e, Tok op, Loc loc, size_t first, Expr *operand) {
  if (!operand)
    return false;
  e->ops.push_back(op);
  e->args.push_back(operand);
  e->loc = {loc.offset, loc.file, tokens[first].loc.offset, endOfLast()};
  e->opLocs.push_back(e->loc);
  return true;
}

Expr *Parser::parseExpr() {
  Nest nest(*this);
  if (!nest.ok())
    return nullptr;
  size_t first = pos;
  Expr *value = parseOr();
  if (!value || !at(Tok::KwIf))
    return value;
  Expr *e = make(Expr::Select, take().loc);
  size_t condition = pos;
  Expr *cond = parseOr();
  if (!cond || refuseMissingElse(condition) || refuseCapitals() || !expect(Tok::KwElse, "of 'a if c else b'"))
    return nullptr;
  Expr *other = parseExpr();
  if (!other)
    return nullptr;
  e->args = {value, cond, other};
  return finish(e, first);
}

Expr *Parser::parseOr() {
  size_t first = pos;
  Expr *left = parseAnd();
  if (!left || !at(Tok::KwOr) || peek(1).kind == Tok::Assign)
    return left;
  Expr *e = make(Expr::Or, peek().loc);
  e->args.push_back(left);
  while (at(Tok::KwOr) && peek(1).kind != Tok::Assign) {
    take();
    Expr *next = parseAnd();
    if (!next)
      return nullptr;
    e->args.push_back(next);
  }
  return finish(e, first);
}

Expr *Parser::parseAnd() {
  size_t first = pos;
  Expr *left = parseNot();
  if (!left || !at(Tok::KwAnd) || peek(1).kind == Tok::Assign)
    return left;
  Expr *e = make(Expr::And, peek().loc);
  e->args.push_back(left);
  while (at(Tok::KwAnd) && peek(1).kind != Tok::Assign) {
    take();
    Expr *next = parseNot();
    if (!next)
      return nullptr;
    e->args.push_back(next);
  }
  return finish(e, first);
}

Expr *Parser::parseNot() {
  if (!at(Tok::KwNot))
    return parseCompare();
  Nest nest(*this);
  if (!nest.ok())
    return nullptr;
  size_t first = pos;
  Expr *e = make(Expr::Unary, peek().loc);
  e->ops.push_back(take().kind);
  Expr *arg = parseNot();
  if (!arg)
    return nullptr;
  e->args.push_back(arg);
  return finish(e, first);
}

Expr *Parser::parseCompare() {
  auto isCompare = [&] { return at(Tok::Lt) || at(Tok::Le) || at(Tok::Gt) || at(Tok::Ge) || at(Tok::EqEq) || at(Tok::Ne); };
  size_t first = pos;
  Expr *left = parseBinary(0);
  if (!left || !isCompare())
    return left;
  Expr *e = make(Expr::Compare, peek().loc);
  e->args.push_back(left);
  while (isCompare()) {
    Token op = take();
    if (!parseOperand(e, op.kind, op.loc, first, parseBinary(0)))
      return nullptr;
  }
  return finish(e, first);
}

Expr *Parser::parseBinary(unsigned level) {
  static constexpr Tok levels[][4] = {
      {Tok::Pipe, Tok::Pipe, Tok::Pipe, Tok::Pipe},   {Tok::Caret, Tok::Caret, Tok::Caret, Tok::Caret},
      {Tok::Amp, Tok::Amp, Tok::Amp, Tok::Amp},       {Tok::Shl, Tok::Shr, Tok::Shl, Tok::Shr},
      {Tok::Plus, Tok::Minus, Tok::Plus, Tok::Minus}, {Tok::Star, Tok::Slash, Tok::SlashSlash, Tok::Percent}};
  if (level == std::size(levels))
    return parseUnary();
  auto isOp = [&] {
    for (Tok t : levels[level])
      if (at(t))
        return true;
    return false;
  };
  size_t first = pos;
  Expr *left = parseBinary(level + 1);
  if (!left || !isOp())
    return left;
  Expr *e = make(Expr::Chain, peek().loc);
  e->args.push_back(left);
  while (isOp()) {
    Token op = take();
    if (!parseOperand(e, op.kind, op.loc, first, parseBinary(level + 1)))
      return nullptr;
  }
  return finish(e, first);
}

Expr *Parser::parseUnary() {
  if (!at(Tok::Minus) && !at(Tok::Plus) && !at(Tok::Tilde))
    return parsePower();
  Nest nest(*this);
  if (!nest.ok())
    return nullptr;
  mark(Role::Unary);
  size_t first = pos;
  Expr *e = make(Expr::Unary, peek().loc);
  e->ops.push_back(take().kind);
  Expr *arg = parseUnary();
  if (!arg)
    return nullptr;
  e->args.push_back(arg);
  return finish(e, first);
}

Expr *Parser::parsePower() {
  size_t first = pos;
  Expr *base = parsePostfix();
  if (!base || !at(Tok::StarStar))
    return base;
  Nest nest(*this);
  if (!nest.ok())
    return nullptr;
  Expr *e = make(Expr::Power, take().loc);
  Expr *exponent = parseUnary();
  if (!exponent)
    return nullptr;
  e->args = {base, exponent};
  return finish(e, first);
}

} // namespace kernelc::frontend
