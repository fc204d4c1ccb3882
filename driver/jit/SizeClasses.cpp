// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/SizeClasses.h"

#include "absl/strings/str_cat.h"
#include "driver/compile/PlannedTime.h"
#include "driver/compile/SizeFacts.h"

namespace kernelc {
namespace {

/// So many times as long as by a plan of their own sizes may take in a variant of others: less than the model errs by, and a compile is
/// a third of a second.
constexpr double kMostLoss = 1.2;
/// Variants of one class: with the first call's own, that for one, and that for less rows than a unit's tile they are half of a set.
constexpr size_t kMostMembers = 4;

/// Sizes between which plans hardly differ: of a quarter of the way from one power of two to the next.
std::string stepsOf(const std::string &base, const VariantOptions &options) {
  std::string key = base;
  for (const auto &[name, fact] : options.facts)
    if (fact.max < 0 && fact.like > 0)
      absl::StrAppend(&key, " ", name, "~", factOf(fact.like).max);
  return key;
}

} // namespace

SizeClasses::Served SizeClasses::find(const std::string &base, const VariantOptions &options) const {
  auto served = served_.find(stepsOf(base, options));
  return served == served_.end() ? Served() : served->second;
}

std::optional<double> SizeClasses::timeOf(const VariantOptions &made, const VariantOptions &called) const {
  const Target *target = findTarget(made.target);
  std::optional<double> time;
  std::vector<std::string> ignored;
  absl::Status status = program_.withModule(
      [&](mlir::ModuleOp module) -> absl::Status {
        absl::StatusOr<PlannedKernel> planned = planKernel(module, signature_.name, made);
        if (planned.ok() && target)
          time = timeOfKernel(*planned, *target, called.facts);
        return planned.status();
      },
      &ignored);
  return status.ok() ? time : std::nullopt;
}

bool SizeClasses::comeAgain(const std::string &base, const VariantOptions &options) {
  auto served = served_.find(stepsOf(base, options));
  return served != served_.end() && ++served->second.calls > 1;
}

std::string SizeClasses::settle(const std::string &base, const VariantOptions &options, bool mayAdd) {
  std::vector<Member> &members = members_[base];
  Served &served = served_[stepsOf(base, options)];
  served.isWaiting = false;
  auto add = [&] {
    served.key = members.empty() ? base : absl::StrCat(base, " #", members.size() + 1);
    members.push_back({served.key, options});
    return served.key;
  };
  if (members.empty())
    return add();
  served.key = members.front().key;
  std::optional<double> own = timeOf(options, options), best;
  if (!own) // data decides how much there is to do
    return served.key;
  for (const Member &m : members)
    if (std::optional<double> time = timeOf(m.options, options); time && (!best || *time < *best)) {
      best = time;
      served.key = m.key;
    }
  if (!best || *best <= kMostLoss * *own || members.size() == kMostMembers)
    return served.key;
  if (mayAdd)
    return add();
  served.isWaiting = true;
  return served.key;
}

} // namespace kernelc
