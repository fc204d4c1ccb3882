// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/PlanChoice.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "driver/compile/CacheKeys.h"
#include "driver/compile/PlanKernel.h"
#include "driver/jit/KeptKernel.h"
#include "passes/plan/Beside.h"
#include "passes/plan/RankedPlans.h"

namespace kernelc {
namespace {

/// Plans that are tried behind the first: each is a compile.
constexpr size_t kMostPlans = 4;

CacheKey choiceKey(const PlanCompiler &compiler, const Program &program, const Kernel &kernel, const VariantOptions &options) {
  CacheKey key = variantKey(program, kernel, options, "");
  key.add("kept plan of NVRTC", compiler.nvrtc);
  return key;
}

/// A launch whose code is slow, by its plan.
struct SlowLaunch {
  std::string name;
  Slowness why;
  std::vector<te::LaunchPlan> next;
};

/// A kernel's plans: what is tried in the place of the first one.
class Choice {
public:
  Choice(const PlanCompiler &compiler, Program &program, const VariantOptions &options, const Kernel &first)
      : compiler_(compiler), program_(program), options_(options), first_(first) {}

  /// The best kernel, with what is to be said of the others; nothing where the first one is well or has no other.
  std::optional<Kernel> run() {
    absl::StatusOr<VariantCode> code = compiler_.compile(first_.variants[0]);
    if (!code.ok() || total(first_, *code) == 0)
      return std::nullopt;
    if (absl::Status s = findSlow(*code); !s.ok() || slow_.empty())
      return std::nullopt;
    Kernel best = first_;
    int64_t least = total(first_, *code);
    std::string bestWhy = describe(first_, *code);
    size_t bestRank = 1;
    std::vector<std::string> dropped;
    for (size_t rank = 0, tried = 1; rank < kMostPlans && least > 0; ++rank) {
      absl::StatusOr<Kernel> other = planned(rank);
      if (!other.ok())
        continue; // a plan that this kernel cannot have
      absl::StatusOr<VariantCode> otherCode = compiler_.compile(other->variants[0]);
      if (!otherCode.ok())
        break;
      ++tried;
      int64_t own = total(*other, *otherCode);
      std::string why = describe(*other, *otherCode);
      if (own > least / 2) { // slower by itself, for little
        dropped.push_back(absl::StrCat("plan ", tried, " not kept: ", why));
        continue;
      }
      dropped.push_back(absl::StrCat("plan ", bestRank, " not kept: ", bestWhy));
      best = *std::move(other);
      least = own;
      bestWhy = why;
      bestRank = tried;
    }
    for (std::string &text : dropped)
      best.variants[0].remarks.push_back(std::move(text));
    return best;
  }

private:
  /// What all launches lose, and in words.
  static int64_t total(const Kernel &kernel, const VariantCode &code) {
    int64_t sum = 0;
    for (const Launch &l : kernel.variants[0].launches)
      sum += slownessOf(code, l.entry).weight();
    return sum;
  }
  static std::string describe(const Kernel &kernel, const VariantCode &code) {
    std::vector<std::string> parts;
    for (const Launch &l : kernel.variants[0].launches)
      if (Slowness own = slownessOf(code, l.entry); own.weight() > 0)
        parts.push_back(absl::StrCat("launch '", l.entry, "' ", own.toString()));
    return parts.empty() ? "slower by the model" : absl::StrJoin(parts, "; ");
  }

  absl::Status findSlow(const VariantCode &code) {
    const Variant &variant = first_.variants[0];
    return program_.withModule([&](mlir::ModuleOp module) -> absl::Status {
      absl::StatusOr<PlannedKernel> planned = planKernel(module, first_.name, options_);
      if (!planned.ok())
        return planned.status();
      const Target *target = findTarget(planned->plan.target);
      const std::vector<te::LaunchPlan> &launches = planned->plan.launches;
      size_t launch = 0; // the one that record i runs in
      for (size_t i = 0; i < launches.size(); ++i) {
        launch += i > 0 && !launches[i].beside;
        const te::LaunchPlan &l = launches[i];
        if (launch >= variant.launches.size())
          return absl::InternalError("the plan has other launches than the kernel");
        Slowness why = slownessOf(code, variant.launches[launch].entry);
        if (why.weight() <= 0 || te::isScheduledFromOutside(planned->kernel, options_.target, l.name))
          continue;
        std::vector<te::LaunchPlan> next = te::rankBehind(planned->kernel, l, *target);
        if (auto [first, end] = te::findLaunch(planned->plan, i); end > first + 1) { // apart, before anything else
          if (!l.beside)
            continue;
          next = {l};
          next.back().beside = 0;
        }
        slow_.push_back({l.name, std::move(why), std::move(next)});
      }
      for (SlowLaunch &s : slow_)
        for (const te::LaunchPlan &l : launches)
          if (l.name == s.name)
            firsts_.push_back(l);
      return absl::OkStatus();
    });
  }

  /// The kernel where each slow launch has its plan of that rank, or its last one.
  absl::StatusOr<Kernel> planned(size_t rank) {
    bool any = false;
    for (const SlowLaunch &s : slow_)
      any |= rank < s.next.size();
    if (!any)
      return absl::NotFoundError("there are no more plans");
    Kernel kernel = first_;
    kernel.variants.clear();
    std::vector<std::string> remarks;
    absl::Status status = program_.withModule(
        [&](mlir::ModuleOp module) -> absl::Status {
          mlir::OwningOpRef<mlir::ModuleOp> one = isolate(module, first_.name);
          te::KernelOp op = findKernel(*one, first_.name);
          llvm::SmallVector<mlir::DictionaryAttr> records;
          for (size_t i = 0; i < slow_.size(); ++i)
            if (!slow_[i].next.empty())
              records.push_back(te::recordOf(op.getContext(), slow_[i].next[std::min(rank, slow_[i].next.size() - 1)], firsts_[i]));
          te::addRecords(op, records);
          return addVariant(*one, options_, kernel);
        },
        &remarks);
    if (!status.ok())
      return status;
    for (std::string &r : remarks)
      kernel.variants[0].remarks.push_back(std::move(r));
    return kernel;
  }

  const PlanCompiler &compiler_;
  Program &program_;
  const VariantOptions &options_;
  const Kernel &first_;
  std::vector<SlowLaunch> slow_;
  std::vector<te::LaunchPlan> firsts_; ///< of these
};

} // namespace

std::string nameOf(const Nvrtc &nvrtc) {
  auto [major, minor] = nvrtc.version();
  return absl::StrCat(major, ".", minor, " ", nvrtc.buildId());
}

int64_t Slowness::weight() const {
  constexpr int64_t kOfCode = 1 << 20; // more than any spill: units that wait for each other
  return spilled + stack + int64_t(codes.size()) * kOfCode;
}

std::string Slowness::toString() const {
  std::vector<std::string> parts;
  if (spilled)
    parts.push_back(absl::StrCat("spills ", spilled, " bytes a thread"));
  if (stack && !spilled)
    parts.push_back(absl::StrCat("has a stack frame of ", stack, " bytes"));
  if (!codes.empty())
    parts.push_back(absl::StrCat("is made slow by NVRTC (", absl::StrJoin(codes, ", "), ")"));
  return absl::StrJoin(parts, ", ");
}

Slowness slownessOf(const VariantCode &code, const std::string &entry) {
  Slowness s;
  for (const Cubin &cubin : code.cubins) {
    for (const KernelResources &r : cubin.kernels)
      if (r.entry == entry) {
        s.spilled += r.spillStoreBytes + r.spillLoadBytes;
        s.stack += r.stackBytes;
      }
    for (const CompileDiagnostic &d : cubin.diagnostics)
      if (d.severity == CompileDiagnostic::PerformanceError && absl::StartsWith(d.code, "C75") && d.function == entry &&
          std::find(s.codes.begin(), s.codes.end(), d.code) == s.codes.end())
        s.codes.push_back(d.code);
  }
  return s;
}

void keepBestPlan(const PlanCompiler &compiler, Program &program, const VariantOptions &options, Kernel &kernel) {
  CacheKey key = choiceKey(compiler, program, kernel, options);
  if (std::optional<std::string> kept = compiler.cache.get(DiskCache::Kind::Request, key))
    if (std::optional<Kernel> found = readKept(*kept)) {
      kernel = *std::move(found);
      return;
    }
  if (!compiler.mayCompile)
    return;
  std::optional<Kernel> best = Choice(compiler, program, options, kernel).run();
  if (!best)
    return;
  kernel = *std::move(best);
  if (absl::StatusOr<std::string> bytes = keptOf(kernel); bytes.ok())
    compiler.cache.put(DiskCache::Kind::Request, key, *bytes);
}

} // namespace kernelc
