// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the two halves of a look-back agree on: the words that LookBackToTile.cpp makes room for, and LookBackToCu.cpp tells and asks.
#pragma once

#include <cstdint>

namespace kernelc {

/// Nodes of a level that make one of the next: about as many as a device has tiles under way.
inline constexpr int64_t kLookBackNode = 1024;

} // namespace kernelc
