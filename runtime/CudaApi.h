// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The part of the CUDA Driver API's binary interface that kernelc calls: types,
// constants and the table of functions. These are facts of libcuda's ABI, written
// down so that kernelc builds where no toolkit is installed;
// test/runtime/CudaApiTest.cpp compares them with cuda.h where there is one.
// This header declares and must not call or load anything: CudaDriver.h does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kernelc::cuda {

using Result = int;
using DeviceId = int;
using DevicePtr = unsigned long long;
using Context = struct ContextObject *;
using StreamHandle = struct StreamObject *;
using EventHandle = struct EventObject *;
using Library = struct LibraryObject *;
using KernelHandle = struct KernelObject *;
using Function = struct FunctionObject *;
using Graph = struct GraphObject *;
using GraphExec = struct GraphExecObject *;

inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kDeinitialized = 4;
inline constexpr Result kStubLibrary = 34;
inline constexpr Result kNoDevice = 100;
inline constexpr Result kInvalidImage = 200;
inline constexpr Result kInvalidContext = 201;
inline constexpr Result kNoBinaryForGpu = 209;
inline constexpr Result kInvalidPtx = 218;
inline constexpr Result kNotReady = 600;
/// The default stream cannot be used, since a stream that synchronises with it captures.
inline constexpr Result kCaptureImplicit = 906;

/// Flags of cuMemHostAlloc.
inline constexpr unsigned kHostPortable = 1, kHostMapped = 2;

enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kClockRate = 13, // kHz
  kMultiprocessorCount = 16,
  kMemoryClockRate = 36, // kHz
  kMemoryBusWidth = 37,  // bits
  kL2CacheSize = 38,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedPerBlockOptin = 97,
  kClusterLaunch = 120,
};

enum FunctionAttribute : int {
  kFuncMaxThreadsPerBlock = 0,
  kFuncSharedBytes = 1,
  kFuncLocalBytes = 3,
  kFuncNumRegs = 4,
  kFuncMaxDynamicSharedBytes = 8,
  kFuncNonPortableClusterAllowed = 14,
};

/// Handles that stand for streams which need none made: the default stream, which a null handle is too, and the
/// calling thread's own.
inline const StreamHandle kStreamLegacy = reinterpret_cast<StreamHandle>(uintptr_t(1));
inline const StreamHandle kStreamPerThread = reinterpret_cast<StreamHandle>(uintptr_t(2));

enum PointerAttribute : int { kPointerContext = 1, kPointerDeviceOrdinal = 9 };
enum StreamFlags : unsigned { kStreamNonBlocking = 1 };
enum EventFlags : unsigned { kEventDefault = 0, kEventDisableTiming = 2 };
enum CaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };
enum CaptureMode : int { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };

enum LaunchAttributeId : int { kAttrClusterDimension = 4, kAttrProgrammaticSerialization = 6 };

struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } clusterDim;
    int flag;
  };
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  StreamHandle stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32);

struct alignas(128) TensorMap {
  uint64_t opaque[16];
};
static_assert(sizeof(TensorMap) == 128);

enum TensorMapType : int {
  kMapU8 = 0,
  kMapU16,
  kMapU32,
  kMapI32,
  kMapU64,
  kMapI64,
  kMapF16,
  kMapF32,
  kMapF64,
  kMapBF16,
  kMapF32Ftz,
  kMapTF32,
};
enum TensorMapSwizzle : int { kSwizzleNone = 0, kSwizzle32B, kSwizzle64B, kSwizzle128B };
enum TensorMapL2 : int { kL2None = 0, kL2Promote64B, kL2Promote128B, kL2Promote256B };

/// cuGetProcAddress itself, exported by libcuda under its version-2 name.
using GetProcAddressFn = Result (*)(const char *symbol, void **fn, int cudaVersion, uint64_t flags, int *status);

} // namespace kernelc::cuda

/// Every driver function in use: X(name, CUDA version whose signature is meant,
/// required?, parameters). All return a Result. The version is handed to
/// cuGetProcAddress, so that a later revision of a name cannot slip in.
#define KERNELC_CUDA_API(X)                                                                                                                \
  X(cuInit, 2000, true, (unsigned flags))                                                                                                  \
  X(cuDriverGetVersion, 2020, true, (int *version))                                                                                        \
  X(cuGetErrorName, 6000, true, (Result error, const char **name))                                                                         \
  X(cuGetErrorString, 6000, true, (Result error, const char **text))                                                                       \
  X(cuDeviceGetCount, 2000, true, (int *count))                                                                                            \
  X(cuDeviceGet, 2000, true, (DeviceId * device, int ordinal))                                                                             \
  X(cuDeviceGetName, 2000, true, (char *name, int size, DeviceId device))                                                                  \
  X(cuDeviceGetAttribute, 2000, true, (int *value, int attribute, DeviceId device))                                                        \
  X(cuDeviceTotalMem, 3020, true, (size_t *bytes, DeviceId device))                                                                        \
  X(cuDevicePrimaryCtxRetain, 7000, true, (Context * context, DeviceId device))                                                            \
  X(cuDevicePrimaryCtxRelease, 11000, true, (DeviceId device))                                                                             \
  X(cuCtxGetCurrent, 4000, true, (Context * context))                                                                                      \
  X(cuCtxPushCurrent, 4000, true, (Context context))                                                                                       \
  X(cuCtxPopCurrent, 4000, true, (Context * context))                                                                                      \
  X(cuCtxSynchronize, 2000, true, ())                                                                                                      \
  X(cuMemGetInfo, 3020, true, (size_t *free, size_t *total))                                                                               \
  X(cuMemAlloc, 3020, true, (DevicePtr * ptr, size_t bytes))                                                                               \
  X(cuMemFree, 3020, true, (DevicePtr ptr))                                                                                                \
  X(cuMemHostAlloc, 2020, true, (void **ptr, size_t bytes, unsigned flags))                                                                \
  X(cuMemcpyHtoDAsync, 3020, true, (DevicePtr dst, const void *src, size_t bytes, StreamHandle stream))                                    \
  X(cuMemcpyDtoHAsync, 3020, true, (void *dst, DevicePtr src, size_t bytes, StreamHandle stream))                                          \
  X(cuMemcpyDtoDAsync, 3020, true, (DevicePtr dst, DevicePtr src, size_t bytes, StreamHandle stream))                                      \
  X(cuMemsetD8Async, 3020, true, (DevicePtr dst, unsigned char value, size_t bytes, StreamHandle stream))                                  \
  X(cuPointerGetAttribute, 4000, true, (void *value, int attribute, DevicePtr ptr))                                                        \
  X(cuStreamCreate, 2000, true, (StreamHandle * stream, unsigned flags))                                                                   \
  X(cuStreamDestroy, 4000, true, (StreamHandle stream))                                                                                    \
  X(cuStreamSynchronize, 2000, true, (StreamHandle stream))                                                                                \
  X(cuStreamQuery, 2000, true, (StreamHandle stream))                                                                                      \
  X(cuStreamWaitEvent, 3020, true, (StreamHandle stream, EventHandle event, unsigned flags))                                               \
  X(cuStreamIsCapturing, 10000, true, (StreamHandle stream, int *status))                                                                  \
  X(cuStreamBeginCapture, 10010, true, (StreamHandle stream, int mode))                                                                    \
  X(cuStreamEndCapture, 10000, true, (StreamHandle stream, Graph * graph))                                                                 \
  X(cuGraphInstantiateWithFlags, 11040, true, (GraphExec * exec, Graph graph, uint64_t flags))                                             \
  X(cuGraphLaunch, 10000, true, (GraphExec exec, StreamHandle stream))                                                                     \
  X(cuGraphDestroy, 10000, true, (Graph graph))                                                                                            \
  X(cuGraphExecDestroy, 10000, true, (GraphExec exec))                                                                                     \
  X(cuEventCreate, 2000, true, (EventHandle * event, unsigned flags))                                                                      \
  X(cuEventDestroy, 4000, true, (EventHandle event))                                                                                       \
  X(cuEventRecord, 2000, true, (EventHandle event, StreamHandle stream))                                                                   \
  X(cuEventSynchronize, 2000, true, (EventHandle event))                                                                                   \
  X(cuEventQuery, 2000, true, (EventHandle event))                                                                                         \
  X(cuEventElapsedTime, 2000, true, (float *milliseconds, EventHandle start, EventHandle end))                                             \
  X(cuLibraryLoadData, 12000, true,                                                                                                        \
    (Library * library, const void *code, int *jitOptions, void **jitValues, unsigned numJit, int *libraryOptions, void **libraryValues,   \
     unsigned numLibrary))                                                                                                                 \
  X(cuLibraryUnload, 12000, true, (Library library))                                                                                       \
  X(cuLibraryGetKernel, 12000, true, (KernelHandle * kernel, Library library, const char *name))                                           \
  X(cuKernelGetFunction, 12000, true, (Function * function, KernelHandle kernel))                                                          \
  X(cuFuncSetAttribute, 9000, true, (Function function, int attribute, int value))                                                         \
  X(cuFuncGetAttribute, 2020, true, (int *value, int attribute, Function function))                                                        \
  X(cuFuncLoad, 12040, false, (Function function))                                                                                         \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, true, (int *blocks, Function function, int blockSize, size_t sharedBytes))          \
  X(cuLaunchKernelEx, 11060, true, (const LaunchConfig *config, Function function, void **params, void **extra))                           \
  X(cuTensorMapEncodeTiled, 12000, true,                                                                                                   \
    (TensorMap * map, int type, uint32_t rank, void *base, const uint64_t *dims, const uint64_t *strides, const uint32_t *box,             \
     const uint32_t *elementStrides, int interleave, int swizzle, int l2Promotion, int oobFill))
