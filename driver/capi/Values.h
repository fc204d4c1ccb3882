// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments of kernelc.h as the JIT takes them. Internal to driver/capi.
#pragma once

#include <optional>
#include <vector>

#include "driver/capi/Handles.h"
#include "runtime/Rebinding.h"

namespace kernelc::capi {

std::optional<ElementType> elementTypeOf(kc_dtype dtype);
kc_dtype dtypeOf(ElementType type);

/// A tensor for a call on `device`; refused by the parameter's name where it does not lie there.
absl::StatusOr<DeviceTensor> tensorOf(const Param &param, const kc_tensor &tensor, kc_device device);
/// What takes the place of a bound argument, from which a tensor must differ in its address alone.
absl::StatusOr<NewArgument> newArgumentOf(const Param &param, const LaunchValue &bound, const kc_value &value, const Place &place);

/// A caller's handle; the default stream has one spelling from here on.
cuda::StreamHandle streamOf(void *stream);
absl::StatusOr<Device *> gpuOf(kc_device device);

/// A call's arguments, translated.
struct CallArgs {
  Place place;
  std::vector<LaunchValue> values;
  std::vector<NamedSize> sizes;
};
absl::StatusOr<CallArgs> argsOf(kc_kernel *kernel, kc_device device, const kc_value *values, size_t numValues, const kc_named *sizes,
                                size_t numSizes);

} // namespace kernelc::capi
