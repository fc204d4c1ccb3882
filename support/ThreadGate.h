// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls into the library pass a gate, so that fork() and the process's end can wait until no thread is in the middle of
// one: of a lock that a thread held at fork() the child would wait for ever, and what exit() destroys a running kernel
// still reads.
#pragma once

namespace kernelc {

/// Held for a call; those inside it are free. Costs one uncontended lock.
class GatePass {
public:
  /// What becomes of a thread that comes when the process ends.
  enum class AtExit {
    Wait, ///< a while, since nobody needs what it came for; then it is turned away, for the thread that ends the process may need
          ///< what this one holds (a lock of its own, Python's interpreter lock)
    Leave,
  };
  explicit GatePass(AtExit atExit = AtExit::Wait);
  ~GatePass();
  GatePass(const GatePass &) = delete;
  GatePass &operator=(const GatePass &) = delete;
  /// False where wasTurnedAway(), and in a process that was forked while another thread was in a call that took longer than
  /// fork() waits: what that thread held stays held.
  bool isOpen() const;
  /// The process ends.
  bool wasTurnedAway() const { return turnedAway_; }

private:
  bool holds_ = false, turnedAway_ = false;
};

/// Waits, 2 seconds at most, until no other thread is in a call, interrupts those that can be, and keeps all threads but
/// this one out for good. True: nobody is inside. False: somebody still is, and others may come.
bool closeGateForExit();

/// Something whose own locks and threads fork() must look after; called while no call is running.
class ForkParticipant {
public:
  ForkParticipant();
  virtual ~ForkParticipant();
  virtual void beforeFork() = 0;
  virtual void afterForkInParent() = 0;
  virtual void afterForkInChild() = 0;
};

} // namespace kernelc
