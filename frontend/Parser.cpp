// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Definitions, parameters and types. See Parser.h.
#include "frontend/Parser.h"

#include "frontend/Habits.h"
#include "support/ElementType.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

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

bool Parser::startsLine(size_t token) const {
  if (token == 0)
    return true;
  const char *begin = tokens[token - 1].text.end(), *end = tokens[token].text.begin();
  return StringRef(begin, end - begin).contains('\n');
}

StringRef Parser::textOf(size_t first, size_t end) const {
  const char *begin = tokens[first].text.begin();
  return StringRef(begin, tokens[end - 1].text.end() - begin);
}

const Token *Parser::slashesBefore(bool &isProse) const {
  isProse = false;
  for (size_t i = pos; i-- > 0 && !startsLine(i + 1);) {
    if (tokens[i].kind == Tok::LBrace || tokens[i].kind == Tok::RBrace || tokens[i].kind == Tok::Semicolon)
      break; // of another statement
    isProse |= isWord(tokens[i].kind) && isWord(tokens[i + 1].kind);
    if (tokens[i].kind == Tok::SlashSlash)
      return &tokens[i];
  }
  return nullptr;
}

bool Parser::failAtHabit() {
  size_t at = pos;
  auto adjacent = [&](Tok a, Tok b) {
    return pos > 0 && tokens[pos - 1].kind == a && peek().kind == b && tokens[pos - 1].text.end() == peek().text.begin();
  };
  auto starts = [&](Tok a, Tok b) { return peek().kind == a && peek(1).kind == b && peek().text.end() == peek(1).text.begin(); };
  if (adjacent(Tok::Amp, Tok::Amp) || adjacent(Tok::Pipe, Tok::Pipe) || adjacent(Tok::Dot, Tok::Dot) || adjacent(Tok::Dot, Tok::Star) ||
      adjacent(Tok::Dot, Tok::Slash) || adjacent(Tok::Slash, Tok::Star) || adjacent(Tok::Lt, Tok::Gt) || adjacent(Tok::Pipe, Tok::Gt) ||
      adjacent(Tok::EqEq, Tok::Assign) || adjacent(Tok::Ne, Tok::Assign) || adjacent(Tok::Assign, Tok::Gt))
    at = pos - 1;
  else if (peek().kind != Tok::Unknown && peek().kind != Tok::SlashSlash && !starts(Tok::Slash, Tok::Star) &&
           !starts(Tok::Plus, Tok::Plus) && !starts(Tok::Minus, Tok::Minus) && !starts(Tok::Assign, Tok::Lt) &&
           !starts(Tok::Assign, Tok::Gt) && !starts(Tok::Lt, Tok::Minus))
    return false;
  StringRef rest = diags.file(tokens[at].loc.file).text.substr(tokens[at].loc.offset), text = tokens[at].text;
  size_t length = text.size();
  StringRef hint = hintForOperator(rest, length);
  if (rest.starts_with("--") && startsLine(at)) // of SQL, not of C
    hint = "comments start with '#'";
  if (rest.starts_with("?") && at > 0 && (tokens[at - 1].kind == Tok::LSquare || tokens[at - 1].kind == Tok::Comma))
    hint = "a size that the call tells has a name, as in 'f32[M, N]'";
  if (rest.starts_with("=>") && at > 1 && (tokens[at - 2].kind == Tok::LParen || tokens[at - 2].kind == Tok::Comma)) // map(a => a * 2, x)
    hint = "a function is a definition of its own, as in 'fn f(a) { a * 2 }'";
  Loc loc = tokens[at].loc;
  loc.begin = loc.offset;
  loc.end = loc.offset + length;
  auto d = diags.error(loc);
  unsigned char c = text[0];
  if (!hint.empty())
    d << "'" << rest.substr(0, length) << "' "
      << (c >= 0x80               ? "is not ASCII"
          : rest.starts_with("/") ? "starts no comment"
                                  : "is no operator of this language")
      << "; " << hint;
  else if (c >= 0x80)
    d << describeCharacter(rest) << " is not ASCII; " << (isForeignBlank(rest) ? "write a blank" : "only comments may hold such");
  else if (c >= 0x20 && c < 0x7f)
    d << "'" << text.substr(0, 1) << "' starts nothing in this language";
  else
    d << "unexpected byte 0x" << llvm::utohexstr(c);
  return true;
}

bool Parser::fail(StringRef expected, bool isMissing) {
  if (tooDeep || refuseWord() || failAtHabit())
    return false;
  bool isProse;
  const Token *slashes = slashesBefore(isProse);
  if (slashes && isProse) {
    diags.error(slashes->loc) << "'//' is floor division; comments start with '#'";
    return false;
  }
  if (at(Tok::Assign) && expected.starts_with("a type") && pos > 0 && tokens[pos - 1].kind == Tok::Colon) { // let t[i] := ..
    diags.error(tokens[pos - 1].loc) << "':=' is no operator of this language; write '='";
    return false;
  }
  bool atEnd = isMissing && pos > 0 && startsLine(pos);
  auto d = diags.error(atEnd ? Loc{endOfLast(), peek().loc.file} : peek().loc);
  d << "expected " << expected << ", found " << (atEnd ? "the end of the line" : describe(peek()));
  bool opensOrNames = expected.starts_with("'{'") || expected.starts_with("':'"); // no comparison stands there
  bool isRange = pos > 0 && tokens[pos - 1].kind == Tok::Colon;                   // a:=b
  if (at(Tok::Assign) && isRange)
    d << "; a range is written 'a:b', which leaves b out";
  else if (at(Tok::Assign) && !atEnd && !opensOrNames)
    d << "; to compare write '=='";
  if (at(Tok::Comma) && expected.starts_with("'}'"))
    d << "; a tuple stands in parentheses, as in '(a, b)'";
  if (expected.starts_with("a statement"))
    hintBetweenOperands(d);
  if (slashes)
    diags.note(d, slashes->loc) << "'//' is floor division; comments start with '#'";
  return false;
}

void Parser::hintBetweenOperands(InFlightDiagnostic &d, StringRef both) {
  auto isNumber = [&](size_t i) { return tokens[i].kind == Tok::Integer || tokens[i].kind == Tok::Float; };
  auto isOne = [&](size_t i) { return isNumber(i) || tokens[i].kind == Tok::Name; };
  if (pos == 0 || startsLine(pos) || !isOne(pos - 1) || !isOne(pos))
    return;
  StringRef x = tokens[pos - 1].text, y = tokens[pos].text;
  d << "; a product is written '" << x << " * " << y << "'";
  if (!both.empty() && !isNumber(pos - 1))
    d << ", " << both << " '" << x << ", " << y << "'";
}

bool Parser::expectClose(Tok kind, StringRef where, size_t open) {
  if (accept(kind))
    return true;
  if (tooDeep || failAtHabit())
    return false;
  // What is missing is missed at the end of the line, not where the next one starts.
  bool atEnd = startsLine(pos);
  bool isProse;
  if (const Token *slashes = slashesBefore(isProse); slashes && isProse)
    return fail("");
  if (refuseRangeSpelling(open))
    return false;
  auto d = diags.error(atEnd ? Loc{endOfLast(), peek().loc.file} : peek().loc);
  d << "expected '" << spelling(kind) << "' " << where << ", found " << (atEnd ? "the end of the line" : describe(peek()));
  bool isStepWord = atWord("by") || atWord("step") || atWord("stride");
  if ((at(Tok::Colon) || isStepWord) && kind == Tok::RSquare) {
    bool isStep = isStepWord; // k in 0:n:2
    for (size_t i = pos; i-- > open;)
      isStep |= tokens[i].kind == Tok::KwIn;
    if (isStep && peek(1).kind == Tok::Minus) // k in n:0:-1
      d << "; ranges have no step, and a reduction goes over its range in no order that shows: write the lower end first, as in 'k in i:n'";
    else if (isStep)
      d << "; ranges have no step: take every other element by its subscript, as in 'x[2 * k]'";
    else
      d << "; there are no slices: an index runs over its dim, as in 'x[i, j]'";
  }
  if (at(Tok::KwWhere) && kind == Tok::RParen)
    d << "; conditions of a reduction stand in its bracket, as in 'sum[k, k < n](..)'";
  if (at(Tok::KwWhere) && kind == Tok::RSquare && !atEnd) {
    size_t close = closeOf(open);
    bool isShown = close > pos + 1;
    d << "; conditions stand behind a comma, as in '" << (isShown ? textOf(open - 1, pos) : "sum[k") << ", "
      << (isShown ? textOf(pos + 1, close) : "k < n") << "](..)'";
  }
  if (at(Tok::KwIn) && kind == Tok::RSquare)
    d << "; the range of an index on the left stands behind 'where', as in 'y[i] = .. where i in 0:n'";
  if (at(Tok::Star) && where == "or ',' after a parameter")
    d << "; there are no pointers: a tensor has a shape, as in 'x: f32[N]'";
  if (atWord("for") && kind == Tok::RParen)
    d << "; a reduction names its indices in a bracket, as in 'sum[k](..)' or 'sum[k in 0:n](..)'";
  else if (!isStepWord && where.starts_with("or ',' in "))
    hintBetweenOperands(d, "and two of them are");
  diags.note(d, tokens[open].loc) << "this '" << tokens[open].text << "' is not closed";
  return false;
}

bool Parser::expect(Tok kind, StringRef where, Role role) {
  if (accept(kind, role))
    return true;
  return fail(("'" + spelling(kind) + "' " + where).str(), /*isMissing=*/true);
}

void Parser::skipToDefinition() {
  while (!at(Tok::Eof) && !at(Tok::KwDef) && !at(Tok::KwFn) && !at(Tok::KwReducer) && !at(Tok::KwSchedule) && !at(Tok::KwImport))
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
  current = &d;
  unsigned errors = diags.numErrors();
  tooDeep = false;
  depth = 0;
  bool ok;
  switch (peek().kind) {
  case Tok::KwDef: ok = parseDef(d); break;
  case Tok::KwFn: ok = parseFn(d); break;
  case Tok::KwReducer: ok = parseReducer(d); break;
  case Tok::KwSchedule: ok = parseSchedule(d); break;
  case Tok::KwImport: ok = parseImport(d); break;
  default: ok = failDefinition(d);
  }
  if (!ok)
    skipToDefinition();
  d.isBroken = diags.numErrors() > errors ||
               llvm::any_of(badTokens, [&](uint32_t offset) { return offset >= d.loc.offset && offset < peek().loc.offset; });
  current = nullptr;
  if (d.name.empty() && d.isBroken)
    result.ast.definitions.pop_back();
}

bool Parser::failDefinition(Definition &d) {
  if (at(Tok::RBrace) && !tooDeep) {
    diags.error(peek().loc) << "this '}' closes nothing";
    take();
    return false;
  }
  std::string expected = "'def', 'fn', 'reducer', 'schedule' or 'import'";
  if (at(Tok::Unknown) && peek().text == "@" && peek(1).kind == Tok::Name) {
    diags.error(peek().loc) << "there are no decorators; a kernel begins with 'def'";
    return false;
  }
  if (StringRef hint = hintOutsideBody(peek().text); !hint.empty() && !tooDeep) {
    diags.error(peek().loc) << "expected " << expected << ", found " << describe(peek()) << "; " << hint;
    take();
    return false;
  }
  if (at(Tok::Name) && peek(1).kind == Tok::Assign && !tooDeep) { // N = 128
    diags.error(peek().loc)
        << "expected " << expected << ", found " << describe(peek())
        << "; a size has its name from a shape, as in 'x: f32[N]', and its value from the call; a number for all kernels "
           "of a file is a function, as in 'fn eps() { 1e-5 }', which 'eps()' calls";
    return false;
  }
  std::string near = definitionMeant(peek().text).str();
  if (near == "fn" && tokens[findAhead({Tok::Arrow, Tok::LBrace})].kind == Tok::Arrow) // (functions do not say what they return)
    near = "def";
  if (near.empty() && at(Tok::Name))
    near = findNearest(peek().text, {"def", "fn", "reducer", "schedule", "import"});
  if (near.empty() && at(Tok::Name) && peek(1).kind == Tok::Name && (peek(2).kind == Tok::LParen || peek(2).kind == Tok::LSquare))
    near = "def"; // kernel f(..)
  if (atWord("from") || atWord("use") || atWord("include")) {
    diags.error(peek().loc) << "expected " << expected << ", found " << describe(peek())
                            << "; a file's functions are made known by 'import \"file.kc\"'";
    for (size_t line = pos + 1; line < tokens.size() && !startsLine(line) && !at(Tok::Eof); ++line)
      take();
    take();
    return false;
  }
  if (near.empty()) {
    fail(expected);
    take();
    return false;
  }
  diags.error(peek().loc) << "expected " << expected << ", found " << describe(peek()) << "; did you mean '" << near << "'?";
  // It is read as what was meant, so that its uses and what stands in it are no further mistakes.
  if (near == "fn")
    return parseFn(d);
  if (near == "def")
    return parseDef(d);
  take();
  return false;
}

bool Parser::parseName(StringRef &name, Loc &loc, StringRef what) {
  if (isWord(peek().kind) && !at(Tok::Name) && !startsLine(pos)) {
    diags.error(peek().loc) << "expected " << what << ", found " << describe(peek()) << ", which is a keyword and names nothing";
    return false;
  }
  if (!at(Tok::Name))
    return fail(what);
  loc = peek().loc;
  name = take().text;
  return true;
}

bool Parser::parseDef(Definition &d) {
  d.kind = Definition::Def;
  take();
  if (!parseName(d.name, d.nameLoc, "the kernel's name after 'def'"))
    return false;
  if (at(Tok::Lt) && !tooDeep) {
    diags.error(peek().loc) << "a kernel is of the types that its parameters name, as in '" << d.name
                            << "(x: f32[N])'; there are no others to choose";
    return false;
  }
  if (!expect(Tok::LParen, "before the parameters", Role::TightOpen) || !parseParams(d.params, true))
    return false;
  if (accept(Tok::Arrow)) {
    if (isFunctionHead(d))
      return parseFunctionResult(d);
    if (!expect(Tok::LParen, "before the outputs, as in '-> (y: f32[N])'") || !parseParams(d.outputs, true))
      return false;
  } else if (at(Tok::LParen)) {
    return fail("'->' before the outputs, as in 'def f(..) -> (y: f32[N])'");
  }
  if (at(Tok::Arrow) && !tooDeep) {
    diags.error(peek().loc) << "all outputs stand in one list, as in '-> (y: f32[N], z: f32[N])'";
    return false;
  }
  if (!parseOrder(d.anyOrder) || !expect(Tok::LBrace, "before the kernel's body", Role::BlockOpen))
    return false;
  parseBody(d, false);
  return true;
}

/// def f(a: f32) -> f32 {: at the type behind the arrow.
bool Parser::isFunctionHead(const Definition &d) const {
  StringRef type = peek().text;
  return at(Tok::Name) && peek(1).kind == Tok::LBrace && findElementType(absl::string_view(type.data(), type.size())) &&
         llvm::none_of(d.params, [](const Param &p) { return p.type.isTensor || p.isConst || p.isInout; });
}

/// Reports that, and reads it as what was meant, so that its uses are no further mistakes.
bool Parser::parseFunctionResult(Definition &d) {
  diags.error(d.loc) << "a kernel has tensors as outputs, and a function of values is defined by 'fn'; write 'fn "
                     << diags.file(d.loc.file).text.slice(d.nameLoc.offset, endOfLast()) << " " << peek().text << " { .. }'";
  d.kind = Definition::Fn;
  return parseFnResult(d);
}

bool Parser::parseFnResult(Definition &d) {
  Param out;
  out.loc = peek().loc;
  if (!parseType(out.type, out))
    return false;
  if (out.type.isTensor) {
    diags.error(out.type.loc) << "a function gives one value, not a tensor; write '-> " << out.type.name
                              << "', and let the indices of that value be parameters, as in 'fn f(x, i)'";
    return false;
  }
  d.outputs.push_back(out);
  return parseFnBody(d);
}

bool Parser::parseFnBody(Definition &d) {
  if (at(Tok::Assign) && !tooDeep) {                                     // fn f(a) = a * 2
    size_t begin = pos + (peek(1).kind == Tok::Gt ? 2 : 1), end = begin; // (=> as well)
    while (tokens[end].kind != Tok::Eof && !startsLine(end))
      ++end;
    diags.error(peek().loc) << "the value of a function stands in braces; write 'fn "
                            << diags.file(d.loc.file).text.slice(d.nameLoc.offset, endOfLast()) << " { "
                            << (end > begin ? textOf(begin, end) : "..") << " }'";
    return false;
  }
  if (!expect(Tok::LBrace, "before the function's body", Role::BlockOpen))
    return false;
  parseBody(d, true);
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
  if (!expect(Tok::LParen, "before the parameters", Role::TightOpen) || !parseParams(d.params, false))
    return false;
  return accept(Tok::Arrow) ? parseFnResult(d) : parseFnBody(d);
}

bool Parser::parseReducer(Definition &d) {
  d.kind = Definition::Reducer;
  take();
  if (!parseName(d.name, d.nameLoc, "the reducer's name") || !expect(Tok::LParen, "before the reducer's parameters", Role::TightOpen) ||
      !parseParams(d.params, false))
    return false;
  if (!atWord("identity"))
    return fail("'identity' and the value to start from, as in 'identity 0'");
  take();
  Expr *e = parseExpr();
  if (!e)
    return false;
  d.identity.push_back(e);
  if (at(Tok::Comma) && !tooDeep) { // identity -inf, -1
    size_t end = findAhead({Tok::LBrace});
    bool isShown = tokens[end].kind == Tok::LBrace;
    Loc loc = e->whole();
    diags.error(peek().loc) << "the fields of a tuple stand in parentheses; write 'identity ("
                            << diags.file(loc.file).text.slice(loc.begin, isShown ? tokens[end].loc.offset : endOfLast()).rtrim() << ")'";
    return false;
  }
  if (!expect(Tok::LBrace, "before the reducer's body", Role::BlockOpen))
    return false;
  parseBody(d, true);
  return true;
}

bool Parser::parseImport(Definition &d) {
  d.kind = Definition::Import;
  take();
  if (at(Tok::Name)) { // import math
    diags.error(peek().loc) << "expected the file's name in quotes after 'import', as in 'import \"std/vision.kc\"', found "
                            << describe(peek()) << "; functions such as 'exp' need no import";
    return false;
  }
  if (!at(Tok::String))
    return fail("the file's name in quotes after 'import'");
  d.nameLoc = peek().loc;
  d.name = take().text;
  if (atWord("as") && !startsLine(pos)) {
    diags.error(peek().loc) << "what a file defines goes by its own names; leave '"
                            << textOf(pos, pos + (peek(1).kind == Tok::Name ? 2 : 1)) << "' out";
    return false;
  }
  if (at(Tok::Comma)) {
    auto e = diags.error(peek().loc);
    e << "an 'import' takes one file";
    if (peek(1).kind == Tok::String)
      e << "; write 'import " << d.name << "' and 'import " << peek(1).text << "'";
    return false;
  }
  return true;
}

bool Parser::parseParams(std::vector<Param> &params, bool needTypes) {
  size_t open = pos - 1;
  while (!at(Tok::RParen)) {
    Param p;
    if (!parseParam(p, needTypes))
      return false;
    params.push_back(std::move(p));
    if (!accept(Tok::Comma))
      break;
  }
  return expectClose(Tok::RParen, "or ',' after a parameter", open);
}

/// What is wrong with `float x[N]` and `inuot x: f32[N]`, whose first word was taken for the name.
bool Parser::failAtParamType(const Param &p) {
  if (at(Tok::Name) && !tooDeep && isOutputWord(p.name)) { // out y: f32[N]
    diags.error(p.loc) << "outputs stand behind the parameters, as in '-> (" << peek().text
                       << ": f32[N])'; a tensor that is read and written is 'inout " << peek().text << ": ..'";
    return false;
  }
  if (at(Tok::Name) && !tooDeep) {
    std::string near = findNearest(p.name, {"const", "inout"});
    StringRef element = elementTypeMeant(p.name);
    if (element.empty() && findElementType(absl::string_view(p.name.data(), p.name.size())))
      element = p.name;
    if (!near.empty() || !element.empty()) {
      auto d = diags.error(p.loc);
      if (element.empty())
        d << "'" << p.name << "' stands before a parameter's name; did you mean '" << near << "'?";
      else
        d << "the type of a parameter stands behind its name; write '" << peek().text << ": " << element << "[..]'";
      return false;
    }
  }
  if (at(Tok::LSquare) && !tooDeep && findElementType(absl::string_view(p.name.data(), p.name.size()))) { // f32[N] x
    size_t close = findAhead({Tok::RSquare});
    bool isNamed = tokens[close].kind == Tok::RSquare && tokens[close + 1].kind == Tok::Name;
    diags.error(p.loc) << "the type of a parameter stands behind its name; write '" << (isNamed ? tokens[close + 1].text : "x") << ": "
                       << (isNamed ? textOf(pos - 1, close + 1) : p.name) << "'";
    return false;
  }
  if (at(Tok::Assign) && p.isConst && !tooDeep) {
    Tok value = peek(1).kind;
    diags.error(peek().loc) << "expected ':' and the type of '" << p.name << "', as in '" << p.name << ": "
                            << (value == Tok::KwTrue || value == Tok::KwFalse ? "bool"
                                : value == Tok::Float                         ? "f32"
                                                                              : "i64")
                            << " = " << peek(1).text << "', found '='";
    return false;
  }
  if (at(Tok::Star) && !tooDeep) { // float *x
    diags.error(peek().loc) << "there are no pointers: a tensor has a shape, as in '" << (peek(1).kind == Tok::Name ? peek(1).text : p.name)
                            << ": f32[N]'";
    return false;
  }
  return fail(("':' and the type of '" + p.name + "', as in '" + p.name + ": f32[N]'").str());
}

bool Parser::parseParam(Param &p, bool needType) {
  p.isConst = accept(Tok::KwConst);
  p.isInout = !p.isConst && accept(Tok::KwInout);
  if ((at(Tok::Amp) || at(Tok::Star)) && peek(1).kind == Tok::Name && !tooDeep) { // &y: f32[N]
    StringRef name = peek(1).text;
    diags.error(peek().loc) << "there are no " << (at(Tok::Amp) ? "references" : "pointers") << "; an input is '" << name
                            << ": f32[N]', a tensor that is written as well 'inout " << name << ": f32[N]'";
    return false;
  }
  if (!parseName(p.name, p.loc, "a parameter's name"))
    return false;
  if (needType && !at(Tok::Colon))
    return failAtParamType(p);
  if (accept(Tok::Colon) && !parseType(p.type, p))
    return false;
  if (accept(Tok::Assign))
    return (p.defaultValue = parseExpr()) != nullptr;
  return true;
}

/// `of` is what has the type.
bool Parser::parseType(TypeRef &type, const Param &of) {
  Nest nest(*this);
  if (!nest.ok())
    return false;
  type.loc = peek().loc;
  if ((at(Tok::KwInout) || at(Tok::KwConst)) && !startsLine(pos) && !tooDeep) {
    diags.error(peek().loc) << "'" << peek().text << "' stands before the name, as in '" << peek().text << " " << of.name << ": "
                            << (peek(1).kind == Tok::Name ? peek(1).text : "f32") << (at(Tok::KwInout) ? "[..]'" : "'");
    return false;
  }
  if (accept(Tok::LParen)) {
    type.name = "(";
    return parseParams(type.fields, true);
  }
  if (!parseName(type.name, type.loc, "a type such as f32 or bf16[M, N]"))
    return false;
  if (accept(Tok::LSquare, Role::TightOpen)) {
    type.isTensor = true;
    size_t bracket = pos - 1;
    return parseExprList(Tok::RSquare, type.dims, "the shape") && !refuseSecondShape(bracket);
  }
  if (refuseTypeSpelling(of, type))
    return false;
  if ((at(Tok::Name) || at(Tok::Integer)) && (peek(1).kind == Tok::Comma || peek(1).kind == Tok::RSquare) &&
      !startsLine(pos)) { // f32 M, N]
    diags.error(peek().loc) << "expected '[' before the shape of '" << type.name << "', found " << describe(peek());
    return false;
  }
  return true;
}

} // namespace kernelc::frontend
