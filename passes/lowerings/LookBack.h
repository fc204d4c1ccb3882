// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the two halves of a look-back agree on: the words that LookBackToTile.cpp makes room for, and LookBackToCu.cpp tells and asks.
#pragma once

#include <cstdint>

namespace kernelc {

/// Nodes of a level that make one of the next, for a state of so many words: about as many as a device has tiles under way. Words are asked
/// one after the other, so states of several have nodes that a warp asks for at once.
constexpr int64_t lookBackNode(int64_t words) { return words == 1 ? 1024 : 32; }

} // namespace kernelc
