// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Interrupt.h"

#include <atomic>
#include <chrono>

namespace kernelc {
namespace {

using Clock = std::chrono::steady_clock;
std::atomic<InterruptQuestion> theQuestion{nullptr};
std::atomic<bool> everybody{false};

struct State {
  bool inScope = false, interrupted = false;
  Clock::time_point next;
};
thread_local State state;

} // namespace

void setInterruptQuestion(InterruptQuestion question) { theQuestion.store(question); }

void interruptAll() { everybody.store(true); }

constexpr auto kPeriod = std::chrono::milliseconds(20);

// Work that ends within the first period asks nobody.
InterruptScope::InterruptScope() {
  state = {true, false, theQuestion.load(std::memory_order_relaxed) ? Clock::now() + kPeriod : Clock::time_point()};
}
InterruptScope::~InterruptScope() { state.inScope = false; }

bool isInterrupted() {
  if (!state.inScope || state.interrupted)
    return state.inScope;
  if (everybody.load(std::memory_order_relaxed))
    return state.interrupted = true;
  InterruptQuestion question = theQuestion.load(std::memory_order_relaxed);
  if (!question)
    return false;
  Clock::time_point now = Clock::now();
  if (now < state.next)
    return false;
  state.next = now + kPeriod;
  return state.interrupted = question();
}

} // namespace kernelc
