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

/// Columns of a line, from 1; `end` is behind the last one.
struct Columns {
  unsigned begin, end;
};

/// What a message shows: a position, and what is underlined in its line.
struct Place {
  FileLineColLoc position;
  SmallVector<Columns, 1> underlined;
};

/// In the user's file if the location has a position there.
Place findPlace(Location loc, StringRef fileName) {
  Place place;
  loc->walk([&](Location l) {
    auto file = dyn_cast<FileLineColRange>(l);
    if (!file)
      return WalkResult::advance();
    bool inFile = file.getFilename() == fileName;
    if (!place.position || (inFile && place.position.getFilename() != fileName))
      place.position = FileLineColLoc::get(file.getFilename(), file.getStartLine(), file.getStartColumn());
    else if (!inFile || isStrictFileLineColLoc(file))
      return inFile ? WalkResult::interrupt() : WalkResult::advance();
    if (!isStrictFileLineColLoc(file)) {
      unsigned line = place.position.getLine();
      if (file.getStartLine() <= line && file.getEndLine() >= line)
        place.underlined.push_back({file.getStartLine() < line ? 1 : file.getStartColumn(), file.getEndLine() > line ? ~0u : file.getEndColumn()});
    }
    return WalkResult::advance();
  });
  return place;
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

/// The line, or of a long one what stands around the column, and below it a caret and what is underlined.
std::string quote(absl::string_view line, size_t column, ArrayRef<Columns> underlined) {
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
  size_t first = line.find_first_not_of(" \t"), last = line.substr(0, line.find('#')).find_last_not_of(" \t");
  std::string marks = cutLeft ? " " : "";
  for (size_t c = begin; c < std::max(end, at + 1); ++c) {
    bool isText = c >= first && last != absl::string_view::npos && c <= last;
    bool isMarked = isText && llvm::any_of(underlined, [&](Columns u) { return c + 1 >= u.begin && c + 1 < u.end; });
    if (c < line.size() && isContinuation(line[c]))
      continue;
    marks += c == at ? '^' : isMarked ? '~' : c < line.size() && line[c] == '\t' ? '\t' : ' ';
  }
  marks.resize(marks.find_last_not_of(" \t") + 1);
  return absl::StrCat("\n  ", cutLeft ? kLeftOut : "", line.substr(begin, end - begin), cutRight ? kLeftOut : "", "\n  ", marks);
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
        if (llvm::is_contained(list, all)) // a function's body is checked once a use
          return success();
        if (severity == DiagnosticSeverity::Error)
          addError(d.getLocation(), std::move(all));
        else
          list.push_back(std::move(all));
        return success();
      }) {}

void DiagnosticLog::addError(Location loc, std::string text) {
  FileLineColLoc at = findPlace(loc, StringRef(fileName_.data(), fileName_.size())).position;
  std::pair<unsigned, unsigned> place = places_.empty() ? std::pair(0u, 0u) : places_.back();
  if (at && absl::string_view(at.getFilename().data(), at.getFilename().size()) == fileName_)
    place = {at.getLine(), at.getColumn()};
  auto behind = std::upper_bound(places_.begin(), places_.end(), place);
  errors_.insert(errors_.begin() + (behind - places_.begin()), std::move(text));
  places_.insert(behind, place);
}

std::string DiagnosticLog::render(Location loc, DiagnosticSeverity severity, const std::string &message) const {
  Place place = findPlace(loc, StringRef(fileName_.data(), fileName_.size()));
  FileLineColLoc at = place.position;
  std::string out;
  if (at)
    out = absl::StrCat(at.getFilename().str(), ":", at.getLine(), ":", at.getColumn(), ": ");
  absl::StrAppend(&out, severityName(severity), ": ", shortenNames(message));
  if (!at || absl::string_view(at.getFilename().data(), at.getFilename().size()) != fileName_ || at.getLine() == 0)
    return out;
  absl::string_view line = lineOf(text_, at.getLine());
  return line.empty() ? out : out + quote(line, std::max(1u, at.getColumn()), place.underlined);
}

absl::Status DiagnosticLog::status(absl::string_view what) const {
  if (errors_.empty())
    return absl::InternalError(absl::StrCat(what, " failed without a diagnostic"));
  std::string all = absl::StrJoin(errors_, "\n");
  return isInternal_ ? absl::InternalError(all) : absl::InvalidArgumentError(all);
}

} // namespace kernelc
