// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedules that the cost model gives a kernel for one call's arguments: where a search starts.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/jit/Session.h"
#include "driver/tune/ScheduleSearch.h"

namespace kernelc {

/// The records of a kernel on `target` for `values`, the cost model's or those it was given.
absl::StatusOr<SchedulePoint> plannedSchedule(JitKernel &kernel, const std::string &target, absl::Span<const LaunchValue> values);

/// Those records, and then the cost model's records under other conditions: another unit for a launch, copies of
/// operands always or never, parts of long reductions merged otherwise, or more or fewer of them. Conditions that the
/// kernel or the target cannot have are left out, and so are those that give the same program. Of a kernel that was given a
/// schedule, that one alone. `kept`: schedule files' texts that earlier searches have found; starts too.
absl::StatusOr<std::vector<SchedulePoint>> startingPoints(Session &session, JitKernel &kernel, const std::string &target,
                                                          absl::Span<const LaunchValue> values, const std::vector<std::string> &kept = {});

} // namespace kernelc
