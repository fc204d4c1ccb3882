// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements of kernel and function bodies. See Parser.h.
#include "frontend/Parser.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc::frontend {

namespace {
constexpr StringRef kPolicies[] = {"precision", "tolerance", "strict", "fastmath", "order"};
}

bool Parser::atAssignment() const {
  // NAME =, NAME [..] =, NAME.mode[..] =, and the other assignment forms; decided
  // by looking past one bracket.
  if (!at(Tok::Name))
    return false;
  size_t p = pos + 1;
  auto kind = [&](size_t i) { return i < tokens.size() ? tokens[i].kind : Tok::Eof; };
  if (kind(p) == Tok::Dot && kind(p + 1) == Tok::Name)
    p += 2;
  if (kind(p) == Tok::LSquare) {
    unsigned open = 0;
    do {
      if (kind(p) == Tok::LSquare)
        ++open;
      if (kind(p) == Tok::RSquare)
        --open;
      if (kind(p) == Tok::Eof || kind(p) == Tok::LBrace || kind(p) == Tok::RBrace)
        return false;
      ++p;
    } while (open > 0);
  }
  if (kind(p) == Tok::Name || kind(p) == Tok::KwAnd || kind(p) == Tok::KwOr)
    ++p;
  return kind(p) == Tok::Assign || kind(p) == Tok::PlusAssign || kind(p) == Tok::TimesAssign;
}

bool Parser::atStatement() const {
  if (at(Tok::KwLet) || at(Tok::KwRequire))
    return true;
  return atAssignment() || (at(Tok::Name) && llvm::is_contained(kPolicies, peek().text) &&
                            peek(1).kind != Tok::LSquare);
}

void Parser::skipToStatement() {
  unsigned open = 0;
  while (!at(Tok::Eof) && !at(Tok::KwDef) && !at(Tok::KwReducer) && !at(Tok::KwSchedule)) {
    if (open == 0 && (at(Tok::RBrace) || at(Tok::KwLet) || at(Tok::KwRequire) || at(Tok::KwFn)))
      return;
    // An assignment is a place to go on when it starts a line of its own.
    if (open == 0 && atAssignment() && pos > 0) {
      const char *begin = tokens[pos - 1].text.end(), *end = tokens[pos].text.begin();
      if (StringRef(begin, end - begin).contains('\n'))
        return;
    }
    if (at(Tok::LParen) || at(Tok::LSquare))
      ++open;
    if ((at(Tok::RParen) || at(Tok::RSquare)) && open > 0)
      --open;
    take();
  }
}

void Parser::parseBody(Definition &d, bool allowValue) {
  unsigned requirements = 0;
  while (!at(Tok::RBrace)) {
    if (at(Tok::Eof) || at(Tok::KwDef)) {
      fail("'}' at the end of the body");
      return;
    }
    tooDeep = false;
    depth = 0;
    mark(Role::StatementStart);
    size_t start = pos;
    Statement s;
    s.loc = peek().loc;
    bool ok;
    if (allowValue && !atStatement()) {
      d.value = parseExpr();
      ok = d.value != nullptr;
      if (ok && !at(Tok::RBrace))
        ok = fail("'}' after the function's value");
    } else {
      ok = parseStatement(s);
      if (ok && s.kind == Statement::Require && ++requirements == kMaxRequires + 1)
        diags.error(s.loc) << "more than " << kMaxRequires << " 'require's in a kernel";
      if (ok)
        d.body.push_back(std::move(s));
    }
    accept(Tok::Semicolon);
    if (!ok) {
      if (pos == start)
        take();
      skipToStatement();
      if (diags.full())
        return;
      if (at(Tok::KwFn) || at(Tok::KwReducer) || at(Tok::KwSchedule))
        return;
    }
  }
  if (allowValue && !d.value && d.name.size())
    fail(("the value of '" + d.name + "': an expression at the end of the body").str());
  accept(Tok::RBrace, Role::BlockClose);
}

bool Parser::parseStatement(Statement &s) {
  if (at(Tok::KwLet))
    return parseLet(s);
  if (at(Tok::KwRequire))
    return parseRequire(s);
  if (at(Tok::Name) && !atAssignment() && llvm::is_contained(kPolicies, peek().text))
    return parsePolicy(s);
  if (at(Tok::Name))
    return parseAssign(s);
  return fail("a statement: 'let', 'require' or an assignment such as 'y[i] = ..'");
}

bool Parser::parseLet(Statement &s) {
  s.kind = Statement::Let;
  take();
  if (!parseTarget(s))
    return false;
  if (accept(Tok::Colon) && !parseType(s.type))
    return false;
  s.op = "=";
  s.opLoc = peek().loc;
  if (!expect(Tok::Assign, "after the left side of a 'let'"))
    return false;
  return (s.value = parseExpr()) && parseWhere(s);
}

bool Parser::parseRequire(Statement &s) {
  s.kind = Statement::Require;
  take();
  const char *begin = peek().text.begin();
  s.value = parseExpr();
  if (!s.value)
    return false;
  s.sourceText = StringRef(begin, tokens[pos - 1].text.end() - begin);
  return true;
}

bool Parser::parsePolicy(Statement &s) {
  s.kind = Statement::Policy;
  s.target = take().text;
  s.targetLoc = s.loc;
  if (accept(Tok::LParen, Role::TightOpen)) {
    for (unsigned open = 1; open > 0;) {
      if (at(Tok::Eof) || at(Tok::RBrace) || at(Tok::LBrace))
        return fail("')' after the policy");
      open += at(Tok::LParen);
      open -= at(Tok::RParen);
      if (open > 0)
        s.policyTokens.push_back({peek().text, peek().loc});
      take();
    }
  }
  return true;
}

bool Parser::parseTarget(Statement &s) {
  if (!parseName(s.target, s.targetLoc, "the name to define"))
    return false;
  if (accept(Tok::Dot)) {
    Loc loc;
    if (!parseName(s.mode, loc, "'unique' after '.'"))
      return false;
  }
  if (accept(Tok::LSquare, Role::TightOpen)) {
    s.hasSubscripts = true;
    return parseExprList(Tok::RSquare, s.subscripts, "the subscripts");
  }
  return true;
}

bool Parser::parseAssignOp(Statement &s) {
  s.opLoc = peek().loc;
  switch (peek().kind) {
  case Tok::Assign:
    s.op = "=";
    break;
  case Tok::PlusAssign:
    s.op = "+=";
    break;
  case Tok::TimesAssign:
    s.op = "*=";
    break;
  case Tok::Name:
  case Tok::KwAnd:
  case Tok::KwOr:
    if (peek(1).kind != Tok::Assign)
      return fail("'=' or an assignment form (+= *= min= max= and= or= xor=)");
    mark(Role::WordOp);
    s.op = take().text;
    break;
  default:
    return fail("'=' or an assignment form (+= *= min= max= and= or= xor=)");
  }
  take();
  return true;
}

bool Parser::parseAssign(Statement &s) {
  s.kind = Statement::Assign;
  return parseTarget(s) && parseAssignOp(s) && (s.value = parseExpr()) && parseWhere(s);
}

bool Parser::parseWhere(Statement &s) {
  if (!accept(Tok::KwWhere))
    return true;
  do {
    BracketItem item;
    if (!parseItem(item))
      return false;
    s.where.push_back(item);
  } while (accept(Tok::Comma));
  return true;
}

} // namespace kernelc::frontend
