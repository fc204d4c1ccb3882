// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random programs, typed and in bounds by construction, from a seed. The same seed
// gives the same program.
#pragma once

#include <cstdint>

#include "test/emulator/fuzz/Program.h"

namespace kernelc::fuzz {

Program generateProgram(uint64_t seed);

} // namespace kernelc::fuzz
