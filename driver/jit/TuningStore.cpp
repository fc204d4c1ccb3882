// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/TuningStore.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "driver/compile/Build.h"
#include "driver/compile/CacheKeys.h"
#include "driver/compile/KernelIdentity.h"
#include "support/Json.h"

namespace kernelc {
namespace {

constexpr int64_t kFormat = 1;

bool isSwitchedOff() {
  const char *untuned = std::getenv("KERNELC_UNTUNED");
  return untuned && *untuned && absl::string_view(untuned) != "0";
}

/// What the variant assumes of every size, fixed ones included; nothing when one is open.
std::optional<std::string> describeSizes(const KernelIdentity &identity, const Constants &constants, const VariantOptions &options) {
  std::string text;
  for (size_t i = 0; i < identity.sizes.size(); ++i) {
    SizeFact fact;
    if (auto fixed = constants.find(identity.sizes[i]); fixed != constants.end() && std::holds_alternative<int64_t>(fixed->second))
      fact = factOf(std::get<int64_t>(fixed->second));
    else if (auto known = options.facts.find(identity.sizes[i]); known != options.facts.end() && known->second.max >= 0)
      fact = known->second;
    else
      return std::nullopt;
    absl::StrAppend(&text, text.empty() ? "" : " ", "s", i, "%", fact.divisor, "<=", fact.max);
  }
  return text;
}

/// Where a record is kept, and in whose names.
struct Slot {
  KernelIdentity identity;
  CacheKey key;
};

absl::StatusOr<Slot> slotOf(DiskCache &cache, const Program &program, const Kernel &signature, const VariantOptions &options) {
  absl::StatusOr<KernelIdentity> identity = identityOf(program, signature.name, cache);
  if (!identity.ok())
    return identity.status();
  std::optional<std::string> sizes = describeSizes(*identity, program.options().constants, options);
  if (!sizes)
    return absl::FailedPreconditionError(absl::StrCat("kernel '", signature.name, "': tuned schedules belong to sizes, and some are open"));
  CacheKey key = CacheKey()
                     .add("kernel", identity->digest)
                     .add("target", options.target)
                     .add("sizes", *sizes)
                     .add("tensors", absl::StripAsciiWhitespace(describeParams(options)));
  key.note("program", signature.name);
  return Slot{*std::move(identity), std::move(key)};
}

JsonArray listOf(const std::vector<std::string> &names) { return JsonArray(names.begin(), names.end()); }

std::vector<std::string> namesIn(const Json &record, absl::string_view key) {
  std::vector<std::string> names;
  if (const Json *list = record.find(key); list && list->asArray())
    for (const Json &n : *list->asArray())
      names.push_back(n.asString() ? *n.asString() : "");
  return names;
}

std::string textIn(const Json &record, absl::string_view key) {
  const Json *value = record.find(key);
  return value && value->asString() ? *value->asString() : "";
}

double numberIn(const Json &record, absl::string_view key) {
  const Json *value = record.find(key);
  if (!value)
    return 0;
  return value->asDouble() ? *value->asDouble() : value->asInt() ? double(*value->asInt()) : 0;
}

/// The schedule of `record` with the names that its kernel's launches and indices have in `identity`.
JsonArray inNamesOf(const Json &record, const KernelIdentity &identity, const std::string &kernel) {
  std::vector<std::string> indices = namesIn(record, "indices"), tensors = namesIn(record, "tensors");
  JsonArray schedule;
  const Json *list = record.find("schedule");
  for (const Json &launch : list && list->asArray() ? *list->asArray() : JsonArray()) {
    JsonObject o;
    for (const auto &[key, value] : launch.asObject() ? *launch.asObject() : JsonObject()) {
      if (key == "kernel") {
        o.push_back({key, kernel});
      } else if (key == "launch" && value.asString()) {
        o.push_back({key, renamed(*value.asString(), tensors, identity.tensors)});
      } else if (key == "tiles" && value.asObject()) {
        JsonObject tiles;
        for (const auto &[index, size] : *value.asObject())
          tiles.push_back({renamed(index, indices, identity.indices), size});
        o.push_back({key, std::move(tiles)});
      } else {
        o.push_back({key, value});
      }
    }
    schedule.push_back(std::move(o));
  }
  return schedule;
}

} // namespace

std::optional<TunedSchedule> findTuned(DiskCache &cache, const Program &program, const Kernel &signature, const VariantOptions &options,
                                       const Remark &remark) {
  if (isSwitchedOff() || !program.options().schedule.empty() || !cache.enabled() ||
      !DiskCache::mayHold(DiskCache::Kind::Tuning, cache.path()))
    return std::nullopt;
  absl::StatusOr<Slot> slot = slotOf(cache, program, signature, options);
  if (!slot.ok())
    return std::nullopt;
  std::optional<std::string> text = cache.get(DiskCache::Kind::Tuning, slot->key);
  if (!text)
    return std::nullopt;
  auto stale = [&](const std::string &why) -> std::optional<TunedSchedule> {
    if (remark)
      remark(absl::StrCat(signature.name, ": the tuned schedule for ", options.target, " is not used: ", why, "; tune again"));
    return std::nullopt;
  };
  absl::StatusOr<Json> record = parseJson(*text);
  if (!record.ok() || numberIn(*record, "kernelc_tuning") != kFormat)
    return stale("it is in another format");
  if (std::string version = textIn(*record, "kernelc"); version != versionString())
    return stale(absl::StrCat("it was found with kernelc ", version, ", and this is ", versionString()));
  absl::StatusOr<std::string> schedule = printJson(inNamesOf(*record, slot->identity, signature.name));
  if (!schedule.ok())
    return stale(std::string(schedule.status().message()));
  TunedSchedule tuned{*std::move(schedule), absl::StrCat(signature.name, ": the schedule is tuned, from ", textIn(*record, "origin"))};
  if (std::string sizes = textIn(*record, "sizes"); !sizes.empty())
    absl::StrAppend(&tuned.remark, ", for ", sizes);
  if (double seconds = numberIn(*record, "median_us"))
    absl::StrAppend(&tuned.remark, absl::StrFormat(": %.2f us, the cost model's %.2f us", seconds, numberIn(*record, "cost_model_us")));
  return tuned;
}

absl::Status keepTuned(DiskCache &cache, const Program &program, const Kernel &signature, const VariantOptions &options,
                       const TuningRecord &record) {
  if (!cache.enabled())
    return absl::FailedPreconditionError(absl::StrCat("the cache is off: ", cache.reason()));
  absl::StatusOr<Slot> slot = slotOf(cache, program, signature, options);
  if (!slot.ok())
    return slot.status();
  absl::StatusOr<Json> all = parseJson(record.schedule);
  if (!all.ok())
    return all.status();
  JsonArray schedule;
  for (const Json &launch : all->asArray() ? *all->asArray() : JsonArray())
    if (textIn(launch, "kernel") == signature.name)
      schedule.push_back(launch);
  if (schedule.empty())
    return absl::InvalidArgumentError(absl::StrCat("the schedule says nothing of kernel '", signature.name, "'"));
  JsonObject o{{"kernelc_tuning", kFormat},
               {"kernelc", versionString()},
               {"kernel", signature.name},
               {"origin", record.origin},
               {"sizes", record.sizes},
               {"indices", listOf(slot->identity.indices)},
               {"tensors", listOf(slot->identity.tensors)}};
  if (record.seconds > 0)
    o.insert(o.end(), {{"median_us", record.seconds * 1e6}, {"cost_model_us", record.costModelSeconds * 1e6}});
  o.push_back({"schedule", std::move(schedule)});
  absl::StatusOr<std::string> text = printJson(o);
  if (!text.ok())
    return text.status();
  slot->key.note("found", absl::StrCat(record.sizes, record.sizes.empty() ? "" : ", ", record.origin));
  cache.put(DiskCache::Kind::Tuning, slot->key, *text);
  return absl::OkStatus();
}

void dropTuned(DiskCache &cache, const Program &program, const Kernel &signature, const VariantOptions &options) {
  if (!cache.enabled() || !DiskCache::mayHold(DiskCache::Kind::Tuning, cache.path()))
    return;
  if (absl::StatusOr<Slot> slot = slotOf(cache, program, signature, options); slot.ok())
    cache.drop(DiskCache::Kind::Tuning, slot->key);
}

std::string describeSizesOf(const Program &program, const Kernel &signature, absl::Span<const int64_t> sizes) {
  std::vector<std::string> parts;
  for (const auto &[name, value] : program.options().constants)
    parts.push_back(absl::StrCat(name, " = ", toString(value)));
  for (size_t i = 0; i < signature.sizes.size() && i < sizes.size(); ++i)
    parts.push_back(absl::StrCat(signature.sizes[i].name, " = ", sizes[i]));
  return absl::StrJoin(parts, ", ");
}

std::string noLongerHolds(const Kernel &signature, const std::string &target, const absl::Status &why) {
  std::string text(why.message());
  text = text.substr(0, text.find('\n'));
  return absl::StrCat(signature.name, ": the tuned schedule for ", target, " is not used, because it no longer holds (", text,
                      "); tune again");
}

} // namespace kernelc
