// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What one statement reads of memory that it or another one overwrites (Memories.h). A statement that reads such memory reads what
// was there before the next statement that writes the same elements: it runs earlier, or in the same launch and block, or it reads a copy.
#pragma once

#include "ir/te/Te.h"
#include "passes/index/Affine.h"

namespace kernelc::te {

/// Whether `read`, in the body of `writer`, reads the element that its point writes.
bool readsOwnPoint(ReadOp read, mlir::Operation *writer);

/// Whether `writer` is known to write no element that `read` reads, which stands in the body of `reader`.
bool readsApart(ReadOp read, mlir::Operation *reader, mlir::Operation *writer);

/// Whether `later` needs what `op` computes, at one remove or several.
bool dependsOn(mlir::Operation *later, mlir::Operation *op);

/// Of a reader and a writer in one launch: whether each block has done all of `read` before it writes. It has where the reader is a
/// reduction that the writer waits for, and where no block writes what another one reads. `grid`: the indices of the launch that are
/// split over blocks; `readerDims`, `writerDims`: for each dim of the statement, its index of the launch.
bool isReadBeforeWritten(llvm::ArrayRef<int64_t> grid, llvm::ArrayRef<int64_t> readerDims, llvm::ArrayRef<int64_t> writerDims, ReadOp read,
                         mlir::Operation *reader, mlir::Operation *writer);

/// Whether a and b write no element in common.
bool writeApart(KernelOp kernel, const SizeFacts &facts, mlir::Operation *a, mlir::Operation *b);

/// Whether the point of a launch that writes an element is the only one that reads it, where reader and writer are pointwise and
/// share the launch: each reads all that it does before it writes (te-to-tile).
bool isReadAtPointWritten(KernelOp kernel, const SizeFacts &facts, llvm::ArrayRef<int64_t> grid, llvm::ArrayRef<int64_t> readerDims,
                          llvm::ArrayRef<int64_t> writerDims, ReadOp read, mlir::Operation *reader, mlir::Operation *writer);

} // namespace kernelc::te
