// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `kernelc tune`: the search over schedules (ScheduleSearch.h) with a GPU to measure on.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/jit/HostTensor.h"
#include "driver/jit/Session.h"
#include "driver/tune/ScheduleSearch.h"

namespace kernelc {

struct TuneOptions {
  double seconds = 60; ///< no round starts later
  int repeats = 11;    ///< runs of every contender in a round
  /// What an earlier search of the same call had tried, as printJson(toJson()) has it, and the fastest of those ("": none).
  std::set<std::string> tried;
  std::string fastest;
  /// Hears of every trial when it is over. May be empty.
  std::function<void(const ScheduleTrial &, const std::string &target)> heard;
  /// Hears, before that, of a point whose code runs for the first time, which may never end. May be empty.
  std::function<void(const SchedulePoint &)> checks;
  /// Hears of a round whose contenders, so many, are timed. May be empty.
  std::function<void(size_t)> measures;
};

struct TuneResult {
  SearchResult search;
  SchedulePoint start;     ///< where the search began
  double startSeconds = 0; ///< medians of start and best in a last comparison of these two
  double bestSeconds = 0;
  std::string device;
  std::string target;
  bool kept = false; ///< the best is in the cache, where calls without a schedule find it
};

/// Searches schedules of `kernel` for one call's arguments (`tensors` as for
/// runOnHost()), from the one that it has and from what the cost model
/// makes of other units, copies and parts (PlannedSchedule.h). Candidates are compiled in parallel; their results
/// are compared with those of the kernel as it is, which may
/// differ by the order of reductions only; then they are timed in turns with the best so far,
/// the L2 cache flushed before every run. What an earlier search has kept for such a call (TuningStore.h) is a start too, and so is
/// TuneOptions::fastest; the best takes its place where it is faster than the cost model's, and else nothing does. Of a kernel that was
/// given a schedule, or of the general variant, nothing is kept. A candidate that takes the device away from the process (a fault) ends the
/// search with what the device says; it has been heard of by then, so that another process can go on. Unavailable without a GPU;
/// InvalidArgument for a `place` that is none.
absl::StatusOr<TuneResult> tuneOnHost(Session &session, JitKernel &kernel, const Place &place, absl::Span<const HostTensor> tensors,
                                      const TuneOptions &options);

} // namespace kernelc
