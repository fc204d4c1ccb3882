// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/ThreadGate.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace kernelc {
namespace {

/// In a process of its own, which closes the gate: what `other` of another thread returns, as the exit code.
template <class Fn> void closeThenAsk(Fn other) {
  if (!closeGateForExit())
    _exit(100);
  int code = 101;
  std::thread([&] { code = other(); }).join();
  GatePass own;
  _exit(own.isOpen() ? code : 102);
}

TEST(ThreadGate, OpensForAll) {
  GatePass outer, inner;
  EXPECT_TRUE(outer.isOpen() && inner.isOpen());
  std::thread([] { EXPECT_TRUE(GatePass().isOpen()); }).join();
}

TEST(ThreadGateDeathTest, AtExitWhoDestroysLeavesAtOnce) {
  EXPECT_EXIT(closeThenAsk([] {
                auto start = std::chrono::steady_clock::now();
                GatePass pass(GatePass::AtExit::Leave);
                bool atOnce = std::chrono::steady_clock::now() - start < std::chrono::seconds(2);
                return pass.wasTurnedAway() && !pass.isOpen() && atOnce ? 7 : 8;
              }),
              testing::ExitedWithCode(7), "");
}

// Whoever ends the process may need what a thread at the gate holds: waiting for ever would be a deadlock.
TEST(ThreadGateDeathTest, AtExitWhoCallsIsTurnedAway) {
  EXPECT_EXIT(closeThenAsk([] {
                GatePass pass;
                return pass.wasTurnedAway() && !pass.isOpen() ? 7 : 8;
              }),
              testing::ExitedWithCode(7), "");
}

/// In a process of its own: threads that pass all the time, while the gate is closed.
void closeAmongPassers() {
  std::atomic<int> inside = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      while (true) {
        GatePass pass(GatePass::AtExit::Leave);
        if (!pass.isOpen())
          return;
        ++inside;
        std::this_thread::yield();
        --inside;
      }
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  bool closed = closeGateForExit(), empty = inside == 0;
  for (std::thread &t : threads)
    t.join();
  _exit(closed && empty ? 7 : 8);
}

// A thread that already waits when the gate is closed is let in no more than one that comes later.
TEST(ThreadGateDeathTest, AtExitWhoWaitedIsTurnedAway) { EXPECT_EXIT(closeAmongPassers(), testing::ExitedWithCode(7), ""); }

} // namespace
} // namespace kernelc
