// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of which blocks of one launch have the tiles (cu-join): what the plan says of them, and what the driver asks.
#pragma once

#include <cstdint>

namespace kernelc::cu {

/// What `beside` of a launch and its kernel counts by: its tiles are those of blocks of the one before it, so many of kBesideParts where
/// there are fewer blocks than tiles. (ir/tile/Schedule.td says the most, one less.)
inline constexpr int64_t kBesideParts = 1024;

} // namespace kernelc::cu
