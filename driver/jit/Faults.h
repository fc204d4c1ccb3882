// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Faults of running kernels: what the record of a kernel's guards (ir/te/Faults.h) says, and the memory that it has on a GPU.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "driver/compile/Program.h"
#include "runtime/Device.h"

namespace kernelc {

/// What the numbers of one kernel's record mean. The signature says whether there is one: a program whose code the disk cache
/// holds is not read for it, but when a guard has found something. Thread-safe.
class FaultTexts {
public:
  /// Both outlive it.
  FaultTexts(Program &program, const Kernel &signature);
  /// The record among Kernel::params; -1: the kernel has no guards.
  int param() const { return param_; }
  size_t count() const { return count_; }
  /// Fills a record with what says that nothing has happened.
  void clear(int64_t *record) const;
  /// OutOfRange, with place, subscript and point, of the first guard that found something.
  absl::Status check(const int64_t *record, const std::vector<int64_t> &sizes) const;

private:
  struct Entry {
    SourceLoc loc;
    std::string what;
    std::vector<std::string> indices;
    std::vector<SizeExpr> lows, extents;
  };
  const std::vector<Entry> &entries() const;
  std::vector<Entry> read() const;

  Program &program_;
  const std::string kernel_;
  int param_ = -1;
  size_t count_ = 0;
  mutable absl::once_flag once_;
  mutable std::vector<Entry> entries_; ///< of entries() alone
};

/// The records of a kernel's calls on GPUs: host memory that all of them write to, one for each set of sizes. A fault stays there
/// until somebody asks. Records are never given back, since work that is still queued may write to them.
class DeviceFaults {
public:
  explicit DeviceFaults(const FaultTexts &texts);
  ~DeviceFaults();
  /// Where calls with such sizes record.
  absl::StatusOr<int64_t *> recordFor(Device &device, const std::vector<int64_t> &sizes);
  /// The first fault of any call of the kernel since the last take(), which forgets it.
  absl::Status take();
  /// The same of all kernels of the process.
  static absl::Status takeAny();

private:
  const FaultTexts &texts_;
  absl::Mutex mutex_;
  std::map<std::vector<int64_t>, int64_t *> records_ ABSL_GUARDED_BY(mutex_);
};

} // namespace kernelc
