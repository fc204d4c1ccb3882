// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/Diagnostics.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/compile/Quote.h"
#include "driver/compile/ScheduleFile.h"
#include "frontend/Source.h"
#include "ir/te/InternalError.h"
#include "ir/te/ScheduleLoc.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

using namespace mlir;

namespace kernelc {
namespace {

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
      place = {FileLineColLoc::get(file.getFilename(), file.getStartLine(), file.getStartColumn()), {}};
    else if (!inFile || isStrictFileLineColLoc(file))
      return inFile ? WalkResult::interrupt() : WalkResult::advance();
    if (!isStrictFileLineColLoc(file)) {
      unsigned line = place.position.getLine();
      if (file.getStartLine() <= line && file.getEndLine() >= line)
        place.underlined.push_back(
            {file.getStartLine() < line ? 1 : file.getStartColumn(), file.getEndLine() > line ? ~0u : file.getEndColumn()});
    }
    return WalkResult::advance();
  });
  return place;
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

/// What te::getScheduleLoc() has put into the location: kernel, launch, name or value, keys.
static SmallVector<StringRef> findScheduleParts(Location loc) {
  SmallVector<StringRef> parts;
  loc->walk([&](Location l) {
    auto fused = dyn_cast<FusedLoc>(l);
    auto list = fused ? dyn_cast_or_null<ArrayAttr>(fused.getMetadata()) : ArrayAttr();
    if (!list || list.size() < 4 || list[0] != StringAttr::get(loc->getContext(), te::kScheduleLoc))
      return WalkResult::advance();
    for (Attribute a : list.getValue().drop_front())
      parts.push_back(cast<StringAttr>(a).getValue());
    return WalkResult::interrupt();
  });
  return parts;
}

std::string DiagnosticLog::render(Location loc, DiagnosticSeverity severity, const std::string &message) const {
  if (SmallVector<StringRef> parts = schedule_.empty() ? SmallVector<StringRef>() : findScheduleParts(loc); !parts.empty())
    if (std::optional<TextRange> range = findScheduled(schedule_, parts)) {
      std::string note = renderInProgram(loc, DiagnosticSeverity::Note, "what it schedules");
      return absl::StrCat(renderError(scheduleName_, schedule_, range->begin, range->end, message), "\n", note);
    }
  return renderInProgram(loc, severity, message);
}

std::string DiagnosticLog::renderInProgram(Location loc, DiagnosticSeverity severity, const std::string &message) const {
  Place place = findPlace(loc, StringRef(fileName_.data(), fileName_.size()));
  FileLineColLoc at = place.position;
  std::string out;
  if (at)
    out = absl::StrCat(at.getFilename().str(), ":", at.getLine(), ":", at.getColumn(), ": ");
  absl::StrAppend(&out, severityName(severity), ": ", shortenNames(message));
  if (!at || at.getLine() == 0)
    return out;
  std::optional<std::string> imported;
  std::string file = at.getFilename().str(), why;
  if (file != fileName_ && !(readImport_ && (imported = readImport_(file, why))))
    return out;
  absl::string_view line = lineOf(imported ? *imported : text_, at.getLine());
  return line.empty() ? out : out + quote(line, std::max(1u, at.getColumn()), place.underlined);
}

absl::Status DiagnosticLog::status(absl::string_view what) const {
  if (errors_.empty())
    return absl::InternalError(absl::StrCat(what, " failed without a diagnostic"));
  size_t shown = std::min(errors_.size(), kMaxShown);
  std::string all = absl::StrJoin(errors_.begin(), errors_.begin() + shown, "\n");
  if (size_t more = errors_.size() - shown) {
    bool stopped = errors_.size() >= frontend::Diagnostics::kMaxErrors; // the frontend looked no further
    absl::StrAppend(&all, "\n", fileName_, ": ", stopped ? "at least " : "", more, more == 1 ? " more error is" : " more errors are",
                    " not shown");
  }
  return isInternal_ ? absl::InternalError(all) : absl::InvalidArgumentError(all);
}

} // namespace kernelc
