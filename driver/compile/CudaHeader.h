// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiled kernel as one C header: the cubin and a typed launcher over the CUDA
// Driver API, for programs that link no kernelc.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "support/Artifact.h"

namespace kernelc {

/// `kernel` has one variant, `cubin` is its code. The header needs <cuda.h> (12.0 or
/// newer) and compiles as C11 and C++. Deterministic.
std::string emitCudaHeader(const Kernel &kernel, absl::string_view cubin);

} // namespace kernelc
