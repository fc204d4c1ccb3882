// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <utility>

namespace kernelc {

/// One parallelFor. Shared, because a worker may still look at an exhausted job
/// after its caller has left; `fn` is only called while pieces remain.
struct ThreadPool::Job {
  Job(int64_t begin, int64_t end, int64_t grain, int64_t pieces, absl::FunctionRef<void(int64_t, int64_t)> fn)
      : begin(begin), end(end), grain(grain), pieces(pieces), fn(fn) {}
  const int64_t begin, end, grain, pieces;
  absl::FunctionRef<void(int64_t, int64_t)> fn;
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::condition_variable finished;
  int64_t done = 0;
};

ThreadPool::ThreadPool(int threads) {
  if (threads <= 0)
    threads = std::max(1u, std::thread::hardware_concurrency());
  startWorkers(threads - 1);
}

void ThreadPool::startWorkers(int number) {
  for (int i = 0; i < number; ++i) {
    try {
      workers_.emplace_back([this] { work(); });
    } catch (const std::system_error &) {
      break;
    }
  }
}

void ThreadPool::afterForkInChild() {
  lacking_ += int(workers_.size());
  // Nobody waits for them; their handles stand for threads of the other process.
  new std::vector<std::thread>(std::move(workers_));
  workers_.clear();
  jobs_.clear();
  new (&wake_) std::condition_variable; // the old one counts waiters that are not here
  mutex_.unlock();
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread &t : workers_)
    t.join();
}

void ThreadPool::runPieces(Job &job) {
  int64_t mine = 0;
  for (int64_t i; (i = job.next.fetch_add(1)) < job.pieces; ++mine) {
    int64_t b = job.begin + i * job.grain;
    job.fn(b, i + 1 == job.pieces ? job.end : b + job.grain);
  }
  if (!mine)
    return;
  std::lock_guard<std::mutex> lock(job.mutex);
  job.done += mine;
  if (job.done == job.pieces)
    job.finished.notify_all();
}

void ThreadPool::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (jobs_.empty())
      return;
    std::shared_ptr<Job> job = jobs_.front();
    if (job->next.load() >= job->pieces) {
      jobs_.pop_front();
      continue;
    }
    lock.unlock();
    runPieces(*job);
    lock.lock();
  }
}

void ThreadPool::parallelFor(int64_t begin, int64_t end, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> fn) {
  if (begin >= end)
    return;
  grain = std::max<int64_t>(grain, 1);
  int64_t length = end - begin;
  int64_t pieces = length / grain + (length % grain != 0);
  auto job = std::make_shared<Job>(begin, end, grain, pieces, fn);
  if (pieces > 1) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      startWorkers(std::exchange(lacking_, 0));
      if (!workers_.empty())
        jobs_.push_back(job);
    }
    wake_.notify_all();
  }
  runPieces(*job);
  std::unique_lock<std::mutex> lock(job->mutex);
  job->finished.wait(lock, [&] { return job->done == job->pieces; });
}

} // namespace kernelc
