// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of few terms that readers compute again, as te-simplify has them.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// Writes sums over a few points, of pairs of what is read (the squared distance of two points in space), as pointwise statements where
/// reductions alone read them: their readers take them in, and no tensor of all pairs is stored. True where there was one.
///
///   s[i, j] = sum[d in 0:2](x[i, d] * y[j, d])   =>   s[i, j] = x[i, 0] * y[j, 0] + x[i, 1] * y[j, 1]
bool writeFewTermsOut(KernelOp kernel);

/// A statement with the results of `reduce`, its name and its place; its body has their indices, and nothing else yet.
ComputeOp makeComputeOf(mlir::OpBuilder &b, ReduceOp reduce);

/// Terms up to which a reader computes them in the time in which memory brings their sum.
int64_t mostFewTerms();

} // namespace kernelc::te
