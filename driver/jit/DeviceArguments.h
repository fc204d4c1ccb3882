// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host tensors copied to a GPU as the arguments of one call, with the stream they
// are copied on.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/jit/HostTensor.h"
#include "driver/jit/Place.h"
#include "runtime/Stream.h"
#include "support/Artifact.h"

namespace kernelc {

class DeviceArguments {
public:
  /// Inputs are copied; outputs are filled with bytes that are no result.
  static absl::StatusOr<std::unique_ptr<DeviceArguments>> create(const Kernel &kernel, const Place &place,
                                                                 absl::Span<const HostTensor> tensors);
  Device &device() const { return device_; }
  Stream &stream() const { return *stream_; }
  const std::vector<LaunchValue> &values() const { return values_; }
  /// Copies outputs and inouts back. Waits.
  absl::Status copyBack(const Kernel &kernel, absl::Span<const HostTensor> tensors);

private:
  explicit DeviceArguments(Device &device) : device_(device) {}
  Device &device_;
  std::unique_ptr<Stream> stream_;
  std::vector<Buffer> buffers_;
  std::vector<LaunchValue> values_;
};

} // namespace kernelc
