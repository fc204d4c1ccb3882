// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts what a piece of code asks of the heap. Linking CountAllocations.cpp replaces
// operator new of the whole test binary; what FakeCuda allocates to keep its books is not
// counted, since a driver would not.
#pragma once

#include <cstdint>
#include <functional>

namespace kernelc {

/// Calls of operator new on this thread while `body` runs.
int64_t countAllocations(const std::function<void()> &body);

} // namespace kernelc
