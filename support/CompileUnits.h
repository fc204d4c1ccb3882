// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compile units of an emitted CUDA text: each entry with the helpers and types that
// it uses, as a text of its own. Equal launches share an entry, so that each unit is
// compiled once, and a unit does not change with what the text's other entries need.
// Text processing: it must not compile or read files.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "support/Artifact.h"

namespace kernelc {

struct CompileUnit {
  std::vector<std::string> entries; ///< one, but for a text that kernelc has not emitted
  std::string text;                 ///< what a device compiler gets; without the code for hosts
};

/// The units that the launches of `variant` need, in the order of the launches. A text that is not as codegen writes one (a
/// launch's entry is not defined in it) is one unit.
std::vector<CompileUnit> compileUnitsOf(const Variant &variant);

/// What of a text decides about its code: the text without comments and `#line` marks.
std::string codeOf(absl::string_view cudaText);

} // namespace kernelc
