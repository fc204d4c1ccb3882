// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernelc explain: one page about what a kernel becomes.
#include <algorithm>
#include <iostream>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "driver/compile/Program.h"
#include "driver/jit/PlanReport.h"
#include "driver/roofline/WorkCount.h"
#include "ir/te/Precision.h"
#include "runtime/DiskCache.h"
#include "runtime/Nvrtc.h"
#include "support/Json.h"
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

/// What NVRTC made of an entry; nothing where it did not run.
const KernelResources *findResources(const VariantCode *code, const std::string &entry) {
  if (code)
    for (const Cubin &cubin : code->cubins)
      for (const KernelResources &r : cubin.kernels)
        if (r.entry == entry)
          return &r;
  return nullptr;
}

JsonObject toJson(const TimeReport &time) {
  JsonObject terms;
  for (const auto &[name, us] : time.terms)
    terms.push_back({name, us});
  JsonObject o{{"us", time.us}, {"bound", time.bound}, {"waves", time.waves}, {"terms", std::move(terms)}};
  if (!time.plan.empty())
    o.insert(o.begin(), {"otherwise", time.plan});
  return o;
}

JsonObject toJson(const Launch &l, const SizeEnv &env, const Target &target, const VariantCode *code, const LaunchReport *report) {
  int64_t grid = l.grid.evaluate(env), shared = l.sharedBytes.evaluate(env);
  JsonObject o{{"entry", l.entry},     {"blocks", grid},         {"threads", l.block},
               {"cluster", l.cluster}, {"shared_bytes", shared}, {"schedule", l.schedule}};
  if (const KernelResources *r = findResources(code, l.entry)) {
    int blocks = residentBlocks(target, l, *r, shared);
    JsonObject own{{"registers", r->registers},
                   {"spilled_bytes", r->spillStoreBytes + r->spillLoadBytes},
                   {"stack_bytes", r->stackBytes},
                   {"blocks_per_multiprocessor", blocks},
                   {"waves", double(grid) / std::max(1, blocks * target.smCount)}};
    o.insert(o.end(), own.begin(), own.end());
  }
  if (!report)
    return o;
  o.push_back({"reasons", JsonArray(report->reasons.begin(), report->reasons.end())});
  if (!report->chosen.terms.empty())
    o.push_back({"time", toJson(report->chosen)});
  for (const TimeReport &next : report->next)
    if (!next.terms.empty())
      o.push_back({"runner_up", toJson(next)});
  return o;
}

/// "5.1 us: memory 3.1, l2 0.7; fill 1, drain 1, launch 1", what is under a hundredth of it left out.
std::string describe(const TimeReport &time) {
  std::vector<std::string> parts;
  for (const auto &[name, us] : time.terms)
    if (us >= time.us / 100)
      parts.push_back(absl::StrFormat("%s %.3g", name, us));
  return absl::StrFormat("%.3g us by the model, bound by %s in %g waves: %s", time.us, time.bound, time.waves, absl::StrJoin(parts, ", "));
}

void explainSizes(const Kernel &k, absl::Span<const int64_t> sizes) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < k.sizes.size(); ++i)
    parts.push_back(absl::StrCat(k.sizes[i].name, " = ", sizes[i]));
  if (!parts.empty())
    std::cout << "sizes     " << absl::StrJoin(parts, ", ") << "\n";
}

void explainLaunch(const Kernel &k, const Launch &l, size_t number, const SizeEnv &env, const Target &target, const VariantCode *code,
                   const LaunchReport *report) {
  std::vector<std::string> names;
  for (const SizeRecipe &s : k.sizes)
    names.push_back(s.name);
  int64_t grid = l.grid.evaluate(env), shared = l.sharedBytes.evaluate(env);
  std::cout << "launch " << number << "  " << l.entry << ": " << grid << " blocks (" << l.grid.toString(names) << ") of " << l.block
            << " threads" << (l.cluster > 1 ? absl::StrCat(", clusters of ", l.cluster) : "") << ", " << shared
            << " bytes of shared memory\n"
            << "          " << (l.schedule.empty() ? "no schedule" : l.schedule) << "\n";
  if (const KernelResources *r = findResources(code, l.entry)) {
    int blocks = residentBlocks(target, l, *r, shared);
    std::cout << "          " << r->registers << " registers, " << r->spillStoreBytes + r->spillLoadBytes << " bytes spilled; " << blocks
              << " blocks (" << blocks * int(l.block) / 32 << " warps) per multiprocessor, "
              << absl::StrFormat("%.1f", double(grid) / std::max(1, blocks * target.smCount)) << " waves on " << target.smCount
              << " of them\n";
  }
  if (!report)
    return;
  for (const std::string &reason : report->reasons)
    std::cout << "  why     " << reason << "\n";
  if (!report->chosen.terms.empty())
    std::cout << "  time    " << describe(report->chosen) << "\n";
  for (const TimeReport &next : report->next)
    if (!next.terms.empty())
      std::cout << "  next    with " << next.plan << ": " << describe(next) << "\n";
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

/// What is known of a kernel for one call.
struct Explanation {
  Kernel kernel; ///< with the call's variant alone
  const Target *target;
  std::vector<int64_t> sizes;
  std::vector<std::vector<int64_t>> strides; ///< of each parameter
  WorkCount work;
  std::string precision;
  absl::StatusOr<VariantCode> code;  ///< an error: what NVRTC, or that there is none, says
  std::vector<LaunchReport> reports; ///< of each launch, or none at all
  std::vector<std::string> remarks;

  const Variant &variant() const { return kernel.variants[0]; }
  SizeEnv env() const { return {sizes, target->smCount, strides}; }
  const VariantCode *made() const { return code.ok() ? &*code : nullptr; }
  const LaunchReport *reportOf(size_t launch) const { return reports.empty() ? nullptr : &reports[launch]; }
};

absl::StatusOr<Explanation> findExplanation(const CallOptions &options) {
  absl::StatusOr<Call> call = prepareCall(options);
  if (!call.ok())
    return call.status();
  const Kernel &signature = call->kernel->signature();
  std::string arch = options.arch.empty() ? "sm_90a" : options.arch;
  absl::StatusOr<Kernel> kernel = call->kernel->variantFor(arch, call->arguments.values(signature), {}, /*asLoaded=*/true);
  if (!kernel.ok())
    return kernel.status();
  absl::StatusOr<WorkCount> work = countWork(call->kernel->program(), signature, call->arguments.sizes);
  if (!work.ok())
    return work.status();
  absl::StatusOr<std::string> precision = appliedPrecision(call->kernel->program(), kernel->name);
  if (!precision.ok())
    return precision.status();
  const Target *target = findTarget(arch);
  std::vector<std::vector<int64_t>> strides;
  for (const HostTensor &t : call->arguments.tensors)
    strides.push_back(denseStrides(t.shape()));
  const Variant &v = kernel->variants[0];
  absl::StatusOr<VariantCode> code = call->session->compileVariant(v, absl::StrCat(kernel->name, ".cu"));
  std::vector<std::string> remarks;
  if (code.ok())
    for (const Cubin &cubin : code->cubins)
      for (const CompileDiagnostic &d : cubin.diagnostics)
        remarks.push_back(toString(d));
  remarks.insert(remarks.end(), v.remarks.begin(), v.remarks.end());
  // What the planner says is of its first plan.
  bool isFirst = absl::c_none_of(v.remarks, [](const std::string &r) { return absl::StartsWith(r, "plan 1 not kept"); });
  absl::StatusOr<std::vector<LaunchReport>> reports = call->kernel->reportPlan(arch, call->arguments.values(signature));
  if (!isFirst || !reports.ok() || reports->size() != v.launches.size())
    reports = std::vector<LaunchReport>();
  return Explanation{*std::move(kernel),    target,          call->arguments.sizes, std::move(strides), *std::move(work),
                     *std::move(precision), std::move(code), *std::move(reports),   std::move(remarks)};
}

absl::Status printAsJson(const Explanation &e) {
  JsonObject sizes;
  for (size_t i = 0; i < e.kernel.sizes.size(); ++i)
    sizes.push_back({e.kernel.sizes[i].name, e.sizes[i]});
  JsonArray workspaces, launches;
  const Variant &v = e.variant();
  for (const Workspace &w : v.workspaces)
    workspaces.push_back(JsonObject{{"name", w.name}, {"bytes", w.bytes.evaluate(e.env())}});
  for (size_t i = 0; i < v.launches.size(); ++i)
    launches.push_back(toJson(v.launches[i], e.env(), *e.target, e.made(), e.reportOf(i)));
  JsonObject o{
      {"kernel", e.kernel.name},
      {"arch", e.target->name},
      {"sizes", std::move(sizes)},
      {"precision", e.precision},
      {"variant", JsonObject{{"name", v.name}, {"assumes", v.guardText}}},
      {"work",
       JsonObject{{"bytes", e.work.bytes}, {"flops", e.work.flops}, {"int_ops", e.work.intOps}, {"upper_bound", e.work.upperBound}}},
      {"workspace_bytes", v.workspaceBytes.evaluate(e.env())},
      {"workspaces", std::move(workspaces)},
      {"launches", std::move(launches)},
      {"remarks", JsonArray(e.remarks.begin(), e.remarks.end())}};
  absl::StatusOr<std::string> text = printJson(o, 2);
  if (text.ok())
    std::cout << *text << "\n";
  return text.status();
}

void printWork(const WorkCount &work) {
  std::cout << "work      " << amount(double(work.bytes), "B") << " at least, " << amount(double(work.flops), "flop")
            << (work.intOps ? ", " + amount(double(work.intOps), "integer op") : "")
            << absl::StrFormat(", %.3g flop/B\n", work.bytes ? double(work.flops) / double(work.bytes) : 0.0);
  if (!work.upperBound.empty())
    std::cout << "          at most so much: " << work.upperBound << "\n";
}

void printWorkspaces(const Variant &v, const SizeEnv &env) {
  int64_t bytes = v.workspaceBytes.evaluate(env);
  if (!bytes)
    return;
  std::vector<std::string> parts;
  for (const Workspace &w : v.workspaces)
    parts.push_back(absl::StrCat(w.name, " ", amount(double(w.bytes.evaluate(env)), "B")));
  std::cout << "workspace " << amount(double(bytes), "B") << (parts.empty() ? "" : ": " + absl::StrJoin(parts, ", ")) << "\n";
}

void printAsText(const Explanation &e) {
  const Variant &v = e.variant();
  std::cout << "kernel    " << e.kernel.name
            << (e.kernel.loc.file.empty() ? "" : absl::StrCat(" of ", e.kernel.loc.file, ":", e.kernel.loc.line)) << ", for "
            << e.target->name << "\n";
  explainSizes(e.kernel, e.sizes);
  if (!e.precision.empty())
    std::cout << "precision " << e.precision << "\n";
  std::cout << "variant   " << v.name << (v.guardText.empty() ? "" : ", assumes " + v.guardText) << "\n";
  printWork(e.work);
  printWorkspaces(v, e.env());
  for (size_t i = 0; i < v.launches.size(); ++i)
    explainLaunch(e.kernel, v.launches[i], i, e.env(), *e.target, e.made(), e.reportOf(i));
  if (!e.made())
    std::cout << "registers unknown: " << e.code.status().message() << "\n";
  for (const std::string &r : e.remarks)
    std::cout << "remark    " << r << "\n";
}

absl::Status explain(const CallOptions &options, bool asJson) {
  absl::StatusOr<Explanation> e = findExplanation(options);
  if (!e.ok())
    return e.status();
  if (asJson)
    return printAsJson(*e);
  printAsText(*e);
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
  bool json = false;
  options.flag("--json", json, "one JSON object on stdout");
  if (std::optional<int> code = options.parse(args))
    return *code;
  if (call.positionals.empty())
    return options.usageError("which file?");
  absl::Status status = explain(call, json);
  return status.ok() ? int(kDone) : reportFailure(status);
}

} // namespace kernelc::tools
