// kernelc check: a device against the f64 reference and its error bounds.
#include <iostream>

#include "absl/strings/str_cat.h"
#include "driver/HostCheck.h"
#include "tools/Call.h"
#include "tools/Commands.h"
#include "tools/Failure.h"

namespace kernelc::tools {

int checkCommand(const std::vector<std::string> &args) {
  CallOptions call;
  Options options("check", "FILE.kc [NAME=VALUE ...]",
                  "Runs a kernel and compares every output with the reference in f64; on the emulator also looks for races,\n"
                  "accesses out of bounds, uninitialised reads and barrier mistakes.");
  call.add(options);
  if (std::optional<int> code = options.parse(args))
    return *code;
  if (call.positionals.empty())
    return options.usageError("which file?");
  absl::StatusOr<Call> prepared = prepareCall(call);
  if (!prepared.ok())
    return reportFailure(prepared.status());
  absl::StatusOr<CheckResult> result = checkOnHost(*prepared->kernel, prepared->place, prepared->arguments.tensors);
  if (!result.ok())
    return reportFailure(result.status());
  std::cout << prepared->kernel->signature().name << " on " << toString(prepared->place) << ": "
            << (result->passed ? "passed" : "FAILED") << "\n"
            << result->text;
  return result->passed ? kDone : kFailed;
}

} // namespace kernelc::tools
