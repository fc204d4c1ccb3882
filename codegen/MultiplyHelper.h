// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text of helpers that multiply on CUDA cores, one specialisation per shape: inline assembly names every register.
#pragma once

#include <optional>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace kernelc::codegen {

/// The text of "kc_multiply_f32<16, 8, 4, 128, 8, 2, 64, 1>": 16 rounds, each of 8 rows in vectors of 4, which lie 128 elements behind
/// those of the round before, by 8 columns in vectors of 2, 64 elements on, in order 1: the columns of every second row backwards; 2: loads
/// a round ahead; 3: both. Nothing for other names.
std::optional<std::string> multiplyHelperText(llvm::StringRef name);

} // namespace kernelc::codegen
