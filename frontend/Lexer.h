// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text to tokens. Newlines are white space; comments are kept beside the tokens
// for the formatter. Knows no grammar.
#pragma once

#include <optional>
#include <vector>

#include "frontend/Source.h"

namespace kernelc::frontend {

enum class Tok : uint8_t {
  Eof,
  Name,
  Integer,
  Float,
  String,
  // keywords
  KwDef,
  KwFn,
  KwLet,
  KwReducer,
  KwSchedule,
  KwImport,
  KwRequire,
  KwWhere,
  KwIf,
  KwElse,
  KwAnd,
  KwOr,
  KwNot,
  KwIn,
  KwConst,
  KwInout,
  KwTrue,
  KwFalse,
  // punctuation
  LParen,
  RParen,
  LSquare,
  RSquare,
  LBrace,
  RBrace,
  Comma,
  Colon,
  Semicolon,
  Dot,
  Arrow,
  Assign,
  PlusAssign,
  TimesAssign, // = += *=
  Plus,
  Minus,
  Star,
  StarStar,
  Slash,
  SlashSlash,
  Percent,
  Amp,
  Pipe,
  Caret,
  Tilde,
  Shl,
  Shr,
  Lt,
  Le,
  Gt,
  Ge,
  EqEq,
  Ne,
  Unknown, ///< a character that starts no token; the parser says so where it meets it
};

struct Token {
  Tok kind = Tok::Eof;
  Loc loc;
  llvm::StringRef text;
};

struct Comment {
  Loc loc;
  llvm::StringRef text; ///< from '#' to the end of the line, without trailing blanks
};

struct TokenList {
  std::vector<Token> tokens; ///< ends with Eof
  std::vector<Comment> comments;
  std::vector<uint32_t> errors; ///< offsets of tokens that were errors
};

/// How a token is called in messages: "'('", "a name", "the end of the file".
std::string describe(const Token &token);
llvm::StringRef spelling(Tok kind);

/// Tokens of file `file`. What is no number or string of this language is an error.
/// Nothing after more than 1 MiB of text.
std::optional<TokenList> lex(Diagnostics &diags, uint32_t file);

/// The double nearest to a decimal literal of any length; nothing where it is none.
std::optional<double> parseFloat(llvm::StringRef text);

} // namespace kernelc::frontend
