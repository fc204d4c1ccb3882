// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVRTC in processes of its own, with limits: its time grows faster than its input, no
// callback bounds it, and a crash in it would be ours. The worker is the program
// kernelc-nvrtc-worker; workers are kept for the next text, one for each text that is
// compiled at the same time. What a worker may do is in NvrtcWorker.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/Nvrtc.h"
#include "support/ThreadGate.h"

namespace kernelc {

class WorkerChild;
class CompileProcess;

/// A text that a worker compiles while the caller does other things. One thread at a time. At its end a worker that has not
/// answered is killed. In a process that was forked from the caller's the answer is that there is none.
class RunningCompile {
public:
  ~RunningCompile();
  /// Whether take() has an answer; waits at most so long.
  bool isReady(absl::Duration atMost = absl::ZeroDuration());
  /// The answer, once: the codes are those of CompileProcess::compileToCubin.
  absl::StatusOr<Cubin> take();
  /// A copy of it.
  absl::StatusOr<Cubin> answer() const;

private:
  friend class CompileProcess;
  RunningCompile(const CompileProcess &process, std::unique_ptr<WorkerChild> child, absl::string_view text, std::string what);
  const CompileProcess &process_;
  std::unique_ptr<WorkerChild> child_;
  std::string text_, what_;
  absl::Time deadline_;
  int owner_; ///< the process that waits
  std::optional<absl::StatusOr<Cubin>> answer_;
};

/// Of one text.
struct CompileLimits {
  absl::Duration wall = absl::Minutes(5);
  int64_t memoryBytes = int64_t(4) << 30;  ///< address space
  absl::Duration cpu = absl::Seconds(120); ///< a machine under load takes longer, and is no reason to give up
};

/// Thread-safe.
class CompileProcess : ForkParticipant {
public:
  /// With this worker; empty: findWorker(). `nvrtcFile`: the library that it opens; empty: the one that it finds.
  explicit CompileProcess(std::string worker = "", CompileLimits limits = {}, std::string nvrtcFile = "");
  ~CompileProcess() override;
  /// $KERNELC_NVRTC_WORKER, else kernelc-nvrtc-worker beside this program, beside the library that has this code, or in the
  /// bin folder beside the library's; empty when there is none, or the variable is "0".
  static std::string findWorker();
  const std::string &worker() const { return worker_; }

  /// As Nvrtc::compileToCubin. Also Cancelled soon after `*stop` is set and where an interrupt has ended the worker,
  /// DeadlineExceeded after limits.wall, ResourceExhausted when memory or CPU time ran out or the worker was killed, Internal
  /// when it died, and Unavailable when it cannot be started.
  absl::StatusOr<Cubin> compileToCubin(absl::string_view text, absl::string_view programName, absl::string_view arch,
                                       absl::Span<const std::string> extra = {}, const std::atomic<bool> *stop = nullptr) const;
  /// Begins to compile in a worker.
  absl::StatusOr<std::unique_ptr<RunningCompile>> start(absl::string_view text, absl::string_view programName, absl::string_view arch,
                                                        absl::Span<const std::string> extra = {}) const;
  /// Has `count` workers waiting (at most one for two processors), which open NVRTC while the caller still does other things.
  void prepare(int count = 1) const;
  /// Workers that wait for work.
  std::vector<int> idleWorkers() const;

private:
  friend class RunningCompile;
  std::string encode(absl::string_view text, absl::string_view programName, absl::string_view arch,
                     absl::Span<const std::string> extra) const;
  /// An idle worker, or a new one.
  absl::StatusOr<std::unique_ptr<WorkerChild>> take(bool *isNew) const;
  void giveBack(std::unique_ptr<WorkerChild> child) const;
  void beforeFork() override { mutex_.lock(); }
  void afterForkInParent() override { mutex_.unlock(); }
  void afterForkInChild() override;

  std::string worker_;
  CompileLimits limits_;
  std::string nvrtcFile_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<WorkerChild>> idle_;
};

} // namespace kernelc
