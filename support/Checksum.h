// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A checksum against damage: bits that flipped, bytes that are missing or too many. Fast,
// the same on every machine; no protection against intent, which is StableHash.h's matter.
#pragma once

#include <array>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace kernelc {

using Checksum = std::array<uint8_t, 16>;

/// Words of eight bytes go to four sums in turn, by steps that lose nothing, so that damage
/// of one word always shows.
Checksum checksumOf(absl::string_view bytes);

} // namespace kernelc
