// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lines and entry declarations: the little the emulator reads of a CUDA text
// itself. Everything else is clang's business.
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "emulator/HostCompiler.h"

namespace kernelc::emulator {

CodeLocation locateLine(const LineMarks &marks, int line) {
  SourceLoc source = marks.at(line);
  return {line, source.file, source.line};
}

namespace {
/// Text with comments and string contents made blank, so that words can be found.
std::string withoutComments(absl::string_view text) {
  std::string out(text);
  for (size_t i = 0; i < out.size(); i++) {
    if (out[i] == '/' && i + 1 < out.size() && out[i + 1] == '/') {
      while (i < out.size() && out[i] != '\n')
        out[i++] = ' ';
    } else if (out[i] == '/' && i + 1 < out.size() && out[i + 1] == '*') {
      size_t end = out.find("*/", i + 2);
      end = end == std::string::npos ? out.size() : end + 2;
      for (; i < end; i++)
        if (out[i] != '\n')
          out[i] = ' ';
      i--;
    } else if (out[i] == '"') {
      for (i++; i < out.size() && out[i] != '"' && out[i] != '\n'; i++) {
        if (out[i] == '\\' && i + 1 < out.size())
          out[i++] = ' ';
        out[i] = ' ';
      }
    }
  }
  return out;
}
bool isWordChar(char c) { return absl::ascii_isalnum(c) || c == '_'; }
} // namespace

std::vector<EntryDecl> findEntries(absl::string_view original) {
  std::string text = withoutComments(original);
  std::vector<EntryDecl> found;
  const std::string keyword = "__global__";
  for (size_t at = text.find(keyword); at != std::string::npos; at = text.find(keyword, at)) {
    at += keyword.size();
    EntryDecl decl;
    size_t i = at;
    while (i < text.size()) {
      while (i < text.size() && absl::ascii_isspace(text[i]))
        i++;
      size_t start = i;
      while (i < text.size() && isWordChar(text[i]))
        i++;
      std::string word = text.substr(start, i - start);
      if (word.empty())
        break;
      while (i < text.size() && absl::ascii_isspace(text[i]))
        i++;
      bool attribute = word.size() > 4 && absl::StartsWith(word, "__") && absl::EndsWith(word, "__");
      if (i < text.size() && text[i] == '(') {
        if (!attribute) {
          decl.name = word;
          break;
        }
        if (word == "__launch_bounds__") {
          size_t end = text.find_first_of(",)", i);
          (void)absl::SimpleAtoi(absl::StripAsciiWhitespace(text.substr(i + 1, end - i - 1)), &decl.maxThreads);
          size_t close = text.find(')', i);
          if (text[end] == ',' && close != std::string::npos)
            (void)absl::SimpleAtoi(absl::StripAsciiWhitespace(text.substr(end + 1, close - end - 1)), &decl.minBlocks);
        }
        int depth = 0;
        for (; i < text.size(); i++) {
          depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
          if (depth == 0)
            break;
        }
        i++;
      }
    }
    if (!decl.name.empty()) {
      bool known = false;
      for (const EntryDecl &e : found)
        known |= e.name == decl.name;
      if (!known)
        found.push_back(decl);
    }
  }
  return found;
}

} // namespace kernelc::emulator
