// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/TextHeader.h"

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace kernelc {
namespace {

/// `assumes K % 8 == 0 and N % 8 == 0, and that indices of 32 bits reach all of x, w, y`
std::string describeGuard(const Variant &variant) {
  std::vector<std::string> conditions, bounded;
  for (absl::string_view part : absl::StrSplit(variant.guardText, " and ", absl::SkipEmpty())) {
    absl::string_view name = part;
    if (!absl::ConsumePrefix(&name, "fits32(") || !absl::ConsumeSuffix(&name, ")"))
      conditions.emplace_back(part);
    else if (name != "workspace" || !variant.workspaces.empty())
      bounded.emplace_back(name);
  }
  std::string text = absl::StrJoin(conditions, " and ");
  if (!bounded.empty())
    absl::StrAppend(&text, text.empty() ? "" : ", and ", "that indices of 32 bits reach all of ", absl::StrJoin(bounded, ", "));
  return absl::StrCat("assumes ", text.empty() ? "nothing of its sizes" : text);
}

/// `x_map has boxes of 64 by 128 elements, swizzled by 128 bytes`; extents from the innermost dim on.
std::string describeMap(const TensorMapArg &map, const std::string &name, const std::vector<std::string> &sizes) {
  std::vector<std::string> box;
  for (const SizeExpr &e : map.box)
    box.push_back(e.toString(sizes));
  return absl::StrCat(name, " has boxes of ", absl::StrJoin(box, " by "), " elements",
                      map.swizzleBytes ? absl::StrCat(", swizzled by ", map.swizzleBytes, " bytes") : "");
}

} // namespace

std::string describeVariant(const Kernel &kernel, const Variant &variant) {
  std::vector<std::string> names, lines{describeGuard(variant)};
  for (const SizeRecipe &s : kernel.sizes)
    names.push_back(s.name);
  for (const Launch &l : variant.launches) {
    std::string shared = l.sharedBytes.toString(names);
    lines.push_back(absl::StrCat("launch ", l.entry, ": ", l.grid.toString(names), " blocks of ", l.block, " threads",
                                 l.cluster > 1 ? absl::StrCat(" in clusters of ", l.cluster) : "",
                                 shared == "0" ? "" : absl::StrCat(", ", shared, " bytes of shared memory")));
    std::map<std::string, int> seen; // as the text counts those of one tensor
    for (const LaunchArg &arg : l.args)
      if (const auto *map = std::get_if<TensorMapArg>(&arg); map && map->base.param >= 0) {
        std::string name = kernel.params[map->base.param].name + "_map";
        int n = seen[name]++;
        lines.push_back(absl::StrCat("  ", describeMap(*map, n ? absl::StrCat(name, "_", n) : name, names)));
      }
  }
  return absl::StrJoin(lines, "\n");
}

} // namespace kernelc
