// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/OptText.h"

#include "llvm/ADT/StringExtras.h"

namespace kernelc::tools {
namespace {

constexpr unsigned kDeepest = 256; ///< brackets in each other, or signs before a number

/// Whether a dense array may have elements of this type, in which no bracket is.
bool hasWidth(llvm::StringRef type) {
  if (llvm::is_contained({"bf16", "tf32", "f16", "f32", "f64", "f80", "f128"}, type) || type.starts_with("f8") || type.starts_with("f6") ||
      type.starts_with("f4"))
    return true;
  if (!type.consume_front("i") && !type.consume_front("si") && !type.consume_front("ui"))
    return false;
  return !type.empty() && llvm::all_of(type, llvm::isDigit);
}

/// Reads a text as the lexer does, as far as brackets, strings and comments go.
class Scanner {
public:
  explicit Scanner(llvm::StringRef text) : text_(text) {}

  TextFault run() {
    while (at_ < text_.size()) {
      llvm::StringRef rest = text_.drop_front(at_);
      if (rest.starts_with("//")) {
        at_ += std::min(rest.find('\n'), rest.size());
      } else if (rest.front() == '"') {
        skipString();
      } else if (rest.starts_with("array<") &&
                 !hasWidth(rest.drop_front(6).take_until([](char c) { return c == ':' || c == '>'; }).trim())) {
        return fault("a dense array of what is no integer or float of a known width");
      } else if (rest.starts_with("->") || rest.starts_with(">=") || rest.starts_with("<=")) {
        at_ += 2;
      } else {
        depth_ += llvm::StringRef("([{<").contains(rest.front());
        depth_ -= depth_ && llvm::StringRef(")]}>").contains(rest.front());
        signs_ = rest.front() == '-' ? signs_ + 1 : llvm::isSpace(rest.front()) ? signs_ : 0;
        if (depth_ > kDeepest || signs_ > kDeepest)
          return fault("more than " + std::to_string(kDeepest) + " brackets in each other, or signs in a row");
        ++at_;
      }
    }
    return {};
  }

private:
  void skipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_)
      at_ += text_[at_] == '\\';
    ++at_;
  }
  TextFault fault(std::string message) const {
    llvm::StringRef before = text_.take_front(at_);
    return {unsigned(before.count('\n') + 1), unsigned(at_ - (before.rfind('\n') + 1) + 1), std::move(message)};
  }

  llvm::StringRef text_;
  size_t at_ = 0;
  unsigned depth_ = 0, signs_ = 0;
};

} // namespace

TextFault findTextFault(llvm::StringRef text) { return Scanner(text).run(); }

} // namespace kernelc::tools
