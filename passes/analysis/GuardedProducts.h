// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of which the program asks for some results only.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Restricts the domain of each product in `kernel` to the results that its readers use: where they are outputs and
/// read it under a condition that is affine in their indices (`c[i, j] = s[i, j] if j <= i else 0`), results for which
/// that does not hold are zero instead. Tiles of such results alone have nothing to sum. A select between the product
/// and zero goes: the product is zero there. No output changes.
void restrictGuardedProducts(KernelOp kernel);

} // namespace kernelc::te
