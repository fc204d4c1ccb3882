// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements of kernel and function bodies. See Parser.h.
#include "frontend/Parser.h"

#include "frontend/Habits.h"
#include "frontend/MathFunctions.h"
#include "frontend/Prelude.h"
#include "support/ElementType.h"

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

/// The word is no keyword: tensors and indices may be called so.
bool Parser::atAssert() const { return at(Tok::Name) && peek().text == "assert" && !atAssignment(); }

bool Parser::atDeclaration() const {
  if (atAssert())
    return false;
  if (!at(Tok::Name) || peek(1).kind != Tok::Name || startsLine(pos + 1) || isReductionName(peek(1).text))
    return false;
  StringRef word = peek().text;
  return !hintForStatement(word).empty() || !elementTypeMeant(word).empty() || findElementType(absl::string_view(word.data(), word.size()));
}

bool Parser::atStatement() const {
  if (at(Tok::KwLet) || at(Tok::KwRequire))
    return true;
  return atAssignment() || atAssert() || (at(Tok::Name) && llvm::is_contained(kPolicies, peek().text) && peek(1).kind != Tok::LSquare);
}

void Parser::skipToStatement() {
  unsigned open = 0, braces = 0;
  while (!at(Tok::Eof) && !at(Tok::KwDef) && !at(Tok::KwReducer) && !at(Tok::KwSchedule)) {
    // A block of another language is one mistake.
    if (at(Tok::LBrace) || (at(Tok::RBrace) && braces)) {
      at(Tok::LBrace) ? ++braces : --braces;
      open = 0;
      take();
      continue;
    }
    if (braces) {
      take();
      continue;
    }
    if (open == 0 && (at(Tok::RBrace) || at(Tok::KwLet) || at(Tok::KwRequire) || at(Tok::KwFn)))
      return;
    // A statement that starts a line is a place to go on, whatever is open; others are one where nothing is.
    if (pos > 0 && startsLine(pos) && (atAssignment() || atAssert() || at(Tok::KwLet) || at(Tok::KwRequire)))
      return;
    if (at(Tok::LParen) || at(Tok::LSquare))
      ++open;
    if ((at(Tok::RParen) || at(Tok::RSquare)) && open > 0)
      --open;
    take();
  }
}

void Parser::parseBody(Definition &d, bool allowValue) {
  unsigned requirements = 0;
  size_t brace = pos - 1;
  bool complete = true;
  while (!at(Tok::RBrace)) {
    bool isKernel = at(Tok::KwDef) && tokens[findAhead({Tok::Arrow, Tok::LBrace})].kind == Tok::Arrow; // a '}' is missing before it
    if (at(Tok::KwDef) && diags.location(peek().loc).getColumn() > 1 && !isKernel && !tooDeep) {
      diags.error(peek().loc) << "definitions do not nest; what a kernel calls is a function before it, as in 'fn "
                              << (peek(1).kind == Tok::Name ? peek(1).text : "f") << "(x) { .. }'";
      take();
      skipToStatement();
      complete = false;
      continue;
    }
    if (at(Tok::Eof) || at(Tok::KwDef)) {
      if (tooDeep)
        return;
      auto e = diags.error(peek().loc);
      e << "expected '}' at the end of the body, found " << describe(peek());
      diags.note(e, tokens[brace].loc) << "this '{' is not closed";
      return;
    }
    tooDeep = false;
    depth = 0;
    mark(Role::StatementStart);
    size_t start = pos;
    Statement s;
    s.loc = peek().loc;
    bool ok;
    if (allowValue && at(Tok::Name) && atAssignment()) {
      diags.error(peek().loc)
          << "a function assigns nothing; its value is the expression at its end, and what comes before stands in 'let'";
      ok = false;
    } else if (allowValue && !atStatement() && !atWord("return")) {
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
    complete &= ok;
    if (!ok) {
      if (pos == start && !at(Tok::LBrace))
        take();
      skipToStatement();
      if (diags.full() || at(Tok::KwFn) || at(Tok::KwReducer) || at(Tok::KwSchedule))
        return;
    }
  }
  if (allowValue && !d.value && d.name.size() && complete)
    fail(("the value of '" + d.name + "': an expression at the end of the body").str());
  accept(Tok::RBrace, Role::BlockClose);
}

bool Parser::parseStatement(Statement &s) {
  if (at(Tok::KwLet))
    return parseLet(s);
  if (at(Tok::KwRequire))
    return parseRequire(s);
  if (atAssert())
    return parseAssert(s);
  if (at(Tok::Name) && !atAssignment() && llvm::is_contained(kPolicies, peek().text))
    return parsePolicy(s);
  if (at(Tok::Name) && !atDeclaration() &&
      (atAssignment() ||
       (!isWord(peek(1).kind) && peek(1).kind != Tok::LParen && hintForStatement(peek().text).empty() && !atWord("return"))))
    return parseAssign(s);
  return failStatement();
}

/// "y[i, j] = ..", of the kernel's first output.
std::string Parser::exampleOfOutput() const {
  if (!current || current->outputs.empty() || current->kind != Definition::Def)
    return "y[i] = ..";
  const Param &out = current->outputs.front();
  return (out.name + "[" + exampleIndices(out.type.dims.size()) + "] = ..").str();
}

StringRef Parser::hintForHere() {
  if (atWord("for") && !startsLine(pos) && pos > 0 && tokens[pos - 1].kind != Tok::LBrace && tokens[pos - 1].kind != Tok::Semicolon)
    return "the range of an index stands behind 'where', as in 'where i in 0:n'";
  StringRef hint = isWord(peek().kind) ? hintForStatement(peek().text) : "";
  if (hint.empty() && atDeclaration())
    return "an intermediate tensor is defined by 'let', with its type behind its name, as in 'let t[i]: f32 = ..'";
  return hint;
}

/// What stands elsewhere in a text, or in another language.
bool Parser::refuseForeign() {
  StringRef word = peek().text;
  if (refuseBraces())
    return true;
  if (atWord("as") && peek(1).kind == Tok::Name && !startsLine(pos)) { // x[i] as f16
    diags.error(peek().loc) << "there is no 'as'; a cast is written '" << peek(1).text << "(..)'";
    return true;
  }
  if (at(Tok::RParen) || at(Tok::RSquare)) {
    diags.error(peek().loc) << "this '" << word << "' closes nothing: there is no '" << (at(Tok::RParen) ? "(" : "[") << "' before it";
    return true;
  }
  if (atWord("return")) {
    auto d = diags.error(peek().loc);
    if (current && current->kind == Definition::Fn)
      d << "there is no 'return': the value of a function is the expression at its end";
    else
      d << "there is no 'return'; assign the output, as in '" << exampleOfOutput() << "'";
    return true;
  }
  return false;
}

/// f(..), and y(i) = ..
void Parser::reportCall() {
  StringRef word = peek().text, instead = hintForFunction(word);
  auto d = diags.error(peek().loc);
  auto isIt = [&](const Param &p) { return p.name == word; };
  if (current && (llvm::any_of(current->outputs, isIt) || llvm::any_of(current->params, isIt))) {
    size_t close = findAhead({Tok::RParen});
    bool isShown = tokens[close].kind == Tok::RParen && close > pos + 2;
    d << "subscripts stand in square brackets; write '" << word << "[" << (isShown ? textOf(pos + 2, close) : "i") << "]'";
    return;
  }
  if (word == "view") {
    d << "a view is only read; to write '" << exampleOfOutput() << "' compute the output's subscripts";
    return;
  }
  d << "a call is no statement";
  if (instead.empty())
    d << "; assign its value, as in '" << exampleOfOutput() << "'";
  else
    d << "; " << instead;
}

bool Parser::failStatement() {
  if (tooDeep)
    return false;
  StringRef word = peek().text;
  bool isProse;
  if (slashesBefore(isProse) && isProse)
    return fail("");
  StringRef hint = hintForHere();
  if (at(Tok::String)) {
    diags.error(peek().loc) << "a string is no statement; comments start with '#' and end with the line";
    return false;
  }
  std::string near;
  if (at(Tok::Name) && hint.empty()) {
    std::vector<StringRef> words = {"let", "require", "precision", "tolerance", "where"};
    if (!startsLine(pos))
      words.insert(words.end(), {"if", "else", "and", "or"});
    near = findNearest(word, words);
  }
  if (refuseForeign())
    return false;
  if (at(Tok::LParen) && tokens[closeOf(pos) + 1].kind == Tok::Assign) { // (y[i], z[i]) = ..
    diags.error(peek().loc) << "a statement defines one name; write one for each, as in '" << exampleOfOutput() << "'";
    return false;
  }
  if (at(Tok::Name) && peek(1).kind == Tok::LParen && hint.empty() && near.empty()) {
    reportCall();
    return false;
  }
  if (!hint.empty() || !near.empty()) {
    auto d = diags.error(peek().loc);
    d << "'" << word << "' starts no statement; ";
    if (!hint.empty())
      d << hint;
    else
      d << "did you mean '" << near << "'?";
    return false;
  }
  if (at(Tok::Name) && current && !startsLine(pos + 1) && llvm::any_of(current->outputs, [&](const Param &p) { return p.name == word; })) {
    take();
    return fail(("'[' and the subscripts of '" + word + "', or '='").str());
  }
  return fail("a statement: 'let', 'require' or an assignment such as '" + exampleOfOutput() + "'");
}

bool Parser::parseLet(Statement &s) {
  s.kind = Statement::Let;
  take();
  if (!parseTarget(s))
    return false;
  Param of;
  of.name = s.target;
  if (accept(Tok::Colon) && !parseType(s.type, of))
    return false;
  s.op = "=";
  s.opLoc = peek().loc;
  if (at(Tok::Name) && !s.hasSubscripts && !tooDeep) { // let mut t[i], let f32 t[i]
    diags.error(s.targetLoc) << "one name stands behind 'let', and a type behind its subscripts, as in 'let " << peek().text
                             << "[i]: f32 = ..'; no value of it changes later";
    return false;
  }
  if (!expect(Tok::Assign, "after the left side of a 'let'"))
    return false;
  return (s.value = parseExpr()) && parseWhere(s) && parseOrder(s.anyOrder);
}

bool Parser::parseCondition(Statement &s) {
  const char *begin = peek().text.begin();
  s.value = parseExpr();
  if (!s.value)
    return false;
  s.sourceText = StringRef(begin, tokens[pos - 1].text.end() - begin);
  return true;
}

bool Parser::parseRequire(Statement &s) {
  s.kind = Statement::Require;
  take();
  size_t first = pos;
  if (!parseCondition(s))
    return false;
  for (size_t i = first; i + 1 < pos; ++i)
    if (tokens[i + 1].kind == Tok::LSquare && current &&
        llvm::any_of(current->params, [&](const Param &p) { return p.name == tokens[i].text && p.type.isTensor; })) {
      diags.error(tokens[i].loc) << "a 'require' speaks of sizes; what must hold of data stands in an 'assert', as in 'assert "
                                 << s.sourceText.take_front(60) << "'";
      return false;
    }
  if (at(Tok::Comma) && peek(1).kind == Tok::String) {
    diags.error(peek().loc) << "a 'require' has no text of its own: where it fails, its condition is shown with the sizes";
    return false;
  }
  if (at(Tok::Assign)) {
    diags.error(peek().loc) << "'=' defines something; a 'require' compares with '=='";
    return false;
  }
  return true;
}

bool Parser::parseAssert(Statement &s) {
  s.kind = Statement::Assert;
  take();
  if (at(Tok::LParen)) { // as C has it
    int depth = 0;
    for (size_t i = pos; tokens[i].kind != Tok::Eof && !(i > pos && startsLine(i)); ++i) {
      depth += tokens[i].kind == Tok::LParen ? 1 : tokens[i].kind == Tok::RParen ? -1 : 0;
      if (depth == 1 && tokens[i].kind == Tok::Comma && tokens[i + 1].kind == Tok::String) {
        diags.error(peek().loc) << "no parenthesis stands around an assertion and its text; write 'assert CONDITION, \"text\"'";
        return false;
      }
      if (depth == 0)
        break;
    }
  }
  if (!parseCondition(s))
    return false;
  if (accept(Tok::Comma)) {
    if (!at(Tok::String))
      return fail("the assertion's text in quotes behind ','");
    s.sourceText = take().text.drop_front().drop_back();
  }
  return parseWhere(s);
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
  if (at(Tok::LParen) && s.kind == Statement::Let && !tooDeep) { // let (a, b) = ..
    diags.error(peek().loc) << "a tuple has one name, and its fields have theirs, as in 'let t: (a: f32, b: f32) = (x, y)' and 't.a'";
    return false;
  }
  if (!parseName(s.target, s.targetLoc, "the name to define"))
    return false;
  if (accept(Tok::Dot)) {
    Loc loc;
    if (!parseName(s.mode, loc, "'unique' after '.'"))
      return false;
  }
  if (accept(Tok::LSquare, Role::TightOpen)) {
    s.hasSubscripts = true;
    size_t bracket = pos - 1;
    return parseExprList(Tok::RSquare, s.subscripts, "the subscripts") && !refuseSecondBracket(bracket);
  }
  return true;
}

bool Parser::parseAssignOp(Statement &s) {
  s.opLoc = peek().loc;
  switch (peek().kind) {
  case Tok::Assign: s.op = "="; break;
  case Tok::PlusAssign: s.op = "+="; break;
  case Tok::TimesAssign: s.op = "*="; break;
  case Tok::Name:
  case Tok::KwAnd:
  case Tok::KwOr:
    if (peek(1).kind != Tok::Assign)
      return fail("'=' or an assignment form (+= *= min= max= and= or= xor=)");
    mark(Role::WordOp);
    s.op = take().text;
    break;
  case Tok::Minus:
  case Tok::Slash:
    if (peek(1).kind == Tok::Assign) {
      Loc loc = peek().loc;
      loc.begin = loc.offset;
      loc.end = loc.offset + 2;
      diags.error(loc) << "'" << peek().text << "=' is not an assignment form; write " << (at(Tok::Minus) ? "'+= -(..)'" : "'*= 1 / (..)'")
                       << " (there are = += *= min= max= and= or= xor=)";
      return false;
    }
    [[fallthrough]];
  default:
    if (at(Tok::Colon) && peek(1).kind == Tok::Assign && !tooDeep) {
      Loc loc = peek().loc;
      loc.begin = loc.offset;
      loc.end = loc.offset + 2;
      diags.error(loc) << "':=' is not an assignment form; write '=', and 'let' before a tensor that is no output";
      return false;
    }
    if (at(Tok::Comma) && !tooDeep) { // y[i], z[i] = ..
      diags.error(peek().loc) << "a statement defines one tensor; write a statement for each";
      return false;
    }
    return fail("'=' or an assignment form (+= *= min= max= and= or= xor=)");
  }
  take();
  return true;
}

/// Whether a name can only be that of a function: of the language, or defined in `text` or the prelude.
static bool namesFunction(StringRef name, StringRef text) {
  auto isDefinedIn = [&](StringRef definitions) {
    return definitions.contains(("fn " + name + "(").str()) || definitions.contains(("fn " + name + "[").str());
  };
  return mathArity(name) || isDefinedIn(text) || isDefinedIn(kPrelude);
}

/// "y[i] = (float)x[i]": what stands behind a whole expression, in its line, is taken for a statement, and is none.
bool Parser::failBehindExpression(size_t first) {
  if (pos == first && refuseCapitals())
    return false;
  const Token &before = tokens[first - 1];
  StringRef meant = elementTypeMeant(tokens[first - 2].text), hint = hintForStatement(before.text);
  auto d = diags.error(tokens[first].loc);
  if (before.kind == Tok::Name && hint.empty() && namesFunction(before.text, diags.file(0).text)) { // sqrt x[i]
    size_t last = std::max(first, tokens[first + 1].kind == Tok::LSquare ? closeOf(first + 1) : first);
    d << "a function is called with parentheses; write '" << before.text << "(" << textOf(first, last + 1) << ")'";
    return false;
  }
  d << "'" << tokens[first].text << "' stands behind a whole expression: an operator is missing, or a ';' before another statement";
  if (!hint.empty() && before.kind == Tok::Name)
    d << "; " << hint;
  if (before.kind == Tok::RParen && tokens[first - 2].kind == Tok::Name && tokens[first - 3].kind == Tok::LParen)
    d << "; a cast is written '" << (meant.empty() ? tokens[first - 2].text : meant) << "(..)'";
  return false;
}

bool Parser::parseAssign(Statement &s) {
  s.kind = Statement::Assign;
  size_t first = pos;
  bool follows = first > 2 && !startsLine(first) && tokens[first - 1].kind != Tok::LBrace && tokens[first - 1].kind != Tok::Semicolon;
  if (follows) {
    size_t behind = first + 1; // the subscripts
    for (int depth = 0; tokens[behind].kind == Tok::LSquare || depth > 0; ++behind) {
      depth += tokens[behind].kind == Tok::LSquare ? 1 : tokens[behind].kind == Tok::RSquare ? -1 : 0;
      if (tokens[behind].kind == Tok::Eof)
        break;
    }
    Tok next = tokens[behind].kind, second = next == Tok::Eof ? next : tokens[behind + 1].kind;
    if (next != Tok::Assign && next != Tok::PlusAssign && next != Tok::TimesAssign && next != Tok::Dot && second != Tok::Assign)
      return failBehindExpression(first);
  }
  if (!parseTarget(s) || !parseAssignOp(s))
    return false;
  size_t value = pos;
  if (!(s.value = parseExpr()))
    return false;
  bool isOneLine = true;
  for (size_t i = value + 1; i <= pos; ++i)
    isOneLine &= !startsLine(i);
  if ((at(Tok::Assign) || at(Tok::Comma)) && isOneLine && !tooDeep) { // y[i] = z[i] = .., y[i] = .., z[i] = ..
    diags.error(peek().loc) << "a statement defines one tensor; write a statement for each, with ';' or a new line between them"
                            << (at(Tok::Assign) ? " (to compare write '==')" : "");
    return false;
  }
  return parseWhere(s) && parseOrder(s.anyOrder);
}

bool Parser::parseOrder(std::optional<Loc> &anyOrder) {
  if (!atWord("order") || peek(1).kind != Tok::LParen)
    return true;
  anyOrder = take().loc;
  if (!expect(Tok::LParen, "after 'order'", Role::TightOpen))
    return false;
  if (!atWord("any"))
    return fail("'any': 'order(any)' lets float sums add up in any order");
  take();
  return expect(Tok::RParen, "after 'order(any'");
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
