// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/CacheKeys.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/compile/Build.h"

namespace kernelc {

std::string describeOptions(const VariantOptions &options) {
  std::string s = absl::StrCat("index", options.index32 ? 32 : 64);
  for (const auto &[name, fact] : options.facts)
    absl::StrAppend(&s, " ", name, "%", fact.divisor, "<=", fact.max);
  return s + describeParams(options);
}

std::string describeLikely(const VariantOptions &options) {
  std::string s;
  for (const auto &[name, fact] : options.facts)
    if (fact.like >= 0 && fact.like != fact.max)
      absl::StrAppend(&s, s.empty() ? " made for " : " ", name, "=", fact.like);
  return s;
}

std::string describeParams(const VariantOptions &options) {
  std::string s;
  for (size_t i = 0; i < options.params.size(); ++i) {
    const ParamGuard &g = options.params[i];
    if (g.layout == LayoutClass::Dense && g.alignment == 16 && g.order.empty())
      continue;
    bool rows = g.layout == LayoutClass::InnerUnit;
    absl::StrAppend(&s, " ", i, g.layout == LayoutClass::Dense ? ":dense@" : rows ? ":rows@" : ":any@", g.alignment);
    if (rows)
      absl::StrAppend(&s, "%", g.pitch);
    if (!g.order.empty())
      absl::StrAppend(&s, "/", absl::StrJoin(g.order, "/"));
  }
  return s;
}

CacheKey requestKey(const Program &program, absl::string_view what, absl::string_view target) {
  std::string options = absl::StrCat(what, "\nfile ", program.options().fileName);
  for (const auto &[name, value] : program.options().constants)
    absl::StrAppend(&options, "\n", name, "=", toString(value));
  if (!program.options().precision.empty())
    absl::StrAppend(&options, "\nprecision ", program.options().precision.toString());
  if (!program.options().schedule.empty())
    absl::StrAppend(&options, "\nschedule ", program.options().schedule);
  if (!program.imports().empty())
    absl::StrAppend(&options, "\nimports ", program.imports());
  return CacheKey::request(program.text(), options, target, absl::StrCat(versionString(), " ", buildId()));
}

CacheKey variantKey(const Program &program, const Kernel &signature, const VariantOptions &options, absl::string_view tunedSchedule) {
  CacheKey key = requestKey(program, absl::StrCat("variant of ", signature.name, ": ", describeOptions(options), describeLikely(options)),
                            options.target);
  if (!tunedSchedule.empty())
    key.add("tuned schedule", tunedSchedule);
  key.note("program", signature.name);
  return key;
}

} // namespace kernelc
