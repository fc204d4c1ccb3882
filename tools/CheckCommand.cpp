// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc check: a device against the f64 reference and its error bounds; with
// --mutate how strong the emulator's checks are on this kernel, with --verify-each
// whether the passes keep its meaning.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "driver/verify/HostCheck.h"
#include "driver/verify/MutantTrial.h"
#include "driver/verify/NonFinite.h"
#include "driver/verify/VerifyEach.h"
#include "emulator/Mutate.h"
#include "support/Json.h"
#include "tools/Call.h"
#include "tools/Commands.h"
#include "tools/Failure.h"
#include "tools/Files.h"

namespace kernelc::tools {

namespace {

/// The share of mutants, detected or redundant, that checks without gaps reach, and that of redundant ones beyond which
/// the kernel asks too much.
constexpr double kGoodPercent = 98, kMostRedundantPercent = 25;

/// Whether a size of the kernel is left open.
bool lacksSizes(const Kernel &signature) {
  absl::StatusOr<std::vector<int64_t>> sizes =
      solveSizes(signature, std::vector<MaybeShape>(signature.params.size()), {}, /*partial=*/true);
  return sizes.ok() && std::count(sizes->begin(), sizes->end(), -1) > 0;
}

/// On the call's arguments; on sets of its own where a size is left open.
absl::StatusOr<emulator::MutationScore> measure(Call &call, const std::string &arch,
                                                const std::function<void(const emulator::Mutant &)> &judged, size_t jobs) {
  const Kernel &signature = call.kernel->signature();
  if (call.arguments.tensors.empty() && !signature.params.empty())
    return measureKernelMutants(call.kernel->program(), signature, arch, judged, jobs);
  absl::StatusOr<Kernel> kernel = call.kernel->variantFor(arch, call.arguments.values(signature));
  if (!kernel.ok())
    return kernel.status();
  emulator::RunArguments run;
  for (const HostTensor &t : call.arguments.tensors)
    run.params.push_back(t.view());
  run.sizes = call.arguments.sizes;
  return emulator::measureMutants(*kernel, kernel->variants[0], {run}, {}, judged, jobs);
}

std::string mutantsJson(const std::string &kernel, const std::string &arch, const emulator::MutationScore &score) {
  std::map<std::string, int> classes;
  JsonArray missed, spare;
  for (const emulator::Mutant &m : score.survivors) {
    if (m.verdict == emulator::Verdict::Redundant)
      ++classes[m.why];
    (m.verdict == emulator::Verdict::Redundant ? spare : missed).push_back(m.toString());
  }
  JsonObject redundant;
  for (const auto &[why, count] : classes)
    redundant.push_back({why, count});
  absl::StatusOr<std::string> text = printJson(JsonObject{{"kernel", kernel},
                                                          {"arch", arch},
                                                          {"mutants", score.total},
                                                          {"detected", score.detected},
                                                          {"by_finding", score.byFinding},
                                                          {"redundant", score.redundant},
                                                          {"missed", score.missed},
                                                          {"redundant_because", std::move(redundant)},
                                                          {"redundant_mutants", std::move(spare)},
                                                          {"missed_mutants", std::move(missed)}});
  return text.ok() ? *text + "\n" : std::string(text.status().message());
}

/// Takes each synchronisation and mask away in turn. kFailed if one is missed.
int mutate(Call &call, const std::string &arch, bool json, size_t jobs) {
  const Kernel &signature = call.kernel->signature();
  auto print = [&](const emulator::Mutant &m) {
    if (!json)
      std::cout << m.toString() << std::endl;
  };
  absl::StatusOr<emulator::MutationScore> score = measure(call, arch, print, jobs);
  if (!score.ok())
    return reportFailure(score.status());
  if (json) {
    std::cout << mutantsJson(signature.name, arch, *score);
    return score->missed ? kFailed : kDone;
  }
  std::cout << signature.name << " on " << arch << ": "
            << absl::StrFormat("%d of %d mutants detected, %d of them by a finding; %d redundant, %d missed: %.1f %%\n", score->detected,
                               score->total, score->byFinding, score->redundant, score->missed, score->percent());
  if (score->survivors.size() > 1)
    std::cout << "taking all survivors away at once "
              << (score->survivorsNeedEachOther ? "is detected: some stand in for others\n" : "changes nothing either\n");
  if (score->percent() < kGoodPercent)
    std::cout << absl::StrFormat("finding: the score is below %g %%\n", kGoodPercent);
  if (score->redundant * 100 > kMostRedundantPercent * score->total)
    std::cout << absl::StrFormat("finding: more than %g %% are redundant\n", kMostRedundantPercent);
  return score->missed ? kFailed : kDone;
}

/// The meaning of the kernel after each pass. kFailed at the first that changed it.
int verifyEach(Call &call, const std::string &arch, const std::string &reproducer) {
  VerifyOptions options;
  options.target = arch;
  absl::StatusOr<std::vector<PassVerdict>> verdicts = verifyPasses(*call.kernel, call.arguments.tensors, call.arguments.sizes, options);
  if (!verdicts.ok())
    return reportFailure(verdicts.status());
  bool passed = true;
  for (const PassVerdict &v : *verdicts) {
    std::cout << v.pass << ": " << (v.passed ? "passed" : "CHANGED THE MEANING") << "\n";
    if (!v.passed)
      std::cout << v.text << (v.text.empty() || v.text.back() != '\n' ? "\n" : "");
    if (std::string file = v.reproducer.empty() ? "" : publishReproducer(reproducer, v.reproducer); !file.empty())
      std::cout << "the first line of " << file << " replays it\n";
    passed &= v.passed;
  }
  return passed ? kDone : kFailed;
}

Json elementJson(const reference::CheckedElement &e) {
  auto number = [](double v) { return std::isfinite(v) ? Json(v) : Json(); };
  JsonArray index;
  for (int64_t i : e.index)
    index.push_back(i);
  return JsonObject{{"index", std::move(index)},
                    {"device", number(e.device)},
                    {"expected", number(e.expected)},
                    {"error", number(e.error)},
                    {"bound", number(e.bound)}};
}

/// The result as one line of JSON; numbers that are not finite are null.
std::string checkJson(const Call &call, const CheckResult &result) {
  JsonArray outputs;
  for (const reference::OutputCheck &o : result.outputs) {
    JsonObject output{{"name", o.name},           {"total", o.total},     {"elements", o.elements}, {"failures", o.failures},
                      {"unchecked", o.unchecked}, {"special", o.special}, {"admitted", o.admitted}, {"largest_bound", o.largestBound}};
    if (o.numJudged() > 0) {
      output.push_back({"largest", elementJson(o.largest)});
      output.push_back({"worst", elementJson(o.worst)});
    }
    outputs.push_back(std::move(output));
  }
  absl::StatusOr<std::string> text = printJson(JsonObject{{"kernel", call.kernel->signature().name},
                                                          {"device", toString(call.place)},
                                                          {"passed", result.passed()},
                                                          {"failed", result.failed},
                                                          {"not_checked", result.unbounded},
                                                          {"outputs", std::move(outputs)}});
  return text.ok() ? *text + "\n" : std::string(text.status().message());
}

/// Where the first infinity and the first NaN come from. kFailed where there is one.
int findFirstNonFinite(Call &call) {
  absl::StatusOr<NonFiniteReport> report = findNonFinite(*call.kernel, call.arguments.tensors, call.arguments.sizes);
  if (!report.ok())
    return reportFailure(report.status());
  std::cout << report->text;
  return report->found ? kFailed : kDone;
}

/// Against the reference. kFailed where an output differs, and where one has no bound unless `allowUnbounded`.
int compare(const Call &call, bool allowUnbounded, bool json) {
  absl::StatusOr<CheckResult> result = checkOnHost(*call.kernel, call.place, call.arguments.tensors);
  if (!result.ok())
    return reportFailure(result.status());
  std::string verdict = result->failed      ? "FAILED"
                        : result->unbounded ? absl::StrCat("not checked: ", result->unbounded, " outputs without a bound")
                                            : "passed";
  if (json)
    std::cout << checkJson(call, *result);
  else
    std::cout << call.kernel->signature().name << " on " << toString(call.place) << ": " << verdict << "\n" << result->text;
  return result->failed || (result->unbounded && !allowUnbounded) ? kFailed : kDone;
}

} // namespace

int checkCommand(const std::vector<std::string> &args) {
  CallOptions call;
  Options options("check", "FILE.kc [NAME=VALUE ...]",
                  "Runs a kernel and compares every output with the reference in f64; on the emulator also looks for races,\n"
                  "accesses out of bounds, uninitialised reads and barrier mistakes.");
  call.add(options);
  bool mutants = false, each = false, nonfinite = false, allowUnbounded = false, json = false;
  std::string reproducer, share = "1";
  options.flag("--mutate", mutants, "takes each barrier, wait, fence and mask away in turn and says whether the emulator notices")
      .flag("--verify-each", each,
            "runs the kernel after each pass (te on the CPU, tile in an interpreter, cu on the emulator) and names the first that\n"
            "changed its meaning")
      .flag("--find-nonfinite", nonfinite,
            "runs the kernel statement by statement on the CPU and names the first that gives an infinity or a NaN, the point,\n"
            "and what it reads there")
      .flag("--allow-unbounded", allowUnbounded, "an output none of whose elements has an error bound does not fail the check")
      .flag("--json", json, "the result as a line of JSON")
      .value("--jobs", share, "N", "with --mutate: processes that share the mutants")
      .value("--reproducer", reproducer, "FILE.mlir", "with --verify-each: where the reduced reproducer goes (a new file in TMPDIR)");
  if (std::optional<int> code = options.parse(args))
    return *code;
  if (call.positionals.empty())
    return options.usageError("which file?");
  int jobs = 0;
  if (!absl::SimpleAtoi(share, &jobs) || jobs < 1 || jobs > 1024)
    return options.usageError(absl::StrCat("--jobs takes a number from 1 to 1024, not '", share, "'"));
  if (jobs > 1 && !mutants)
    return options.usageError("--jobs belongs to --mutate");
  if (mutants + each + nonfinite > 1)
    return options.usageError("--mutate, --verify-each and --find-nonfinite are checks of their own");
  if ((mutants || each || nonfinite) && allowUnbounded)
    return options.usageError("--allow-unbounded belongs to the check against the reference");
  if ((each || nonfinite) && json)
    return options.usageError(each ? "--verify-each has no --json" : "--find-nonfinite has no --json");
  if (!each && !reproducer.empty())
    return options.usageError("--reproducer belongs to --verify-each");
  if ((each || nonfinite) && call.device == "auto")
    call.device = "cpu"; // where the passes' results run, and single statements
  if ((each || nonfinite) && call.device != "cpu")
    return options.usageError(
        absl::StrCat(each ? "--verify-each" : "--find-nonfinite", " runs on the CPU; leave --device ", call.device, " out"));
  if (mutants && call.device == "auto")
    call.device = "emulator"; // where mutants run; no other device can tell
  if (mutants && call.device != "emulator")
    return options.usageError("--mutate runs on the emulator");
  call.hasArguments = !(mutants && call.positionals.size() == 1);
  absl::StatusOr<Call> prepared = prepareCall(call);
  if (prepared.ok() && !call.hasArguments && !lacksSizes(prepared->kernel->signature())) {
    call.hasArguments = true;
    prepared = prepareCall(call);
  }
  if (!prepared.ok())
    return reportFailure(prepared.status());
  if (nonfinite)
    return findFirstNonFinite(*prepared);
  if (each)
    return verifyEach(*prepared, call.arch.empty() ? "sm_90a" : call.arch, reproducer);
  if (mutants)
    return mutate(*prepared, call.arch.empty() ? "sm_90a" : call.arch, json, size_t(jobs));
  return compare(*prepared, allowUnbounded, json);
}

} // namespace kernelc::tools
