// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Line numbers, diagnostics and spelling suggestions. See Source.h.
#include "frontend/Source.h"

#include <algorithm>

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

InFlightDiagnostic Diagnostics::error(Loc loc) {
  InFlightDiagnostic d = emitError(location(loc));
  if (full())
    d.abandon(); // takes its text, but is not reported
  else
    ++errors;
  return d;
}

std::string findNearest(StringRef name, ArrayRef<StringRef> candidates) {
  // A name with no letter in common is not near.
  unsigned best = std::min<size_t>(std::max<size_t>(1, name.size() / 3) + 1, name.size());
  StringRef found;
  for (StringRef c : candidates) {
    if (c == name)
      continue;
    unsigned d = c.equals_insensitive(name) ? 0 : name.edit_distance(c, true, best);
    if (d < best) {
      best = d;
      found = c;
    }
  }
  return found.str();
}

} // namespace kernelc::frontend
