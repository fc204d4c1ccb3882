// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Quotients as the language has them.
#pragma once

#include <cstdint>

namespace kernelc {

/// a / b, rounded to minus infinity; 0 where b is 0. The quotient of the least number by -1 wraps.
constexpr int64_t floorDivide(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return int64_t(0 - uint64_t(a));
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

} // namespace kernelc
