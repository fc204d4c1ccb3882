// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One call of a kernel with arguments in host memory, wherever it runs: on a GPU
// they are copied there and back.
#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "driver/jit/HostTensor.h"
#include "driver/jit/Session.h"

namespace kernelc {

/// Makes the record of a kernel's guards, if it is among `tensors`, say that nothing has happened; runOnHost does so by itself.
void clearRecord(const JitKernel &kernel, absl::Span<const HostTensor> tensors);

/// `tensors` follow Kernel::params (scalars of rank 0); outputs and inouts are
/// overwritten. Waits for the result. On a GPU `report->seconds` is the time of the
/// launches alone, by events.
absl::Status runOnHost(JitKernel &kernel, const Place &place, absl::Span<const HostTensor> tensors, absl::Span<const NamedSize> sizes = {},
                       CallReport *report = nullptr);

} // namespace kernelc
