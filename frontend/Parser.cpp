// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Definitions, parameters and types. See Parser.h.
#include "frontend/Parser.h"

using namespace mlir;

namespace kernelc::frontend {

bool Parser::accept(Tok kind, Role role) {
  if (!at(kind))
    return false;
  if (role != Role::None)
    mark(role);
  take();
  return true;
}

bool Parser::fail(StringRef expected) {
  if (!tooDeep)
    diags.error(peek().loc) << "expected " << expected << ", found " << describe(peek());
  return false;
}

bool Parser::expect(Tok kind, StringRef where, Role role) {
  if (accept(kind, role))
    return true;
  return fail(("'" + spelling(kind) + "' " + where).str());
}

void Parser::skipToDefinition() {
  while (!at(Tok::Eof) && !at(Tok::KwDef) && !at(Tok::KwFn) && !at(Tok::KwReducer) &&
         !at(Tok::KwSchedule) && !at(Tok::KwImport))
    take();
}

ParseResult Parser::run() {
  while (!at(Tok::Eof) && !diags.full())
    parseDefinition();
  return std::move(result);
}

void Parser::parseDefinition() {
  mark(Role::DefinitionStart);
  Definition &d = result.ast.definitions.emplace_back();
  d.loc = peek().loc;
  tooDeep = false;
  depth = 0;
  bool ok;
  switch (peek().kind) {
  case Tok::KwDef:
    ok = parseDef(d);
    break;
  case Tok::KwFn:
    ok = parseFn(d);
    break;
  case Tok::KwReducer:
    ok = parseReducer(d);
    break;
  case Tok::KwSchedule:
    ok = parseSchedule(d);
    break;
  case Tok::KwImport:
    ok = parseImport(d);
    break;
  default:
    ok = fail("'def', 'fn', 'reducer', 'schedule' or 'import'");
    take();
  }
  if (!ok) {
    result.ast.definitions.pop_back();
    skipToDefinition();
  }
}

bool Parser::parseName(StringRef &name, Loc &loc, StringRef what) {
  if (!at(Tok::Name))
    return fail(what);
  loc = peek().loc;
  name = take().text;
  return true;
}

bool Parser::parseDef(Definition &d) {
  d.kind = Definition::Def;
  take();
  if (!parseName(d.name, d.nameLoc, "the kernel's name after 'def'") ||
      !expect(Tok::LParen, "before the parameters", Role::TightOpen) ||
      !parseParams(d.params, true))
    return false;
  if (accept(Tok::Arrow)) {
    if (!expect(Tok::LParen, "before the outputs, as in '-> (y: f32[N])'") ||
        !parseParams(d.outputs, true))
      return false;
  }
  if (!expect(Tok::LBrace, "before the kernel's body", Role::BlockOpen))
    return false;
  parseBody(d, false);
  return true;
}

bool Parser::parseFn(Definition &d) {
  d.kind = Definition::Fn;
  take();
  if (!parseName(d.name, d.nameLoc, "the function's name after 'fn'"))
    return false;
  if (accept(Tok::LSquare, Role::TightOpen)) {
    while (!at(Tok::RSquare)) {
      Param p;
      if (!parseName(p.name, p.loc, "an index name"))
        return false;
      d.indexParams.push_back(p);
      if (!accept(Tok::Comma))
        break;
    }
    if (!expect(Tok::RSquare, "after the index parameters"))
      return false;
  }
  if (!expect(Tok::LParen, "before the parameters", Role::TightOpen) ||
      !parseParams(d.params, false))
    return false;
  if (accept(Tok::Arrow)) {
    Param out;
    out.loc = peek().loc;
    if (!parseType(out.type))
      return false;
    d.outputs.push_back(out);
  }
  if (!expect(Tok::LBrace, "before the function's body", Role::BlockOpen))
    return false;
  parseBody(d, true);
  return true;
}

bool Parser::parseReducer(Definition &d) {
  d.kind = Definition::Reducer;
  take();
  if (!parseName(d.name, d.nameLoc, "the reducer's name") ||
      !expect(Tok::LParen, "before the reducer's parameters", Role::TightOpen) ||
      !parseParams(d.params, false))
    return false;
  if (!atWord("identity"))
    return fail("'identity' and the identity value");
  take();
  Expr *e = parseExpr();
  if (!e)
    return false;
  d.identity.push_back(e);
  if (!expect(Tok::LBrace, "before the reducer's body", Role::BlockOpen))
    return false;
  parseBody(d, true);
  return true;
}

bool Parser::parseSchedule(Definition &d) {
  // `schedule NAME for TARGET [when COND] { ... }`: the record's keys belong to
  // the planner, so only the braces are matched here.
  d.kind = Definition::Schedule;
  take();
  if (!parseName(d.name, d.nameLoc, "the kernel's name after 'schedule'"))
    return false;
  while (!at(Tok::LBrace) && !at(Tok::Eof) && !at(Tok::RBrace))
    take();
  if (!expect(Tok::LBrace, "before the schedule's launches", Role::BlockOpen))
    return false;
  for (unsigned open = 1; open > 0;) {
    if (at(Tok::Eof))
      return fail("'}' after the schedule");
    if (at(Tok::LBrace))
      ++open, mark(Role::BlockOpen);
    if (at(Tok::RBrace))
      --open, mark(Role::BlockClose);
    take();
  }
  return true;
}

bool Parser::parseImport(Definition &d) {
  d.kind = Definition::Import;
  take();
  if (!at(Tok::String))
    return fail("the file's name in quotes after 'import'");
  d.nameLoc = peek().loc;
  d.name = take().text;
  return true;
}

bool Parser::parseParams(std::vector<Param> &params, bool needTypes) {
  while (!at(Tok::RParen)) {
    Param p;
    if (!parseParam(p, needTypes))
      return false;
    params.push_back(std::move(p));
    if (!accept(Tok::Comma))
      break;
  }
  return expect(Tok::RParen, "or ',' after a parameter");
}

bool Parser::parseParam(Param &p, bool needType) {
  p.isConst = accept(Tok::KwConst);
  p.isInout = !p.isConst && accept(Tok::KwInout);
  if (!parseName(p.name, p.loc, "a parameter's name"))
    return false;
  if (needType && !at(Tok::Colon))
    return fail(("':' and the type of '" + p.name + "', as in '" + p.name + ": f32[N]'").str());
  if (accept(Tok::Colon) && !parseType(p.type))
    return false;
  if (accept(Tok::Assign))
    return (p.defaultValue = parseExpr()) != nullptr;
  return true;
}

bool Parser::parseType(TypeRef &type) {
  Nest nest(*this);
  if (!nest.ok())
    return false;
  type.loc = peek().loc;
  if (accept(Tok::LParen)) {
    type.name = "(";
    return parseParams(type.fields, true);
  }
  if (!parseName(type.name, type.loc, "a type such as f32 or bf16[M, N]"))
    return false;
  if (accept(Tok::LSquare, Role::TightOpen)) {
    type.isTensor = true;
    return parseExprList(Tok::RSquare, type.dims, "the shape");
  }
  return true;
}

} // namespace kernelc::frontend
