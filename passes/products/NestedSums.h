// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of another sum's results, as te-factor-sums takes them.
#pragma once

#include "ir/te/Te.h"
#include "llvm/ADT/SmallVector.h"

namespace kernelc::te {

/// A sum over indices of `inner`, a sum that nobody else reads, whose terms are a linear function of it:
///
///   h[i, j] = sum[k](x[i, k] * w[j, k]),   y[i] = sum[j](h[i, j] / 2 + b[j])
///
/// `path` leads from the read to what is summed: additions of anything, and multiplications and divisions by what is the same for all that
/// is summed; or, `isScaled`, multiplications alone (partial sums that have scales).
struct NestedSum {
  ReduceOp outer, inner;
  ReadOp read;
  llvm::SmallVector<mlir::OpOperand *> path; ///< by which the value comes into each operation
  bool isScaled = false;
};

/// `outer` as one; nothing where it is none.
std::optional<NestedSum> findNestedSum(ReduceOp outer);

/// The sum over the indices of both of what `inner` sums, with the scales, written before `outer`: sum[j, k](x[i, k] * w[j, k]).
ReduceOp writeJointSum(const NestedSum &nested);

/// Replaces `outer` by the rest of its terms, summed for themselves, and `sum`, what the joint sum comes to; both sums go.
void replaceBySum(const NestedSum &nested, mlir::Value sum);

} // namespace kernelc::te
