// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the elements of tensor parameters are: dense tensors follow from their shape;
// others have strides that a launch brings, as further sizes of the kernel.
#pragma once

#include "ir/te/Te.h"
#include "passes/index/Affine.h"
#include "support/Artifact.h"
#include "llvm/ADT/ArrayRef.h"

namespace kernelc::te {

/// A size of a kernel that is the stride, in elements, of a parameter's dim, as the signature numbers them.
struct StrideSize {
  int param, dim;
};

/// Gives `kernel` what a variant assumes of its parameters (`guards`, in the order of
/// Kernel::params; none: all dense and aligned to 16 bytes): new sizes behind its own,
/// one for each stride that does not follow, named x_stride0, .. Returns what they are. Dims of inputs change places
/// where a guard says in which order they lie in memory, so that what follows finds the innermost last: a transposed
/// view is read like the tensor that it is a view of.
llvm::SmallVector<StrideSize> addStrides(KernelOp kernel, llvm::ArrayRef<ParamGuard> guards);

/// Numbers as in Kernel::params: the parameter that holds `tensor`, or -1.
int64_t findParam(mlir::Value tensor);

/// The strides in elements of parameter `param`, `()[sizes] -> (strides)`; null when
/// they follow from the shape (and for workspaces, `param` < 0).
mlir::AffineMap getParamStrides(KernelOp kernel, int64_t param);
/// Parameter `param`, of two elements to a byte, as the tensor of its bytes: strides are halved (`rows`), or it becomes
/// one row without gaps.
void setBytesStrides(KernelOp kernel, int64_t param, bool rows);
/// The bytes that the address of parameter `param` is a multiple of, 16 at most.
int64_t getParamAlignment(KernelOp kernel, int64_t param);
/// What the addresses of the rows that `read` reads from are known to be multiples of, in bytes, up to the tensor's alignment.
int64_t rowDivisor(ReadOp read, const SizeFacts &facts);
/// Of one access of a thread.
inline constexpr int64_t kVectorBytes = 16;
/// Whether those rows begin where vectors, and so tensor copies, find them.
bool hasVectorRows(ReadOp read, const SizeFacts &facts);

} // namespace kernelc::te
