// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the planner says of a kernel's launches, for people: the terms of the time of each, those of the plan behind it, and why it
// is a launch of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kernelc {

struct TimeReport {
  std::string plan;                                  ///< what it says otherwise than the chosen plan; "" of that
  std::vector<std::pair<std::string, double>> terms; ///< microseconds; empty: not known
  std::string bound;                                 ///< the unit that is busy longest
  double us = 0, waves = 0;
};

struct LaunchReport {
  std::string name;
  std::vector<std::string> reasons;
  TimeReport chosen;
  std::vector<TimeReport> next; ///< the runner-up, where there is one
};

} // namespace kernelc
