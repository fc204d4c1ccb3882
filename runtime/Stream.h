// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams, events and device buffers: owners of driver handles, each bound to one
// Device. Destroying one waits for nothing and never reports; on a lost device it
// does nothing at all.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/Device.h"

namespace kernelc {

class Event;

/// A queue of work, with the arena that kernels on it share as workspace.
/// Calls on one Stream must not overlap in time.
class Stream {
public:
  /// A new stream that does not synchronise with the default one.
  static absl::StatusOr<std::unique_ptr<Stream>> create(Device &device);
  /// A stream of somebody else's (null: the default one); it is not destroyed.
  static std::unique_ptr<Stream> borrow(Device &device, cuda::StreamHandle handle);
  ~Stream();

  Device &device() const { return device_; }
  cuda::StreamHandle handle() const { return handle_; }
  /// Whether the handle is known to be alive: made here, or the null stream. A
  /// borrowed one may be destroyed by its owner at any time between calls.
  bool isKnownAlive() const { return owned_ || !handle_; }
  absl::Status synchronize();
  absl::StatusOr<bool> isCapturing();
  /// Later work here starts after what `event` recorded.
  absl::Status waitFor(const Event &event);

  /// Device memory for one kernel, which holds anything; 256-byte aligned. Memory that
  /// was handed out stays valid for the stream's life, since captured graphs may hold
  /// it. Warm calls do not allocate; ColdInCapture if it would have to during a capture.
  absl::StatusOr<cuda::DevicePtr> workspace(size_t bytes);

private:
  Stream(Device &device, cuda::StreamHandle handle, bool owned);
  absl::Status grow(size_t bytes);
  Device &device_;
  cuda::StreamHandle handle_;
  bool owned_;
  size_t arenaBytes_ = 0; ///< of the last arena
  std::vector<cuda::DevicePtr> arenas_;
};

/// A point in a stream's work.
class Event {
public:
  static absl::StatusOr<std::unique_ptr<Event>> create(Device &device, bool timing = true);
  ~Event();
  cuda::EventHandle handle() const { return handle_; }
  absl::Status record(Stream &stream);
  absl::Status synchronize();
  /// True when everything recorded has finished.
  absl::StatusOr<bool> isDone();
  /// Milliseconds from `start` to here; both must have finished.
  absl::StatusOr<float> millisecondsSince(const Event &start);

private:
  Event(Device &device, cuda::EventHandle handle) : device_(device), handle_(handle) {}
  Device &device_;
  cuda::EventHandle handle_;
};

/// A block of device memory.
class Buffer {
public:
  /// At least 256-byte aligned. Zero bytes give a null address.
  static absl::StatusOr<Buffer> allocate(Device &device, size_t bytes);
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;
  ~Buffer() { reset(); }

  cuda::DevicePtr address() const { return address_; }
  void *data() const { return reinterpret_cast<void *>(address_); }
  size_t size() const { return bytes_; }
  Device &device() const { return *device_; }

  /// Copies; ordered on `stream`, and waited for, so that the host memory may be
  /// reused at once. OutOfRange when offset + bytes is not inside.
  absl::Status copyFromHost(const void *source, size_t bytes, Stream &stream, size_t offset = 0);
  absl::Status copyToHost(void *target, size_t bytes, Stream &stream, size_t offset = 0) const;
  /// Sets every byte; ordered on `stream`, not waited for.
  absl::Status fill(uint8_t value, Stream &stream);

private:
  Buffer(Device &device, cuda::DevicePtr address, size_t bytes) : device_(&device), address_(address), bytes_(bytes) {}
  void reset();
  absl::Status checkRange(size_t offset, size_t bytes) const;
  Device *device_;
  cuda::DevicePtr address_;
  size_t bytes_;
};

} // namespace kernelc
