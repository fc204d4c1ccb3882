// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What operators take: names, numbers, parentheses, and the lists in brackets. See Parser.h.
#include "frontend/Habits.h"
#include "frontend/Parser.h"
#include "support/ElementType.h"

using namespace mlir;

namespace kernelc::frontend {

static bool isBoundsMode(StringRef name) { return llvm::is_contained({"pad", "edge", "reflect", "wrap", "assume_inbounds"}, name); }

Expr *Parser::parsePostfix() {
  size_t first = pos;
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
    if (at(Tok::KwWhere) && peek(1).kind == Tok::LParen && e->kind == Expr::Name && isModule(e->text) && !tooDeep) { // np.where(..)
      diags.error(peek().loc) << "functions stand in no module here; write 'a if c else b' for 'where(c, a, b)'";
      return nullptr;
    }
    if (at(Tok::LParen) && e->kind == Expr::Name && !tooDeep) { // exp.(x), of Julia
      diags.error(peek().loc) << "'.(' is no call: each definition is of one element, so write '" << e->text << "(..)'";
      return nullptr;
    }
    Expr *m = make(Expr::Member, peek().loc);
    Loc loc;
    if (e->kind == Expr::Member || !parseName(m->text, loc, "a field's name after '.'"))
      return e->kind == Expr::Member ? (fail("an operator; fields do not nest"), nullptr) : nullptr;
    if (at(Tok::LParen) && !startsLine(pos))
      return refuseMethod(e, first, loc);
    m->args.push_back(e);
    e = m;
  }
  if (e) { // parentheses included
    e->begin = tokens[first].loc.offset;
    e->end = endOfLast();
  }
  return e;
}

/// x[i - 1].pad(0), x[i].exp(): the object's tokens begin at `first`; the next one opens the parentheses.
Expr *Parser::refuseMethod(const Expr *object, size_t first, Loc loc) {
  size_t open = pos, close = open;
  int depth = 0;
  do {
    depth += tokens[close].kind == Tok::LParen ? 1 : tokens[close].kind == Tok::RParen ? -1 : 0;
    ++close;
  } while (depth > 0 && tokens[close].kind != Tok::Eof);
  StringRef name = tokens[open - 1].text;
  loc.begin = loc.offset;
  loc.end = loc.offset + name.size();
  if (depth > 0) { // what is not closed is not shown
    fail("an operator; values have no methods");
    return nullptr;
  }
  auto d = diags.error(loc);
  if (isBoundsMode(name) && object->kind == Expr::Access && object->mode.empty() && tokens[first].kind == Tok::Name) {
    d << "what is read outside stands before the subscripts; write '" << object->text << "." << textOf(open - 1, close)
      << textOf(first + 1, open - 2) << "'";
    return nullptr;
  }
  StringRef hint = hintForFunction(name);
  if (object->kind == Expr::Access && object->mode == "at") // x.at[i].set(v), of JAX
    hint = "elements are written on the left side: 'y[at[n]] += v[n]' adds up those that meet, 'y.unique[at[n]] = v[n]' is for those that "
           "do not";
  StringRef type = open + 3 == close ? tokens[open + 1].text : ""; // x[i].astype(f32)
  if (!type.empty() && !elementTypeMeant(type).empty())
    type = elementTypeMeant(type);
  d << "values have no methods; ";
  if (findElementType(absl::string_view(type.data(), type.size())))
    d << "a type's name is a cast; write '" << type << "(" << textOf(first, open - 2) << ")'";
  else if (!hint.empty())
    d << hint;
  else if (isBoundsMode(name))
    d << "'" << name << "' stands behind a tensor's name, as in 'x." << name << (name == "pad" ? "(0)" : "") << "[i - 1]'";
  else if (isReductionName(name) && name != "max" && name != "min")
    d << "write '" << name << "[k](..)', with the indices that it runs over";
  else if (open + 2 == close)
    d << "write '" << name << "(" << textOf(first, open - 2) << ")'";
  else
    d << "write '" << name << "(" << textOf(first, open - 2) << ", " << textOf(open + 1, close) << "'";
  return nullptr;
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
  case Tok::Name: return parseNameExpr();
  case Tok::LParen: {
    Nest nest(*this);
    if (!nest.ok())
      return nullptr;
    size_t open = pos;
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
    return e && expectClose(Tok::RParen, "to close the parenthesis", open) ? e : nullptr;
  }
  case Tok::KwWhere:
    if (peek(1).kind == Tok::LParen && !tooDeep) {
      diags.error(t.loc) << "'where' is no function: write 'a if c else b' for 'where(c, a, b)'; at its end it restricts a statement";
      return nullptr;
    }
    [[fallthrough]];
  default:
    if (refuseSlice() || refuseList())
      return nullptr;
    if (at(Tok::Dot) && peek(1).kind == Tok::Dot && peek(2).kind == Tok::Dot && !tooDeep) {
      diags.error(t.loc) << "'...' stands for no dims here; each dim has a subscript, as in 'x[b, i, j]'";
      return nullptr;
    }
    if (at(Tok::KwIf) && !tooDeep) {
      diags.error(t.loc) << "a choice begins with its value, as in 'a if c else b'; of several, 'a if c else b if d else e'";
      return nullptr;
    }
    fail("an expression");
    return nullptr;
  }
}

bool Parser::isReductionName(StringRef name) {
  return llvm::is_contained({"sum", "prod", "max", "min", "any", "all", "xor", "argmax", "argmin", "mean"}, name);
}

/// x.mode(..): a dot whose name is followed by '[' or '(' is a bounds mode of the access that follows.
bool Parser::parseMode(Expr *e) {
  take();
  e->modeLoc = peek().loc;
  e->mode = take().text;
  if (accept(Tok::LParen, Role::TightOpen) && !parseArgs(e->modeArgs))
    return false;
  if (at(Tok::LSquare))
    return true;
  if (!isBoundsMode(e->mode) && !tooDeep) { // np.mean(..)
    Loc loc = e->loc;
    loc.begin = loc.offset;
    loc.end = e->modeLoc.offset + e->mode.size();
    StringRef hint = hintForFunction(e->mode);
    auto d = diags.error(loc);
    d << "functions stand in no module here; ";
    if (hint.empty())
      d << "write '" << e->mode << (isReductionName(e->mode) ? "[k](..)'" : "(..)'");
    else
      d << hint;
    return false;
  }
  return !refuseArgsAsSubscripts(e) && fail(("'[' and the subscripts of '" + e->text + "'").str());
}

bool Parser::parseCall(Expr *e) {
  mark(Role::TightOpen);
  take();
  e->kind = Expr::Call;
  size_t first = pos;
  if (!parseArgs(e->named))
    return false;
  if (!e->hasBracket && at(Tok::LParen) && isReductionName(e->text) && !startsLine(pos)) { // max(j)(..)
    Loc loc = tokens[first - 1].loc;
    loc.begin = loc.offset;
    loc.end = endOfLast();
    diags.error(loc) << "the indices of '" << e->text << "' stand in square brackets; write '" << e->text << "[" << textOf(first, pos - 1)
                     << "](..)'";
    return false;
  }
  return true;
}

bool Parser::takeSubscripts(Expr *e) {
  for (BracketItem &item : e->items) {
    if (item.lo) {
      diags.error(item.loc) << "a subscript is one expression; a range belongs into the bracket of a "
                               "reduction, as in 'sum[k in 0:n](..)'";
      return false;
    }
    e->args.push_back(item.expr);
  }
  return true;
}

Expr *Parser::parseNameExpr() {
  Nest nest(*this);
  if (!nest.ok())
    return nullptr;
  if (atWord("lambda") && peek(1).kind == Tok::Name && !startsLine(pos + 1)) {
    diags.error(peek().loc) << "there is no 'lambda'; 'y[i] = ..' defines y for every i, and a function is a definition of its own, "
                               "as in 'fn f(a) { a + 1 }'";
    return nullptr;
  }
  const Token &name = take();
  Expr *e = make(Expr::Name, name.loc);
  e->text = name.text;
  bool hasMode =
      at(Tok::Dot) && peek(1).kind == Tok::Name && (peek(2).kind == Tok::LSquare || (peek(2).kind == Tok::LParen && !startsLine(pos + 2)));
  if (hasMode && !parseMode(e))
    return nullptr;
  size_t bracket = pos;
  if (at(Tok::LSquare)) {
    mark(Role::TightOpen);
    take();
    if (!parseItems(Tok::RSquare, e->items))
      return nullptr;
    e->hasBracket = true;
    e->kind = Expr::Access;
  }
  if (at(Tok::LParen) && e->mode.empty() && !startsLine(pos)) // (a tuple stands on its own line behind a function's 'let's)
    return parseCall(e) ? e : nullptr;
  if (e->kind == Expr::Access && (!checkAccess(e, bracket) || !takeSubscripts(e)))
    return nullptr;
  return e;
}

/// x[i][j], and sum[k] x[i, k].
bool Parser::checkAccess(const Expr *e, size_t bracket) {
  bool isReduction = isReductionName(e->text);
  if (refuseSecondBracket(bracket))
    return false;
  // A tensor may have the name of a reduction; then a statement may begin behind it.
  bool operand = at(Tok::Name) || at(Tok::Integer) || at(Tok::Float);
  if (!isReduction || !operand || startsLine(pos) || atAssignment() || !current || current->kind != Definition::Def)
    return true;
  Loc loc = e->loc;
  loc.begin = loc.offset;
  loc.end = endOfLast();
  diags.error(loc) << "what '" << e->text << "' reduces stands in parentheses, as in '" << textOf(bracket - 1, pos) << "(..)'";
  return false;
}

bool Parser::parseExprList(Tok close, std::vector<Expr *> &list, StringRef what) {
  size_t open = pos - 1;
  while (!at(close)) {
    Expr *e = parseExpr();
    if (!e)
      return false;
    acceptKeptDim(e);
    list.push_back(e);
    if (close == Tok::RSquare && list.size() > kMaxRank) {
      diags.error(e->loc) << "more than " << kMaxRank << " entries in " << what;
      return false;
    }
    if (!accept(Tok::Comma))
      break;
  }
  return expectClose(close, ("or ',' in " + what).str(), open);
}

/// `0:1` of a dim that is kept, y[i, 0:1]: its one element, as 0 is.
void Parser::acceptKeptDim(const Expr *e) {
  if (e->kind != Expr::Integer || e->text != "0" || !at(Tok::Colon) || peek(1).kind != Tok::Integer || peek(1).text != "1")
    return;
  mark(Role::RangeColon);
  take();
  take();
}

bool Parser::parseItems(Tok close, std::vector<BracketItem> &items) {
  size_t open = pos - 1;
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
  return expectClose(close, "or ',' in the bracket", open);
}

bool Parser::parseItem(BracketItem &item) {
  item.loc = peek().loc;
  item.expr = parseExpr();
  if (item.expr)
    acceptKeptDim(item.expr);
  if (!item.expr || !accept(Tok::KwIn))
    return item.expr != nullptr;
  item.lo = parseExpr();
  if (!item.lo)
    return false;
  if (!at(Tok::Colon)) {
    if (item.lo->kind == Expr::Call && item.lo->text == "range" && !item.lo->named.empty() && !tooDeep) {
      auto textOfArg = [&](const NamedArg &a) { return diags.file(item.loc.file).text.slice(a.value->begin, a.value->end); };
      Loc loc = item.lo->loc;
      loc.begin = loc.offset;
      loc.end = endOfLast();
      if (item.lo->named.size() > 2) {
        diags.error(loc) << "ranges have no step: take every other element by its subscript, as in 'x[" << textOfArg(item.lo->named[2])
                         << " * k]'";
        return false;
      }
      bool both = item.lo->named.size() > 1;
      diags.error(loc) << "a range is written 'a:b'; write '" << (both ? textOfArg(item.lo->named[0]) : "0") << ":"
                       << textOfArg(item.lo->named[both]) << "'";
      return false;
    }
    bool areNames = item.expr->kind == Expr::Name && item.lo->kind == Expr::Name; // k in N
    std::string range = areNames ? (item.expr->text + " in 0:" + item.lo->text).str() : "k in 0:n";
    return fail("':' in the range, as in '" + range + "'");
  }
  mark(Role::RangeColon);
  take();
  item.hi = parseExpr();
  return item.hi != nullptr;
}

bool Parser::parseArgs(std::vector<NamedArg> &args) {
  size_t open = pos - 1;
  while (!at(Tok::RParen)) {
    NamedArg arg;
    arg.loc = peek().loc;
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
  return expectClose(Tok::RParen, "or ',' in the arguments", open);
}

} // namespace kernelc::frontend
