// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same of products (SumParts.h): what their parts take, by the cost model, decides.
#pragma once

#include "passes/analysis/Contraction.h"
#include "passes/plan/SumParts.h"

namespace kernelc::te {

/// Of a product, for the likely sizes: any chunk is right for any sizes.
ReductionParts partsOfProduct(ReduceOp reduce, const Contraction &product, const PartChoice &by);

/// Whether zeros for what a product reads beyond its sum's end are all that it takes to sum up more.
bool canEndEarly(const Contraction &product);

} // namespace kernelc::te
