// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Long work asks now and then whether to go on: whoever started it (Python, whose Ctrl-C this is) may want it to stop.
// Only the thread that started the work is asked, and no more than once in 20 ms.
#pragma once

namespace kernelc {

/// True: stop. Called on the thread that is in an InterruptScope; null: nobody is asked. Process-wide.
using InterruptQuestion = bool (*)();
void setInterruptQuestion(InterruptQuestion question);

/// The process ends: all scopes are interrupted, now and later.
void interruptAll();

/// While one lives, isInterrupted() asks on this thread. Scopes do not nest.
class InterruptScope {
public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope &) = delete;
  InterruptScope &operator=(const InterruptScope &) = delete;
};

/// Whether this thread's work should end; once true it stays so until the scope ends. Cheap: may be called every microsecond.
bool isInterrupted();

} // namespace kernelc
