// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/DeviceArguments.h"

namespace kernelc {

absl::StatusOr<std::unique_ptr<DeviceArguments>> DeviceArguments::create(const Kernel &kernel, const Place &place,
                                                                         absl::Span<const HostTensor> tensors) {
  absl::StatusOr<Device *> device = Runtime::deviceAt(place.ordinal);
  if (!device.ok())
    return device.status();
  std::unique_ptr<DeviceArguments> args(new DeviceArguments(**device));
  absl::StatusOr<std::unique_ptr<Stream>> stream = Stream::create(**device);
  if (!stream.ok())
    return stream.status();
  args->stream_ = *std::move(stream);
  for (size_t i = 0; i < tensors.size(); ++i) {
    bool isScalar = kernel.params[i].kind == ParamKind::Scalar;
    absl::StatusOr<Buffer> buffer = Buffer::allocate(**device, isScalar ? 0 : tensors[i].bytes());
    if (!buffer.ok())
      return buffer.status();
    if (isScalar) {
      args->values_.push_back(tensors[i].scalar());
    } else {
      constexpr uint8_t kGarbage = 0xcd;
      KERNELC_RETURN_IF_ERROR(kernel.params[i].kind == ParamKind::Output
                                  ? buffer->fill(kGarbage, *args->stream_)
                                  : buffer->copyFromHost(tensors[i].data(), tensors[i].bytes(), *args->stream_));
      DeviceTensor t = tensors[i].deviceTensor();
      t.data = buffer->data();
      t.device = place.ordinal;
      args->values_.push_back(std::move(t));
    }
    args->buffers_.push_back(*std::move(buffer));
  }
  return args;
}

absl::Status DeviceArguments::copyBack(const Kernel &kernel, absl::Span<const HostTensor> tensors) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (kernel.params[i].kind == ParamKind::Output || kernel.params[i].kind == ParamKind::InOut)
      KERNELC_RETURN_IF_ERROR(buffers_[i].copyToHost(tensors[i].data(), tensors[i].bytes(), *stream_));
  return absl::OkStatus();
}

} // namespace kernelc
