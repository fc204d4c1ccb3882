// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Line numbers, diagnostics and spelling suggestions. See Source.h.
#include "frontend/Source.h"

#include <algorithm>

#include "support/Spelling.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kernelc::frontend {

uint32_t Diagnostics::addFile(StringRef name, StringRef text) {
  SourceFile f{name.str(), text, {0}};
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n')
      f.lineStarts.push_back(i + 1);
  files.push_back(std::move(f));
  return files.size() - 1;
}

FileLineColLoc Diagnostics::location(Loc loc) const {
  const SourceFile &f = files[loc.file];
  auto it = std::upper_bound(f.lineStarts.begin(), f.lineStarts.end(), loc.offset);
  unsigned line = it - f.lineStarts.begin();
  return FileLineColLoc::get(&context, f.name, line, loc.offset - f.lineStarts[line - 1] + 1);
}

/// Where the name, number or operator that starts at `offset` ends.
static uint32_t endOfToken(StringRef text, uint32_t offset) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  size_t end = offset;
  if (end < text.size() && isWord(text[end]))
    while (end < text.size() && isWord(text[end]))
      ++end;
  else
    end += llvm::is_contained({"**", "//", "<<", ">>", "<=", ">=", "==", "!=", "->", "+=", "*="}, text.substr(offset, 2)) ? 2 : 1;
  return end;
}

Location Diagnostics::underlined(Loc loc) const {
  StringRef text = files[loc.file].text;
  FileLineColLoc at = location(loc);
  Loc begin{loc.begin, loc.file}, end{loc.end, loc.file};
  if (loc.begin == loc.end) {
    begin.offset = loc.offset;
    end.offset = endOfToken(text, loc.offset);
  }
  if (end.offset - begin.offset < 2)
    return at;
  FileLineColLoc from = location(begin), to = location(end);
  auto range = FileLineColRange::get(at.getFilename(), from.getLine(), from.getColumn(), to.getLine(), to.getColumn());
  return FusedLoc::get(&context, {at, range}, Attribute());
}

InFlightDiagnostic Diagnostics::error(Loc loc) { return counted(emitError(underlined(loc))); }

InFlightDiagnostic Diagnostics::errorElsewhere() { return counted(emitError(UnknownLoc::get(&context))); }

InFlightDiagnostic Diagnostics::counted(InFlightDiagnostic d) {
  if (full())
    d.abandon(); // takes its text, but is not reported
  else
    ++errors;
  return d;
}

std::string exampleIndices(size_t rank) {
  static constexpr StringRef kNames[] = {"i", "j", "k", "l"};
  if (rank > std::size(kNames))
    return "i, j, ..";
  return llvm::join(ArrayRef(kNames).take_front(rank), ", ");
}

std::string describeRank(size_t dims, size_t subscripts) {
  return std::to_string(dims) + (dims == 1 ? " dim, but " : " dims, but ") + std::to_string(subscripts) +
         (subscripts == 1 ? " subscript stands here" : " subscripts stand here");
}

std::string findNearest(StringRef name, ArrayRef<StringRef> candidates) {
  std::vector<absl::string_view> words;
  for (StringRef c : candidates)
    words.emplace_back(c.data(), c.size());
  return kernelc::findNearest(absl::string_view(name.data(), name.size()), words);
}

} // namespace kernelc::frontend
