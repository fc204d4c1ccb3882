// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/KeptKernel.h"

#include "absl/strings/str_cat.h"
#include "runtime/DiskCache.h"
#include "support/ArtifactJson.h"
#include "support/CompileUnits.h"
#include "support/Json.h"

namespace kernelc {
namespace {

/// A unit as its code's name and its entries.
Json toJson(const UnitKey &unit) {
  JsonArray names = {unit.code};
  for (const std::string &entry : unit.entries)
    names.push_back(entry);
  return names;
}

bool readUnit(const Json &json, UnitKey &unit) {
  const JsonArray *names = json.asArray();
  if (!names || names->size() < 2)
    return false;
  for (const Json &name : *names) {
    if (!name.asString())
      return false;
    if (&name == &names->front())
      unit.code = *name.asString();
    else
      unit.entries.push_back(*name.asString());
  }
  return true;
}

} // namespace

void nameUnits(Variant &variant) {
  variant.units.clear();
  for (const CompileUnit &unit : compileUnitsOf(variant))
    variant.units.push_back({unit.entries, DiskCache::nameOfCode(unit.text)});
}

absl::StatusOr<std::string> keptOf(Kernel kernel) {
  Variant &variant = kernel.variants[0];
  if (variant.units.empty())
    nameUnits(variant);
  JsonArray units;
  for (const UnitKey &unit : variant.units)
    units.push_back(toJson(unit));
  const std::string text = std::exchange(variant.cudaText, "");
  absl::StatusOr<std::string> head = printJson(JsonObject{{"text", int64_t(text.size())}, {"units", std::move(units)}});
  absl::StatusOr<std::string> rest = artifactToJson({kernel}, /*indent=*/0);
  if (!head.ok() || !rest.ok())
    return head.ok() ? rest : head;
  return absl::StrCat(*head, "\n", text, *rest);
}

std::optional<Kernel> readKept(absl::string_view kept) {
  const size_t line = kept.find('\n');
  absl::StatusOr<Json> head = parseJson(kept.substr(0, line));
  if (line == absl::string_view::npos || !head.ok())
    return std::nullopt;
  const Json *bytes = head->find("text"), *units = head->find("units");
  kept.remove_prefix(line + 1);
  if (!bytes || !bytes->asInt() || !units || !units->asArray() || *bytes->asInt() < 0 || uint64_t(*bytes->asInt()) > kept.size())
    return std::nullopt;
  const absl::string_view text = kept.substr(0, size_t(*bytes->asInt()));
  absl::StatusOr<std::vector<Kernel>> kernels = artifactFromJson(kept.substr(text.size()));
  if (!kernels.ok() || kernels->size() != 1 || (*kernels)[0].variants.size() != 1)
    return std::nullopt;
  Variant &variant = (*kernels)[0].variants[0];
  variant.cudaText = std::string(text);
  for (const Json &unit : *units->asArray())
    if (!readUnit(unit, variant.units.emplace_back()))
      return std::nullopt;
  return std::move((*kernels)[0]);
}

} // namespace kernelc
