// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc bench: how fast a kernel is on a GPU.
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "driver/compile/Program.h"
#include "driver/measure/HostBench.h"
#include "driver/roofline/WorkCount.h"
#include "tools/Call.h"
#include "tools/Commands.h"
#include "tools/Failure.h"

namespace kernelc::tools {
namespace {

struct Numbers {
  double median, p10, p90, bytesPerSecond, flopsPerSecond, intOpsPerSecond, ofCopy;
};

Numbers summarize(const BenchResult &r, const WorkCount &work) {
  size_t n = r.seconds.size();
  Numbers x{};
  x.median = r.seconds[n / 2];
  x.p10 = r.seconds[n / 10];
  x.p90 = r.seconds[n * 9 / 10];
  x.bytesPerSecond = double(work.bytes) / x.median;
  x.flopsPerSecond = double(work.flops) / x.median;
  x.intOpsPerSecond = double(work.intOps) / x.median;
  x.ofCopy = x.bytesPerSecond / r.copyBytesPerSecond;
  return x;
}

absl::Status bench(const CallOptions &options, int repeats, bool json) {
  absl::StatusOr<Call> call = prepareCall(options);
  if (!call.ok())
    return call.status();
  if (call->place.kind != Place::Cuda)
    return absl::UnavailableError(options.device == "auto"
                                      ? "bench measures GPUs, and there is none (kernelc doctor says more)"
                                      : absl::StrCat("bench measures GPUs; write 'kernelc run .. --time --device ", options.device, "'"));
  const Kernel &kernel = call->kernel->signature();
  absl::StatusOr<BenchResult> result = benchOnHost(*call->kernel, call->place, call->arguments.tensors, repeats);
  if (!result.ok())
    return result.status();
  absl::StatusOr<WorkCount> work = countWork(call->kernel->program(), kernel, call->arguments.sizes);
  if (!work.ok())
    return work.status();
  Numbers n = summarize(*result, *work);
  Roofline roof = rooflineOf(*work, result->peaks);
  double ofRoof = roof.seconds / n.median;
  if (json) {
    std::string roofText = roof.seconds > 0 ? absl::StrFormat("\"roofline_us\": %.3f, \"of_roofline\": %.3f, \"bound\": \"%s\"",
                                                              roof.seconds * 1e6, ofRoof, roof.bound)
                                            : "\"roofline_us\": null, \"of_roofline\": null, \"bound\": null";
    std::cout << absl::StrFormat(
        "{\"kernel\": \"%s\", \"launches\": %d, \"median_us\": %.3f, \"p10_us\": %.3f, \"p90_us\": %.3f, "
        "\"gb_s\": %.1f, \"tflop_s\": %.3f, \"copy_gb_s\": %.1f, \"of_copy\": %.3f, %s, "
        "\"peak_gb_s\": %.1f, \"peak_tflop_s\": %.1f, \"peak_matrix_tflop_s\": %.1f, "
        "\"bytes\": %d, \"flops\": %d, \"matrix_flops\": %d, \"tf32_flops\": %d, \"int_ops\": %d, \"matrix_int_ops\": %d, "
        "\"upper_bound\": %s, \"repeats\": %d}\n",
        kernel.name, result->launches, n.median * 1e6, n.p10 * 1e6, n.p90 * 1e6, n.bytesPerSecond / 1e9, n.flopsPerSecond / 1e12,
        result->copyBytesPerSecond / 1e9, n.ofCopy, roofText, result->peaks.bytesPerSecond / 1e9, result->peaks.flopsPerSecond / 1e12,
        result->peaks.matrixFlopsPerSecond / 1e12, work->bytes, work->flops, work->matrixFlops, work->tf32Flops, work->intOps,
        work->matrixIntOps, work->upperBound.empty() ? "false" : "true", repeats);
  } else {
    std::cout << absl::StrFormat("%s on %s, %d launches: %.1f us (p10 %.1f, p90 %.1f), %.0f GB/s (%.2f of a copy's %.0f), %.2f TFLOP/s%s; ",
                                 kernel.name, result->device, result->launches, n.median * 1e6, n.p10 * 1e6, n.p90 * 1e6,
                                 n.bytesPerSecond / 1e9, n.ofCopy, result->copyBytesPerSecond / 1e9, n.flopsPerSecond / 1e12,
                                 work->intOps ? absl::StrFormat(", %.2f integer TOP/s", n.intOpsPerSecond / 1e12) : "");
    if (!work->upperBound.empty())
      std::cout << "at most that many operations: " << work->upperBound << "; ";
    if (roof.seconds > 0)
      std::cout << absl::StrFormat("%.2f of the roofline (%.1f us, bound by %s)\n", ofRoof, roof.seconds * 1e6, roof.bound);
    else
      std::cout << "no roofline: the GPU's clocks or its architecture's rates are not known\n";
  }
  return absl::OkStatus();
}

} // namespace

int benchCommand(const std::vector<std::string> &args) {
  CallOptions call;
  std::string repeats = "30";
  bool json = false;
  Options options("bench", "FILE.kc [NAME=VALUE ...]",
                  "Measures a kernel on a GPU: medians by events, the L2 cache flushed before every run, beside a device copy.");
  call.add(options);
  options.value("--repeats", repeats, "N", "runs to measure (30)").flag("--json", json, "one JSON object on stdout");
  if (std::optional<int> code = options.parse(args))
    return *code;
  int n = 0;
  if (call.positionals.empty())
    return options.usageError("which file?");
  if (!absl::SimpleAtoi(repeats, &n) || n < 1)
    return options.usageError("--repeats takes a positive number");
  absl::Status status = bench(call, n, json);
  return status.ok() ? int(kDone) : reportFailure(status);
}

} // namespace kernelc::tools
