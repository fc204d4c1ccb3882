// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc explain: one page about what a kernel becomes.
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "driver/compile/Program.h"
#include "driver/roofline/WorkCount.h"
#include "ir/te/Precision.h"
#include "runtime/DiskCache.h"
#include "runtime/Nvrtc.h"
#include "support/Target.h"
#include "tools/Call.h"
#include "tools/Commands.h"
#include "tools/Failure.h"

namespace kernelc::tools {
namespace {

std::string amount(double n, const char *unit) {
  static const char *kPrefixes[] = {"", "k", "M", "G", "T"};
  int p = 0;
  for (; n >= 1000 && p < 4; ++p)
    n /= 1000;
  return absl::StrFormat("%.4g %s%s", n, kPrefixes[p], unit);
}

/// Blocks of a launch that fit on one multiprocessor at once, by its static limits.
int residentBlocks(const Target &t, const Launch &launch, const KernelResources &r, int64_t shared) {
  constexpr int kMaxThreadsPerSm = 2048, kMaxBlocksPerSm = 32;
  int warps = int(launch.block + 31) / 32;
  int registers = std::max(1, (r.registers + 7) / 8 * 8 * 32 * warps);
  int64_t bytes = shared + r.staticSharedBytes + 1024; // what the system takes of every block
  int64_t perSm = t.maxSharedPerBlock + 1024;
  return int(std::min<int64_t>({kMaxBlocksPerSm, kMaxThreadsPerSm / std::max(1, warps * 32), t.registersPerSm / registers, perSm / bytes}));
}

void explainSizes(const Kernel &k, absl::Span<const int64_t> sizes) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < k.sizes.size(); ++i)
    parts.push_back(absl::StrCat(k.sizes[i].name, " = ", sizes[i]));
  if (!parts.empty())
    std::cout << "sizes     " << absl::StrJoin(parts, ", ") << "\n";
}

void explainLaunch(const Kernel &k, const Launch &l, size_t number, const SizeEnv &env, const Target &target, const VariantCode *code) {
  std::vector<std::string> names;
  for (const SizeRecipe &s : k.sizes)
    names.push_back(s.name);
  int64_t grid = l.grid.evaluate(env), shared = l.sharedBytes.evaluate(env);
  std::cout << "launch " << number << "  " << l.entry << ": " << grid << " blocks (" << l.grid.toString(names) << ") of " << l.block
            << " threads" << (l.cluster > 1 ? absl::StrCat(", clusters of ", l.cluster) : "") << ", " << shared
            << " bytes of shared memory\n"
            << "          " << (l.schedule.empty() ? "no schedule" : l.schedule) << "\n";
  if (!code)
    return;
  std::vector<KernelResources> all;
  for (const Cubin &cubin : code->cubins)
    all.insert(all.end(), cubin.kernels.begin(), cubin.kernels.end());
  for (const KernelResources &r : all) {
    if (r.entry != l.entry)
      continue;
    int blocks = residentBlocks(target, l, r, shared);
    std::cout << "          " << r.registers << " registers, " << r.spillStoreBytes + r.spillLoadBytes << " bytes spilled; " << blocks
              << " blocks (" << blocks * int(l.block) / 32 << " warps) per multiprocessor, "
              << absl::StrFormat("%.1f", double(grid) / std::max(1, blocks * target.smCount)) << " waves on " << target.smCount
              << " of them\n";
  }
}

/// The policy that the kernel was compiled with, "" without one.
absl::StatusOr<std::string> appliedPrecision(Program &program, const std::string &name) {
  std::string text;
  absl::Status s = program.withModule([&](mlir::ModuleOp module) {
    for (auto op : module.getOps<te::KernelOp>())
      if (op.getSymName() == name)
        text = te::getAppliedPrecision(op).str();
    return absl::OkStatus();
  });
  return s.ok() ? absl::StatusOr<std::string>(text) : s;
}

absl::Status explain(const CallOptions &options) {
  absl::StatusOr<Call> call = prepareCall(options);
  if (!call.ok())
    return call.status();
  const Kernel &signature = call->kernel->signature();
  std::string arch = options.arch.empty() ? "sm_90a" : options.arch;
  const Target *target = findTarget(arch);
  absl::StatusOr<Kernel> kernel = call->kernel->variantFor(arch, call->arguments.values(signature));
  if (!kernel.ok())
    return kernel.status();
  absl::StatusOr<WorkCount> work = countWork(call->kernel->program(), signature, call->arguments.sizes);
  if (!work.ok())
    return work.status();
  const Variant &v = kernel->variants[0];
  std::cout << "kernel    " << kernel->name
            << (kernel->loc.file.empty() ? "" : absl::StrCat(" of ", kernel->loc.file, ":", kernel->loc.line)) << ", for " << arch << "\n";
  explainSizes(*kernel, call->arguments.sizes);
  absl::StatusOr<std::string> precision = appliedPrecision(call->kernel->program(), kernel->name);
  if (!precision.ok())
    return precision.status();
  if (!precision->empty())
    std::cout << "precision " << *precision << "\n";
  std::cout << "variant   " << v.name << (v.guardText.empty() ? "" : ", assumes " + v.guardText) << "\n";
  std::cout << "work      " << amount(double(work->bytes), "B") << " at least, " << amount(double(work->flops), "flop")
            << (work->intOps ? ", " + amount(double(work->intOps), "integer op") : "")
            << absl::StrFormat(", %.3g flop/B\n", work->bytes ? double(work->flops) / double(work->bytes) : 0.0);
  if (!work->upperBound.empty())
    std::cout << "          at most so much: " << work->upperBound << "\n";
  std::vector<std::vector<int64_t>> strides;
  for (const HostTensor &t : call->arguments.tensors)
    strides.push_back(denseStrides(t.shape()));
  SizeEnv env{call->arguments.sizes, target->smCount, strides};
  if (int64_t bytes = v.workspaceBytes.evaluate(env))
    std::cout << "workspace " << amount(double(bytes), "B") << "\n";
  absl::StatusOr<VariantCode> code = call->session->compileVariant(v, absl::StrCat(kernel->name, ".cu"));
  for (size_t i = 0; i < v.launches.size(); ++i)
    explainLaunch(*kernel, v.launches[i], i, env, *target, code.ok() ? &*code : nullptr);
  if (!code.ok())
    std::cout << "registers unknown: " << code.status().message() << "\n";
  else
    for (const Cubin &cubin : code->cubins)
      for (const CompileDiagnostic &d : cubin.diagnostics)
        std::cout << "remark    " << toString(d) << "\n";
  for (const std::string &r : v.remarks)
    std::cout << "remark    " << r << "\n";
  return absl::OkStatus();
}

} // namespace

int explainCommand(const std::vector<std::string> &args) {
  CallOptions call;
  call.device = "cpu";
  call.runs = false;
  Options options("explain", "FILE.kc [NAME=VALUE ...]",
                  "What a kernel becomes for these arguments: launches, schedules, bytes, flops, shared memory, registers, occupancy.");
  call.add(options);
  if (std::optional<int> code = options.parse(args))
    return *code;
  if (call.positionals.empty())
    return options.usageError("which file?");
  absl::Status status = explain(call);
  return status.ok() ? int(kDone) : reportFailure(status);
}

} // namespace kernelc::tools
