// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libcuda, opened at run time: one function pointer per row of KERNELC_CUDA_API.
// Loading needs no GPU and no toolkit; a missing library, driver or function is a
// Status that says what was looked for. This file calls cuInit and nothing else.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/CudaApi.h"

namespace kernelc::cuda {

class CudaDriver {
public:
  /// Opens the library: `path` if given, else $KERNELC_LIBCUDA, else libcuda.so.1;
  /// resolves every function and calls cuInit. Unavailable when there is no
  /// library or no device; FailedPrecondition when the driver is too old.
  /// The library is never closed: drivers do not survive that.
  static absl::StatusOr<std::unique_ptr<CudaDriver>> load(std::string path = "");

  /// 13000 for CUDA 13.0.
  int version() const { return version_; }
  const std::string &path() const { return path_; }

  /// "CUDA_ERROR_ILLEGAL_ADDRESS"; never null, never fails.
  const char *errorName(Result error) const;
  /// The driver's sentence about it.
  const char *errorText(Result error) const;

#define KERNELC_CUDA_MEMBER(name, version, required, params) Result(*name) params = nullptr;
  KERNELC_CUDA_API(KERNELC_CUDA_MEMBER)
#undef KERNELC_CUDA_MEMBER

private:
  CudaDriver() = default;
  std::string path_;
  int version_ = 0;
};

/// "13.0" from 13000.
std::string cudaVersionString(int version);

} // namespace kernelc::cuda
