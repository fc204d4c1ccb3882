// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of which blocks of one launch have the tiles (cu-join): what the plan says of them, and what the driver asks.
#pragma once

#include <cstdint>

#include "llvm/ADT/StringRef.h"

namespace kernelc::cu {

/// On a kernel: its tiles are those of blocks of the kernel before it, so many of kBesideParts where there are fewer blocks than tiles.
inline constexpr llvm::StringLiteral kBesideAttr = "beside";
inline constexpr int64_t kBesideParts = 1024;
/// On a kernel of several: how many, each of which has a block at least.
inline constexpr llvm::StringLiteral kRecordsAttr = "records";

} // namespace kernelc::cu
