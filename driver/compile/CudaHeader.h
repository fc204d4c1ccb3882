// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiled kernel as one C header: its cubins and a typed launcher over the CUDA
// Driver API, for programs that link no kernelc.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "support/Artifact.h"

namespace kernelc {

/// `kernel` has one variant; `cubins` has its code, for each launch, as LoadedKernel::loadVariant takes it. The header needs <cuda.h> (12.0
/// or newer) and compiles as C11 and C++. Deterministic.
std::string emitCudaHeader(const Kernel &kernel, absl::Span<const absl::string_view> cubins);

} // namespace kernelc
