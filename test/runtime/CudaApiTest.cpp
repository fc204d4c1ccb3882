// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ABI facts in CudaApi.h against cuda.h. Most checks are at compile time.
#include <cuda.h>

#include "runtime/CudaApi.h"

#include <type_traits>

#include <gtest/gtest.h>

namespace k = kernelc::cuda;

#define SAME(ours, theirs) static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs))
SAME(k::kInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME(k::kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(k::kDeinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(k::kStubLibrary, CUDA_ERROR_STUB_LIBRARY);
SAME(k::kNoDevice, CUDA_ERROR_NO_DEVICE);
SAME(k::kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(k::kInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(k::kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(k::kInvalidPtx, CUDA_ERROR_INVALID_PTX);
SAME(k::kNotReady, CUDA_ERROR_NOT_READY);
SAME(k::kCaptureImplicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
SAME(k::kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(k::kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(k::kClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(k::kMemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(k::kMemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(k::kL2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(k::kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(k::kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(k::kMaxSharedPerBlockOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(k::kClusterLaunch, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH);
SAME(k::kFuncMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(k::kFuncSharedBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(k::kFuncLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(k::kFuncNumRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(k::kFuncMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(k::kFuncNonPortableClusterAllowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
SAME(k::kPointerContext, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME(k::kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(k::kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(k::kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(k::kCaptureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(k::kCaptureInvalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME(k::kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(k::kAttrClusterDimension, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
SAME(k::kMapTF32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
SAME(k::kAttrProgrammaticSerialization, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
SAME(sizeof(k::LaunchAttribute), sizeof(CUlaunchAttribute));
SAME(offsetof(k::LaunchAttribute, clusterDim), offsetof(CUlaunchAttribute, value));
SAME(sizeof(k::LaunchConfig), sizeof(CUlaunchConfig));
SAME(offsetof(k::LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
SAME(offsetof(k::LaunchConfig, sharedBytes), offsetof(CUlaunchConfig, sharedMemBytes));
SAME(offsetof(k::LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
SAME(offsetof(k::LaunchConfig, numAttributes), offsetof(CUlaunchConfig, numAttrs));
SAME(sizeof(k::TensorMap), sizeof(CUtensorMap));
SAME(alignof(k::TensorMap), alignof(CUtensorMap));
SAME(k::kMapU8, CU_TENSOR_MAP_DATA_TYPE_UINT8);
SAME(k::kMapU16, CU_TENSOR_MAP_DATA_TYPE_UINT16);
SAME(k::kMapU32, CU_TENSOR_MAP_DATA_TYPE_UINT32);
SAME(k::kMapI32, CU_TENSOR_MAP_DATA_TYPE_INT32);
SAME(k::kMapU64, CU_TENSOR_MAP_DATA_TYPE_UINT64);
SAME(k::kMapI64, CU_TENSOR_MAP_DATA_TYPE_INT64);
SAME(k::kMapF16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
SAME(k::kMapF32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
SAME(k::kMapF64, CU_TENSOR_MAP_DATA_TYPE_FLOAT64);
SAME(k::kMapBF16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
SAME(k::kSwizzle32B, CU_TENSOR_MAP_SWIZZLE_32B);
SAME(k::kSwizzle64B, CU_TENSOR_MAP_SWIZZLE_64B);
SAME(k::kSwizzle128B, CU_TENSOR_MAP_SWIZZLE_128B);
SAME(k::kL2Promote256B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);

namespace {

/// Reduces a type to what the calling convention sees: pointers are alike, enums
/// are their integers.
template <typename T> using Abi = std::conditional_t<std::is_pointer_v<T>, void *, std::conditional_t<std::is_enum_v<T>, int, T>>;
template <typename T> struct AbiFn;
template <typename R, typename... P> struct AbiFn<R(P...)> {
  static constexpr size_t sizes[] = {sizeof(Abi<R>), sizeof(Abi<P>)...};
  static constexpr bool pointers[] = {std::is_pointer_v<R>, std::is_pointer_v<P>...};
  static constexpr size_t count = sizeof...(P);
};
template <typename A, typename B> constexpr bool sameAbi() {
  if (AbiFn<A>::count != AbiFn<B>::count)
    return false;
  for (size_t i = 0; i <= AbiFn<A>::count; ++i)
    if (AbiFn<A>::sizes[i] != AbiFn<B>::sizes[i] || AbiFn<A>::pointers[i] != AbiFn<B>::pointers[i])
      return false;
  return true;
}

} // namespace

namespace kernelc::cuda {
#define DECLARE(name, version, required, params) using Fn_##name = Result params;
KERNELC_CUDA_API(DECLARE)
#undef DECLARE
} // namespace kernelc::cuda

// cuda.h's own macros map each name to the version it declares.
#define CHECK_ABI(name) static_assert(sameAbi<k::Fn_##name, decltype(::name)>(), #name);
CHECK_ABI(cuInit)
CHECK_ABI(cuDriverGetVersion)
CHECK_ABI(cuGetErrorName)
CHECK_ABI(cuGetErrorString)
CHECK_ABI(cuDeviceGetCount)
CHECK_ABI(cuDeviceGet)
CHECK_ABI(cuDeviceGetName)
CHECK_ABI(cuDeviceGetAttribute)
CHECK_ABI(cuDeviceTotalMem)
CHECK_ABI(cuDevicePrimaryCtxRetain)
CHECK_ABI(cuDevicePrimaryCtxRelease)
CHECK_ABI(cuCtxGetCurrent)
CHECK_ABI(cuCtxPushCurrent)
CHECK_ABI(cuCtxPopCurrent)
CHECK_ABI(cuCtxSynchronize)
CHECK_ABI(cuMemGetInfo)
CHECK_ABI(cuMemAlloc)
CHECK_ABI(cuMemFree)
CHECK_ABI(cuMemcpyHtoDAsync)
CHECK_ABI(cuMemcpyDtoHAsync)
CHECK_ABI(cuMemcpyDtoDAsync)
CHECK_ABI(cuMemsetD8Async)
CHECK_ABI(cuPointerGetAttribute)
CHECK_ABI(cuStreamCreate)
CHECK_ABI(cuStreamDestroy)
CHECK_ABI(cuStreamSynchronize)
CHECK_ABI(cuStreamQuery)
CHECK_ABI(cuStreamWaitEvent)
CHECK_ABI(cuStreamIsCapturing)
CHECK_ABI(cuStreamBeginCapture)
CHECK_ABI(cuStreamEndCapture)
CHECK_ABI(cuGraphInstantiateWithFlags)
CHECK_ABI(cuGraphLaunch)
CHECK_ABI(cuGraphDestroy)
CHECK_ABI(cuGraphExecDestroy)
CHECK_ABI(cuEventCreate)
CHECK_ABI(cuEventDestroy)
CHECK_ABI(cuEventRecord)
CHECK_ABI(cuEventSynchronize)
CHECK_ABI(cuEventQuery)
CHECK_ABI(cuEventElapsedTime)
CHECK_ABI(cuLibraryLoadData)
CHECK_ABI(cuLibraryUnload)
CHECK_ABI(cuLibraryGetKernel)
CHECK_ABI(cuKernelGetFunction)
CHECK_ABI(cuFuncSetAttribute)
CHECK_ABI(cuFuncGetAttribute)
CHECK_ABI(cuFuncLoad)
CHECK_ABI(cuOccupancyMaxActiveBlocksPerMultiprocessor)
CHECK_ABI(cuLaunchKernelEx)
CHECK_ABI(cuTensorMapEncodeTiled)
namespace {
TEST(CudaApi, HandlesThatStandForStreams) {
  EXPECT_EQ(reinterpret_cast<CUstream>(k::kStreamLegacy), CU_STREAM_LEGACY);
  EXPECT_EQ(reinterpret_cast<CUstream>(k::kStreamPerThread), CU_STREAM_PER_THREAD);
}

TEST(CudaApi, TableMatchesTheHeader) {
  int rows = 0;
#define ROW(name, version, required, params)                                                                                               \
  EXPECT_GE(version, 2000) << #name;                                                                                                       \
  EXPECT_LE(version, 13000) << #name;                                                                                                      \
  ++rows;
  KERNELC_CUDA_API(ROW)
  EXPECT_GT(rows, 40);
}
} // namespace
