// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/StreamOrder.h"

#include "absl/strings/str_cat.h"
#include "runtime/Stream.h"

namespace kernelc {

absl::Status orderStreams(Device &device, cuda::StreamHandle later, cuda::StreamHandle earlier) {
  if (later == earlier)
    return absl::OkStatus();
  auto scope = ContextScope::enter(device);
  if (!scope.ok())
    return scope.status();
  // The driver keeps what an event recorded until those who wait for it are done, so it may go at once.
  absl::StatusOr<std::unique_ptr<Event>> event = Event::create(device, /*timing=*/false);
  if (!event.ok())
    return event.status();
  const cuda::CudaDriver &d = device.driver();
  KERNELC_RETURN_IF_ERROR(device.check(d.cuEventRecord((*event)->handle(), earlier), "cuEventRecord"));
  return device.check(d.cuStreamWaitEvent(later, (*event)->handle(), 0), "cuStreamWaitEvent");
}

absl::Status synchronizeStream(Device &device, cuda::StreamHandle stream) {
  auto scope = ContextScope::enter(device);
  if (!scope.ok())
    return scope.status();
  return device.check(device.driver().cuStreamSynchronize(stream), "cuStreamSynchronize");
}

/// Refuses memory of a context that is not the device's primary one, where kernels run: of libraries that make contexts of their own.
/// Memory of no context (of the driver's pools, or mapped) is everybody's.
static absl::Status checkContext(Runtime &runtime, int ordinal, cuda::DevicePtr address) {
  cuda::Context owner = nullptr;
  if (runtime.driver().cuPointerGetAttribute(&owner, cuda::kPointerContext, address) != cuda::kSuccess || !owner)
    return absl::OkStatus();
  absl::StatusOr<Device *> device = runtime.device(ordinal);
  if (!device.ok())
    return device.status();
  return owner == (*device)->context()
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   absl::StrCat("the memory belongs to a CUDA context that another library made, and kernels run in the primary context of "
                                "cuda:",
                                ordinal, "; let that library use the primary context, or copy the array"));
}

absl::StatusOr<int> findMemoryDevice(Runtime &runtime, const void *address) {
  int ordinal = 0;
  auto query = [&] {
    return runtime.driver().cuPointerGetAttribute(&ordinal, cuda::kPointerDeviceOrdinal, reinterpret_cast<cuda::DevicePtr>(address));
  };
  cuda::Result result = query();
  if (result == cuda::kInvalidContext) { // any will do
    absl::StatusOr<Device *> device = runtime.device(0);
    if (!device.ok())
      return device.status();
    auto scope = ContextScope::enter(**device);
    if (!scope.ok())
      return scope.status();
    result = query();
  }
  if (result == cuda::kInvalidValue)
    return absl::InvalidArgumentError("the address lies in no memory of a GPU that the driver knows of");
  if (absl::Status s = toStatus(runtime.driver(), result, "cuPointerGetAttribute"); !s.ok())
    return s;
  KERNELC_RETURN_IF_ERROR(checkContext(runtime, ordinal, reinterpret_cast<cuda::DevicePtr>(address)));
  return ordinal;
}

} // namespace kernelc
