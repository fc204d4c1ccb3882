// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The scanner. See Lexer.h.
#include "frontend/Lexer.h"

#include "absl/strings/numbers.h"
#include "frontend/Habits.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

constexpr size_t kMaxText = 1 << 20;

struct Punct {
  StringRef text;
  Tok kind;
};
// Longest first, so that the first match is the longest.
constexpr Punct kPuncts[] = {
    {"**", Tok::StarStar},    {"//", Tok::SlashSlash}, {"<<", Tok::Shl},   {">>", Tok::Shr},    {"<=", Tok::Le},
    {">=", Tok::Ge},          {"==", Tok::EqEq},       {"!=", Tok::Ne},    {"->", Tok::Arrow},  {"+=", Tok::PlusAssign},
    {"*=", Tok::TimesAssign}, {"(", Tok::LParen},      {")", Tok::RParen}, {"[", Tok::LSquare}, {"]", Tok::RSquare},
    {"{", Tok::LBrace},       {"}", Tok::RBrace},      {",", Tok::Comma},  {":", Tok::Colon},   {";", Tok::Semicolon},
    {".", Tok::Dot},          {"=", Tok::Assign},      {"+", Tok::Plus},   {"-", Tok::Minus},   {"*", Tok::Star},
    {"/", Tok::Slash},        {"%", Tok::Percent},     {"&", Tok::Amp},    {"|", Tok::Pipe},    {"^", Tok::Caret},
    {"~", Tok::Tilde},        {"<", Tok::Lt},          {">", Tok::Gt}};

struct Keyword {
  StringRef text;
  Tok kind;
};
constexpr Keyword kKeywords[] = {{"def", Tok::KwDef},
                                 {"fn", Tok::KwFn},
                                 {"let", Tok::KwLet},
                                 {"reducer", Tok::KwReducer},
                                 {"schedule", Tok::KwSchedule},
                                 {"import", Tok::KwImport},
                                 {"require", Tok::KwRequire},
                                 {"where", Tok::KwWhere},
                                 {"if", Tok::KwIf},
                                 {"else", Tok::KwElse},
                                 {"and", Tok::KwAnd},
                                 {"or", Tok::KwOr},
                                 {"not", Tok::KwNot},
                                 {"in", Tok::KwIn},
                                 {"const", Tok::KwConst},
                                 {"inout", Tok::KwInout},
                                 {"True", Tok::KwTrue},
                                 {"False", Tok::KwFalse},
                                 {"true", Tok::KwTrue},
                                 {"false", Tok::KwFalse}};

bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_'; }
bool isNameChar(char c) { return llvm::isAlnum(c) || c == '_'; }

class Scanner {
public:
  Scanner(Diagnostics &diags, uint32_t file) : diags(diags), file(file), text(diags.file(file).text) {}

  TokenList run() {
    while (skipBlanks())
      scanOne();
    add(Tok::Eof, 0);
    return std::move(out);
  }

private:
  Loc here() const { return {uint32_t(pos), file}; }
  char at(size_t i) const { return i < text.size() ? text[i] : '\0'; }

  void add(Tok kind, size_t length) {
    out.tokens.push_back({kind, here(), text.substr(pos, length)});
    pos += length;
  }

  bool skipBlanks() {
    while (pos < text.size()) {
      if (text[pos] == '#') {
        StringRef line = text.substr(pos).split('\n').first;
        out.comments.push_back({here(), line.rtrim()});
        pos += line.size();
      } else if (llvm::isSpace(text[pos])) {
        ++pos;
      } else {
        return true;
      }
    }
    return false;
  }

  void scanOne() {
    char c = text[pos];
    if (isNameStart(c))
      return scanName();
    if (llvm::isDigit(c) || (c == '.' && llvm::isDigit(at(pos + 1))))
      return scanNumber();
    if (c == '"' || c == '\'')
      return scanString(c);
    for (const Punct &p : kPuncts)
      if (text.substr(pos).starts_with(p.text))
        return add(p.kind, p.text.size());
    scanUnknown();
  }

  void scanName() {
    size_t end = pos;
    while (isNameChar(at(end)))
      ++end;
    StringRef word = text.slice(pos, end);
    Tok kind = Tok::Name;
    for (const Keyword &k : kKeywords)
      if (k.text == word)
        kind = k.kind;
    add(kind, word.size());
  }

  void scanNumber() {
    size_t end = pos;
    bool isFloat = false;
    bool hasBase = text[pos] == '0' && (at(pos + 1) == 'x' || at(pos + 1) == 'b' || at(pos + 1) == 'o');
    if (hasBase) {
      end = pos + 2;
    } else {
      while (llvm::isDigit(at(end)) || (at(end) == '_' && llvm::isDigit(at(end + 1)))) // 1_000.0 is one mistake
        ++end;
      if (at(end) == '.' && at(end + 1) != '.') { // 0..n is no number and a dot
        isFloat = true;
        ++end;
        while (llvm::isDigit(at(end)))
          ++end;
      }
      size_t exponent = end + 1 + (at(end + 1) == '+' || at(end + 1) == '-');
      if ((at(end) == 'e' || at(end) == 'E') && llvm::isDigit(at(exponent))) {
        isFloat = true;
        end = exponent;
      }
    }
    while (isNameChar(at(end)) || (hasBase && !isFloat && at(end) == '.' && llvm::isHexDigit(at(end + 1)))) {
      isFloat |= at(end) == '.';
      ++end;
    }
    StringRef word = text.slice(pos, end);
    uint64_t i;
    if (hasBase && isFloat) {
      error() << "'" << word.substr(0, 40) << "' is not a number: those with a base are whole; write it in decimal, as in '31.5'";
      return add(Tok::Float, word.size());
    }
    if (isFloat ? !parseFloat(word) : word.getAsInteger(0, i) || (word.size() > 1 && word[0] == '0' && llvm::isDigit(word[1])))
      reportNumber(word, isFloat);
    add(isFloat ? Tok::Float : Tok::Integer, word.size());
  }

  void reportNumber(StringRef word, bool isFloat) {
    auto d = error();
    d << "'" << word.substr(0, 40) << "' is not a number" << (isFloat ? "" : " of 64 bits");
    if (isFloat && (word.ends_with("e") || word.ends_with("E")))
      d << "; an exponent has digits, as in '" << word.substr(0, 40) << "0'";
    StringRef plain = word.rtrim("fFlLuU"); // the suffixes of C
    uint64_t i;
    if (plain.size() < word.size() && (isFloat ? parseFloat(plain).has_value() : !plain.getAsInteger(10, i)))
      d << "; write '" << plain.substr(0, 40) << "'";
    std::string joined; // 1_000
    for (char c : word)
      if (c != '_')
        joined += c;
    bool groups = joined.size() < word.size() && (isFloat ? parseFloat(joined).has_value() : !StringRef(joined).getAsInteger(10, i));
    if (groups) {
      d << "; write '" << joined.substr(0, 40) << "'";
      return;
    }
    StringRef digits = word.take_while(llvm::isDigit), name = word.drop_front(digits.size());
    if (plain.size() == word.size() && !isFloat && !name.empty() && digits != "0")
      d << "; a product is written '" << digits.substr(0, 20) << " * " << name.substr(0, 20) << "'";
  }

  void scanString(char quote) {
    size_t end = pos + 1;
    while (end < text.size() && text[end] != quote && text[end] != '\n')
      ++end;
    if (at(end) != quote) {
      auto d = error();
      d << "this string has no closing " << std::string(1, quote) << " on its line";
      bool isBehindName = pos > 0 && (llvm::isAlnum(text[pos - 1]) || text[pos - 1] == ']' || text[pos - 1] == ')');
      if (quote == '\'' && isBehindName) // x', of MATLAB
        d << "; to transpose, name the indices in the other order, as in 'y[i, j] = x[j, i]'";
      return add(Tok::String, end - pos);
    }
    add(Tok::String, end + 1 - pos);
  }

  void scanUnknown() {
    // A run of bad bytes is one token, but for an operator of another language.
    size_t end = pos, length = 0;
    if (!hintForOperator(text.substr(pos), length).empty())
      return add(Tok::Unknown, length);
    char c = text[pos];
    while (end < text.size() && (static_cast<unsigned char>(text[end]) >= 0x80 || text[end] == c) &&
           (end == pos || hintForOperator(text.substr(end), length).empty()))
      ++end;
    add(Tok::Unknown, end - pos);
  }

  InFlightDiagnostic error() {
    out.errors.push_back(pos);
    return diags.error(here());
  }

  Diagnostics &diags;
  uint32_t file;
  StringRef text;
  size_t pos = 0;
  TokenList out;
};

} // namespace

// Not StringRef::getAsDouble: APFloat raises 5 to the number of digits in an array of fixed size.
std::optional<double> parseFloat(StringRef text) {
  double value;
  if (!absl::SimpleAtod(absl::string_view(text.data(), text.size()), &value))
    return std::nullopt;
  return value;
}

StringRef spelling(Tok kind) {
  for (const Punct &p : kPuncts)
    if (p.kind == kind)
      return p.text;
  for (const Keyword &k : kKeywords)
    if (k.kind == kind)
      return k.text;
  switch (kind) {
  case Tok::Name: return "a name";
  case Tok::Integer: return "an integer";
  case Tok::Float: return "a number";
  case Tok::String: return "a string";
  default: return "the end of the file";
  }
}

std::string describe(const Token &token) {
  if (token.kind == Tok::Eof)
    return "the end of the file";
  return ("'" + token.text.substr(0, 40) + "'").str();
}

std::optional<TokenList> lex(Diagnostics &diags, uint32_t file) {
  if (diags.file(file).text.size() > kMaxText) {
    diags.error({0, file}) << "the text has " << diags.file(file).text.size() << " bytes; the limit is " << kMaxText;
    return std::nullopt;
  }
  return Scanner(diags, file).run();
}

} // namespace kernelc::frontend
