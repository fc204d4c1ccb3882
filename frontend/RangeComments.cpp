// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// See RangeComments.h.
#include "frontend/RangeComments.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

size_t lineStart(StringRef text, size_t at) {
  size_t newline = text.take_front(at).rfind('\n');
  return newline == StringRef::npos ? 0 : newline + 1;
}

std::string bound(AffineExpr e, const Kernel &kernel) {
  return print(simplifyAffineExpr(e, kernel.indices.size(), kernel.sizes.size()), kernel);
}

std::string rangeOf(const IndexVar &v, const Kernel &kernel) {
  std::string hull = bound(v.lo, kernel) + ":" + bound(v.hi(), kernel);
  if (!v.movingHi)
    return (v.name + " in " + hull).str();
  return (v.name + " in " + bound(v.movingLo, kernel) + ":" + bound(v.movingHi, kernel) + " (within " + hull + ")").str();
}

} // namespace

std::string rangesComment(const CoreStatement &statement, const Kernel &kernel, StringRef userText) {
  SmallVector<std::string> ranges;
  auto add = [&](IndexVar *v) {
    // An index of the prelude's own has no name in the user's text.
    bool theirs = v->name.begin() >= userText.begin() && v->name.end() <= userText.end();
    std::string range = theirs && v->hasRange() ? rangeOf(*v, kernel) : "";
    if (!range.empty() && !llvm::is_contained(ranges, range))
      ranges.push_back(range);
  };
  for (IndexVar *v : statement.vars)
    add(v);
  auto visit = [&](Node *n) {
    if (n->kind == Node::Reduce)
      for (IndexVar *v : n->vars)
        add(v);
  };
  walk(statement.value, visit);
  for (Node *c : statement.conditions)
    walk(c, visit);
  if (ranges.empty())
    return "";
  return (kRangesComment + " " + llvm::join(ranges, ", ")).str();
}

std::string withoutRangesComments(StringRef text) {
  std::string out;
  while (!text.empty()) {
    size_t end = text.find('\n');
    size_t length = end == StringRef::npos ? text.size() : end + 1;
    if (!text.take_front(length).ltrim(" \t").starts_with(kRangesComment))
      out += text.take_front(length);
    text = text.drop_front(length);
  }
  return out;
}

std::string withRangesComments(StringRef text, ArrayRef<RangesComment> comments) {
  std::string out;
  size_t done = 0;
  for (const RangesComment &c : comments) {
    size_t start = lineStart(text, c.offset);
    if (!text.slice(start, c.offset).trim(" \t").empty()) // a block on one line
      start = lineStart(text, c.definition);
    StringRef line = text.drop_front(start);
    out += text.slice(done, start);
    out += line.take_front(line.size() - line.ltrim(" \t").size());
    out += c.text;
    out += '\n';
    done = start;
  }
  out += text.drop_front(done);
  return out;
}

} // namespace kernelc::frontend
