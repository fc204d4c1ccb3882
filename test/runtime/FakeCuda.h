// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A libcuda without a GPU: the functions of KERNELC_CUDA_API over host memory, with
// a log of launches, failure injection at any call, and leak accounting. It keeps
// the rules that code gets wrong: contexts must be current, captures forbid
// loading and allocating, sticky errors stay. Reached through cuGetProcAddress_v2
// like the real one (KERNELC_LIBCUDA names the file); tests also link it for this
// control interface. It models no timing and runs no device code: a test may
// register a host function per entry.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/CudaApi.h"

#define KERNELC_FAKE_API __attribute__((visibility("default")))

namespace kernelc::fakecuda {

/// A launch as the driver saw it.
struct Launched {
  std::string entry;
  unsigned grid = 0, block = 0, shared = 0, cluster = 1;
  bool dependent = false;
  cuda::StreamHandle stream = nullptr;
  std::vector<std::vector<uint8_t>> args;

  template <typename T> T arg(size_t i) const {
    T v;
    __builtin_memcpy(&v, args[i].data(), sizeof(T));
    return v;
  }
};

/// What FakeCuda's cuTensorMapEncodeTiled writes into the 128 bytes.
struct EncodedMap {
  uint64_t magic;
  uint64_t base;
  uint32_t type, rank;
  uint64_t dims0, dims1;
  uint64_t stride0;
  uint32_t box0, box1;
  uint32_t swizzle;
};
static_assert(sizeof(EncodedMap) <= 128);
inline constexpr uint64_t kMapMagic = 0x4b434d4150;

/// Forgets everything: objects, counters, failures. No kernelc object may be alive.
KERNELC_FAKE_API void reset();
KERNELC_FAKE_API void setDeviceCount(int count);
/// cuGetProcAddress does not find this function.
KERNELC_FAKE_API void hideFunction(const std::string &name);
/// The n-th call from now (0 = next) fails with `error` and does nothing. Sticky
/// errors then answer every later call.
KERNELC_FAKE_API void failCall(int64_t n, cuda::Result error);
/// The next launch succeeds; the first call that waits after it gives `error`.
KERNELC_FAKE_API void faultNextLaunch(cuda::Result error);
/// Calls since reset(), error texts not counted.
KERNELC_FAKE_API int64_t callCount();
/// Calls of one function since reset().
KERNELC_FAKE_API int64_t callCount(const std::string &name);
/// Whether this thread is inside one of the driver's functions.
KERNELC_FAKE_API bool insideDriver();
/// True once the failure armed by failCall() was delivered.
KERNELC_FAKE_API bool failureDelivered();
KERNELC_FAKE_API std::vector<Launched> launches();
/// What was ordered, in turn, one a line: "launch ENTRY on STREAM", "wait STREAM for STREAM" (an event that was recorded on the
/// second), "synchronize STREAM". Streams are handles as numbers: 0 is the default stream, 2 the calling thread's.
KERNELC_FAKE_API std::string streamLog();
KERNELC_FAKE_API void clearStreamLog();
/// Real cubins load too: every entry that is asked for is there, takes whatever arguments, and does nothing.
KERNELC_FAKE_API void acceptRealCubins();
/// Runs at every launch of `entry` (and at graph replay).
KERNELC_FAKE_API void onLaunch(const std::string &entry, std::function<void(const Launched &)> body);
/// Lets time pass on the device, as the body of a launch may. Where none does, events are half a millisecond apart.
KERNELC_FAKE_API void passTime(float milliseconds);
/// Allocations, streams, events, libraries, graphs and retained contexts alive.
KERNELC_FAKE_API int64_t liveObjects();
/// Wrong uses so far: no current context, double free, unknown handle, ...
KERNELC_FAKE_API std::vector<std::string> misuses();
/// Makes a context current that is not kernelc's, as another library would.
KERNELC_FAKE_API void pushForeignContext();
KERNELC_FAKE_API cuda::Context currentContext();
KERNELC_FAKE_API int attribute(const std::string &entry, int attribute);

/// A cubin for the fake: entries with parameter sizes in bytes.
struct FakeEntry {
  std::string name;
  std::vector<int> paramBytes;
  int maxThreads = 1024;
  int staticShared = 0;
};
KERNELC_FAKE_API std::string makeCubin(const std::vector<FakeEntry> &entries);

} // namespace kernelc::fakecuda

/// The same for tests in other languages. `fakecuda_stream_log` is valid until its next call.
extern "C" {
KERNELC_FAKE_API const char *fakecuda_stream_log();
KERNELC_FAKE_API void fakecuda_clear_stream_log();
KERNELC_FAKE_API void fakecuda_accept_real_cubins();
/// A new stream, and device memory (which is the host's), of device `ordinal`; reset() takes them away.
KERNELC_FAKE_API void *fakecuda_new_stream(int ordinal);
KERNELC_FAKE_API void *fakecuda_new_memory(int ordinal, unsigned long long bytes);
/// Such memory belongs to a context that another library made.
KERNELC_FAKE_API void fakecuda_make_foreign(void *memory);
}
