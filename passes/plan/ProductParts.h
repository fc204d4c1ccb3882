// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The same of products (SumParts.h): what their parts take, by the cost model, decides.
#pragma once

#include "passes/analysis/Contraction.h"
#include "passes/plan/SumParts.h"

namespace kernelc::te {

/// Of a product whose summed indices have at most `lengths` points.
ReductionParts partsOfProduct(ReduceOp reduce, const Contraction &product, llvm::ArrayRef<int64_t> lengths, const PartChoice &by);

/// Whether zeros for what a product reads beyond its sum's end are all that it takes to sum up more.
bool canEndEarly(const Contraction &product);

} // namespace kernelc::te
