// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc tune: faster schedules, searched on a GPU.
#include <fstream>
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "driver/compile/Program.h"
#include "driver/tune/CostFit.h"
#include "driver/tune/HostTune.h"
#include "tools/Call.h"
#include "tools/Commands.h"
#include "tools/Failure.h"
#include "tools/Files.h"
#include "tools/TuneRecords.h"

namespace kernelc::tools {
namespace {

struct TuneArguments {
  CallOptions call;
  std::string budget = "60s", repeats = "11", records, progress, output;
  bool resume = false, fit = false;
};

/// "60s", "5m" or a number of seconds.
std::optional<double> parseSeconds(const std::string &text) {
  double unit = 1, value = 0;
  std::string number = text;
  if (!number.empty() && (number.back() == 's' || number.back() == 'm')) {
    unit = number.back() == 'm' ? 60 : 1;
    number.pop_back();
  }
  if (!absl::SimpleAtod(number, &value) || !(value > 0))
    return std::nullopt;
  return value * unit;
}

/// Prints by what the planner's coefficients would have to be multiplied for the times in these files.
absl::Status fit(const std::vector<std::string> &files) {
  std::vector<CostSample> all;
  for (const std::string &file : files) {
    absl::StatusOr<std::string> text = readInput(file);
    if (!text.ok())
      return text.status();
    absl::StatusOr<std::vector<CostSample>> samples = readSamples(*text, file);
    if (!samples.ok())
      return samples.status();
    all.insert(all.end(), samples->begin(), samples->end());
  }
  absl::StatusOr<CostFit> fit = fitCosts(all);
  if (!fit.ok())
    return fit.status();
  std::cout << absl::StrFormat("%d samples fitted, %d held out; median error of those %.1f %%, with the factors %.1f %%\n", fit->fitted,
                               fit->heldOut, 100 * fit->before, 100 * fit->after);
  for (const auto &[term, factor] : fit->factors)
    std::cout << absl::StrFormat("  %-8s x %.3f\n", term, factor);
  return absl::OkStatus();
}

absl::Status tune(const TuneArguments &a, double seconds, int repeats) {
  absl::StatusOr<Call> call = prepareCall(a.call);
  if (!call.ok())
    return call.status();
  if (call->place.kind != Place::Cuda)
    return absl::UnavailableError("tune measures on GPUs, and there is none (kernelc doctor says more)");
  const Kernel &kernel = call->kernel->signature();
  TuneOptions options;
  options.seconds = seconds;
  options.repeats = repeats;
  TuneRecords records(*call);
  records.listen(&options);
  if (!a.records.empty())
    KERNELC_RETURN_IF_ERROR(records.open(a.records, a.resume, &options));
  if (!a.progress.empty())
    KERNELC_RETURN_IF_ERROR(records.openProgress(a.progress));
  if (!a.output.empty() && a.output != "-" && !std::ofstream(a.output, std::ios::app)) // before a search is lost
    return absl::InvalidArgumentError(absl::StrCat("cannot write '", a.output, "'"));
  absl::StatusOr<TuneResult> result = tuneOnHost(*call->session, *call->kernel, call->place, call->arguments.tensors, options);
  if (!result.ok())
    return result.status();
  size_t measured = 0, wrong = 0;
  for (const ScheduleTrial &t : result->search.trials) {
    measured += t.rejected.empty();
    wrong += t.rejected.rfind("wrong", 0) == 0;
  }
  std::cerr << absl::StrFormat("kernelc: %s on %s: %d schedules in %d rounds, %d measured, %d with wrong results\n", kernel.name,
                               result->device, result->search.trials.size(), result->search.rounds, measured, wrong);
  std::cerr << absl::StrFormat("kernelc: found %.2f us, cost model %.2f us: %.3f times as fast\n", result->bestSeconds * 1e6,
                               result->startSeconds * 1e6, result->startSeconds / result->bestSeconds);
  if (result->kept)
    std::cerr << "kernelc: kept: calls of such sizes and layouts take it when they name no schedule (--untuned: the cost model's)\n";
  absl::StatusOr<std::string> best = printJson(toJson(result->search.best, kernel.name), /*indent=*/1);
  if (!best.ok())
    return best.status();
  KERNELC_RETURN_IF_ERROR(writeOutput(a.output.empty() ? "-" : a.output, *best + "\n"));
  return wrong ? absl::DataLossError(absl::StrCat(wrong, " schedules gave wrong results: a schedule must not")) : absl::OkStatus();
}

} // namespace

int tuneCommand(const std::vector<std::string> &args) {
  TuneArguments a;
  Options options("tune", "FILE.kc [NAME=VALUE ...]",
                  "Searches schedules for these arguments on a GPU, from the cost model's on, also for other units and parts: neighbours "
                  "are compiled in parallel, "
                  "checked, and timed in turns with the best so far. The best goes to -o (stdout) as a file for --schedule, and into the "
                  "cache, where later "
                  "calls find it.");
  a.call.tuned = false;
  a.call.add(options);
  options.value("--budget", a.budget, "TIME", "no round starts later (60s)")
      .value("--repeats", a.repeats, "N", "runs of each schedule in a round (11)")
      .value("--records", a.records, "FILE.jsonl", "appends every trial with its time, or why it was rejected")
      .flag("--resume", a.resume, "goes on from what --records holds of this call: no schedule twice, the fastest first")
      .flag("--fit", a.fit, "searches nothing: reads files of --records in place of a kernel, and says how far the cost model is off")
      .value("--progress", a.progress, "FILE.jsonl", "appends what happens, for a program that waits")
      .value("-o", a.output, "PATH", "where the best schedule goes");
  if (std::optional<int> code = options.parse(args))
    return *code;
  std::optional<double> seconds = parseSeconds(a.budget);
  int repeats = 0;
  if (a.resume && a.records.empty())
    return options.usageError("--resume goes on from the file that --records names");
  if (a.call.positionals.empty())
    return options.usageError("which file?");
  if (a.fit) {
    absl::Status status = fit(a.call.positionals);
    return status.ok() ? int(kDone) : reportFailure(status);
  }
  if (!seconds)
    return options.usageError("--budget takes a time, such as 60s or 5m");
  if (!absl::SimpleAtoi(a.repeats, &repeats) || repeats < 1)
    return options.usageError("--repeats takes a positive number");
  absl::Status status = tune(a, *seconds, repeats);
  return status.ok() ? int(kDone) : reportFailure(status);
}

} // namespace kernelc::tools
