// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/SizeClasses.h"

#include "absl/strings/str_cat.h"
#include "driver/compile/PlannedTime.h"
#include "driver/compile/SizeFacts.h"

namespace kernelc {
namespace {

/// So many times as long as with a variant of their own sizes may take with one of others: less than the model errs by, and a compile is a
/// third of a second.
constexpr double kMostLoss = 1.2;
/// So many times as long as with a bound a variant for any sizes may take: it serves more of them.
constexpr double kMostForAny = 1.1;

/// The largest size of the step that a size which its class leaves open is of; nothing for others.
std::optional<int64_t> endOfStep(const SizeFact &fact) {
  return fact.max < 0 && fact.like > 0 ? std::optional(factOf(fact.like).max) : std::nullopt;
}

/// Whether a variant takes all sizes of the step that those of the call are of, which `asked` is for: all of them are sent to it.
bool admits(const VariantOptions &made, const VariantOptions &asked) {
  for (const auto &[name, fact] : asked.facts) {
    auto bound = made.facts.find(name);
    std::optional<int64_t> end = endOfStep(fact);
    if (end && bound != made.facts.end() && bound->second.max >= 0 && (*end < 0 || *end > bound->second.max))
      return false;
  }
  return true;
}

} // namespace

std::string SizeClasses::stepOf(const Question &asked) {
  std::string key = asked.key;
  for (const auto &[name, fact] : asked.any.facts)
    if (std::optional<int64_t> end = endOfStep(fact))
      absl::StrAppend(&key, " ", name, "~", *end);
  return key;
}

VariantOptions SizeClasses::boundOf(VariantOptions any) {
  for (auto &[name, fact] : any.facts)
    fact.max = endOfStep(fact).value_or(fact.max);
  return any;
}

std::string SizeClasses::find(const Question &asked) const {
  auto served = served_.find(stepOf(asked));
  return served == served_.end() ? "" : served->second.key;
}

bool SizeClasses::isWaiting(const Question &asked) const {
  auto served = served_.find(stepOf(asked));
  return served != served_.end() && served->second.isWaiting;
}

bool SizeClasses::comeAgain(const Question &asked) {
  auto served = served_.find(stepOf(asked));
  return served != served_.end() && ++served->second.calls > 1;
}

std::optional<double> SizeClasses::timeOf(const VariantOptions &made, const Question &asked) const {
  const Target *target = findTarget(made.target);
  std::optional<double> time;
  std::vector<std::string> ignored;
  absl::Status status = program_.withModule(
      [&](mlir::ModuleOp module) -> absl::Status {
        absl::StatusOr<PlannedKernel> planned = planKernel(module, signature_.name, made);
        if (planned.ok() && target)
          time = timeOfKernel(*planned, *target, asked.any.facts);
        return planned.status();
      },
      &ignored);
  return status.ok() ? time : std::nullopt;
}

std::optional<SizeClasses::Member> SizeClasses::settle(const Question &asked, Room room, bool stays) {
  std::vector<Member> &members = members_[asked.key];
  const Member *best = nullptr;
  std::optional<double> least;
  for (const Member &m : members) {
    if (!admits(m.options, asked.any))
      continue;
    std::optional<double> time = timeOf(m.options, asked);
    if (!best || (time && (!least || *time < *least))) {
      best = &m;
      least = time;
    }
  }
  if (!best && room == Room::None)
    return std::nullopt;
  const VariantOptions bounded = boundOf(asked.any);
  const std::optional<double> any = timeOf(asked.any, asked), bound = timeOf(bounded, asked);
  const bool isBound = any && bound && *any > kMostForAny * *bound;
  const std::optional<double> own = isBound ? bound : any; // nothing where data decides how much there is to do
  Served &served = served_[stepOf(asked)];
  const bool loses = best && own && least && *least > kMostLoss * *own && room == Room::More;
  if (!best || (loses && stays)) {
    std::string key = members.empty() ? asked.key : absl::StrCat(asked.key, " #", members.size() + 1);
    members.push_back({std::move(key), isBound && stays ? bounded : asked.any});
    best = &members.back();
    served.isWaiting = isBound && !stays && *any > kMostLoss * *bound;
  } else {
    served.isWaiting = loses;
  }
  served.key = best->key;
  return *best;
}

} // namespace kernelc
