// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Times of calls on a GPU: by events, in turns, the L2 cache flushed before every run.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/jit/Session.h"
#include "runtime/Stream.h"

namespace kernelc {

class GpuTimer {
public:
  /// Runs on `stream`, which must outlive it.
  static absl::StatusOr<std::unique_ptr<GpuTimer>> create(Device &device, Stream &stream);

  /// Seconds of `repeats` runs of every call, sorted, after a few that warm up. One run
  /// of each, then the next of each, another one first every time.
  absl::StatusOr<std::vector<std::vector<double>>> timeInTurns(const std::vector<BoundCall *> &calls, int repeats);
  /// Bytes per second of a large device copy, read and write counted.
  absl::StatusOr<double> measureCopy();

private:
  GpuTimer(Device &device, Stream &stream, Buffer flush) : device_(device), stream_(stream), flush_(std::move(flush)) {}
  Device &device_;
  Stream &stream_;
  Buffer flush_; ///< more than the L2 cache holds
};

} // namespace kernelc
