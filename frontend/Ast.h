// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The syntax tree of a `.kc` file: plain data, one struct per construct. Nodes
// live in the Ast's arena, so no destructor recurses; chains of operators of one
// precedence are one node, so that depth grows with nesting only.
#pragma once

#include <deque>
#include <vector>

#include "frontend/Lexer.h"

namespace kernelc::frontend {

struct Expr;

/// `e`, or `e in lo:hi`, in a reduction's bracket or a `where`.
struct BracketItem {
  Expr *expr = nullptr;
  Expr *lo = nullptr, *hi = nullptr; ///< set for `in`
  Loc loc;
};

struct NamedArg {
  llvm::StringRef name; ///< empty: positional
  Expr *value = nullptr;
  Loc loc; ///< of its first token
};

struct Expr {
  enum Kind : uint8_t {
    Integer,
    Float,
    Bool,
    String,
    Name,
    Unary,   ///< ops[0] in {-, +, ~, not}; args[0]
    Chain,   ///< args[0] ops[0] args[1] ops[1] .. of one precedence, left to right
    Power,   ///< args[0] ** args[1]
    Compare, ///< args[0] ops[0] args[1] ops[1] args[2] ..
    And,
    Or,          ///< args
    Select,      ///< args[0] if args[1] else args[2]
    Access,      ///< name(.mode(padding))[args]
    Call,        ///< name[items](named), name(named); hasBracket
    Member,      ///< args[0].name
    Subscripted, ///< args[0][args[1], ..]: a call's tensor at subscripts
    Tuple,
  };
  Kind kind;
  /// The token that names it: the name, or the operator (the last one of a chain) with its operands underlined.
  Loc loc;
  uint32_t begin = 0, end = 0; ///< of its text, parentheses included
  llvm::StringRef text;        ///< the name or number
  std::vector<Tok> ops;
  std::vector<Loc> opLocs; ///< Chain, Compare: each operator, with what it joins underlined
  std::vector<Expr *> args;
  std::vector<BracketItem> items;
  std::vector<NamedArg> named;
  llvm::StringRef mode; ///< Access: "pad", "edge", .. or empty
  Loc modeLoc;
  std::vector<NamedArg> modeArgs;
  bool hasBracket = false;
  /// `loc` with all of its text underlined.
  Loc whole() const { return {loc.offset, loc.file, begin, end}; }
};

struct TypeRef {
  llvm::StringRef name; ///< empty: none given
  Loc loc;
  bool isTensor = false;
  std::vector<Expr *> dims;
  std::vector<struct Param> fields; ///< of a tuple type
};

struct Param {
  llvm::StringRef name;
  Loc loc;
  TypeRef type;
  bool isConst = false, isInout = false;
  Expr *defaultValue = nullptr;
};

struct Statement {
  enum Kind : uint8_t { Let, Assign, Require, Policy, Assert };
  Kind kind;
  Loc loc;                ///< of its first token
  llvm::StringRef target; ///< the tensor on the left
  Loc targetLoc;
  llvm::StringRef mode; ///< `.unique`
  bool hasSubscripts = false;
  std::vector<Expr *> subscripts;
  TypeRef type;       ///< of a typed let
  llvm::StringRef op; ///< "=", "+=", "min=", "myreducer="
  Loc opLoc;
  Expr *value = nullptr; ///< also the condition of a require or an assert
  std::vector<BracketItem> where;
  std::optional<Loc> anyOrder; ///< where 'order(any)' stands behind it
  int64_t phases = 1;          ///< how many statements of the text it joins, which take steps in turns (Mutual.cpp)
  llvm::StringRef sourceText;  ///< of a require's condition; what an assert says
  /// What stands in a policy's parentheses, token by token.
  std::vector<std::pair<llvm::StringRef, Loc>> policyTokens;
};

struct Token;

/// `stages: 4`, `tile i: 128` or `launch y { .. }` of a schedule.
struct ScheduleEntry {
  llvm::StringRef launch; ///< empty: of the whole kernel
  Loc loc;                ///< of the key, of a tile's index, of a launch's name
  llvm::StringRef key;
  Loc valueLoc;
  llvm::StringRef index; ///< of a tile
  const Token *value = nullptr;
};

struct Definition {
  enum Kind : uint8_t { Def, Fn, Reducer, Schedule, Import };
  Kind kind;
  Loc loc, nameLoc;
  llvm::StringRef name;
  std::vector<Param> params;
  std::vector<Param> indexParams; ///< fn
  std::vector<Param> outputs;     ///< def; for fn at most one, unnamed
  std::optional<Loc> anyOrder;    ///< def: where 'order(any)' stands behind its parameters
  std::vector<Statement> body;
  Expr *value = nullptr;        ///< fn, reducer
  std::vector<Expr *> identity; ///< reducer
  llvm::StringRef target;       ///< of a schedule; empty: any
  Loc targetLoc;
  std::vector<ScheduleEntry> entries;
  bool isBroken = false; ///< an error stands in its text: nothing more is said of it
};

struct Ast {
  std::deque<Expr> exprs;
  std::deque<Definition> definitions;
};

} // namespace kernelc::frontend
