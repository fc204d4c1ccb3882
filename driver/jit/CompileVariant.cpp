// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The compile units of a variant, side by side.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "driver/jit/SessionState.h"
#include "runtime/CudaError.h"
#include "support/SideBySide.h"

namespace kernelc {

absl::Status refusedByPolicy(absl::string_view what, const DiskCache &cache) {
  return withKind(absl::FailedPreconditionError(absl::StrCat(
                      what, " is not compiled for these arguments", cache.enabled() ? absl::StrCat(" in ", cache.path()) : "",
                      ", and the policy 'strict' forbids compiling it now; run it once under 'block', or call 'kernelc cache warm'")),
                  RuntimeErrorKind::NotLoaded);
}

/// Whether users will hear of a unit's code, and of the place in its text.
static bool hasRemarks(const Cubin &cubin) {
  return std::any_of(cubin.diagnostics.begin(), cubin.diagnostics.end(),
                     [](const CompileDiagnostic &d) { return d.severity == CompileDiagnostic::PerformanceError; });
}

/// Gives units that were found by their names their texts; what a compiler said names places in them.
static void addTexts(const Variant &variant, VariantCode &code) {
  std::vector<CompileUnit> units = compileUnitsOf(variant);
  for (size_t u = 0; u < code.units.size(); ++u) {
    code.units[u].text = std::move(units[u].text);
    if (Cubin &cubin = code.cubins[u]; !cubin.diagnostics.empty())
      cubin.diagnostics = parseCompileLog(cubin.log, code.units[u].text).diagnostics;
  }
}

absl::StatusOr<VariantCode> SessionState::findCode(const Variant &variant, std::vector<size_t> *cold) {
  absl::StatusOr<Nvrtc *> loaded = getNvrtc();
  if (!loaded.ok())
    return loaded.status();
  VariantCode code;
  const bool isNamed = !variant.units.empty();
  if (!isNamed)
    code.units = compileUnitsOf(variant);
  for (const UnitKey &unit : variant.units)
    code.units.push_back({unit.entries, ""});
  code.cubins.resize(code.units.size());
  bool needsTexts = false;
  for (size_t u = 0; u < code.units.size(); ++u) {
    std::optional<Cubin> found = isNamed ? getCache().findNamedCubin(**loaded, variant.units[u].code, variant.target)
                                         : getCache().findCubin(**loaded, code.units[u].text, variant.target);
    needsTexts |= isNamed && (!found || hasRemarks(*found));
    if (found)
      code.cubins[u] = *std::move(found);
    else
      cold->push_back(u);
  }
  if (needsTexts)
    addTexts(variant, code);
  return code;
}

absl::StatusOr<VariantCode> SessionState::compileVariant(const Variant &variant, absl::string_view programName, bool mayCompile) {
  std::vector<size_t> cold;
  absl::StatusOr<VariantCode> found = findCode(variant, &cold);
  if (!found.ok() || cold.empty())
    return found;
  VariantCode code = *std::move(found);
  if (!mayCompile)
    return refusedByPolicy(programName, getCache());
  // The longest first: what is left at the end is short then.
  std::sort(cold.begin(), cold.end(), [&](size_t a, size_t b) { return code.units[a].text.size() > code.units[b].text.size(); });
  std::atomic<bool> stop{false};
  absl::Status interrupted = absl::CancelledError(absl::StrCat("compiling ", programName, " was interrupted"));
  std::vector<absl::Status> failed(code.units.size());
  for (size_t u : cold)
    failed[u] = interrupted;
  sideBySide(cold.size(), stop, [&](size_t i) {
    absl::StatusOr<Cubin> cubin = compileToCubin(code.units[cold[i]].text, programName, variant.target, &stop);
    failed[cold[i]] = cubin.status();
    if (cubin.ok())
      code.cubins[cold[i]] = *std::move(cubin);
    else
      stop = true; // nobody wants the others without this one
  });
  auto report = [&](auto &&counts) {
    auto found = std::find_if(failed.begin(), failed.end(), counts);
    return found == failed.end() ? absl::OkStatus() : *found;
  };
  // What stopped the others is what is to be said.
  absl::Status status = report([](const absl::Status &s) { return !s.ok() && !absl::IsCancelled(s); });
  if (status.ok())
    status = report([](const absl::Status &s) { return !s.ok(); });
  if (!status.ok())
    return status;
  return code;
}

} // namespace kernelc
