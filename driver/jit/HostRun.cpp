// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/HostRun.h"

#include <algorithm>
#include <limits>

#include "driver/jit/DeviceArguments.h"

namespace kernelc {
namespace {

absl::Status runOnCuda(JitKernel &kernel, const Place &place, absl::Span<const HostTensor> tensors, absl::Span<const NamedSize> sizes,
                       CallReport *report) {
  const Kernel &signature = kernel.signature();
  absl::StatusOr<std::unique_ptr<DeviceArguments>> args = DeviceArguments::create(signature, place, tensors);
  if (!args.ok())
    return args.status();
  absl::StatusOr<BoundCall> bound = kernel.bind(place, (*args)->values(), sizes);
  if (!bound.ok())
    return bound.status();
  Stream &stream = (*args)->stream();
  absl::StatusOr<std::unique_ptr<Event>> start = Event::create((*args)->device()), end = Event::create((*args)->device());
  if (!start.ok() || !end.ok())
    return start.ok() ? end.status() : start.status();
  KERNELC_RETURN_IF_ERROR((*start)->record(stream));
  KERNELC_RETURN_IF_ERROR(bound->launch(stream.handle()));
  KERNELC_RETURN_IF_ERROR((*end)->record(stream));
  KERNELC_RETURN_IF_ERROR(stream.synchronize());
  if (report) {
    absl::StatusOr<float> ms = (*end)->millisecondsSince(**start);
    report->seconds = ms.ok() ? *ms / 1e3 : 0;
  }
  KERNELC_RETURN_IF_ERROR((*args)->copyBack(signature, tensors));
  int record = kernel.recordParam();
  return record < 0 ? absl::OkStatus() : kernel.checkRecord(tensors[record].as<int64_t>(), bound->args().sizes);
}

} // namespace

void clearRecord(const JitKernel &kernel, absl::Span<const HostTensor> tensors) {
  if (int record = kernel.recordParam(); record >= 0)
    std::fill_n(tensors[record].as<int64_t>(), tensors[record].numElements(), std::numeric_limits<int64_t>::max());
}

absl::Status runOnHost(JitKernel &kernel, const Place &place, absl::Span<const HostTensor> tensors, absl::Span<const NamedSize> sizes,
                       CallReport *report) {
  clearRecord(kernel, tensors);
  if (place.kind == Place::Cuda)
    return runOnCuda(kernel, place, tensors, sizes, report);
  std::vector<LaunchValue> values;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (kernel.signature().params[i].kind == ParamKind::Scalar)
      values.push_back(tensors[i].scalar());
    else
      values.push_back(tensors[i].deviceTensor());
  return kernel.call(place, values, sizes, nullptr, report);
}

} // namespace kernelc
