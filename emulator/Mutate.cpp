// Textual mutants of emitted CUDA. The printer puts one statement on a line, which
// is what this relies on; a call inside a larger expression is left alone.
#include "emulator/Mutate.h"

#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace kernelc::emulator {
namespace {

const char *const kSynchronising[] = {
    "__syncthreads(",         "__syncwarp(",         "__threadfence",      "kc_bar_sync(",
    "kc_bar_arrive(",         "kc_cluster_sync(",    "kc_cluster_arrive(", "kc_cluster_wait(",
    "kc_cp_async_wait<",      "kc_cp_async_commit(", "kc_mbarrier_wait(",  "kc_mbarrier_arrive",
    "kc_mbarrier_expect_tx(", "kc_fence_",           "kc_wgmma_fence(",    "kc_wgmma_commit(",
    "kc_wgmma_wait<",         "kc_tma_commit(",      "kc_tma_wait"};

/// The end of the statement that begins at `at`: past its semicolon.
size_t statementEnd(absl::string_view line, size_t at) {
  size_t end = line.find(';', at);
  return end == absl::string_view::npos ? line.size() : end + 1;
}

} // namespace

std::vector<Mutant> mutantsOf(absl::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  std::vector<Mutant> mutants;
  bool deviceOnly = false, inKernel = false;
  auto add = [&](size_t index, size_t from, size_t to, const std::string &with, bool mask) {
    std::string kept = lines[index];
    Mutant m;
    m.line = int(index) + 1;
    m.mask = mask;
    m.removed = std::string(absl::StripAsciiWhitespace(kept.substr(from, to - from)));
    lines[index] = kept.substr(0, from) + with + kept.substr(to);
    m.text = absl::StrJoin(lines, "\n");
    lines[index] = kept;
    mutants.push_back(std::move(m));
  };
  for (size_t i = 0; i < lines.size(); i++) {
    const std::string &line = lines[i];
    if (absl::StartsWith(line, "#ifndef KC_HOST"))
      deviceOnly = true;
    if (absl::StartsWith(line, "#e"))
      deviceOnly = false;
    inKernel = (inKernel || absl::StrContains(line, "__global__")) && !absl::StartsWith(line, "}");
    if (deviceOnly || !inKernel || absl::StrContains(line, "__global__"))
      continue;
    for (const char *call : kSynchronising)
      if (size_t at = line.find(call); at != std::string::npos) {
        add(i, at, statementEnd(line, at), ";", false);
        break;
      }
    // Masks: `const bool cond = ...;` and `if (...)`, made true.
    if (size_t at = line.find("bool cond"); at != std::string::npos) {
      size_t equals = line.find("= ", at), end = line.rfind(';');
      if (equals != std::string::npos && end != std::string::npos && end > equals)
        add(i, equals + 2, end, "true", true);
    } else if (size_t at = line.find("if (");
               at != std::string::npos && absl::EndsWith(line, "{")) {
      size_t close = line.rfind(')');
      if (close != std::string::npos && close > at + 4)
        add(i, at + 4, close, "true", true);
    }
  }
  return mutants;
}

std::string MutationScore::toString() const {
  std::string s = absl::StrFormat("%d of %d mutants detected (%.1f %%), %d by a finding\n",
                                  detected, total, percent(), byFinding);
  for (const Mutant &m : survivors)
    absl::StrAppend(&s, "  survives: line ", m.line, ": ",
                    m.mask ? "condition made true: " : "removed: ", m.removed, "\n");
  return s;
}

absl::StatusOr<MutationScore> measureMutants(const Kernel &kernel, const Variant &variant,
                                             const std::vector<RunArguments> &runs,
                                             const EmulatorOptions &options) {
  // What every run starts from, and what it must give.
  struct Snapshot {
    std::vector<std::vector<uint8_t>> bytes;
  };
  auto snapshot = [&](const RunArguments &args) {
    Snapshot s;
    for (size_t i = 0; i < args.params.size(); i++) {
      const TensorView &v = args.params[i];
      size_t n =
          kernel.params[i].kind == ParamKind::Input || kernel.params[i].kind == ParamKind::Scalar
              ? 0
              : size_t(v.numElements() * elementBits(v.type) + 7) / 8;
      const auto *p = static_cast<const uint8_t *>(v.data);
      s.bytes.emplace_back(p, p + n);
    }
    return s;
  };
  auto restore = [&](const RunArguments &args, const Snapshot &s) {
    for (size_t i = 0; i < args.params.size(); i++)
      if (!s.bytes[i].empty())
        std::memcpy(args.params[i].data, s.bytes[i].data(), s.bytes[i].size());
  };
  for (const RunArguments &args : runs)
    for (const TensorView &v : args.params)
      if (v.strides != denseStrides(v.shape))
        return absl::InvalidArgumentError("mutants are measured on dense tensors");
  std::vector<Snapshot> before, expected;
  auto original = KernelRunner::create(kernel, variant, options);
  if (!original.ok())
    return original.status();
  for (const RunArguments &args : runs) {
    before.push_back(snapshot(args));
    auto report = original->run(args);
    if (!report.ok())
      return report.status();
    if (!report->ok())
      return absl::FailedPreconditionError(
          absl::StrCat("the unchanged text has findings:\n", report->toString()));
    expected.push_back(snapshot(args));
    restore(args, before.back());
  }
  MutationScore score;
  EmulatorOptions bounded = options;
  bounded.stepBudget = std::min<uint64_t>(options.stepBudget, 200'000'000);
  for (Mutant &m : mutantsOf(variant.cudaText)) {
    Variant changed = variant;
    changed.cudaText = m.text;
    auto runner = KernelRunner::create(kernel, changed, bounded);
    if (!runner.ok())
      continue; // not a program any more
    score.total++;
    bool found = false, wrong = false;
    for (size_t r = 0; r < runs.size() && !found; r++) {
      auto report = runner->run(runs[r]);
      found = !report.ok() || !report->ok();
      wrong |= !found && snapshot(runs[r]).bytes != expected[r].bytes;
      restore(runs[r], before[r]);
    }
    score.detected += found || wrong;
    score.byFinding += found;
    if (!found && !wrong)
      score.survivors.push_back(std::move(m));
  }
  return score;
}

} // namespace kernelc::emulator
