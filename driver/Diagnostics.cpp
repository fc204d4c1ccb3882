// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/Diagnostics.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/te/InternalError.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kernelc {
namespace {

/// The position to show: in the user's file if the location has one there.
FileLineColLoc findPosition(Location loc, StringRef fileName) {
  FileLineColLoc any, inFile;
  loc->walk([&](Location l) {
    if (auto file = dyn_cast<FileLineColLoc>(l)) {
      if (!any)
        any = file;
      if (file.getFilename() == fileName) {
        inFile = file;
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return inFile ? inFile : any;
}

absl::string_view lineOf(absl::string_view text, unsigned line) {
  size_t begin = 0;
  for (unsigned i = 1; i < line; ++i) {
    size_t end = text.find('\n', begin);
    if (end == absl::string_view::npos)
      return {};
    begin = end + 1;
  }
  absl::string_view rest = text.substr(begin);
  return rest.substr(0, rest.find('\n'));
}

constexpr size_t kLongestQuote = 160; // a line of noise helps nobody
constexpr size_t kLongestName = 80;
constexpr absl::string_view kLeftOut = "…";

bool isContinuation(char c) { return (c & 0xc0) == 0x80; } // of a character of several bytes

/// Names of any length, as the message has them, cut to what a reader can tell apart.
std::string shortenNames(absl::string_view message) {
  auto isName = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  std::string out;
  for (size_t at = 0; at < message.size();) {
    size_t end = at;
    while (end < message.size() && isName(message[end]))
      ++end;
    bool isLong = end - at > kLongestName;
    absl::StrAppend(&out, message.substr(at, isLong ? kLongestName : end - at), isLong ? kLeftOut : "");
    at = end;
    if (at < message.size())
      out += message[at++];
  }
  return out;
}

/// The line, or of a long one what stands around the column, and a caret below it.
std::string quote(absl::string_view line, size_t column) {
  size_t at = std::min(column - 1, line.size()), begin = 0, end = line.size();
  if (line.size() > kLongestQuote) {
    begin = std::min(at < kLongestQuote / 2 ? 0 : at - kLongestQuote / 2, line.size() - kLongestQuote);
    end = begin + kLongestQuote;
    while (begin < at && isContinuation(line[begin]))
      ++begin;
    while (end < line.size() && isContinuation(line[end]))
      ++end;
  }
  bool cutLeft = begin > 0, cutRight = end < line.size();
  std::string caret = cutLeft ? " " : "";
  for (size_t c = begin; c < at; ++c)
    caret += line[c] == '\t' ? '\t' : ' ';
  return absl::StrCat("\n  ", cutLeft ? kLeftOut : "", line.substr(begin, end - begin), cutRight ? kLeftOut : "", "\n  ", caret, "^");
}

const char *severityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error: return "error";
  case DiagnosticSeverity::Warning: return "warning";
  case DiagnosticSeverity::Remark: return "remark";
  case DiagnosticSeverity::Note: return "note";
  }
  return "error";
}

} // namespace

DiagnosticLog::DiagnosticLog(MLIRContext &context, absl::string_view text, absl::string_view fileName)
    : text_(text), fileName_(fileName), handler_(&context, [this](Diagnostic &d) {
        std::string all = render(d.getLocation(), d.getSeverity(), d.str());
        for (Diagnostic &note : d.getNotes())
          absl::StrAppend(&all, "\n", render(note.getLocation(), note.getSeverity(), note.str()));
        isInternal_ |= StringRef(d.str()).starts_with(te::kInternalError);
        DiagnosticSeverity severity = d.getSeverity();
        std::vector<std::string> &list = severity == DiagnosticSeverity::Error     ? errors_
                                         : severity == DiagnosticSeverity::Warning ? warnings_
                                                                                   : remarks_;
        if (!llvm::is_contained(list, all)) // a function's body is checked once a use
          list.push_back(std::move(all));
        return success();
      }) {}

std::string DiagnosticLog::render(Location loc, DiagnosticSeverity severity, const std::string &message) const {
  FileLineColLoc at = findPosition(loc, StringRef(fileName_.data(), fileName_.size()));
  std::string out;
  if (at)
    out = absl::StrCat(at.getFilename().str(), ":", at.getLine(), ":", at.getColumn(), ": ");
  absl::StrAppend(&out, severityName(severity), ": ", shortenNames(message));
  if (!at || absl::string_view(at.getFilename().data(), at.getFilename().size()) != fileName_ || at.getLine() == 0)
    return out;
  absl::string_view line = lineOf(text_, at.getLine());
  return line.empty() ? out : out + quote(line, std::max(1u, at.getColumn()));
}

absl::Status DiagnosticLog::status(absl::string_view what) const {
  if (errors_.empty())
    return absl::InternalError(absl::StrCat(what, " failed without a diagnostic"));
  std::string all = absl::StrJoin(errors_, "\n");
  return isInternal_ ? absl::InternalError(all) : absl::InvalidArgumentError(all);
}

} // namespace kernelc
