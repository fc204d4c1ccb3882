// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the elements of a launch are reached in memory: along which index its accesses are contiguous, and whether in vectors.
#pragma once

#include "passes/index/Affine.h"
#include "passes/plan/PlanAttr.h"
#include "llvm/ADT/BitVector.h"

namespace kernelc::te {

struct AccessSummary {
  /// Per launch index: weight of the accesses that are contiguous along it. Bytes
  /// per element, times 2^8 for every index the access depends on: an access with
  /// one index more moves as many times more.
  llvm::SmallVector<int64_t> contiguousBytes;
  llvm::SmallVector<int64_t> contiguousReads; ///< per launch index: of tensors, along it
  llvm::BitVector byElements;                 ///< per launch index: rows along it may begin inside a vector
  llvm::SmallVector<int64_t> widestAlong;     ///< per launch index: of the element types accessed contiguously along it
  int64_t widestBytes = 1;                    ///< of all element types accessed
  int64_t narrowestBytes = 16;                ///< of those of contiguous accesses

  /// An access by `map`. `indices`: the launch index of each of its dims, -1 for computed subscripts. `distinct`: how many indices tell
  /// elements apart. Returns those that it is contiguous along.
  llvm::SmallVector<int64_t> count(mlir::AffineMap map, llvm::ArrayRef<int64_t> indices, unsigned distinct, mlir::Type element);
  /// What `op` reads there, and what it writes; `dims`: its launch indices.
  void countRead(mlir::Operation *op, ReadOp read, llvm::ArrayRef<int64_t> dims, const SizeFacts &facts);
  void countWrites(mlir::Operation *op, llvm::ArrayRef<int64_t> dims);

  /// The launch index that most bytes are contiguous along, or -1.
  int64_t contiguousIndex() const;
  /// Elements of the widest type in one access.
  int64_t vector() const { return std::max<int64_t>(1, 16 / widestBytes); }
  /// The same of what is accessed along `index` alone.
  int64_t vectorAlong(int64_t index) const { return std::max<int64_t>(1, 16 / widestAlong[index]); }
  /// And of the narrowest: the most neighbours that a layout may give a thread.
  int64_t longestVector() const { return 16 / narrowestBytes; }
};

/// `ops`: the kernel's domain ops.
AccessSummary summarizeAccesses(const LaunchPlan &launch, llvm::ArrayRef<mlir::Operation *> ops, const SizeFacts &facts);

} // namespace kernelc::te
