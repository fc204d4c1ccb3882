// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `kernelc tune` writes while it searches: the records file, a line of JSON for each trial, which a later search of the same
// call goes on from; and the progress, for a program that started it.
#pragma once

#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "driver/tune/HostTune.h"
#include "tools/Call.h"

namespace kernelc::tools {

class TuneRecords {
public:
  /// For the search of `call`, which is on a GPU and outlives this.
  explicit TuneRecords(const Call &call);
  /// Appends every trial to this file, and with `resume` reads what of this call stands there already.
  absl::Status open(const std::string &path, bool resume, TuneOptions *options);
  /// Appends to this file, a line of JSON each: {.., "checks": SCHEDULE} before code runs for the first time, which begins as a record
  /// does, {"measures": N} before N contenders are timed, {"trial": NUMBER, "median_us": .., "best_us": .., "rejected": ..} after it.
  absl::Status openProgress(const std::string &path);
  /// What the search calls; refers to this.
  void listen(TuneOptions *options);

private:
  absl::Status resume(const std::string &path, TuneOptions *options) const;
  void heard(const ScheduleTrial &trial);
  void say(JsonObject event);

  /// Of the plan that a point makes of the kernel the terms of each launch's time, for `tune --fit`; empty where they are not known.
  JsonArray termsOf(const SchedulePoint &point) const;

  const Call &of_;
  std::string kernel_;
  JsonObject call_; ///< how every line begins: what is tuned, and where
  std::ofstream records_, progress_;
  int64_t trials_ = 0;
  double best_ = 0; ///< median in microseconds
};

} // namespace kernelc::tools
