// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The disk cache among processes and threads: one computes, nobody reads half an
// entry, a killed writer harms nobody.
#include <csignal>
#include <fcntl.h>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "absl/time/clock.h"
#include "test/runtime/CacheFixture.h"

namespace kernelc {
namespace {

using DiskCacheProcessTest = CacheFixture;

std::string payloadFor(int i) { return std::string(20000 + 37 * i, char('a' + i % 26)); }

int waitFor(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST_F(DiskCacheProcessTest, ProcessesComputeOnce) {
  std::filesystem::path log = top / "computed";
  std::vector<pid_t> children;
  for (int c = 0; c < 32; ++c) {
    pid_t child = fork();
    if (child == 0) {
      auto cache = open();
      auto r = cache->getOrCompute(Kind::Content, key("cold"), [&] {
        int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        (void)!write(fd, "x", 1);
        close(fd);
        absl::SleepFor(absl::Milliseconds(50)); // a compilation
        return payloadFor(1);
      });
      _exit(r.ok() && *r == payloadFor(1) ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t c : children)
    EXPECT_EQ(waitFor(c), 0);
  EXPECT_EQ(slurp(log).size(), 1u) << "compilations";
}

TEST_F(DiskCacheProcessTest, ThreadsComputeOnce) {
  auto cache = open();
  std::atomic<int> computed{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        auto r = cache->getOrCompute(Kind::Content, key(std::to_string(i)), [&] {
          ++computed;
          absl::SleepFor(absl::Milliseconds(1));
          return payloadFor(i);
        });
        wrong += !r.ok() || *r != payloadFor(i);
      }
    });
  for (auto &t : threads)
    t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(computed, 20);
}

TEST_F(DiskCacheProcessTest, AStuckHolderDelaysOnlyUntilTheDeadline) {
  open(); // the root exists
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t holder = fork();
  if (holder == 0) {
    (void)open()->getOrCompute(Kind::Content, key("k"), [&] {
      (void)!write(ready[1], "x", 1);
      pause(); // hangs with the lock held
      return std::string("never");
    });
    _exit(0);
  }
  char c;
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  absl::Time start = absl::Now();
  auto r = open()->getOrCompute(Kind::Content, key("k"), [] { return std::string("alone"); }, absl::Milliseconds(200));
  EXPECT_EQ(*r, "alone");
  absl::Duration waited = absl::Now() - start;
  EXPECT_GT(waited, absl::Milliseconds(50)) << "it did wait";
  EXPECT_LT(waited, absl::Seconds(20));
  auto other = open()->getOrCompute(Kind::Content, key("other"), [] { return std::string("free"); });
  EXPECT_EQ(*other, "free") << "other keys are not held up";
  kill(holder, SIGKILL);
  waitFor(holder);
  open()->drop(Kind::Content, key("k"));
  start = absl::Now();
  EXPECT_EQ(*open()->getOrCompute(Kind::Content, key("k"), [] { return std::string("after"); }), "after");
  EXPECT_LT(absl::Now() - start, absl::Seconds(5)) << "a dead holder's lock is gone";
}

// Writers and readers of a few keys, killed at random moments: a reader never sees
// anything but a whole payload, and the cache works afterwards.
TEST_F(DiskCacheProcessTest, KilledWritersHarmNobody) {
  std::mt19937 random(11);
  constexpr int kKeys = 4, kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<pid_t> writers, readers;
    for (int w = 0; w < 3; ++w) {
      pid_t child = fork();
      if (child == 0) {
        auto cache = open();
        for (int i = 0;; ++i)
          cache->put(Kind::Content, key(std::to_string((i + w) % kKeys)), payloadFor((i + w) % kKeys));
      }
      writers.push_back(child);
    }
    pid_t reader = fork();
    if (reader == 0) {
      auto cache = open();
      for (int i = 0; i < 40; ++i) {
        auto got = cache->get(Kind::Content, key(std::to_string(i % kKeys)));
        if ((got && *got != payloadFor(i % kKeys)) || cache->counters().damaged)
          _exit(1);
      }
      _exit(0);
    }
    absl::SleepFor(absl::Milliseconds(std::uniform_int_distribution<int>(1, 12)(random)));
    for (pid_t w : writers)
      kill(w, SIGKILL);
    for (pid_t w : writers)
      waitFor(w);
    ASSERT_EQ(waitFor(reader), 0) << "round " << round;
  }
  auto cache = open();
  EXPECT_EQ(cache->verify().removed, 0);
  for (int i = 0; i < kKeys; ++i) {
    cache->put(Kind::Content, key(std::to_string(i)), payloadFor(i));
    EXPECT_EQ(cache->get(Kind::Content, key(std::to_string(i))), payloadFor(i));
  }
  EXPECT_TRUE(warnings.empty());
}

} // namespace
} // namespace kernelc
