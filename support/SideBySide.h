// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work that waits more than it computes (for other processes, for files), many at once,
// while the thread that wants it can still be interrupted. Computing is ThreadPool's.
#pragma once

#include <atomic>
#include <cstddef>

#include "absl/functional/function_ref.h"

namespace kernelc {

/// Calls fn(i) for all i below `count`, on as many threads as there are processors. The caller's thread asks meanwhile
/// whether to go on (Interrupt.h); `stop` then keeps what has not begun from beginning. `fn` must not throw.
void sideBySide(size_t count, std::atomic<bool> &stop, absl::FunctionRef<void(size_t)> fn);

} // namespace kernelc
