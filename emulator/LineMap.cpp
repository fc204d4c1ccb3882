// `#line` directives and entry declarations: the little the emulator reads of a
// CUDA text itself. Everything else is clang's business.
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "emulator/HostCompiler.h"

namespace kernelc::emulator {

LineMap::LineMap(absl::string_view text) {
  blanked_.reserve(text.size());
  Origin next;
  lines_.push_back({});
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::string_view rest = absl::StripLeadingAsciiWhitespace(line);
    bool directive = absl::ConsumePrefix(&rest, "#");
    rest = absl::StripLeadingAsciiWhitespace(rest);
    directive = directive && absl::ConsumePrefix(&rest, "line") && !rest.empty() &&
                absl::ascii_isspace(rest[0]);
    lines_.push_back(next);
    if (!directive) {
      blanked_.append(line.data(), line.size());
      if (next.file >= 0)
        next.line++;
    } else {
      std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(absl::StripAsciiWhitespace(rest), absl::MaxSplits(' ', 1));
      int number = 0;
      if (absl::SimpleAtoi(parts.first, &number)) {
        next.line = number;
        std::string file(absl::StripAsciiWhitespace(parts.second));
        if (file.size() >= 2 && file.front() == '"')
          file = file.substr(1, file.size() - 2);
        if (!file.empty()) {
          files_.push_back(file);
          next.file = int(files_.size()) - 1;
        }
      }
    }
    blanked_.push_back('\n');
  }
}

CodeLocation LineMap::lookup(int line) const {
  CodeLocation loc;
  loc.line = line;
  if (line > 0 && line < int(lines_.size()) && lines_[line].file >= 0) {
    loc.sourceFile = files_[lines_[line].file];
    loc.sourceLine = lines_[line].line;
  }
  return loc;
}

absl::string_view LineMap::textOfLine(int line) const {
  size_t at = 0;
  for (int i = 1; i < line && at != std::string::npos; i++)
    at = blanked_.find('\n', at) + 1;
  return absl::string_view(blanked_).substr(at, blanked_.find('\n', at) - at);
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
      bool attribute =
          word.size() > 4 && absl::StartsWith(word, "__") && absl::EndsWith(word, "__");
      if (i < text.size() && text[i] == '(') {
        if (!attribute) {
          decl.name = word;
          break;
        }
        if (word == "__launch_bounds__") {
          size_t end = text.find_first_of(",)", i);
          (void)absl::SimpleAtoi(absl::StripAsciiWhitespace(text.substr(i + 1, end - i - 1)),
                                 &decl.maxThreads);
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
