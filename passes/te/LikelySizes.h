// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace kernelc::te {

/// What is likely of each size (`like`, -1: nothing), and its bound where nothing is.
inline llvm::SmallVector<int64_t> likelySizes(llvm::ArrayRef<int64_t> max, llvm::ArrayRef<int64_t> like) {
  llvm::SmallVector<int64_t> likely(max);
  likely.resize(std::max(max.size(), like.size()), -1);
  for (auto [size, n] : llvm::zip(likely, like))
    if (n >= 0)
      size = n;
  return likely;
}

} // namespace kernelc::te
