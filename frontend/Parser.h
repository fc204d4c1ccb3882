// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tokens to syntax tree, by recursive descent with precedence climbing. Checks
// grammar only; names, types and ranges are Sema's. After an error the parser
// goes on at the next statement or definition, so that one run shows several.
#pragma once

#include "frontend/Ast.h"
#include "llvm/ADT/ArrayRef.h"

namespace kernelc::frontend {

/// What the formatter must know of a token beyond its kind.
enum class Role : uint8_t {
  None,
  Unary,      ///< a sign
  RangeColon, ///< the colon of a:b
  NamedEq,    ///< the = of f(h=8)
  StatementStart,
  DefinitionStart,
  BlockOpen,
  BlockClose,
  TightOpen, ///< ( or [ that follows its function or tensor without a blank
  WordOp,    ///< a name directly before '=' (min=, argmax=)
};

struct ParseResult {
  Ast ast;
  std::vector<Role> roles; ///< one per token
};

inline constexpr unsigned kMaxNesting = 256;
inline constexpr unsigned kMaxRank = 32;     ///< dims of a tensor, entries of a bracket
inline constexpr unsigned kMaxRequires = 64; ///< of a kernel: what proofs take grows with their cube

class Parser {
public:
  Parser(Diagnostics &diags, const TokenList &tokens) : diags(diags), tokens(tokens.tokens), badTokens(tokens.errors) {
    result.roles.resize(this->tokens.size());
  }
  ParseResult run();

private:
  // Parser.cpp: tokens and definitions
  const Token &peek(unsigned ahead = 0) const { return tokens[std::min(pos + ahead, tokens.size() - 1)]; }
  bool at(Tok kind) const { return peek().kind == kind; }
  bool atWord(llvm::StringRef word, unsigned ahead = 0) const { return peek(ahead).kind == Tok::Name && peek(ahead).text == word; }
  const Token &take() { return tokens[pos < tokens.size() - 1 ? pos++ : pos]; }
  bool accept(Tok kind, Role role = Role::None);
  /// Takes `kind` or reports that it was expected `where`.
  bool expect(Tok kind, llvm::StringRef where, Role role = Role::None);
  /// Reports what was expected, or what is known of the token ahead that people write who come from other languages.
  /// `isMissing`: one token, which is missed at the end of a line rather than where the next one starts.
  bool fail(llvm::StringRef expected, bool isMissing = false);
  /// As expect(), of what was opened by the token `open`.
  bool expectClose(Tok kind, llvm::StringRef where, size_t open);
  bool failAtHabit();
  /// 2 N, x[2 i]: where the token ahead was not expected behind the one before. `both`: what leads to how two of them are written.
  void hintBetweenOperands(mlir::InFlightDiagnostic &d, llvm::StringRef both = {});
  /// `//` before the token ahead on its line; `isProse`: words follow it that no expression has.
  const Token *slashesBefore(bool &isProse) const;
  bool startsLine(size_t token) const;
  bool failBehindExpression(size_t first);
  static bool isWord(Tok kind) { return kind == Tok::Name || (kind >= Tok::KwDef && kind <= Tok::KwFalse); }
  void mark(Role role) { result.roles[pos] = role; }
  void skipToStatement();
  void skipToDefinition();

  void parseDefinition();
  bool parseDef(Definition &d);
  bool parseFn(Definition &d);
  bool isFunctionHead(const Definition &d) const;
  bool parseFunctionResult(Definition &d);
  bool parseFnResult(Definition &d);
  bool parseFnBody(Definition &d);
  bool parseReducer(Definition &d);
  // Schedules.cpp
  bool parseSchedule(Definition &d);
  bool parseScheduleEntry(Definition &d, llvm::StringRef launch);
  bool refuseEqualsSign(llvm::StringRef key, bool isTile);
  // Parser.cpp
  bool parseImport(Definition &d);
  bool parseName(llvm::StringRef &name, Loc &loc, llvm::StringRef what);
  bool parseParams(std::vector<Param> &params, bool needTypes);
  bool parseParam(Param &p, bool needType);
  bool failAtParamType(const Param &p);
  // ParseHabits.cpp
  size_t openBracketBefore(size_t token) const;             ///< the bracket or parenthesis that the token stands in; 0: none
  size_t findAhead(std::initializer_list<Tok> kinds) const; ///< the next token of one of these kinds, or the end of the text
  size_t closeOf(size_t open) const;                        ///< what closes the bracket, on its line; 0: nothing
  bool refuseSlice();
  bool refuseSecondBracket(size_t bracket);
  bool refuseSecondShape(size_t bracket);
  bool refuseBraces();
  bool refuseMissingElse(size_t condition);
  bool refuseCapitals();
  bool refuseArgsAsSubscripts(const Expr *e);
  bool refuseList();
  bool refuseRangeSpelling(size_t open);
  bool refuseWord();
  bool refuseTypeSpelling(const Param &p, const TypeRef &type);
  // Parser.cpp
  bool failDefinition(Definition &d);
  bool parseType(TypeRef &type, const Param &of);

  // ParseStatements.cpp
  void parseBody(Definition &d, bool allowValue);
  bool parseStatement(Statement &s);
  bool parseLet(Statement &s);
  /// What a statement asks for, with its text.
  bool parseCondition(Statement &s);
  bool parseRequire(Statement &s);
  bool parseAssert(Statement &s);
  bool atAssert() const;
  bool parsePolicy(Statement &s);
  bool parseAssign(Statement &s);
  /// 'order(any)', if it stands here.
  bool parseOrder(std::optional<Loc> &anyOrder);
  bool parseTarget(Statement &s);
  bool parseAssignOp(Statement &s);
  bool failStatement();
  /// What was meant by the word that stands where a statement should; empty: not known.
  llvm::StringRef hintForHere();
  bool refuseForeign();
  void reportCall();
  std::string exampleOfOutput() const;
  bool parseWhere(Statement &s);
  bool atStatement() const;
  bool atAssignment() const;
  /// `float t = ..`
  bool atDeclaration() const;

  void acceptKeptDim(const Expr *e);
  // ParseExpressions.cpp
  Expr *make(Expr::Kind kind, Loc loc);
  /// `e` is all from the token `first` on; underlines that where `e` is an operator.
  Expr *finish(Expr *e, size_t first);
  /// Adds the operator at `loc` and `operand`, which was parsed last, to a chain that begins at the token `first`; false without one.
  bool parseOperand(Expr *e, Tok op, Loc loc, size_t first, Expr *operand);
  uint32_t endOfLast() const { return pos ? tokens[pos - 1].loc.offset + tokens[pos - 1].text.size() : 0; }
  Expr *parseExpr(); ///< a if c else b
  Expr *parseOr();
  Expr *parseAnd();
  Expr *parseNot();
  Expr *parseCompare();
  Expr *parseBinary(unsigned level); ///< | ^ & shift + *
  Expr *parseUnary();
  Expr *parsePower();

  // ParseOperands.cpp
  Expr *parsePostfix();
  Expr *refuseMethod(const Expr *object, size_t first, Loc loc);
  Expr *parsePrimary();
  Expr *parseNameExpr();
  /// The parts of it; false after an error.
  bool parseMode(Expr *e);
  bool parseCall(Expr *e);
  bool takeSubscripts(Expr *e);
  /// After the opening bracket.
  bool parseExprList(Tok close, std::vector<Expr *> &list, llvm::StringRef what);
  bool parseItems(Tok close, std::vector<BracketItem> &items);
  bool checkAccess(const Expr *e, size_t bracket);
  llvm::StringRef textOf(size_t first, size_t end) const; ///< of tokens
  bool parseItem(BracketItem &item);
  bool parseArgs(std::vector<NamedArg> &args);
  static bool isReductionName(llvm::StringRef name);

  struct Nest {
    Parser &p;
    explicit Nest(Parser &p) : p(p) { ++p.depth; }
    ~Nest() { --p.depth; }
    /// False, with one error, when the nesting is too deep.
    bool ok();
  };

  Diagnostics &diags;
  const std::vector<Token> &tokens;
  llvm::ArrayRef<uint32_t> badTokens;
  const Definition *current = nullptr;
  ParseResult result;
  size_t pos = 0;
  unsigned depth = 0;
  bool tooDeep = false;
};

} // namespace kernelc::frontend
