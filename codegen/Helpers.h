// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The device helpers that emitted text may call: the table of spellings. A helper
// has one or more spellings, each from some GPU generation on; the newest that
// the target has is used. Everything that is PTX or `__shared__` stands inside
// `#ifndef KC_HOST`, so that the text compiles for the host too.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"

namespace kernelc::codegen {

/// True if a helper of that name has a spelling for `generation`.
bool hasHelper(llvm::StringRef name, int generation);

/// The text of a helper that is generated for its numbers, "kc_wgmma_bf16<256, 0, 0>"; nothing for other names.
std::optional<std::string> specialisedText(llvm::StringRef name);

/// Text of the named helpers and of those they call, in table order.
std::string helperText(const std::set<std::string> &names, int generation);

/// One row of the table. Names of wgmma are without their shapes.
struct HelperSpelling {
  std::string name;
  int generation;
};
std::vector<HelperSpelling> helperSpellings();

} // namespace kernelc::codegen
