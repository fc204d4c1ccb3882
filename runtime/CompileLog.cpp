// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/CompileLog.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "support/LineMarks.h"

namespace kernelc {
namespace {

using absl::string_view;

bool isWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The integer that ends right before `suffix`, e.g. 32 in "Used 32 registers".
int64_t numberBefore(string_view line, string_view suffix) {
  size_t end = line.find(suffix);
  if (end == string_view::npos)
    return 0;
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1])))
    --begin;
  int64_t value = 0;
  return absl::SimpleAtoi(line.substr(begin, end - begin), &value) ? value : 0;
}

/// What stands between the first pair of single quotes.
string_view quoted(string_view line) {
  size_t begin = line.find('\'');
  if (begin == string_view::npos)
    return {};
  size_t end = line.find('\'', begin + 1);
  return end == string_view::npos ? string_view() : line.substr(begin + 1, end - begin - 1);
}

/// Splits "linear.kc(40): error: text" into its parts.
bool parseFrontEndLine(string_view line, CompileDiagnostic *out) {
  size_t close = line.find("): ");
  if (close == string_view::npos || line.empty() || line[0] == ' ')
    return false;
  size_t open = line.rfind('(', close);
  int number = 0;
  if (open == string_view::npos || !absl::SimpleAtoi(line.substr(open + 1, close - open - 1), &number))
    return false;
  string_view rest = line.substr(close + 3);
  if (absl::ConsumePrefix(&rest, "catastrophic error") || absl::ConsumePrefix(&rest, "error"))
    out->severity = CompileDiagnostic::Error;
  else if (absl::ConsumePrefix(&rest, "warning"))
    out->severity = CompileDiagnostic::Warning;
  else if (absl::ConsumePrefix(&rest, "remark") || absl::ConsumePrefix(&rest, "note"))
    out->severity = CompileDiagnostic::Note;
  else
    return false;
  size_t colon = rest.find(": ");
  if (colon == string_view::npos)
    return false;
  string_view code = absl::StripAsciiWhitespace(rest.substr(0, colon));
  absl::ConsumePrefix(&code, "#");
  out->code = std::string(code);
  out->loc = {std::string(line.substr(0, open)), number, 0};
  out->message = std::string(rest.substr(colon + 2));
  return true;
}

/// The codes by which ptxas says that it gave up speed.
bool isPerformanceCode(string_view code) { return code == "C7508" || (code >= "C7510" && code <= "C7514" && code.size() == 5); }

/// "ptxas info    : ...", "ptxas application ptx input, line 23; error   : ...".
bool parsePtxasLine(string_view line, string_view *severity, string_view *message) {
  if (!absl::ConsumePrefix(&line, "ptxas "))
    return false;
  // Continuation lines read "ptxas         .     0 bytes stack frame, ..."
  if (absl::StrContains(line, " bytes stack frame")) {
    *severity = "info";
    *message = line;
    return true;
  }
  size_t colon = line.find(" : ");
  if (colon == string_view::npos)
    return false;
  string_view head = absl::StripAsciiWhitespace(line.substr(0, colon));
  size_t word = head.find_last_of(" ;");
  *severity = word == string_view::npos ? head : head.substr(word + 1);
  *message = line.substr(colon + 3);
  return true;
}

class Parser {
public:
  Parser(string_view text) : text_(text) {}

  CompileLog run(string_view log) {
    for (string_view line : absl::StrSplit(log, '\n'))
      consume(line);
    for (const KernelResources &k : log_.kernels)
      if (k.spillStoreBytes || k.spillLoadBytes)
        log_.diagnostics.push_back({CompileDiagnostic::PerformanceError,
                                    "spill",
                                    k.entry,
                                    {},
                                    absl::StrCat("registers spill to local memory in ", k.entry, ": ", k.spillStoreBytes,
                                                 " bytes of stores, ", k.spillLoadBytes, " bytes of loads"),
                                    ""});
    for (CompileDiagnostic &d : log_.diagnostics)
      locate(d);
    return std::move(log_);
  }

private:
  void consume(string_view line) {
    CompileDiagnostic d;
    string_view severity, message;
    if (parseFrontEndLine(line, &d)) {
      log_.diagnostics.push_back(std::move(d));
      inExcerpt_ = true;
    } else if (parsePtxasLine(line, &severity, &message)) {
      inExcerpt_ = false;
      ptxas(severity, message, line);
    } else if (inExcerpt_ && absl::StartsWith(line, " ")) {
      absl::StrAppend(&log_.diagnostics.back().excerpt, line, "\n");
    } else {
      inExcerpt_ = false;
    }
  }

  void ptxas(string_view severity, string_view message, string_view line) {
    if (severity == "error" || severity == "fatal") {
      // "Ptx assembly aborted due to errors" only repeats that there were some.
      if (severity == "fatal" && log_.hasErrors())
        return;
      log_.diagnostics.push_back({CompileDiagnostic::Error, "ptxas", "", {}, std::string(line), ""});
      return;
    }
    if (message.size() > 7 && message[0] == '(' && message[1] == 'C' && message[6] == ')') {
      string_view code = message.substr(1, 5);
      size_t named = message.rfind("function '");
      log_.diagnostics.push_back({isPerformanceCode(code) ? CompileDiagnostic::PerformanceError : CompileDiagnostic::Note,
                                  std::string(code),
                                  named == string_view::npos ? "" : std::string(quoted(message.substr(named))),
                                  {},
                                  std::string(absl::StripAsciiWhitespace(message.substr(7))),
                                  ""});
    } else if (absl::StartsWith(message, "Compiling entry function")) {
      log_.kernels.push_back({std::string(quoted(message))});
    } else if (log_.kernels.empty()) {
      return;
    } else if (absl::StrContains(message, "bytes stack frame")) {
      // Device functions that were not inlined are charged to the entry they follow.
      KernelResources &k = log_.kernels.back();
      k.stackBytes = std::max(k.stackBytes, numberBefore(message, " bytes stack frame"));
      k.spillStoreBytes += numberBefore(message, " bytes spill stores");
      k.spillLoadBytes += numberBefore(message, " bytes spill loads");
    } else if (absl::StartsWith(message, "Used ")) {
      log_.kernels.back().registers = int(numberBefore(message, " registers"));
      log_.kernels.back().staticSharedBytes = numberBefore(message, " bytes smem");
    }
  }

  void locate(CompileDiagnostic &d) {
    if (d.loc.line)
      return;
    // A message about the whole text belongs to its only entry, if there is one.
    if (d.function.empty() && log_.kernels.size() == 1)
      d.function = log_.kernels[0].entry;
    if (!d.function.empty())
      d.loc = findEntryLocation(text_, d.function);
  }

  string_view text_;
  CompileLog log_;
  bool inExcerpt_ = false;
};

} // namespace

bool CompileLog::hasErrors() const {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const CompileDiagnostic &d) { return d.severity == CompileDiagnostic::Error; });
}

bool CompileLog::hasPerformanceErrors() const {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const CompileDiagnostic &d) { return d.severity == CompileDiagnostic::PerformanceError; });
}

CompileLog parseCompileLog(string_view log, string_view text) { return Parser(text).run(log); }

SourceLoc findEntryLocation(string_view text, string_view entry) {
  if (entry.empty())
    return {};
  LineMarks marks(text);
  for (int number = 1; number <= marks.numLines(); ++number) {
    string_view line = marks.textOf(number);
    if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "//"))
      continue;
    for (size_t at = line.find(entry); at != string_view::npos; at = line.find(entry, at + 1)) {
      string_view after = absl::StripLeadingAsciiWhitespace(line.substr(at + entry.size()));
      if ((at == 0 || !isWordChar(line[at - 1])) && absl::StartsWith(after, "("))
        return marks.at(number);
    }
  }
  return {};
}

std::string toString(const CompileDiagnostic &d) {
  static constexpr const char *kWords[] = {"error", "performance error", "warning", "note"};
  std::string s;
  if (d.loc.line)
    absl::StrAppend(&s, d.loc.file, ":", d.loc.line, ": ");
  absl::StrAppend(&s, kWords[d.severity], ": ", d.message);
  if (!d.code.empty())
    absl::StrAppend(&s, " [", d.code, "]");
  if (!d.excerpt.empty())
    absl::StrAppend(&s, "\n", absl::StripTrailingAsciiWhitespace(d.excerpt));
  return s;
}

} // namespace kernelc
