// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expressions, with Python's precedences. See Parser.h.
#include "frontend/Parser.h"

using namespace mlir;

namespace kernelc::frontend {

bool Parser::Nest::ok() {
  if (p.depth <= kMaxNesting)
    return true;
  if (!p.tooDeep)
    p.diags.error(p.peek().loc) << "nested more than " << kMaxNesting
                                << " levels deep; name the inner parts with 'let'";
  p.tooDeep = true;
  return false;
}

Expr *Parser::make(Expr::Kind kind, Loc loc) {
  Expr &e = result.ast.exprs.emplace_back();
  e.kind = kind;
  e.loc = loc;
  return &e;
}

Expr *Parser::parseExpr() {
  Nest nest(*this);
  if (!nest.ok())
    return nullptr;
  Expr *value = parseOr();
  if (!value || !at(Tok::KwIf))
    return value;
  Expr *e = make(Expr::Select, take().loc);
  Expr *cond = parseOr();
  if (!cond || !expect(Tok::KwElse, "of 'a if c else b'"))
    return nullptr;
  Expr *other = parseExpr();
  if (!other)
    return nullptr;
  e->args = {value, cond, other};
  return e;
}

Expr *Parser::parseOr() {
  Expr *first = parseAnd();
  if (!first || !at(Tok::KwOr) || peek(1).kind == Tok::Assign)
    return first;
  Expr *e = make(Expr::Or, peek().loc);
  e->args.push_back(first);
  while (at(Tok::KwOr) && peek(1).kind != Tok::Assign) {
    take();
    Expr *next = parseAnd();
    if (!next)
      return nullptr;
    e->args.push_back(next);
  }
  return e;
}

Expr *Parser::parseAnd() {
  Expr *first = parseNot();
  if (!first || !at(Tok::KwAnd) || peek(1).kind == Tok::Assign)
    return first;
  Expr *e = make(Expr::And, peek().loc);
  e->args.push_back(first);
  while (at(Tok::KwAnd) && peek(1).kind != Tok::Assign) {
    take();
    Expr *next = parseNot();
    if (!next)
      return nullptr;
    e->args.push_back(next);
  }
  return e;
}

Expr *Parser::parseNot() {
  if (!at(Tok::KwNot))
    return parseCompare();
  Nest nest(*this);
  if (!nest.ok())
    return nullptr;
  Expr *e = make(Expr::Unary, peek().loc);
  e->ops.push_back(take().kind);
  Expr *arg = parseNot();
  if (!arg)
    return nullptr;
  e->args.push_back(arg);
  return e;
}

Expr *Parser::parseCompare() {
  auto isCompare = [&] {
    return at(Tok::Lt) || at(Tok::Le) || at(Tok::Gt) || at(Tok::Ge) || at(Tok::EqEq) || at(Tok::Ne);
  };
  Expr *first = parseBinary(0);
  if (!first || !isCompare())
    return first;
  Expr *e = make(Expr::Compare, peek().loc);
  e->args.push_back(first);
  while (isCompare()) {
    e->ops.push_back(take().kind);
    Expr *next = parseBinary(0);
    if (!next)
      return nullptr;
    e->args.push_back(next);
  }
  return e;
}

Expr *Parser::parseBinary(unsigned level) {
  static constexpr Tok levels[][4] = {{Tok::Pipe, Tok::Pipe, Tok::Pipe, Tok::Pipe},
                                      {Tok::Caret, Tok::Caret, Tok::Caret, Tok::Caret},
                                      {Tok::Amp, Tok::Amp, Tok::Amp, Tok::Amp},
                                      {Tok::Shl, Tok::Shr, Tok::Shl, Tok::Shr},
                                      {Tok::Plus, Tok::Minus, Tok::Plus, Tok::Minus},
                                      {Tok::Star, Tok::Slash, Tok::SlashSlash, Tok::Percent}};
  if (level == std::size(levels))
    return parseUnary();
  auto isOp = [&] {
    for (Tok t : levels[level])
      if (at(t))
        return true;
    return false;
  };
  Expr *first = parseBinary(level + 1);
  if (!first || !isOp())
    return first;
  Expr *e = make(Expr::Chain, peek().loc);
  e->args.push_back(first);
  while (isOp()) {
    e->ops.push_back(take().kind);
    Expr *next = parseBinary(level + 1);
    if (!next)
      return nullptr;
    e->args.push_back(next);
  }
  return e;
}

Expr *Parser::parseUnary() {
  if (!at(Tok::Minus) && !at(Tok::Plus) && !at(Tok::Tilde))
    return parsePower();
  Nest nest(*this);
  if (!nest.ok())
    return nullptr;
  mark(Role::Unary);
  Expr *e = make(Expr::Unary, peek().loc);
  e->ops.push_back(take().kind);
  Expr *arg = parseUnary();
  if (!arg)
    return nullptr;
  e->args.push_back(arg);
  return e;
}

Expr *Parser::parsePower() {
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
  return e;
}

Expr *Parser::parsePostfix() {
  Expr *e = parsePrimary();
  if (e && e->kind == Expr::Call && at(Tok::LSquare)) {
    Expr *sub = make(Expr::Subscripted, peek().loc);
    mark(Role::TightOpen);
    take();
    sub->args.push_back(e);
    if (!parseExprList(Tok::RSquare, sub->args, "the subscripts"))
      return nullptr;
    e = sub;
  }
  while (e && at(Tok::Dot)) {
    take();
    Expr *m = make(Expr::Member, peek().loc);
    Loc loc;
    if (e->kind == Expr::Member || !parseName(m->text, loc, "a field's name after '.'"))
      return e->kind == Expr::Member ? (fail("an operator; fields do not nest"), nullptr) : nullptr;
    m->args.push_back(e);
    e = m;
  }
  return e;
}

Expr *Parser::parsePrimary() {
  const Token &t = peek();
  switch (t.kind) {
  case Tok::Integer:
  case Tok::Float:
  case Tok::String:
  case Tok::KwTrue:
  case Tok::KwFalse: {
    Expr::Kind kind = t.kind == Tok::Integer  ? Expr::Integer
                      : t.kind == Tok::Float  ? Expr::Float
                      : t.kind == Tok::String ? Expr::String
                                              : Expr::Bool;
    Expr *e = make(kind, t.loc);
    e->text = take().text;
    return e;
  }
  case Tok::Name:
    return parseNameExpr();
  case Tok::LParen: {
    Nest nest(*this);
    if (!nest.ok())
      return nullptr;
    Loc loc = take().loc;
    Expr *e = parseExpr();
    if (e && at(Tok::Comma)) {
      Expr *tuple = make(Expr::Tuple, loc);
      tuple->args.push_back(e);
      while (accept(Tok::Comma) && !at(Tok::RParen)) {
        Expr *next = parseExpr();
        if (!next)
          return nullptr;
        tuple->args.push_back(next);
      }
      e = tuple;
    }
    return e && expect(Tok::RParen, "to close the parenthesis") ? e : nullptr;
  }
  default:
    fail("an expression");
    return nullptr;
  }
}

Expr *Parser::parseNameExpr() {
  Nest nest(*this);
  if (!nest.ok())
    return nullptr;
  const Token &name = take();
  Expr *e = make(Expr::Name, name.loc);
  e->text = name.text;
  // x.mode(..)[..]: a dot whose name is followed by '[' or '(' is a bounds mode.
  if (at(Tok::Dot) && peek(1).kind == Tok::Name &&
      (peek(2).kind == Tok::LSquare || peek(2).kind == Tok::LParen)) {
    take();
    e->modeLoc = peek().loc;
    e->mode = take().text;
    if (accept(Tok::LParen, Role::TightOpen) && !parseArgs(e->modeArgs))
      return nullptr;
    if (!at(Tok::LSquare)) {
      fail(("'[' and the subscripts of '" + e->text + "'").str());
      return nullptr;
    }
  }
  if (at(Tok::LSquare)) {
    mark(Role::TightOpen);
    take();
    if (!parseItems(Tok::RSquare, e->items))
      return nullptr;
    e->hasBracket = true;
    e->kind = Expr::Access;
  }
  if (at(Tok::LParen) && e->mode.empty()) {
    mark(Role::TightOpen);
    take();
    e->kind = Expr::Call;
    return parseArgs(e->named) ? e : nullptr;
  }
  if (e->kind == Expr::Access) {
    for (BracketItem &item : e->items) {
      if (item.lo) {
        diags.error(item.loc)
            << "a subscript is one expression; a range belongs into the bracket of a "
               "reduction, as in 'sum[k in 0:n](..)'";
        return nullptr;
      }
      e->args.push_back(item.expr);
    }
  }
  return e;
}

bool Parser::parseExprList(Tok close, std::vector<Expr *> &list, StringRef what) {
  while (!at(close)) {
    Expr *e = parseExpr();
    if (!e)
      return false;
    list.push_back(e);
    if (close == Tok::RSquare && list.size() > kMaxRank) {
      diags.error(e->loc) << "more than " << kMaxRank << " entries in " << what;
      return false;
    }
    if (!accept(Tok::Comma))
      break;
  }
  return expect(close, ("or ',' in " + what).str());
}

bool Parser::parseItems(Tok close, std::vector<BracketItem> &items) {
  while (!at(close)) {
    BracketItem item;
    if (!parseItem(item))
      return false;
    items.push_back(item);
    if (close == Tok::RSquare && items.size() > kMaxRank) {
      diags.error(peek().loc) << "more than " << kMaxRank << " entries in a bracket";
      return false;
    }
    if (!accept(Tok::Comma))
      break;
  }
  return expect(close, "or ',' in the bracket");
}

bool Parser::parseItem(BracketItem &item) {
  item.loc = peek().loc;
  item.expr = parseExpr();
  if (!item.expr || !accept(Tok::KwIn))
    return item.expr != nullptr;
  item.lo = parseExpr();
  if (!item.lo)
    return false;
  if (!at(Tok::Colon))
    return fail("':' in the range, as in 'k in 0:n'");
  mark(Role::RangeColon);
  take();
  item.hi = parseExpr();
  return item.hi != nullptr;
}

bool Parser::parseArgs(std::vector<NamedArg> &args) {
  while (!at(Tok::RParen)) {
    NamedArg arg;
    if (at(Tok::Name) && peek(1).kind == Tok::Assign) {
      arg.name = take().text;
      mark(Role::NamedEq);
      take();
    }
    arg.value = parseExpr();
    if (!arg.value)
      return false;
    args.push_back(arg);
    if (!accept(Tok::Comma))
      break;
  }
  return expect(Tok::RParen, "or ',' in the arguments");
}

} // namespace kernelc::frontend
