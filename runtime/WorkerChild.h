// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A started kernelc-nvrtc-worker with the pipes to it. Internal to CompileProcess.
#pragma once

#include <atomic>
#include <string>
#include <sys/types.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/PrivateDir.h"

namespace kernelc {

/// One conversation at a time. Killed and reaped at the end.
class WorkerChild {
public:
  WorkerChild() = default;
  WorkerChild(const WorkerChild &) = delete;
  ~WorkerChild();
  /// Starts `program`, with an environment that has no more than finding NVRTC needs; `nvrtcFile`: the library to open, if
  /// not the one that the environment leads to.
  absl::Status start(const std::string &program, const std::string &nvrtcFile);
  /// Whether it runs and waits for work.
  bool isIdle() const;
  /// Sends a message and collects one, without its length, until `deadline` (DeadlineExceeded) or while `stop` is not set
  /// (Cancelled). Where the worker ends before it has answered: OK, and `ended` is its status of waitpid(), else -1.
  absl::Status converse(absl::string_view message, std::string *reply, absl::Time deadline, const std::atomic<bool> *stop, int *ended);
  /// The same in two steps. Sends a message as far as the worker takes it ..
  void send(absl::string_view message);
  /// .. and goes on with that, and with collecting the reply, for at most so long; false while there is none.
  absl::StatusOr<bool> advance(int milliseconds, std::string *reply, int *ended);
  /// Lets go of a worker of another process, of which this one is a fork.
  void abandon();
  pid_t pid() const { return pid_; }

private:
  int wait();
  UniqueFd toChild_, fromChild_;
  pid_t pid_ = -1;
  std::string toSend_, received_; ///< of the conversation
};

} // namespace kernelc
