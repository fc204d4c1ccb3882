// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See Format.h.
#include "frontend/Format.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

constexpr unsigned kIndent = 2, kContinuation = 4;

class Formatter {
public:
  Formatter(const TokenList &list, ArrayRef<Role> roles) : tokens(list.tokens), comments(list.comments), roles(roles) {}

  std::string run() {
    for (size_t i = 0; i < tokens.size(); ++i) {
      flushComments(i);
      if (tokens[i].kind == Tok::Eof)
        break;
      place(i);
      if (roles[i] == Role::BlockOpen)
        openBlock(i);
      if (roles[i] == Role::BlockClose && !blocks.empty())
        blocks.pop_back();
    }
    if (!out.empty() && out.back() != '\n')
      out += '\n';
    return std::move(out);
  }

private:
  struct Block {
    bool oneLine;
  };

  StringRef gapBefore(size_t i) const {
    if (i == 0 && comments.empty())
      return "";
    const char *begin = i > 0 ? tokens[i - 1].text.end() : std::min(comments[0].text.begin(), tokens[0].text.begin());
    return StringRef(begin, tokens[i].text.begin() - begin);
  }
  /// A block that stands on one line in the source stays there.
  void openBlock(size_t open) {
    unsigned depth = 1;
    size_t i = open + 1;
    for (; i < tokens.size() && depth > 0; ++i) {
      depth += tokens[i].kind == Tok::LBrace;
      depth -= tokens[i].kind == Tok::RBrace;
    }
    StringRef inside(tokens[open].text.end(), tokens[i - 1].text.begin() - tokens[open].text.end());
    bool outerOneLine = !blocks.empty() && blocks.back().oneLine;
    blocks.push_back({outerOneLine || !inside.contains('\n')});
  }
  unsigned level() const {
    unsigned n = 0;
    for (const Block &b : blocks)
      n += !b.oneLine;
    return n;
  }
  bool atLineStart() const { return out.empty() || out.back() == '\n'; }
  void newline(bool blank) {
    while (!out.empty() && out.back() == ' ')
      out.pop_back();
    if (!atLineStart())
      out += '\n';
    if (blank && !out.empty() && !StringRef(out).ends_with("\n\n"))
      out += '\n';
  }
  void indent(unsigned columns) {
    if (atLineStart())
      out.append(columns, ' ');
  }

  /// Comments that stand before token i.
  void flushComments(size_t i) {
    while (nextComment < comments.size() && comments[nextComment].loc.offset < tokens[i].loc.offset + (tokens[i].kind == Tok::Eof)) {
      const Comment &c = comments[nextComment++];
      const char *before = i > 0 ? tokens[i - 1].text.end() : c.text.begin();
      if (nextComment >= 2 && comments[nextComment - 2].text.end() > before)
        before = comments[nextComment - 2].text.end();
      StringRef gap(before, c.text.begin() - before);
      bool ownLine = i == 0 || gap.contains('\n');
      if (ownLine) {
        newline(gap.count('\n') > 1);
        indent(kIndent * level());
      } else {
        out += out.empty() || out.back() == ' ' ? " " : "  ";
      }
      out += c.text;
      out += '\n';
    }
  }

  void place(size_t i) {
    Role role = roles[i];
    bool oneLine = !blocks.empty() && blocks.back().oneLine;
    StringRef gap = gapBefore(i);
    bool blank = gap.count('\n') > 1 && !gap.contains('#');
    if (gap.contains('#')) // comments were placed; a blank line may follow the last
      blank = gap.substr(gap.rfind('#')).count('\n') > 1;
    if (role == Role::DefinitionStart) {
      newline(blank);
    } else if (role == Role::BlockClose && !oneLine) {
      newline(false);
      indent(kIndent * (level() > 0 ? level() - 1 : 0));
    } else if (role == Role::StatementStart && !oneLine) {
      bool first = i > 0 && roles[i - 1] == Role::BlockOpen;
      newline(blank && !first);
      indent(kIndent * level());
    } else if (atLineStart() || (gap.contains('\n') && !oneLine)) {
      newline(false);
      indent(kIndent * level() + (tokens[i].kind == Tok::RParen || tokens[i].kind == Tok::RSquare ? 0 : kContinuation));
    } else if (i > 0 && needsBlank(i)) {
      out += ' ';
    }
    bool separates = tokens[i].kind == Tok::Semicolon && !oneLine && roles[i + 1] == Role::StatementStart;
    if (!separates) // lines separate statements
      out += tokens[i].text;
  }

  bool needsBlank(size_t i) const {
    Tok a = tokens[i - 1].kind, b = tokens[i].kind;
    if (roles[i - 1] == Role::Unary || roles[i] == Role::TightOpen || a == Tok::LParen || a == Tok::LSquare || b == Tok::RParen ||
        b == Tok::RSquare || b == Tok::Comma || b == Tok::Semicolon || b == Tok::Dot || a == Tok::Dot)
      return false;
    if (b == Tok::Colon || roles[i - 1] == Role::RangeColon || roles[i] == Role::NamedEq || roles[i - 1] == Role::NamedEq)
      return false;
    if (roles[i - 1] == Role::WordOp) // min=, argmax=
      return false;
    return true;
  }

  const std::vector<Token> &tokens;
  const std::vector<Comment> &comments;
  ArrayRef<Role> roles;
  std::vector<Block> blocks;
  size_t nextComment = 0;
  std::string out;
};

} // namespace

std::string format(const TokenList &tokens, ArrayRef<Role> roles) { return Formatter(tokens, roles).run(); }

} // namespace kernelc::frontend
