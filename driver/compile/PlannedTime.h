// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a planned kernel takes by the model (passes/plan/LaunchTime.h), of sizes for which it need not have been planned: the question
// behind a plan for several sizes is how much those lose that it was not made for.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "driver/compile/PlanKernel.h"
#include "passes/plan/LaunchTime.h"
#include "support/Target.h"

namespace kernelc {

/// The value of each size of `planned` for which times are reckoned: what `facts` say is likely, else its bound.
llvm::SmallVector<int64_t> likelySizes(const PlannedKernel &planned, const std::map<std::string, SizeFact> &facts);

/// What one launch of the device takes, which has records `first` to `end` of the plan; nothing where that cannot be reckoned.
std::optional<te::LaunchTime> timeOfLaunch(const PlannedKernel &planned, size_t first, size_t end, const Target &target,
                                           const te::SizeFacts &likely);

/// Microseconds of all launches; nothing where one of them cannot be reckoned.
std::optional<double> timeOfKernel(const PlannedKernel &planned, const Target &target, const std::map<std::string, SizeFact> &facts);

} // namespace kernelc
