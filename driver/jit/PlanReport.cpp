// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/PlanReport.h"

#include "absl/strings/str_cat.h"
#include "driver/compile/PlannedTime.h"
#include "driver/jit/JitKernelImpl.h"
#include "passes/plan/Beside.h"
#include "passes/plan/RankedPlans.h"
#include "support/Target.h"
#include "llvm/Support/raw_ostream.h"

namespace kernelc {
namespace {

/// "tiles i 64, warps 8" of a record.
std::string textOf(mlir::DictionaryAttr record) {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto print = [&](llvm::StringRef key, mlir::Attribute value) {
    out << (text.empty() ? "" : ", ") << key << ' ';
    if (auto number = mlir::dyn_cast<mlir::IntegerAttr>(value); number && !mlir::isa<mlir::BoolAttr>(value))
      out << number.getInt();
    else
      value.print(out, /*elideType=*/true);
  };
  for (mlir::NamedAttribute entry : record) {
    if (entry.getName() == "launch")
      continue;
    if (auto tiles = mlir::dyn_cast<mlir::DictionaryAttr>(entry.getValue()))
      for (mlir::NamedAttribute tile : tiles)
        print(("tile of " + tile.getName().getValue()).str(), tile.getValue());
    else
      print(entry.getName().getValue(), entry.getValue());
  }
  return text;
}

TimeReport report(const std::optional<te::LaunchTime> &time) {
  TimeReport r;
  if (!time)
    return r;
  for (auto [name, us] : te::termsOf(*time))
    r.terms.push_back({name.str(), us});
  r.bound = time->bound();
  r.us = time->total();
  r.waves = time->waves;
  return r;
}

/// Of the launch that has records `first` to `end`, beside each other.
LaunchReport reportTogether(const PlannedKernel &planned, size_t first, size_t end, const Target &target, const te::SizeFacts &likely) {
  LaunchReport r;
  for (size_t n = first; n < end; ++n) {
    absl::StrAppend(&r.name, n > first ? ", " : "", planned.plan.launches[n].name);
    std::vector<std::string> reasons = te::describeReasons(planned.kernel, planned.plan, n);
    r.reasons.insert(r.reasons.end(), reasons.begin(), reasons.end());
  }
  r.chosen = report(timeOfLaunch(planned, first, end, target, likely));
  return r;
}

} // namespace

absl::StatusOr<std::vector<LaunchReport>> JitKernel::reportPlan(const std::string &arch, absl::Span<const LaunchValue> values,
                                                                absl::Span<const NamedSize> sizes) {
  alignas(64) static int64_t nothing[1]; // an address, of which nothing is read
  const Kernel &signature = impl_->signature;
  absl::StatusOr<CheckedArgs> args = checkArguments(signature, withRecord(values, nothing, 0), sizes, 0, 1);
  if (!args.ok())
    return args.status();
  const Target *target = findTarget(arch);
  if (!target)
    return absl::InvalidArgumentError(absl::StrCat("unknown architecture '", arch, "'"));
  const VariantOptions options = optionsFor(signature, arch, *args, impl_->session->options.generalOnly);
  std::vector<LaunchReport> reports;
  std::vector<std::string> ignored;
  absl::Status status = impl_->program->withModule(
      [&](mlir::ModuleOp module) -> absl::Status {
        absl::StatusOr<PlannedKernel> planned = planKernel(module, signature.name, options);
        if (!planned.ok())
          return planned.status();
        te::KernelOp kernel = planned->kernel;
        const te::KernelPlan &plan = planned->plan;
        const llvm::SmallVector<int64_t> like = likelySizes(*planned, options.facts);
        te::SizeFacts likely{plan.sizeDiv, like};
        for (size_t i = 0; i < plan.launches.size(); ++i) {
          const te::LaunchPlan &l = plan.launches[i];
          if (size_t end = te::findLaunch(plan, i).second; end > i + 1) {
            reports.push_back(reportTogether(*planned, i, end, *target, likely));
            i = end - 1;
            continue;
          }
          LaunchReport r{l.name, te::describeReasons(kernel, plan, i), report(te::timeOf(kernel, l, *target, likely)), {}};
          for (const te::LaunchPlan &other : te::rankBehind(kernel, l, *target)) {
            TimeReport next = report(te::timeOf(kernel, other, *target, likely));
            next.plan = textOf(te::recordOf(kernel.getContext(), other, l));
            if (r.next.empty())
              r.next.push_back(std::move(next));
            else if (next.us < r.next[0].us)
              r.next[0] = std::move(next);
          }
          reports.push_back(std::move(r));
        }
        return absl::OkStatus();
      },
      &ignored);
  if (!status.ok())
    return status;
  return reports;
}

} // namespace kernelc
