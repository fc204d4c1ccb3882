// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/ScheduleFile.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "ir/te/Te.h"
#include "mlir/IR/Builders.h"
#include "support/Json.h"
#include "support/Target.h"

using namespace mlir;

namespace kernelc {
namespace {

/// The entry `key` of a record as an attribute; InvalidArgument for what a schedule has no use for.
absl::StatusOr<Attribute> toAttribute(Builder &b, absl::string_view key, const Json &value) {
  if (const bool *flag = value.asBool())
    return b.getBoolAttr(*flag);
  if (const int64_t *number = value.asInt())
    return b.getI64IntegerAttr(*number);
  if (const std::string *text = value.asString())
    return b.getStringAttr(*text);
  if (const JsonObject *object = value.asObject()) {
    SmallVector<NamedAttribute> entries;
    for (const auto &[inner, entry] : *object) {
      if (inner.empty())
        return absl::InvalidArgumentError("an entry without a name");
      absl::StatusOr<Attribute> a = toAttribute(b, inner, entry);
      if (!a.ok())
        return a.status();
      entries.push_back(b.getNamedAttr(inner, *a));
    }
    return b.getDictionaryAttr(entries);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", key, "' is ", printJson(value).value_or("nothing"), ", which is no whole number, truth value, string or object"));
}

} // namespace

absl::Status attachSchedules(ModuleOp module, const std::string &text, const std::string &fileName,
                             const std::string &onlyKernel) {
  auto wrong = [&](absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat(fileName, ": ", what)); };
  absl::StatusOr<Json> json = parseJson(text);
  if (!json.ok())
    return wrong(json.status().message());
  const JsonArray *records = json->asArray();
  if (!records)
    return wrong(absl::StrCat("a schedule file is a list of records, not ", json->kindName()));
  Builder b(module.getContext());
  std::map<std::string, SmallVector<Attribute>> perKernel;
  for (const Json &record : *records) {
    const Json *kernel = record.find("kernel"), *launch = record.find("launch");
    if (!kernel || !kernel->asString() ||
        (launch ? !launch->asString() : !record.find("copies") && !record.find("merge") && !record.find("parts")))
      return wrong("a record names its 'kernel' and its 'launch' (or says 'copies', 'merge' or 'parts' of the whole kernel)");
    if (const Json *target = record.find("target"))
      if (!target->asString() || !findTarget(*target->asString()))
        return wrong(absl::StrCat("the record of kernel '", *kernel->asString(), "': unknown target ", printJson(*target).value_or("")));
    JsonObject rest;
    for (const auto &[key, value] : *record.asObject())
      if (key != "kernel")
        rest.emplace_back(key, value);
    absl::StatusOr<Attribute> a = toAttribute(b, "", Json(rest));
    if (!a.ok())
      return wrong(absl::StrCat("the record of kernel '", *kernel->asString(), "': ", a.status().message()));
    perKernel[*kernel->asString()].push_back(*a);
  }
  for (auto &[name, list] : perKernel) {
    te::KernelOp found;
    for (auto kernel : module.getOps<te::KernelOp>())
      if (kernel.getSymName() == name)
        found = kernel;
    if (!found && !onlyKernel.empty() && onlyKernel != name)
      continue; // of another kernel in the same file
    if (!found)
      return absl::NotFoundError(absl::StrCat(fileName, ": there is no kernel '", name, "'"));
    found->setAttr("schedule", b.getArrayAttr(list));
  }
  return absl::OkStatus();
}

} // namespace kernelc
