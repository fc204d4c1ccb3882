// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What people write who come from Python, NumPy or Triton, where the grammar alone would only say what it expects. Each function
// reports at a place that is an error already, and returns whether it had something to say. See Habits.h for the words.
#include "frontend/Habits.h"
#include "frontend/Parser.h"

#include "support/ElementType.h"

using namespace mlir;

namespace kernelc::frontend {

size_t Parser::openBracketBefore(size_t token) const {
  unsigned closed = 0;
  for (size_t i = token; i-- > 0;) {
    if (tokens[i].kind == Tok::RSquare || tokens[i].kind == Tok::RParen)
      ++closed;
    if ((tokens[i].kind == Tok::LSquare || tokens[i].kind == Tok::LParen) && closed-- == 0)
      return i;
  }
  return 0;
}

size_t Parser::closeOf(size_t open) const {
  int depth = 0;
  for (size_t at = open; tokens[at].kind != Tok::Eof && !(at > open && startsLine(at)); ++at) {
    depth += tokens[at].kind == Tok::LSquare || tokens[at].kind == Tok::LParen;
    depth -= tokens[at].kind == Tok::RSquare || tokens[at].kind == Tok::RParen;
    if (depth == 0)
      return at;
  }
  return 0;
}

size_t Parser::findAhead(std::initializer_list<Tok> kinds) const {
  size_t at = pos;
  while (tokens[at].kind != Tok::Eof && !llvm::is_contained(kinds, tokens[at].kind))
    ++at;
  return at;
}

/// y[:], x[::2], sum(x[i, :]): at the colon.
bool Parser::refuseSlice() {
  if (!at(Tok::Colon) || tooDeep || pos == 0 || (tokens[pos - 1].kind != Tok::LSquare && tokens[pos - 1].kind != Tok::Comma))
    return false;
  size_t open = openBracketBefore(pos), name = open ? open - 1 : 0;
  bool isLeft = tokens[name].kind == Tok::Name && name > 0 && (startsLine(name) || tokens[name - 1].kind == Tok::LBrace);
  size_t call = openBracketBefore(open);
  auto d = diags.error(peek().loc);
  d << "there are no slices; ";
  if (isLeft)
    d << "'" << exampleOfOutput() << "' defines every element";
  else if (peek(1).kind == Tok::Colon && peek(2).kind == Tok::Integer)
    d << "take every other element by its subscript, as in 'y[i] = x[" << peek(2).text << " * i]'";
  else if (tokens[call].kind == Tok::LParen && call > 0 && !hintForFunction(tokens[call - 1].text).empty())
    d << hintForFunction(tokens[call - 1].text); // dot(a[i, :], b[:, j])
  else if (tokens[call].kind == Tok::LParen && call > 0 && isReductionName(tokens[call - 1].text))
    d << "an index runs over its dim, as in '" << tokens[call - 1].text << "[j](x[i, j])'";
  else
    d << "an index runs over its dim, as in 'y[i] = 2 * x[i]'";
  return true;
}

/// x[i][j]: at the second bracket; the first one opens at the token `bracket`.
bool Parser::refuseSecondBracket(size_t bracket) {
  if (!at(Tok::LSquare) || tooDeep)
    return false;
  size_t close = pos;
  while (tokens[close].kind != Tok::RSquare && tokens[close].kind != Tok::Eof && !startsLine(close + 1))
    ++close;
  // x[m][i] of a tensor m is no list of subscripts.
  const Param *chosenBy = nullptr;
  if (pos - bracket == 3 && current)
    for (const Param &p : current->params)
      if (p.type.isTensor && p.name == tokens[bracket + 1].text)
        chosenBy = &p;
  auto d = diags.error(peek().loc);
  bool isShown = tokens[close].kind == Tok::RSquare && close > pos + 1;
  StringRef name = tokens[bracket - 1].text, inner = isShown ? textOf(pos + 1, close) : "i";
  if (chosenBy && chosenBy->type.name == "bool")
    d << "a mask chooses within an expression, as in '" << name << "[" << inner << "] if " << chosenBy->name << "[" << inner << "] else 0'";
  else if (chosenBy)
    d << "a tensor in a subscript has subscripts of its own; write '" << name << "[" << chosenBy->name << "[" << inner << "]]'";
  else
    d << "all subscripts stand in one bracket";
  if (!chosenBy && isShown)
    d << "; write '" << textOf(bracket - 1, pos - 1) << ", " << inner << "]'";
  return true;
}

/// f32[M][N]: at the second bracket.
bool Parser::refuseSecondShape(size_t bracket) {
  if (!at(Tok::LSquare) || tooDeep)
    return false;
  size_t close = findAhead({Tok::RSquare});
  bool isShown = tokens[close].kind == Tok::RSquare && close > pos + 1;
  diags.error(peek().loc) << "all dims stand in one bracket; write '" << textOf(bracket - 1, pos - 1) << ", "
                          << (isShown ? textOf(pos + 1, close) : "N") << "]'";
  return true;
}

/// x{i}: at the brace behind an expression's name.
bool Parser::refuseBraces() {
  if (!at(Tok::LBrace) || tooDeep || pos < 2 || tokens[pos - 1].kind != Tok::Name || tokens[pos - 1].text.end() != peek().text.begin())
    return false;
  size_t close = findAhead({Tok::RBrace});
  bool isShown = tokens[close].kind == Tok::RBrace && close > pos + 1;
  diags.error(peek().loc) << "subscripts stand in square brackets; write '" << tokens[pos - 1].text << "["
                          << (isShown ? textOf(pos + 1, close) : "i") << "]'";
  return true;
}

/// mean[j](x[j] if c), x[i if i < n], sum[k if k < n](..): where 'else' was expected; the condition begins at its token.
bool Parser::refuseMissingElse(size_t condition) {
  if ((!at(Tok::RSquare) && !at(Tok::RParen) && !at(Tok::RBrace) && !at(Tok::Comma)) || tooDeep || startsLine(pos))
    return false;
  StringRef text = textOf(condition, pos);
  size_t open = openBracketBefore(condition), head = 0; // the bracket of the reduction
  if (open > 0 && at(Tok::RSquare) && tokens[open].kind == Tok::LSquare)
    head = open;
  else if (open > 1 && at(Tok::RParen) && tokens[open].kind == Tok::LParen && tokens[open - 1].kind == Tok::RSquare)
    head = openBracketBefore(open - 1);
  bool isOfReduction = head > 0 && isReductionName(tokens[head - 1].text);
  auto d = diags.error(isOfReduction ? tokens[condition - 1].loc : peek().loc);
  if (!isOfReduction)
    d << "expected 'else' of 'a if c else b', found " << describe(peek()) << "; both sides are needed, as in '.. if " << text << " else 0'";
  else
    d << "a condition of a reduction stands behind a comma in its bracket, as in '"
      << textOf(head - 1, head == open ? condition - 1 : open - 1) << ", " << text << "](..)'";
  return true;
}

/// a AND b: where neither goes on.
bool Parser::refuseCapitals() {
  std::string small = peek().text.lower();
  if (!at(Tok::Name) || tooDeep || (small != "and" && small != "or" && small != "else"))
    return false;
  diags.error(peek().loc) << "'" << peek().text << "' stands behind a whole expression; write '" << small << "'";
  return true;
}

/// x.pad(0, i - 1), x.edge(i - 1): behind the parentheses.
bool Parser::refuseArgsAsSubscripts(const Expr *e) {
  size_t values = e->mode == "pad" ? 1 : 0;
  if (tooDeep || e->modeArgs.size() <= values)
    return false;
  StringRef text = diags.file(e->loc.file).text;
  auto d = diags.error(e->modeLoc);
  d << "subscripts stand in square brackets; write '" << e->text << "." << e->mode;
  if (values)
    d << "(" << text.slice(e->modeArgs[0].value->begin, e->modeArgs[0].value->end) << ")";
  d << "[" << text.slice(e->modeArgs[values].value->begin, e->modeArgs.back().value->end) << "]'";
  return true;
}

/// max([a, b]), where i in [0, N): at the bracket.
bool Parser::refuseList() {
  if (!at(Tok::LSquare) || tooDeep || pos == 0)
    return false;
  size_t close = findAhead({Tok::RSquare, Tok::RParen});
  StringRef inside = tokens[close].kind == Tok::Eof || close == pos + 1 ? "" : textOf(pos + 1, close);
  auto d = diags.error(peek().loc);
  if (tokens[pos - 1].kind == Tok::KwIn) {
    auto [low, high] = inside.split(',');
    d << "a range is written 'a:b', which leaves b out; write '" << (high.empty() ? "0" : low.trim()) << ":"
      << (high.empty() ? "N" : high.trim()) << "'";
  } else if (tokens[pos - 1].kind == Tok::LParen && pos > 1 && tokens[pos - 2].kind == Tok::Name) {
    d << "there are no lists; arguments stand in the parentheses alone, as in '" << tokens[pos - 2].text << "(a, b)'";
  } else {
    d << "there are no lists; '" << exampleOfOutput() << "' defines every element";
  }
  return true;
}

/// sum[k = 0:N], sum[k: 0..N]: behind the index.
bool Parser::refuseRangeSpelling(size_t open) {
  if ((!at(Tok::Assign) && !at(Tok::Colon)) || tooDeep || open == 0 || !isReductionName(tokens[open - 1].text) ||
      tokens[pos - 1].kind != Tok::Name || (tokens[pos - 2].kind != Tok::LSquare && tokens[pos - 2].kind != Tok::Comma))
    return false;
  StringRef index = tokens[pos - 1].text;
  size_t close = closeOf(open); // sum[k: x[k]]
  if (at(Tok::Colon) && close > pos + 1 && tokens[close - 1].kind == Tok::RSquare && tokens[close + 1].kind != Tok::LParen) {
    diags.error(peek().loc) << "what '" << tokens[open - 1].text << "' reduces stands in parentheses behind its bracket; write '"
                            << textOf(open - 1, pos) << "](" << textOf(pos + 1, close) << ")'";
    return true;
  }
  diags.error(peek().loc) << "the range of an index stands behind 'in'; write '" << index << " in 0:n'";
  return true;
}

/// a if c elif .., a if c then .., x is None: at the word.
bool Parser::refuseWord() {
  if (!at(Tok::Name) || tooDeep || startsLine(pos))
    return false;
  if (atWord("is") && isWord(peek(1).kind)) {
    bool isNone = peek(1).text == "None" || peek(2).text == "None";
    diags.error(peek().loc) << "there is no 'is'; "
                            << (isNone ? "no argument is left out: a choice of the caller is a 'const', as in 'const causal: bool = False'"
                                       : "values are compared by '==' and '!='");
    return true;
  }
  if (atWord("elif") || atWord("elseif") || atWord("elsif")) {
    diags.error(peek().loc) << "there is no '" << peek().text << "'; choices nest, as in 'a if c else b if d else e'";
    return true;
  }
  if (atWord("divisible") || atWord("multiple")) {
    diags.error(peek().loc) << "a multiple has no remainder: write 'N % 4 == 0'";
    return true;
  }
  if (atWord("then")) {
    diags.error(peek().loc) << "there is no 'then'; a choice is written 'a if c else b'";
    return true;
  }
  return false;
}

/// f32(N), tl.constexpr, np.float32[N], tensor<f32>[N], N x f32: behind the first word of a type.
bool Parser::refuseTypeSpelling(const Param &p, const TypeRef &type) {
  if (tooDeep || startsLine(pos))
    return false;
  auto elementMeant = [](StringRef name) {
    return findElementType(absl::string_view(name.data(), name.size())) ? name : elementTypeMeant(name);
  };
  StringRef element = elementMeant(type.name);
  if (at(Tok::LParen) && !element.empty()) {
    size_t close = findAhead({Tok::RParen});
    auto d = diags.error(peek().loc);
    d << "a shape stands in square brackets; write '" << element << "["
      << (tokens[close].kind == Tok::RParen && close > pos + 1 ? textOf(pos + 1, close) : "") << "]'";
    return true;
  }
  if (at(Tok::Lt) || (element.empty() && atWord("x"))) {
    StringRef inside = elementMeant(peek(1).text);
    size_t open = findAhead({Tok::LSquare}), close = findAhead({Tok::RSquare});
    bool isShown = open < close && tokens[close].kind == Tok::RSquare && at(Tok::Lt) && !startsLine(close);
    diags.error(peek().loc) << "a tensor is an element type with its shape; write '" << (inside.empty() ? "f32" : inside)
                            << (isShown       ? textOf(open, close + 1)
                                : atWord("x") ? "[" + type.name.str() + "]"
                                              : "[N]")
                            << "'";
    return true;
  }
  if (!at(Tok::Dot) || peek(1).kind != Tok::Name)
    return false;
  StringRef word = peek(1).text;
  Loc loc = type.loc;
  loc.begin = loc.offset;
  loc.end = peek(1).loc.offset + word.size();
  auto d = diags.error(loc);
  d << "types stand in no module here; ";
  if (word == "constexpr")
    d << "what is known at compile time is declared by 'const', as in 'const " << p.name << ": i64 = 128'";
  else if (StringRef meant = elementMeant(word); !meant.empty())
    d << "write '" << meant << (peek(2).kind == Tok::LSquare ? "[..]'" : "'");
  else
    d << "a type is such as f32 or bf16[M, N]";
  return true;
}

} // namespace kernelc::frontend
