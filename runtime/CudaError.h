// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Failures of the runtime as absl::Status: the driver's error names in the text,
// and a kind, carried as a payload, for callers that react to some of them.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/CudaDriver.h"

namespace kernelc {

enum class RuntimeErrorKind {
  DeviceLost,    ///< a sticky fault: the process cannot use this device any more
  ForkedContext, ///< this process is a fork of the one that opened the driver
  ColdInCapture, ///< loading or allocating is needed, but a stream is capturing
  NoVariant,     ///< no variant of the kernel takes these arguments
  NotLoaded,     ///< the variant that takes them has no cubin yet
  InvalidImage,  ///< the driver refused the cubin: drop it from the cache, recompile
};

/// "DeviceLost", ...
absl::string_view toString(RuntimeErrorKind kind);
/// `status` with the kind attached.
absl::Status withKind(absl::Status status, RuntimeErrorKind kind);
/// The kind attached to `status`, if any.
std::optional<RuntimeErrorKind> findErrorKind(const absl::Status &status);

/// True for errors after which CUDA calls of this process fail for ever
/// ("must be terminated and relaunched" in the driver's documentation).
bool isSticky(cuda::Result error);

/// "<call>: CUDA_ERROR_X (text)" with a fitting code; OkStatus for success.
/// Does not latch anything: Device::check() does.
absl::Status toStatus(const cuda::CudaDriver &driver, cuda::Result error, absl::string_view call);

} // namespace kernelc

/// Hands a failure to the caller; `expr` is an absl::Status.
#define KERNELC_RETURN_IF_ERROR(expr)                                                                                                      \
  do {                                                                                                                                     \
    if (absl::Status kernelcStatus = (expr); !kernelcStatus.ok())                                                                          \
      return kernelcStatus;                                                                                                                \
  } while (false)
