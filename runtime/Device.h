// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// GPUs as this process sees them: the driver, one Device per ordinal with its
// primary context, and what is known about failures. Contexts are primary ones
// only; every operation restores the context that the caller had current.
// Thread-safe. Nothing here compiles or launches.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/CudaDriver.h"
#include "runtime/CudaError.h"
#include "support/Artifact.h"

namespace kernelc {

class Device;
class Stream;

/// The facts of a GPU that the launch path needs.
struct DeviceInfo {
  std::string name;
  int major = 0, minor = 0;
  int smCount = 0;
  int maxThreadsPerBlock = 0;
  int maxSharedBytes = 0; ///< per block, with opt-in
  int64_t l2Bytes = 0;
  int64_t memoryBytes = 0;
  bool clusters = false;

  /// The target to compile for: "sm_90a" (architecture-specific from 9.0 on), "sm_80".
  std::string target() const;
  /// Whether a cubin for `target` runs here.
  bool canRun(absl::string_view target) const;
};

/// Names a launch in messages about faults that surface later.
struct LaunchNote {
  std::string entry;
  SourceLoc loc;
};

/// The driver and its devices. One per process is normal (instance()); tests make
/// more. Destroying one releases its contexts; instance() never dies, because no
/// CUDA call is safe from a static destructor.
class Runtime {
public:
  /// Opens libcuda (see CudaDriver::load) and counts devices.
  static absl::StatusOr<std::unique_ptr<Runtime>> create(std::string libcuda = "");
  /// The process-wide one, created at the first call; a failure is remembered.
  static absl::StatusOr<Runtime *> instance();
  /// Its device with that ordinal: see device().
  static absl::StatusOr<Device *> deviceAt(int ordinal);
  ~Runtime();

  const cuda::CudaDriver &driver() const { return *driver_; }
  int deviceCount() const { return count_; }
  /// The device with that ordinal, its primary context retained at the first call.
  absl::StatusOr<Device *> device(int ordinal);
  /// OK, or ForkedContext in a child of the process that made this.
  absl::Status checkFork() const;
  /// $KERNELC_LAUNCH_BLOCKING=1: wait after every launch, so that a fault names its kernel.
  bool launchBlocking() const { return launchBlocking_; }

private:
  explicit Runtime(std::unique_ptr<cuda::CudaDriver> driver);
  std::unique_ptr<cuda::CudaDriver> driver_;
  int count_ = 0;
  bool launchBlocking_ = false;
  unsigned forkGeneration_;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Device>> devices_ ABSL_GUARDED_BY(mutex_);
};

class Device {
public:
  ~Device();
  Runtime &runtime() const { return runtime_; }
  const cuda::CudaDriver &driver() const { return runtime_.driver(); }
  int ordinal() const { return ordinal_; }
  const DeviceInfo &info() const { return info_; }
  cuda::Context context() const { return context_; }

  /// OK, or why no call can succeed any more (DeviceLost, ForkedContext).
  absl::Status usable() const;
  /// toStatus(), and latches DeviceLost on a sticky error. `note`: the launch that
  /// the call belongs to, if there is one.
  absl::Status check(cuda::Result result, absl::string_view call, const LaunchNote *note = nullptr);
  /// Waits for all work of the device.
  absl::Status synchronize();
  struct Memory {
    size_t free, total;
  };
  absl::StatusOr<Memory> queryMemory();

  /// A note that lives as long as the device; equal notes are one.
  const LaunchNote *internNote(LaunchNote note);
  /// Remembers a launch for fault messages. No lock, no allocation.
  void recordLaunch(const LaunchNote *note) {
    ring_[ringNext_.fetch_add(1, std::memory_order_relaxed) % ring_.size()].store(note, std::memory_order_relaxed);
  }

  /// ColdInCapture if any stream known to this device is capturing: loading a
  /// library would break the capture. `callers`: a stream of the caller's, alive
  /// during this call, that is asked too (null: the default one).
  absl::Status checkNoCapture(absl::string_view what, std::optional<cuda::StreamHandle> callers = std::nullopt);
  /// Waits for the device, then unloads; while a stream captures, at a later call.
  void unload(cuda::Library library);

  /// Device memory of 256 zero bytes (index 0) and 256 bytes that nothing reads
  /// (index 1): what tensor maps of empty tensors point at.
  absl::StatusOr<cuda::DevicePtr> spareBytes(int index);

  /// Host memory that all devices may write to, which lives as long as the process. ColdInCapture as loading a library.
  absl::StatusOr<void *> allocateShared(size_t bytes);

private:
  friend class Runtime;
  friend class Stream;
  Device(Runtime &runtime, int ordinal) : runtime_(runtime), ordinal_(ordinal) {}
  absl::Status open();
  absl::StatusOr<bool> anyCapture(std::optional<cuda::StreamHandle> callers = std::nullopt);
  void addStream(Stream *stream);
  void removeStream(Stream *stream);
  std::string recentLaunches() const;

  Runtime &runtime_;
  int ordinal_;
  cuda::DeviceId id_ = 0;
  cuda::Context context_ = nullptr;
  DeviceInfo info_;

  std::atomic<bool> lost_{false};
  std::array<std::atomic<const LaunchNote *>, 64> ring_{};
  std::atomic<uint64_t> ringNext_{0};

  mutable absl::Mutex mutex_;
  absl::Status lostStatus_ ABSL_GUARDED_BY(mutex_);
  std::deque<LaunchNote> notes_ ABSL_GUARDED_BY(mutex_);
  std::vector<Stream *> streams_ ABSL_GUARDED_BY(mutex_);
  std::vector<cuda::Library> deferredUnloads_ ABSL_GUARDED_BY(mutex_);
  cuda::DevicePtr spare_ ABSL_GUARDED_BY(mutex_) = 0;
  char *shared_ ABSL_GUARDED_BY(mutex_) = nullptr; ///< what is left of allocateShared's last block
  size_t sharedLeft_ ABSL_GUARDED_BY(mutex_) = 0;
};

/// Makes the device's context current for a scope, if it is not already.
class ContextScope {
public:
  static absl::StatusOr<ContextScope> enter(Device &device);
  ContextScope(ContextScope &&other) noexcept : device_(std::exchange(other.device_, nullptr)) {}
  ContextScope &operator=(ContextScope &&) = delete;
  ~ContextScope();

private:
  explicit ContextScope(Device *pushed) : device_(pushed) {}
  Device *device_; ///< null when there is nothing to restore
};

} // namespace kernelc
