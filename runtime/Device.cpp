// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/Device.h"

#include <algorithm>
#include <cstdlib>
#include <pthread.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/Stream.h"

namespace kernelc {
namespace {

/// How many forks lie between the first process that used the runtime and this one.
std::atomic<unsigned> forkGeneration{0};

void watchForks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forkGeneration.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
}

} // namespace

std::string DeviceInfo::target() const { return absl::StrCat("sm_", major, minor, major >= 9 ? "a" : ""); }

bool DeviceInfo::canRun(absl::string_view target) const {
  if (!absl::ConsumePrefix(&target, "sm_"))
    return false;
  char suffix = target.empty() ? 0 : target.back();
  if (suffix == 'a' || suffix == 'f')
    target.remove_suffix(1);
  int number = 0;
  if (!absl::SimpleAtoi(target, &number))
    return false;
  // "a" is exactly that chip; otherwise a cubin runs on the same major, equal or later minor.
  if (suffix == 'a')
    return number == major * 10 + minor;
  return number / 10 == major && number % 10 <= minor;
}

Runtime::Runtime(std::unique_ptr<cuda::CudaDriver> driver) : driver_(std::move(driver)), forkGeneration_(forkGeneration.load()) {
  const char *blocking = std::getenv("KERNELC_LAUNCH_BLOCKING");
  launchBlocking_ = blocking && *blocking && absl::string_view(blocking) != "0";
}

absl::StatusOr<std::unique_ptr<Runtime>> Runtime::create(std::string libcuda) {
  watchForks();
  auto driver = cuda::CudaDriver::load(std::move(libcuda));
  if (!driver.ok())
    return driver.status();
  std::unique_ptr<Runtime> runtime(new Runtime(std::move(*driver)));
  const cuda::CudaDriver &d = *runtime->driver_;
  KERNELC_RETURN_IF_ERROR(toStatus(d, d.cuDeviceGetCount(&runtime->count_), "cuDeviceGetCount"));
  return runtime;
}

absl::StatusOr<Runtime *> Runtime::instance() {
  static auto *const runtime = new absl::StatusOr<std::unique_ptr<Runtime>>(create());
  if (!runtime->ok())
    return runtime->status();
  return (*runtime)->get();
}

absl::StatusOr<Device *> Runtime::deviceAt(int ordinal) {
  absl::StatusOr<Runtime *> runtime = instance();
  return runtime.ok() ? (*runtime)->device(ordinal) : absl::StatusOr<Device *>(runtime.status());
}

Runtime::~Runtime() = default;

absl::Status Runtime::checkFork() const {
  if (forkGeneration.load(std::memory_order_relaxed) == forkGeneration_)
    return absl::OkStatus();
  return withKind(absl::FailedPreconditionError("this process was forked after CUDA was initialised, and CUDA does not survive "
                                                "fork(); start workers with exec or Python's 'spawn' method"),
                  RuntimeErrorKind::ForkedContext);
}

absl::StatusOr<Device *> Runtime::device(int ordinal) {
  KERNELC_RETURN_IF_ERROR(checkFork());
  if (ordinal < 0 || ordinal >= count_)
    return absl::InvalidArgumentError(absl::StrCat("no CUDA device ", ordinal, ": the driver shows ", count_));
  absl::MutexLock lock(&mutex_);
  devices_.resize(count_);
  if (!devices_[ordinal]) {
    std::unique_ptr<Device> device(new Device(*this, ordinal));
    KERNELC_RETURN_IF_ERROR(device->open());
    devices_[ordinal] = std::move(device);
  }
  return devices_[ordinal].get();
}

absl::Status Device::open() {
  const cuda::CudaDriver &d = driver();
  KERNELC_RETURN_IF_ERROR(check(d.cuDeviceGet(&id_, ordinal_), "cuDeviceGet"));
  char name[256] = {};
  KERNELC_RETURN_IF_ERROR(check(d.cuDeviceGetName(name, sizeof(name) - 1, id_), "cuDeviceGetName"));
  info_.name = name;
  int l2 = 0, clusters = 0;
  const std::pair<cuda::DeviceAttribute, int *> attributes[] = {{cuda::kComputeCapabilityMajor, &info_.major},
                                                                {cuda::kComputeCapabilityMinor, &info_.minor},
                                                                {cuda::kMultiprocessorCount, &info_.smCount},
                                                                {cuda::kMaxThreadsPerBlock, &info_.maxThreadsPerBlock},
                                                                {cuda::kMaxSharedPerBlockOptin, &info_.maxSharedBytes},
                                                                {cuda::kL2CacheSize, &l2},
                                                                {cuda::kClusterLaunch, &clusters}};
  for (auto [attribute, value] : attributes)
    KERNELC_RETURN_IF_ERROR(check(d.cuDeviceGetAttribute(value, attribute, id_), "cuDeviceGetAttribute"));
  info_.l2Bytes = l2;
  info_.clusters = clusters;
  size_t bytes = 0;
  KERNELC_RETURN_IF_ERROR(check(d.cuDeviceTotalMem(&bytes, id_), "cuDeviceTotalMem"));
  info_.memoryBytes = int64_t(bytes);
  return check(d.cuDevicePrimaryCtxRetain(&context_, id_), "cuDevicePrimaryCtxRetain");
}

Device::~Device() {
  // A lost or forked context is left alone: freeing could hang or fault.
  if (!context_ || !usable().ok())
    return;
  if (auto scope = ContextScope::enter(*this); scope.ok()) {
    for (cuda::Library l : deferredUnloads_)
      driver().cuLibraryUnload(l);
    if (spare_)
      driver().cuMemFree(spare_);
  }
  driver().cuDevicePrimaryCtxRelease(id_);
}

absl::Status Device::usable() const {
  KERNELC_RETURN_IF_ERROR(runtime_.checkFork());
  if (!lost_.load(std::memory_order_acquire))
    return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  return lostStatus_;
}

absl::Status Device::check(cuda::Result result, absl::string_view call, const LaunchNote *note) {
  if (result == cuda::kSuccess)
    return absl::OkStatus();
  absl::Status status = toStatus(driver(), result, call);
  std::string where = note ? absl::StrCat(note->entry, " (", note->loc.file, ":", note->loc.line, "): ") : "";
  if (!isSticky(result)) {
    if (where.empty())
      return status;
    absl::Status located(status.code(), absl::StrCat(where, status.message()));
    status.ForEachPayload([&](absl::string_view url, const absl::Cord &c) { located.SetPayload(url, c); });
    return located;
  }
  absl::MutexLock lock(&mutex_);
  if (lostStatus_.ok()) {
    lostStatus_ = withKind(
        absl::AbortedError(absl::StrCat("CUDA device ", ordinal_, " is lost to this process: ", where, status.message(), recentLaunches())),
        RuntimeErrorKind::DeviceLost);
    lost_.store(true, std::memory_order_release);
  }
  return lostStatus_;
}

std::string Device::recentLaunches() const {
  std::vector<const LaunchNote *> seen;
  uint64_t next = ringNext_.load();
  for (uint64_t i = 0; i < std::min<uint64_t>(next, ring_.size()); ++i) {
    const LaunchNote *note = ring_[(next - 1 - i) % ring_.size()].load();
    if (note && std::find(seen.begin(), seen.end(), note) == seen.end())
      seen.push_back(note);
  }
  if (seen.empty())
    return "";
  std::string text = "; last launched, newest first: ";
  for (size_t i = 0; i < seen.size(); ++i)
    absl::StrAppend(&text, i ? ", " : "", seen[i]->entry, " (", seen[i]->loc.file, ":", seen[i]->loc.line, ")");
  if (seen.size() > 1)
    absl::StrAppend(&text, "; set KERNELC_LAUNCH_BLOCKING=1 to find the one at fault");
  return text;
}

absl::Status Device::synchronize() {
  auto scope = ContextScope::enter(*this);
  if (!scope.ok())
    return scope.status();
  return check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
}

absl::StatusOr<Device::Memory> Device::queryMemory() {
  auto scope = ContextScope::enter(*this);
  if (!scope.ok())
    return scope.status();
  Memory m{};
  KERNELC_RETURN_IF_ERROR(check(driver().cuMemGetInfo(&m.free, &m.total), "cuMemGetInfo"));
  return m;
}

const LaunchNote *Device::internNote(LaunchNote note) {
  absl::MutexLock lock(&mutex_);
  for (const LaunchNote &n : notes_)
    if (n.entry == note.entry && n.loc.file == note.loc.file && n.loc.line == note.loc.line)
      return &n;
  notes_.push_back(std::move(note));
  return &notes_.back();
}

void Device::addStream(Stream *stream) {
  absl::MutexLock lock(&mutex_);
  streams_.push_back(stream);
}

void Device::removeStream(Stream *stream) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(std::remove(streams_.begin(), streams_.end(), stream), streams_.end());
}

absl::StatusOr<bool> Device::anyCapture(std::optional<cuda::StreamHandle> callers) {
  bool capturing = false;
  cuda::Result result = cuda::kSuccess;
  auto ask = [&](cuda::StreamHandle stream) {
    int status = cuda::kCaptureNone;
    result = driver().cuStreamIsCapturing(stream, &status);
    capturing = result == cuda::kCaptureImplicit || (result == cuda::kSuccess && status == cuda::kCaptureActive);
    if (capturing)
      result = cuda::kSuccess;
    return !capturing && result == cuda::kSuccess;
  };
  // The null stream is a stream of the current context.
  auto scope = ContextScope::enter(*this);
  if (!scope.ok())
    return scope.status();
  // The default stream answers for all streams that synchronise with it.
  if (ask(nullptr) && (!callers || !*callers || ask(*callers))) {
    // Under the lock, so that no stream is destroyed between being listed and being asked.
    absl::MutexLock lock(&mutex_);
    for (Stream *s : streams_)
      if (s->handle() && s->isKnownAlive() && !ask(s->handle())) // the owner of a borrowed one may have destroyed it
        break;
  }
  KERNELC_RETURN_IF_ERROR(check(result, "cuStreamIsCapturing"));
  return capturing;
}

absl::Status Device::checkNoCapture(absl::string_view what, std::optional<cuda::StreamHandle> callers) {
  absl::StatusOr<bool> capturing = anyCapture(callers);
  if (!capturing.ok())
    return capturing.status();
  if (!*capturing)
    return absl::OkStatus();
  return withKind(absl::FailedPreconditionError(absl::StrCat(what, " while a stream is capturing a graph would break the capture; call the "
                                                                   "kernel once (or warm it up) before the capture begins")),
                  RuntimeErrorKind::ColdInCapture);
}

void Device::unload(cuda::Library library) {
  if (!usable().ok())
    return;
  auto scope = ContextScope::enter(*this);
  if (!scope.ok())
    return;
  absl::StatusOr<bool> capturing = anyCapture();
  // Queued launches may still need the code.
  bool idle = capturing.ok() && !*capturing && check(driver().cuCtxSynchronize(), "cuCtxSynchronize").ok();
  absl::MutexLock lock(&mutex_);
  deferredUnloads_.push_back(library);
  if (!idle)
    return;
  for (cuda::Library l : deferredUnloads_)
    driver().cuLibraryUnload(l);
  deferredUnloads_.clear();
}

absl::StatusOr<cuda::DevicePtr> Device::spareBytes(int index) {
  absl::Status status;
  {
    absl::MutexLock lock(&mutex_);
    if (spare_)
      return spare_ + 256 * index;
  }
  auto scope = ContextScope::enter(*this);
  if (!scope.ok())
    return scope.status();
  KERNELC_RETURN_IF_ERROR(checkNoCapture("allocating device memory"));
  cuda::DevicePtr fresh = 0;
  KERNELC_RETURN_IF_ERROR(check(driver().cuMemAlloc(&fresh, 512), "cuMemAlloc"));
  status = check(driver().cuMemsetD8Async(fresh, 0, 512, nullptr), "cuMemsetD8Async");
  if (status.ok())
    status = check(driver().cuStreamSynchronize(nullptr), "cuStreamSynchronize");
  if (!status.ok()) {
    driver().cuMemFree(fresh);
    return status;
  }
  absl::MutexLock lock(&mutex_);
  if (spare_)
    driver().cuMemFree(fresh); // another thread was faster
  else
    spare_ = fresh;
  return spare_ + 256 * index;
}

absl::StatusOr<void *> Device::allocateShared(size_t bytes) {
  constexpr size_t kBlock = 65536;
  bytes = (bytes + 255) / 256 * 256;
  {
    absl::MutexLock lock(&mutex_);
    if (bytes <= sharedLeft_) {
      sharedLeft_ -= bytes;
      return std::exchange(shared_, shared_ + bytes);
    }
  }
  auto scope = ContextScope::enter(*this);
  if (!scope.ok())
    return scope.status();
  KERNELC_RETURN_IF_ERROR(checkNoCapture("allocating host memory"));
  void *fresh = nullptr;
  size_t size = std::max(bytes, kBlock);
  KERNELC_RETURN_IF_ERROR(check(driver().cuMemHostAlloc(&fresh, size, cuda::kHostPortable | cuda::kHostMapped), "cuMemHostAlloc"));
  absl::MutexLock lock(&mutex_);
  shared_ = static_cast<char *>(fresh) + bytes;
  sharedLeft_ = size - bytes;
  return fresh;
}

absl::StatusOr<ContextScope> ContextScope::enter(Device &device) {
  KERNELC_RETURN_IF_ERROR(device.usable());
  const cuda::CudaDriver &d = device.driver();
  cuda::Context current = nullptr;
  KERNELC_RETURN_IF_ERROR(device.check(d.cuCtxGetCurrent(&current), "cuCtxGetCurrent"));
  if (current == device.context())
    return ContextScope(nullptr);
  KERNELC_RETURN_IF_ERROR(device.check(d.cuCtxPushCurrent(device.context()), "cuCtxPushCurrent"));
  return ContextScope(&device);
}

ContextScope::~ContextScope() {
  cuda::Context popped = nullptr;
  if (device_)
    device_->driver().cuCtxPopCurrent(&popped);
}

} // namespace kernelc
