// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the kernels of one Session share. Internal to the driver.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "driver/jit/Session.h"
#include "runtime/CompileProcess.h"
#include "runtime/DiskCache.h"
#include "runtime/Nvrtc.h"
#include "runtime/Stream.h"
#include "runtime/VariantCode.h"
#include "support/ThreadPool.h"

namespace kernelc {

/// A caller's stream with the workspace that kernels on it share; `mutex` orders
/// the calls on it.
struct SharedStream {
  absl::Mutex mutex;
  std::unique_ptr<Stream> stream ABSL_GUARDED_BY(mutex);
};

/// What `strict` says of what the cache does not have.
absl::Status refusedByPolicy(absl::string_view what, const DiskCache &cache);

struct SessionState {
  explicit SessionState(SessionOptions o);
  const SessionOptions options;
  const CompilePolicy policy; ///< of calls that name none
  absl::Mutex mutex;
  std::unique_ptr<DiskCache> cache ABSL_GUARDED_BY(mutex);
  std::unique_ptr<Nvrtc> nvrtc ABSL_GUARDED_BY(mutex);
  std::unique_ptr<ThreadPool> pool ABSL_GUARDED_BY(mutex);
  std::map<std::string, std::unique_ptr<CompileProcess>> compileProcesses ABSL_GUARDED_BY(mutex); ///< by worker
  std::string refusedWorker ABSL_GUARDED_BY(mutex);                                               ///< could not be started

  /// The number is that of the thread whose own stream the handle stands for, or 0.
  std::map<std::tuple<Device *, cuda::StreamHandle, uint64_t>, std::unique_ptr<SharedStream>> streams ABSL_GUARDED_BY(mutex);

  DiskCache &getCache();
  absl::StatusOr<Nvrtc *> getNvrtc();
  /// What compiles in other processes, where there is a worker (CompileProcess::findWorker()) that could be started so far.
  CompileProcess *getCompileProcess(const Nvrtc &nvrtc);
  /// To be called before passes whose text will be compiled: gets NVRTC going meanwhile.
  void prepareCompiler();
  /// Through the disk cache; in a process of its own, if there is a worker. `stop`: as in CompileProcess.
  absl::StatusOr<Cubin> compileToCubin(absl::string_view cudaText, absl::string_view programName, absl::string_view target,
                                       const std::atomic<bool> *stop);
  /// The units of a variant with the code that the disk cache has; `cold`: those that it lacks. Units that the variant
  /// names come without their texts where nobody will read those.
  absl::StatusOr<VariantCode> findCode(const Variant &variant, std::vector<size_t> *cold);
  /// The units of a variant, side by side, each through the disk cache.
  absl::StatusOr<VariantCode> compileVariant(const Variant &variant, absl::string_view programName, bool mayCompile = true);
  ThreadPool &getPool();
  /// A source; its signatures come from the disk cache where that knows the text.
  absl::StatusOr<std::shared_ptr<Program>> getProgram(std::string text, ProgramOptions programOptions, bool isNew = false);
  /// The same of a text that the disk cache knows, else null.
  std::shared_ptr<Program> findProgram(const std::string &text, const ProgramOptions &programOptions);
  SharedStream &streamFor(Device &device, cuda::StreamHandle handle);
  void remark(const std::string &text) const {
    if (options.remark)
      options.remark(text);
  }
};

} // namespace kernelc
