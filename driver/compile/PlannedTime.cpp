// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/compile/PlannedTime.h"

#include "passes/plan/Beside.h"

namespace kernelc {

llvm::SmallVector<int64_t> likelySizes(const PlannedKernel &planned, const std::map<std::string, SizeFact> &facts) {
  llvm::SmallVector<int64_t> like(planned.plan.sizeMax);
  te::KernelOp kernel = planned.kernel;
  for (unsigned i = 0; i < like.size(); ++i)
    if (auto fact = facts.find(kernel.getSizeName(i).str()); fact != facts.end() && fact->second.like >= 0)
      like[i] = fact->second.like;
  return like;
}

std::optional<te::LaunchTime> timeOfLaunch(const PlannedKernel &planned, size_t first, size_t end, const Target &target,
                                           const te::SizeFacts &likely) {
  const te::KernelPlan &plan = planned.plan;
  llvm::SmallVector<te::LaunchTime> times;
  for (size_t n = first; n < end; ++n) {
    std::optional<te::LaunchTime> time = te::timeOf(planned.kernel, plan.launches[n], target, likely);
    if (!time)
      return std::nullopt;
    times.push_back(*time);
  }
  if (times.size() == 1)
    return times[0];
  llvm::SmallVector<int64_t> blocks;
  return te::timeTogether(times, plan.launches[first].persistent, target.smCount * plan.launches[first].minBlocks, blocks);
}

std::optional<double> timeOfKernel(const PlannedKernel &planned, const Target &target, const std::map<std::string, SizeFact> &facts) {
  const llvm::SmallVector<int64_t> like = likelySizes(planned, facts);
  double sum = 0;
  for (size_t i = 0, end = 0; i < planned.plan.launches.size(); i = end) {
    end = te::findLaunch(planned.plan, i).second;
    std::optional<te::LaunchTime> time = timeOfLaunch(planned, i, end, target, {planned.plan.sizeDiv, like});
    if (!time)
      return std::nullopt;
    sum += time->withTiles();
  }
  return sum;
}

} // namespace kernelc
