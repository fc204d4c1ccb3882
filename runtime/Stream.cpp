// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Stream.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace kernelc {

Stream::Stream(Device &device, cuda::StreamHandle handle, bool owned) : device_(device), handle_(handle), owned_(owned) {
  device_.addStream(this);
}

absl::StatusOr<std::unique_ptr<Stream>> Stream::create(Device &device) {
  auto scope = ContextScope::enter(device);
  if (!scope.ok())
    return scope.status();
  cuda::StreamHandle handle = nullptr;
  KERNELC_RETURN_IF_ERROR(device.check(device.driver().cuStreamCreate(&handle, cuda::kStreamNonBlocking), "cuStreamCreate"));
  return std::unique_ptr<Stream>(new Stream(device, handle, /*owned=*/true));
}

std::unique_ptr<Stream> Stream::borrow(Device &device, cuda::StreamHandle handle) {
  return std::unique_ptr<Stream>(new Stream(device, handle, /*owned=*/false));
}

Stream::~Stream() {
  // After fork() the device's lock may be held by a thread that does not exist here.
  if (!device_.runtime().checkFork().ok())
    return;
  device_.removeStream(this);
  auto scope = ContextScope::enter(device_);
  if (!scope.ok())
    return;
  const cuda::CudaDriver &d = device_.driver();
  for (cuda::DevicePtr p : arenas_)
    d.cuMemFree(p); // waits for the work that uses it
  if (owned_)
    d.cuStreamDestroy(handle_);
}

absl::Status Stream::synchronize() {
  auto scope = ContextScope::enter(device_);
  if (!scope.ok())
    return scope.status();
  return device_.check(device_.driver().cuStreamSynchronize(handle_), "cuStreamSynchronize");
}

absl::StatusOr<bool> Stream::isCapturing() {
  auto scope = ContextScope::enter(device_);
  if (!scope.ok())
    return scope.status();
  int status = cuda::kCaptureNone;
  KERNELC_RETURN_IF_ERROR(device_.check(device_.driver().cuStreamIsCapturing(handle_, &status), "cuStreamIsCapturing"));
  return status != cuda::kCaptureNone;
}

absl::Status Stream::waitFor(const Event &event) {
  auto scope = ContextScope::enter(device_);
  if (!scope.ok())
    return scope.status();
  return device_.check(device_.driver().cuStreamWaitEvent(handle_, event.handle(), 0), "cuStreamWaitEvent");
}

absl::StatusOr<cuda::DevicePtr> Stream::workspace(size_t bytes) {
  if (arenas_.empty() || bytes > arenaBytes_)
    KERNELC_RETURN_IF_ERROR(grow(bytes));
  return arenas_.back();
}

absl::Status Stream::grow(size_t bytes) {
  absl::StatusOr<bool> capturing = isCapturing();
  if (!capturing.ok())
    return capturing.status();
  if (*capturing)
    return withKind(
        absl::FailedPreconditionError(absl::StrCat("the workspace must grow to ", bytes,
                                                   " bytes, which is impossible while the stream captures a graph; "
                                                   "call the kernel once on this stream before the capture, or pass a workspace")),
        RuntimeErrorKind::ColdInCapture);
  auto scope = ContextScope::enter(device_);
  if (!scope.ok())
    return scope.status();
  auto roundUp = [](size_t n) { return (n + 255) / 256 * 256; };
  // Doubling bounds the memory of all arenas together by twice the last one's.
  size_t size = roundUp(std::max({bytes, 2 * arenaBytes_, size_t(8192)}));
  const cuda::CudaDriver &d = device_.driver();
  cuda::DevicePtr arena = 0;
  cuda::Result result = d.cuMemAlloc(&arena, size);
  if (result == cuda::kOutOfMemory) { // without the reserve it may still fit
    size = roundUp(std::max(bytes, size_t(256)));
    result = d.cuMemAlloc(&arena, size);
  }
  KERNELC_RETURN_IF_ERROR(device_.check(result, absl::StrCat("cuMemAlloc of ", size, " workspace bytes")));
  arenas_.push_back(arena);
  arenaBytes_ = size;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Event>> Event::create(Device &device, bool timing) {
  auto scope = ContextScope::enter(device);
  if (!scope.ok())
    return scope.status();
  cuda::EventHandle handle = nullptr;
  unsigned flags = timing ? cuda::kEventDefault : cuda::kEventDisableTiming;
  KERNELC_RETURN_IF_ERROR(device.check(device.driver().cuEventCreate(&handle, flags), "cuEventCreate"));
  return std::unique_ptr<Event>(new Event(device, handle));
}

Event::~Event() {
  if (auto scope = ContextScope::enter(device_); scope.ok())
    device_.driver().cuEventDestroy(handle_);
}

absl::Status Event::record(Stream &stream) {
  auto scope = ContextScope::enter(device_);
  if (!scope.ok())
    return scope.status();
  return device_.check(device_.driver().cuEventRecord(handle_, stream.handle()), "cuEventRecord");
}

absl::Status Event::synchronize() {
  auto scope = ContextScope::enter(device_);
  if (!scope.ok())
    return scope.status();
  return device_.check(device_.driver().cuEventSynchronize(handle_), "cuEventSynchronize");
}

absl::StatusOr<bool> Event::isDone() {
  auto scope = ContextScope::enter(device_);
  if (!scope.ok())
    return scope.status();
  cuda::Result r = device_.driver().cuEventQuery(handle_);
  if (r == cuda::kNotReady)
    return false;
  KERNELC_RETURN_IF_ERROR(device_.check(r, "cuEventQuery"));
  return true;
}

absl::StatusOr<float> Event::millisecondsSince(const Event &start) {
  auto scope = ContextScope::enter(device_);
  if (!scope.ok())
    return scope.status();
  float ms = 0;
  KERNELC_RETURN_IF_ERROR(device_.check(device_.driver().cuEventElapsedTime(&ms, start.handle_, handle_), "cuEventElapsedTime"));
  return ms;
}

absl::StatusOr<Buffer> Buffer::allocate(Device &device, size_t bytes) {
  auto scope = ContextScope::enter(device);
  if (!scope.ok())
    return scope.status();
  cuda::DevicePtr address = 0;
  if (bytes)
    KERNELC_RETURN_IF_ERROR(device.check(device.driver().cuMemAlloc(&address, bytes), absl::StrCat("cuMemAlloc of ", bytes, " bytes")));
  return Buffer(device, address, bytes);
}

Buffer::Buffer(Buffer &&other) noexcept
    : device_(other.device_), address_(std::exchange(other.address_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  if (this != &other) {
    reset();
    device_ = other.device_;
    address_ = std::exchange(other.address_, 0);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void Buffer::reset() {
  if (address_)
    if (auto scope = ContextScope::enter(*device_); scope.ok())
      device_->driver().cuMemFree(address_);
  address_ = 0;
}

absl::Status Buffer::checkRange(size_t offset, size_t bytes) const {
  if (offset <= bytes_ && bytes <= bytes_ - offset)
    return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("bytes ", offset, " to ", offset + bytes, " lie outside a buffer of ", bytes_));
}

absl::Status Buffer::copyFromHost(const void *source, size_t bytes, Stream &stream, size_t offset) {
  KERNELC_RETURN_IF_ERROR(checkRange(offset, bytes));
  auto scope = ContextScope::enter(*device_);
  if (!scope.ok())
    return scope.status();
  if (!bytes)
    return absl::OkStatus();
  KERNELC_RETURN_IF_ERROR(
      device_->check(device_->driver().cuMemcpyHtoDAsync(address_ + offset, source, bytes, stream.handle()), "cuMemcpyHtoDAsync"));
  return stream.synchronize();
}

absl::Status Buffer::copyToHost(void *target, size_t bytes, Stream &stream, size_t offset) const {
  KERNELC_RETURN_IF_ERROR(checkRange(offset, bytes));
  auto scope = ContextScope::enter(*device_);
  if (!scope.ok())
    return scope.status();
  if (!bytes)
    return absl::OkStatus();
  KERNELC_RETURN_IF_ERROR(
      device_->check(device_->driver().cuMemcpyDtoHAsync(target, address_ + offset, bytes, stream.handle()), "cuMemcpyDtoHAsync"));
  return stream.synchronize();
}

absl::Status Buffer::fill(uint8_t value, Stream &stream) {
  auto scope = ContextScope::enter(*device_);
  if (!scope.ok())
    return scope.status();
  if (!bytes_)
    return absl::OkStatus();
  return device_->check(device_->driver().cuMemsetD8Async(address_, value, bytes_, stream.handle()), "cuMemsetD8Async");
}

} // namespace kernelc
