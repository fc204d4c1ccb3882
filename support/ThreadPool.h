// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fixed set of worker threads that share loops over integer ranges. Knows
// nothing of tensors; must not own work beyond one call of parallelFor.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "support/ThreadGate.h"

namespace kernelc {

class ThreadPool : ForkParticipant {
public:
  /// `threads` <= 0: one per hardware thread. The caller of parallelFor counts as
  /// one, so a pool of one thread starts none. When the system refuses a thread
  /// the pool is smaller.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int size() const { return int(workers_.size()) + 1; }

  /// Calls fn(b, e) for pieces that partition [begin, end); every piece but the
  /// last starts at begin + m * grain and is `grain` long, whatever the number of
  /// threads. Returns when all are done. May be called from several threads at
  /// once and from inside a piece. `fn` must not throw.
  void parallelFor(int64_t begin, int64_t end, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> fn);

private:
  struct Job;
  void work();
  void startWorkers(int number);
  /// A forked process has none of the threads, and starts its own at the next loop.
  void beforeFork() override { mutex_.lock(); }
  void afterForkInParent() override { mutex_.unlock(); }
  void afterForkInChild() override;
  static void runPieces(Job &job);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
  int lacking_ = 0; ///< workers to start again after fork()
};

} // namespace kernelc
