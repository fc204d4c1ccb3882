#include "driver/HostRun.h"

#include "runtime/Stream.h"

namespace kernelc {
namespace {

absl::Status runOnCuda(JitKernel &kernel, const Place &place, absl::Span<const HostTensor> tensors,
                       absl::Span<const NamedSize> sizes, CallReport *report) {
  absl::StatusOr<Runtime *> runtime = Runtime::instance();
  if (!runtime.ok())
    return runtime.status();
  absl::StatusOr<Device *> found = (*runtime)->device(place.ordinal);
  if (!found.ok())
    return found.status();
  Device &device = **found;
  absl::StatusOr<std::unique_ptr<Stream>> stream = Stream::create(device);
  if (!stream.ok())
    return stream.status();
  const Kernel &signature = kernel.signature();
  std::vector<Buffer> buffers;
  std::vector<LaunchValue> values;
  for (size_t i = 0; i < tensors.size(); ++i) {
    absl::StatusOr<Buffer> buffer = Buffer::allocate(device, signature.params[i].kind == ParamKind::Scalar ? 0 : tensors[i].bytes());
    if (!buffer.ok())
      return buffer.status();
    if (signature.params[i].kind == ParamKind::Scalar) {
      values.push_back(tensors[i].scalar());
    } else {
      KERNELC_RETURN_IF_ERROR(signature.params[i].kind == ParamKind::Output
                                  ? buffer->fill(0xcd, **stream) // what memory held must not matter
                                  : buffer->copyFromHost(tensors[i].data(), tensors[i].bytes(), **stream));
      DeviceTensor t = tensors[i].deviceTensor();
      t.data = buffer->data();
      t.device = place.ordinal;
      values.push_back(std::move(t));
    }
    buffers.push_back(*std::move(buffer));
  }
  absl::StatusOr<BoundCall> bound = kernel.bind(place, values, sizes);
  if (!bound.ok())
    return bound.status();
  absl::StatusOr<std::unique_ptr<Event>> start = Event::create(device), end = Event::create(device);
  if (!start.ok() || !end.ok())
    return start.ok() ? end.status() : start.status();
  KERNELC_RETURN_IF_ERROR((*start)->record(**stream));
  KERNELC_RETURN_IF_ERROR(bound->launch((*stream)->handle()));
  KERNELC_RETURN_IF_ERROR((*end)->record(**stream));
  KERNELC_RETURN_IF_ERROR((*stream)->synchronize());
  if (report) {
    absl::StatusOr<float> ms = (*end)->millisecondsSince(**start);
    report->seconds = ms.ok() ? *ms / 1e3 : 0;
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    if (signature.params[i].kind == ParamKind::Output || signature.params[i].kind == ParamKind::InOut)
      KERNELC_RETURN_IF_ERROR(buffers[i].copyToHost(tensors[i].data(), tensors[i].bytes(), **stream));
  return absl::OkStatus();
}

} // namespace

absl::Status runOnHost(JitKernel &kernel, const Place &place, absl::Span<const HostTensor> tensors,
                       absl::Span<const NamedSize> sizes, CallReport *report) {
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
