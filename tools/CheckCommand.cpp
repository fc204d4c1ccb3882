// kernelc check: a device against the f64 reference and its error bounds; with
// --mutate how strong the emulator's checks are on this kernel, with --verify-each
// whether the passes keep its meaning.
#include <iostream>

#include "absl/strings/str_format.h"
#include "driver/HostCheck.h"
#include "driver/VerifyEach.h"
#include "emulator/Mutate.h"
#include "tools/Call.h"
#include "tools/Commands.h"
#include "tools/Failure.h"
#include "tools/Files.h"

namespace kernelc::tools {

namespace {

/// The share of mutants, detected or redundant, that checks without gaps reach.
constexpr double kGoodPercent = 98;

/// Takes each synchronisation and mask away in turn. kFailed if one is missed.
int mutate(Call &call, const std::string &arch) {
  const Kernel &signature = call.kernel->signature();
  absl::StatusOr<Kernel> kernel = call.kernel->variantFor(arch, call.arguments.values(signature));
  if (!kernel.ok())
    return reportFailure(kernel.status());
  emulator::RunArguments run;
  for (const HostTensor &t : call.arguments.tensors)
    run.params.push_back(t.view());
  run.sizes = call.arguments.sizes;
  absl::StatusOr<emulator::MutationScore> score = emulator::measureMutants(
      *kernel, kernel->variants[0], {run}, {}, [](const emulator::Mutant &m) { std::cout << m.toString() << std::endl; });
  if (!score.ok())
    return reportFailure(score.status());
  std::cout << signature.name << " on " << arch << ": "
            << absl::StrFormat("%d of %d mutants detected, %d of them by a finding; %d redundant, %d missed: %.1f %%\n", score->detected,
                               score->total, score->byFinding, score->redundant, score->missed, score->percent());
  if (score->survivors.size() > 1)
    std::cout << "taking all survivors away at once "
              << (score->survivorsNeedEachOther ? "is detected: some stand in for others\n" : "changes nothing either\n");
  if (score->percent() < kGoodPercent)
    std::cout << absl::StrFormat("finding: the score is below %g %%\n", kGoodPercent);
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

} // namespace

int checkCommand(const std::vector<std::string> &args) {
  CallOptions call;
  Options options("check", "FILE.kc [NAME=VALUE ...]",
                  "Runs a kernel and compares every output with the reference in f64; on the emulator also looks for races,\n"
                  "accesses out of bounds, uninitialised reads and barrier mistakes.");
  call.add(options);
  bool mutants = false, each = false;
  std::string reproducer;
  options.flag("--mutate", mutants, "takes each barrier, wait, fence and mask away in turn and says whether the emulator notices")
      .flag("--verify-each", each,
            "runs the kernel after each pass (te on the CPU, tile in an interpreter, cu on the emulator) and names the first that\n"
            "changed its meaning")
      .value("--reproducer", reproducer, "FILE.mlir", "with --verify-each: where the reduced reproducer goes (a new file in TMPDIR)");
  if (std::optional<int> code = options.parse(args))
    return *code;
  if (call.positionals.empty())
    return options.usageError("which file?");
  if (mutants && each)
    return options.usageError("--mutate and --verify-each are two checks");
  if (!each && !reproducer.empty())
    return options.usageError("--reproducer belongs to --verify-each");
  if (each && call.device == "auto")
    call.device = "cpu"; // where the passes' results run
  if (each && call.device != "cpu")
    return options.usageError("--verify-each runs on the CPU");
  if (mutants && call.device == "auto")
    call.device = "emulator"; // where mutants run; no other device can tell
  if (mutants && call.device != "emulator")
    return options.usageError("--mutate runs on the emulator");
  absl::StatusOr<Call> prepared = prepareCall(call);
  if (!prepared.ok())
    return reportFailure(prepared.status());
  if (each)
    return verifyEach(*prepared, call.arch.empty() ? "sm_90a" : call.arch, reproducer);
  if (mutants)
    return mutate(*prepared, call.arch.empty() ? "sm_90a" : call.arch);
  absl::StatusOr<CheckResult> result = checkOnHost(*prepared->kernel, prepared->place, prepared->arguments.tensors);
  if (!result.ok())
    return reportFailure(result.status());
  std::cout << prepared->kernel->signature().name << " on " << toString(prepared->place) << ": " << (result->passed ? "passed" : "FAILED")
            << "\n"
            << result->text;
  return result->passed ? kDone : kFailed;
}

} // namespace kernelc::tools
