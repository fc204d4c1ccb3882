// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/ScheduleFile.h"

#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "driver/compile/Quote.h"
#include "ir/te/ScheduleLoc.h"
#include "ir/te/Te.h"
#include "mlir/IR/Builders.h"
#include "support/Json.h"
#include "support/Target.h"
#include "support/TargetNames.h"

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
  if (key == "tiles" || key == "unroll")
    return absl::InvalidArgumentError(absl::StrCat("'", key, "' has an entry per index, as in {\"i\": 128}"));
  return absl::InvalidArgumentError(
      absl::StrCat("'", key, "' is ", printJson(value).value_or("nothing"), ", which is no whole number, truth value, string or object"));
}

/// A parser's "line:column: message".
std::string renderJsonError(absl::string_view fileName, absl::string_view text, absl::string_view message) {
  std::vector<absl::string_view> parts = absl::StrSplit(message, absl::MaxSplits(": ", 1));
  std::vector<absl::string_view> place = absl::StrSplit(parts[0], ':');
  size_t line = 0, column = 0, begin = 0;
  if (parts.size() != 2 || place.size() != 2 || !absl::SimpleAtoi(place[0], &line) || !absl::SimpleAtoi(place[1], &column) || !column)
    return absl::StrCat(fileName, ": error: ", message);
  for (size_t i = 1; i < line && begin != absl::string_view::npos; ++i)
    begin = text.find('\n', begin) + 1;
  return renderError(fileName, text, begin + column - 1, 0, parts[1]);
}

/// Of a text that does not even begin as a schedule file does.
std::string hintForFile(absl::string_view text) {
  size_t first = text.find_first_not_of(" \t\r\n");
  bool isList = first != absl::string_view::npos && text[first] == '[';
  return isList ? "" : "; a schedule file is a list of records, as in [{\"kernel\": \"linear\", \"launch\": \"y\", \"warps\": 8}]";
}

std::string namesOfKernels(ModuleOp module) {
  std::vector<std::string> names;
  for (auto kernel : module.getOps<te::KernelOp>())
    names.push_back(absl::StrCat("'", kernel.getSymName().str(), "'"));
  return absl::StrJoin(names, ", ");
}

} // namespace

absl::Status attachSchedules(ModuleOp module, const std::string &text, const std::string &fileName, const std::string &onlyKernel) {
  /// About the value at a path in the file.
  auto wrongAt = [&](const std::vector<std::string> &path, absl::string_view what) {
    JsonSpan span = findInJson(text, path).value_or(JsonSpan());
    return renderError(fileName, text, span.value, span.valueEnd, what);
  };
  absl::StatusOr<Json> json = parseJson(text);
  if (!json.ok())
    return absl::InvalidArgumentError(renderJsonError(fileName, text, absl::StrCat(json.status().message(), hintForFile(text))));
  const JsonArray *records = json->asArray();
  if (!records)
    return absl::InvalidArgumentError(wrongAt({}, absl::StrCat("a schedule file is a list of records, not ", json->kindName(),
                                                               !json->asObject()      ? ""
                                                               : json->find("kernel") ? "; write [..] around it"
                                                                                      : R"(; write [{"kernel": .., "launch": .., ..}])")));
  Builder b(module.getContext());
  std::map<std::string, SmallVector<Attribute>> perKernel;
  std::map<std::string, std::string> firstOf; ///< the record that first names a kernel
  for (auto [n, record] : llvm::enumerate(*records)) {
    std::string number = std::to_string(n);
    auto wrong = [&](absl::string_view key, absl::string_view what) {
      return absl::InvalidArgumentError(key.empty() ? wrongAt({number}, what) : wrongAt({number, std::string(key)}, what));
    };
    const Json *kernel = record.find("kernel"), *launch = record.find("launch");
    for (const auto &[key, value] : {std::pair("kernel", kernel), std::pair("launch", launch)})
      if (value && !value->asString())
        return wrong(key, absl::StrCat("'", key, "' is a name in quotes: ",
                                       value == kernel ? "a kernel's" : "that of the output or 'let' that the launch makes"));
    if (!kernel || !kernel->asString() ||
        (launch ? !launch->asString() : !record.find("copies") && !record.find("merge") && !record.find("parts")))
      return wrong("", "a record names its 'kernel' and its 'launch' (or says 'copies', 'merge' or 'parts' of the whole kernel)");
    if (const Json *target = record.find("target"))
      if (!target->asString() || !findTarget(*target->asString()))
        return wrong("target", absl::StrCat("the record of kernel '", *kernel->asString(), "': unknown target ",
                                            printJson(*target).value_or(""), target->asString() ? suggestTarget(*target->asString()) : ""));
    SmallVector<NamedAttribute> entries;
    for (const auto &[key, value] : *record.asObject()) {
      absl::StatusOr<Attribute> a = key.empty() ? absl::InvalidArgumentError("an entry without a name") : toAttribute(b, key, value);
      if (!a.ok())
        return wrong(key, absl::StrCat("the record of kernel '", *kernel->asString(), "': ", a.status().message()));
      if (key != "kernel")
        entries.push_back(b.getNamedAttr(key, *a));
    }
    firstOf.emplace(*kernel->asString(), number);
    perKernel[*kernel->asString()].push_back(b.getDictionaryAttr(entries));
  }
  for (auto &[name, list] : perKernel) {
    te::KernelOp found;
    for (auto kernel : module.getOps<te::KernelOp>())
      if (kernel.getSymName() == name)
        found = kernel;
    if (!found && !onlyKernel.empty() && onlyKernel != name)
      continue; // of another kernel in the same file
    if (!found)
      return absl::NotFoundError(
          wrongAt({firstOf[name], "kernel"}, absl::StrCat("there is no kernel '", name, "'; the program has ", namesOfKernels(module))));
    found.setScheduleAttr(b.getArrayAttr(list)); // in place of the text's own
    found.removeScheduleAtAttr();
  }
  return absl::OkStatus();
}

std::optional<TextRange> findScheduled(absl::string_view text, llvm::ArrayRef<llvm::StringRef> parts) {
  absl::StatusOr<Json> json = parseJson(text);
  const JsonArray *records = json.ok() ? json->asArray() : nullptr;
  if (!records)
    return std::nullopt;
  StringRef kernel = parts[0], launch = parts[1];
  auto is = [](const Json *value, StringRef wanted) { return value && value->asString() && *value->asString() == wanted.str(); };
  std::optional<TextRange> best;
  size_t steps = 0;
  for (auto [n, record] : llvm::enumerate(*records)) {
    const Json *own = record.find("launch");
    if (!is(record.find("kernel"), kernel) || (launch.empty() ? own != nullptr : !is(own, launch)))
      continue;
    std::vector<std::string> path = {std::to_string(n)};
    std::optional<JsonSpan> span = findInJson(text, path);
    bool isWhole = true;
    for (StringRef key : parts.drop_front(3)) {
      path.push_back(key.str());
      if (std::optional<JsonSpan> inner = key.empty() ? std::nullopt : findInJson(text, path)) {
        span = inner;
        continue;
      }
      isWhole = key.empty();
      path.pop_back();
      break;
    }
    if (span && path.size() >= steps) {
      steps = path.size();
      bool name = isWhole && steps > 1 && parts[2] == "name";
      best = name ? TextRange{span->name, span->nameEnd} : TextRange{span->value, span->valueEnd};
    }
  }
  return best;
}

} // namespace kernelc
