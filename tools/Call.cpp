// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/Call.h"

#include <iostream>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/compile/Program.h"
#include "support/Target.h"
#include "support/TargetNames.h"
#include "tools/Messages.h"

namespace kernelc::tools {

void CallOptions::add(Options &o) {
  source.add(o);
  o.value("--device", device, "DEVICE", "auto, cpu, emulator, cuda or cuda:N")
      .value("--arch", arch, "sm_XX", "the GPU that the emulator runs (sm_90a)")
      .value("--variant", variant, "default|general", "specialise on the arguments, or use the variant that takes anything")
      .value("--seed", seed, "N", "on the emulator: threads in a random order, the same for the same N")
      .positionals(positionals);
  addEnvironmentOptions(o);
}

namespace {

/// The sizes that --set gives to a module in MLIR's syntax: its kernels keep them open, where a kernel in `.kc` has numbers instead.
absl::StatusOr<std::vector<NamedSize>> openSizes(const std::string &file, const Kernel &kernel, const Constants &constants) {
  std::vector<NamedSize> named;
  if (!absl::EndsWith(file, ".mlir"))
    return named;
  for (const auto &[name, value] : constants) {
    const int64_t *size = std::get_if<int64_t>(&value);
    if (!size || absl::c_none_of(kernel.sizes, [&](const SizeRecipe &s) { return s.name == name; }))
      return absl::InvalidArgumentError(absl::StrCat("--set ", name, ": kernel '", kernel.name, "' has no such size"));
    named.push_back({name, *size});
  }
  return named;
}

absl::Status checkLike(const Kernel &kernel, const std::vector<NamedSize> &like) {
  std::vector<std::string> names;
  for (const SizeRecipe &s : kernel.sizes)
    names.push_back(s.name);
  for (const NamedSize &given : like)
    if (absl::c_find(names, given.first) == names.end())
      return absl::InvalidArgumentError(absl::StrCat("--like ", given.first, ": kernel '", kernel.name, "' has no open size of that name",
                                                     names.empty() ? "" : "; it has ", absl::StrJoin(names, ", ")));
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<Call> prepareCall(const CallOptions &o) {
  if (o.variant != "default" && o.variant != "general")
    return absl::InvalidArgumentError("--variant is default or general");
  if (!o.arch.empty() && !findTarget(o.arch))
    return absl::InvalidArgumentError(absl::StrCat("--arch ", o.arch, ": ", describeUnknownTarget(o.arch)));
  Call call;
  if (o.device != "auto") {
    absl::StatusOr<Place> place = parsePlace(o.device);
    if (!place.ok())
      return place.status();
    call.place = *place;
  }
  absl::StatusOr<Source> source = readSource(o.positionals[0], o.source);
  if (!source.ok())
    return source.status();
  SessionOptions session;
  if (!o.seed.empty() && (!absl::SimpleAtoi(o.seed, &session.emulatorSeed) || !session.emulatorSeed))
    return absl::InvalidArgumentError(absl::StrCat("--seed takes a positive whole number, not '", o.seed, "'"));
  if (!o.seed.empty() && o.device != "emulator")
    return absl::InvalidArgumentError("--seed belongs to --device emulator");
  session.diskCache = o.diskCache;
  session.tuned = o.tuned;
  session.compile = CompilePolicy::Block; // what is timed or checked is the full code
  session.generalOnly = o.variant == "general";
  if (!o.arch.empty())
    session.emulatorTarget = o.arch;
  if (o.runs)
    session.remark = [](const std::string &text) {
      printMessage(text.find(": remark: ") != std::string::npos ? text : "kernelc: " + text);
    };
  call.session = Session::create(session);
  absl::StatusOr<std::shared_ptr<JitKernel>> kernel = call.session->compile(source->text, source->options.kernel, source->options);
  if (!kernel.ok())
    return kernel.status();
  call.kernel = *std::move(kernel);
  for (const std::string &warning : call.kernel->warnings())
    printMessage(warning);
  const Kernel &signature = call.kernel->signature();
  absl::StatusOr<std::map<std::string, std::string>> values = parseAssignments(signature, {o.positionals.begin() + 1, o.positionals.end()});
  if (!values.ok())
    return values.status();
  if (o.hasArguments) {
    absl::StatusOr<std::vector<NamedSize>> sizes = openSizes(o.positionals[0], signature, source->options.constants);
    if (!sizes.ok())
      return sizes.status();
    if (absl::Status known = checkLike(signature, o.like); !known.ok())
      return known;
    sizes->insert(sizes->end(), o.like.begin(), o.like.end());
    absl::StatusOr<HostArguments> arguments = makeArguments(signature, *values, *sizes, o.runs);
    if (!arguments.ok())
      return arguments.status();
    call.arguments = *std::move(arguments);
  }
  if (o.device == "auto") {
    std::string why;
    call.place = call.session->defaultPlace(&why);
    std::cerr << "kernelc: running on " << why << "\n";
  }
  return call;
}

} // namespace kernelc::tools
