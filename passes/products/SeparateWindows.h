// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions over windows of several dims, as te-factor-sums takes them a dim at a time.
#pragma once

#include "ir/te/Te.h"
#include "passes/index/Affine.h"

namespace kernelc::te {

/// Takes a sum over a window in two, if what it multiplies along one of its dims depends on no other dim of it, and that is clearly less
/// work (also a largest or smallest element of a window):
///
///   y[h, w] = sum[r, s](a[r] * b[s] * x[h + r, w + s])
///   t[p, w] = sum[s](b[s] * x[p, w + s]),   y[h, w] = sum[r](a[r] * t[h + r, w])
///
/// Returns the first one, whose own windows may be taken so again; null where the reduction stays.
ReduceOp separateWindow(KernelOp kernel, ReduceOp reduce, const SizeFacts &facts);

} // namespace kernelc::te
