// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TMA tensor maps: from the artifact's description and solved sizes to the 128
// opaque bytes that the driver encodes.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/Device.h"
#include "runtime/LaunchCheck.h"

namespace kernelc {

/// A tensor map with every number known but the workspace's address.
struct TensorMapPlan {
  int param = -1; ///< whose address `base` starts from, `offset` bytes behind it; -1: none
  int64_t offset = 0;
  bool inWorkspace = false; ///< `base` is an offset into the workspace
  cuda::DevicePtr base = 0;
  cuda::TensorMapType type = cuda::kMapU8;
  uint32_t rank = 0;
  uint64_t dims[5] = {};    ///< innermost first
  uint64_t strides[4] = {}; ///< bytes
  uint32_t box[5] = {};
  uint32_t elementStrides[5] = {};
  cuda::TensorMapSwizzle swizzle = cuda::kSwizzleNone;
};

/// Evaluates `arg` and checks what the hardware demands (16-byte base and strides,
/// extents up to 2^31). A window without elements becomes one over spare bytes of
/// the device, so that reads give zero. `kernel` must satisfy checkKernel().
absl::StatusOr<TensorMapPlan> planTensorMap(const Kernel &kernel, const TensorMapArg &arg, const CheckedArgs &args, Device &device);

/// Encodes for this base address: pure host arithmetic, no allocation.
cuda::Result encodeTensorMap(const cuda::CudaDriver &driver, const TensorMapPlan &plan, cuda::DevicePtr workspace, cuda::TensorMap *map);

} // namespace kernelc
