#include "driver/Diagnostics.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

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
        (d.getSeverity() == DiagnosticSeverity::Error ? errors_ : remarks_).push_back(std::move(all));
        return success();
      }) {}

std::string DiagnosticLog::render(Location loc, DiagnosticSeverity severity, const std::string &message) const {
  FileLineColLoc at = findPosition(loc, StringRef(fileName_.data(), fileName_.size()));
  std::string out;
  if (at)
    out = absl::StrCat(at.getFilename().str(), ":", at.getLine(), ":", at.getColumn(), ": ");
  absl::StrAppend(&out, severityName(severity), ": ", message);
  if (!at || absl::string_view(at.getFilename().data(), at.getFilename().size()) != fileName_ || at.getLine() == 0)
    return out;
  absl::string_view line = lineOf(text_, at.getLine());
  constexpr size_t kLongestQuote = 300; // a line of noise helps nobody
  if (line.empty() || line.size() > kLongestQuote)
    return out;
  std::string caret;
  for (unsigned c = 1; c < at.getColumn() && c <= line.size(); ++c)
    caret += line[c - 1] == '\t' ? '\t' : ' ';
  absl::StrAppend(&out, "\n  ", line, "\n  ", caret, "^");
  return out;
}

absl::Status DiagnosticLog::status(absl::string_view what) const {
  if (errors_.empty())
    return absl::InternalError(absl::StrCat(what, " failed without a diagnostic"));
  return absl::InvalidArgumentError(absl::StrJoin(errors_, "\n"));
}

} // namespace kernelc
