// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/tune/PlannedSchedule.h"

#include <algorithm>

#include "driver/compile/PlanKernel.h"
#include "driver/jit/JitKernelImpl.h"
#include "passes/index/Affine.h"
#include "passes/plan/Schedule.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace kernelc {
namespace {

struct Planned {
  SchedulePoint point;
  std::string program; ///< the kernel with its plan, printed
};

absl::StatusOr<Planned> plan(JitKernel &kernel, const std::string &target, absl::Span<const LaunchValue> values) {
  const Kernel &signature = kernel.signature();
  int device = 0;
  for (const LaunchValue &v : values)
    if (auto *t = std::get_if<DeviceTensor>(&v))
      device = t->device;
  absl::StatusOr<CheckedArgs> args = checkArguments(signature, values, {}, device, 1);
  if (!args.ok())
    return args.status();
  VariantOptions options = optionsFor(signature, target, *args, false);
  Planned result;
  SchedulePoint &point = result.point;
  absl::Status ran = kernel.program().withModule([&](mlir::ModuleOp module) -> absl::Status {
    absl::StatusOr<PlannedKernel> planned = planKernel(module, signature.name, options);
    if (!planned.ok())
      return planned.status();
    te::KernelOp op = planned->kernel;
    op.removeScheduleAttr(); // two records that say the same make one program
    te::SizeFacts facts{planned->plan.sizeDiv, planned->plan.sizeMax};
    for (const te::LaunchPlan &l : planned->plan.launches) {
      LaunchRecord r{l.name, l.unit, {}, {}, {}};
      llvm::BitVector untiled = te::findUntiled(op, l);
      for (auto [i, index] : llvm::enumerate(l.indices)) {
        int64_t max = untiled[i] ? 1 : te::knownMax(l.extents.getResult(i), facts);
        r.tiles.push_back({index, l.tiles[i], max < 0 ? -1 : int64_t(llvm::PowerOf2Ceil(std::max<int64_t>(max, 1)))});
      }
      for (const te::ScheduleNumber &n : te::kScheduleNumbers)
        r.numbers[n.key.str()] = l.*n.field;
      for (const te::ScheduleFlag &f : te::kScheduleFlags)
        r.flags[f.key.str()] = l.*f.field;
      point.push_back(std::move(r));
    }
    llvm::raw_string_ostream(result.program) << **planned->module;
    return absl::OkStatus();
  });
  if (!ran.ok())
    return ran;
  return result;
}

/// What can be said of a kernel whose own records are `own`, a record each.
std::vector<LaunchRecord> otherChoices(const SchedulePoint &own) {
  std::vector<LaunchRecord> choices;
  for (const LaunchRecord &l : own)
    for (const UnitInstruction &u : kUnits)
      if (l.unit != u.unit)
        choices.push_back({l.launch, u.unit, {}, {}, {}});
  for (auto [key, value] :
       {std::pair("copies", "always"), {"copies", "never"}, {"merge", "launch"}, {"merge", "cluster"}, {"merge", "memory"}})
    choices.push_back({"", {}, {}, {}, {}, {{key, value}}});
  for (int64_t parts : {1, 2, 4, 8, 16, 32, 64})
    choices.push_back({"", {}, {}, {{"parts", parts}}, {}});
  return choices;
}

/// What a schedule file's text says of the whole kernel.
std::vector<LaunchRecord> wholeRecordsOf(const std::string &text) {
  std::vector<LaunchRecord> records;
  absl::StatusOr<Json> list = parseJson(text);
  for (const Json &record : list.ok() && list->asArray() ? *list->asArray() : JsonArray()) {
    if (record.find("launch") || !record.asObject())
      continue;
    LaunchRecord r;
    for (const auto &[key, value] : *record.asObject()) {
      if (const int64_t *number = value.asInt())
        r.numbers[key] = *number;
      else if (const std::string *word = value.asString(); word && key != "kernel")
        r.words[key] = *word;
    }
    records.push_back(std::move(r));
  }
  return records;
}

} // namespace

absl::StatusOr<SchedulePoint> plannedSchedule(JitKernel &kernel, const std::string &target, absl::Span<const LaunchValue> values) {
  absl::StatusOr<Planned> own = plan(kernel, target, values);
  if (!own.ok())
    return own.status();
  return std::move(own->point);
}

absl::StatusOr<std::vector<SchedulePoint>> startingPoints(Session &session, JitKernel &kernel, const std::string &target,
                                                          absl::Span<const LaunchValue> values, const std::vector<std::string> &kept) {
  absl::StatusOr<Planned> own = plan(kernel, target, values);
  if (!own.ok())
    return own.status();
  std::vector<SchedulePoint> starts{own->point};
  ProgramOptions options = kernel.program().options();
  if (!options.schedule.empty())
    return starts;
  options.scheduleName = "start";
  const std::string &name = kernel.signature().name;
  std::vector<std::string> programs{own->program};
  auto add = [&](const std::string &schedule, const std::vector<LaunchRecord> &whole) {
    options.schedule = schedule;
    absl::StatusOr<std::shared_ptr<JitKernel>> other = session.compile(kernel.program().text(), name, options);
    absl::StatusOr<Planned> planned = other.ok() ? plan(**other, target, values) : other.status();
    if (!planned.ok() || std::find(programs.begin(), programs.end(), planned->program) != programs.end())
      return; // not to be had, or nothing new
    programs.push_back(planned->program);
    planned->point.insert(planned->point.begin(), whole.begin(), whole.end());
    starts.push_back(std::move(planned->point));
  };
  for (const std::string &schedule : kept)
    add(schedule, wholeRecordsOf(schedule));
  for (const LaunchRecord &choice : otherChoices(own->point)) {
    absl::StatusOr<std::string> text = printJson(toJson({choice}, name));
    if (!text.ok())
      return text.status();
    add(*text, choice.launch.empty() ? std::vector<LaunchRecord>{choice} : std::vector<LaunchRecord>());
  }
  return starts;
}

} // namespace kernelc
