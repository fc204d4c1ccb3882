// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/SideBySide.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "support/Interrupt.h"

namespace kernelc {

void sideBySide(size_t count, std::atomic<bool> &stop, absl::FunctionRef<void(size_t)> fn) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::condition_variable changed;
  size_t ended = 0;
  auto work = [&] {
    for (size_t i = next++; i < count && !stop; i = next++)
      fn(i);
    std::lock_guard<std::mutex> lock(mutex);
    ++ended;
    changed.notify_one(); // under the lock: the waiter may be gone right after
  };
  std::vector<std::thread> threads;
  while (threads.size() < std::min<size_t>(count, std::max(1u, std::thread::hardware_concurrency()))) {
    try {
      threads.emplace_back(work);
    } catch (const std::system_error &) { // fewer will do
      break;
    }
  }
  if (threads.empty())
    return work();
  constexpr auto kPeriod = std::chrono::milliseconds(20);
  {
    std::unique_lock<std::mutex> lock(mutex);
    while (!changed.wait_for(lock, kPeriod, [&] { return ended == threads.size(); }))
      if (isInterrupted())
        stop = true;
  }
  for (std::thread &t : threads)
    t.join();
}

} // namespace kernelc
