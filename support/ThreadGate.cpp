// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/ThreadGate.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

#include "support/Interrupt.h"

namespace kernelc {
namespace {

/// Longer than a process takes to end.
constexpr std::chrono::seconds kPatienceAtExit{5};

struct Gate {
  pthread_rwlock_t lock;
  std::mutex participantsMutex;
  std::vector<ForkParticipant *> participants;
  bool closedForFork = false; ///< the write lock is ours
  std::atomic<bool> stuck = false;
  std::atomic<bool> ends = false; ///< one thread alone may pass

  Gate() {
    initialise();
    pthread_atfork([] { gate().beforeFork(); }, [] { gate().afterFork(false); }, [] { gate().afterFork(true); });
  }
  /// Never destroyed: threads outlive static objects.
  static Gate &gate() {
    static Gate *instance = new Gate;
    return *instance;
  }

  void initialise() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    // Threads that call all the time must not keep fork() out.
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  bool close() {
    timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 2;
    return pthread_rwlock_timedwrlock(&lock, &deadline) == 0;
  }
  void beforeFork();
  void afterFork(bool inChild);
};

/// Of this thread: how many passes it holds; whether it has closed the gate for the process's end.
thread_local int depth = 0;
thread_local bool isLast = false;

void Gate::beforeFork() {
  closedForFork = depth == 0 && !isLast && close();
  if (!closedForFork)
    return;
  participantsMutex.lock();
  for (ForkParticipant *p : participants)
    p->beforeFork();
}

void Gate::afterFork(bool inChild) {
  if (!closedForFork) {
    if (inChild)
      stuck = true;
    return;
  }
  for (ForkParticipant *p : participants)
    inChild ? p->afterForkInChild() : p->afterForkInParent();
  participantsMutex.unlock();
  closedForFork = false;
  if (inChild)
    initialise(); // the lock remembers a thread by its number, which is another here
  else
    pthread_rwlock_unlock(&lock);
}

} // namespace

GatePass::GatePass(AtExit atExit) {
  if (isLast || depth++ > 0)
    return;
  Gate &gate = Gate::gate();
  if (gate.stuck)
    return;
  pthread_rwlock_rdlock(&gate.lock);
  holds_ = true;
  if (!gate.ends)
    return;
  pthread_rwlock_unlock(&gate.lock);
  holds_ = false;
  turnedAway_ = true;
  if (atExit == AtExit::Wait)
    std::this_thread::sleep_for(kPatienceAtExit);
}

GatePass::~GatePass() {
  if (isLast)
    return;
  --depth;
  if (holds_)
    pthread_rwlock_unlock(&Gate::gate().lock);
}

bool GatePass::isOpen() const { return !turnedAway_ && !Gate::gate().stuck; }

bool closeGateForExit() {
  if (isLast)
    return true;
  interruptAll();
  Gate &gate = Gate::gate();
  if (!gate.close())
    return false;
  isLast = gate.ends = true;
  pthread_rwlock_unlock(&gate.lock); // those who wait for it learn that they are too late
  return true;
}

ForkParticipant::ForkParticipant() {
  Gate &gate = Gate::gate();
  std::lock_guard<std::mutex> lock(gate.participantsMutex);
  gate.participants.push_back(this);
}

ForkParticipant::~ForkParticipant() {
  Gate &gate = Gate::gate();
  std::lock_guard<std::mutex> lock(gate.participantsMutex);
  std::erase(gate.participants, this);
}

} // namespace kernelc
