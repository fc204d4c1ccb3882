// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/TextParts.h"

#include <set>

#include "codegen/EmitCuda.h"
#include "codegen/Helpers.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace kernelc::codegen {
namespace {

/// The parts of a text, without the blank lines between them.
struct Parts {
  StringRef header, called, kernels;
};

Parts split(StringRef text) {
  auto [header, rest] = text.split("\n\n");
  size_t begin = rest.starts_with(kScheduleComment) ? 0 : rest.find(("\n\n" + kScheduleComment).str());
  StringRef called = rest.take_front(begin);
  return {header, called, rest.drop_front(called.size()).ltrim('\n')};
}

/// Adds the helpers that `kernels` names: "kc_shared", "kc_wgmma_bf16<256, 0, 0>".
void collectHelpers(StringRef kernels, int generation, std::set<std::string> &names) {
  for (size_t at = kernels.find("kc_"); at != StringRef::npos; at = kernels.find("kc_", at + 1)) {
    auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
    if (at > 0 && isWord(kernels[at - 1]))
      continue;
    StringRef rest = kernels.drop_front(at), name = rest.take_while(isWord);
    if (StringRef whole = rest.take_front(rest.find('>') + 1); rest.drop_front(name.size()).starts_with("<") && specialisedText(whole))
      names.insert(whole.str());
    else if (hasHelper(name, generation))
      names.insert(name.str());
  }
}

} // namespace

SeparateText separateHelpers(StringRef text, StringRef name) {
  Parts parts = split(text);
  return {("// What the kernels in the file beside this one call.\n#pragma once\n\n" + parts.called + "\n").str(),
          (parts.header + "\n\n#include \"" + name + "\"\n\n" + parts.kernels).str()};
}

std::string joinTexts(llvm::ArrayRef<std::string> texts, int generation) {
  if (texts.size() == 1)
    return texts.front();
  std::set<std::string> typedefs, helpers;
  std::string headers, kernels;
  for (StringRef text : texts) {
    Parts parts = split(text);
    headers += (parts.header + "\n").str();
    kernels += ("\n" + parts.kernels).str();
    collectHelpers(parts.kernels, generation, helpers);
    llvm::SmallVector<StringRef> lines;
    parts.called.split(lines, '\n');
    for (StringRef line : lines)
      if (line.starts_with("typedef "))
        typedefs.insert(line.str());
  }
  return headers + calledText(typedefs, helpers, generation) + kernels;
}

} // namespace kernelc::codegen
