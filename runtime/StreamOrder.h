// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Order between streams that are somebody else's, for callers who are given arrays by frameworks
// with streams of their own. Thread-safe.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/Device.h"

namespace kernelc {

/// What is queued on `later` from now on starts after all that is queued on `earlier` so far. The host does
/// not wait. Nothing is done where both are the same stream.
absl::Status orderStreams(Device &device, cuda::StreamHandle later, cuda::StreamHandle earlier);

/// Waits until all that is queued on `stream` so far has finished.
absl::Status synchronizeStream(Device &device, cuda::StreamHandle stream);

/// The ordinal of the device whose memory `address` lies in. InvalidArgument where the driver knows
/// no such memory.
absl::StatusOr<int> findMemoryDevice(Runtime &runtime, const void *address);

} // namespace kernelc
