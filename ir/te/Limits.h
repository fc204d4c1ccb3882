// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a pass has made the code of a kernel depend on: counts that sizes may not reach. A variant's guard asks.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

struct Limit {
  mlir::AffineExpr count; ///< over the kernel's sizes
  int64_t below = 0;
  std::string what; ///< "points that 'y' sorts"
};

void addLimit(KernelOp kernel, const Limit &limit);
llvm::SmallVector<Limit> getLimits(KernelOp kernel);

} // namespace kernelc::te
