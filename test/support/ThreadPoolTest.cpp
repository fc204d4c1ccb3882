// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/ThreadPool.h"

#include <atomic>
#include <mutex>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace kernelc {
namespace {

TEST(ThreadPool, EveryIndexExactlyOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (int64_t n : {0, 1, 7, 64, 1000}) {
      std::vector<std::atomic<int>> seen(n);
      pool.parallelFor(0, n, 7, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i)
          ++seen[i];
      });
      for (auto &s : seen)
        EXPECT_EQ(s, 1);
    }
  }
}

TEST(ThreadPool, PiecesDoNotDependOnTheNumberOfThreads) {
  std::vector<std::set<std::pair<int64_t, int64_t>>> all;
  for (int threads : {1, 3, 8}) {
    ThreadPool pool(threads);
    std::mutex mutex;
    std::set<std::pair<int64_t, int64_t>> pieces;
    pool.parallelFor(-5, 100, 16, [&](int64_t b, int64_t e) {
      std::lock_guard<std::mutex> lock(mutex);
      pieces.insert({b, e});
    });
    all.push_back(pieces);
  }
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
  EXPECT_EQ(all[0].size(), 7u);
}

TEST(ThreadPool, NestedCallsFinish) {
  ThreadPool pool(3);
  std::atomic<int64_t> sum{0};
  pool.parallelFor(0, 20, 1,
                   [&](int64_t b, int64_t) { pool.parallelFor(0, 10, 2, [&](int64_t x, int64_t y) { sum += (y - x) * (b + 1); }); });
  EXPECT_EQ(sum, 10 * 210);
}

} // namespace
} // namespace kernelc
