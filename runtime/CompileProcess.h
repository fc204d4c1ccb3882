// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVRTC in a process of its own, with limits: its time grows faster than its input,
// no callback bounds it, and a crash in it would be ours. For input that is not
// trusted, and for long-lived hosts. The worker is the program kernelc-nvrtc-worker;
// one run of it compiles one text.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/Nvrtc.h"

namespace kernelc {

struct CompileLimits {
  absl::Duration wall = absl::Seconds(30);
  int64_t memoryBytes = int64_t(4) << 30; ///< address space
};

class CompileProcess {
public:
  /// With this worker; empty: findWorker().
  explicit CompileProcess(std::string worker = "", CompileLimits limits = {});
  /// $KERNELC_NVRTC_WORKER, else kernelc-nvrtc-worker beside this program; empty when
  /// there is none.
  static std::string findWorker();

  /// As Nvrtc::compileToCubin. Also DeadlineExceeded after limits.wall,
  /// ResourceExhausted when memory ran out, Internal when the worker died, and
  /// Unavailable when it cannot be started.
  absl::StatusOr<Cubin> compileToCubin(absl::string_view text, absl::string_view programName, absl::string_view arch,
                                       absl::Span<const std::string> extra = {}) const;

private:
  std::string worker_;
  CompileLimits limits_;
};

/// The worker's main: reads one request from `in`, compiles, writes the reply to `out`
/// (file descriptors). Returns the exit status.
int runCompileWorker(int in, int out);

} // namespace kernelc
