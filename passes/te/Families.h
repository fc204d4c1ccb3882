// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions over the same points that feed each other: those that may become one cascade.
#pragma once

#include "ir/te/Te.h"
#include "llvm/ADT/DenseMap.h"

namespace kernelc::te {

/// Reductions that may become one cascade, and whose indices are whose.
struct Family {
  llvm::SmallVector<ReduceOp> members;
  llvm::SmallVector<std::pair<mlir::Attribute, mlir::AffineExpr>> parallel; ///< name and extent of each index that some member has
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<unsigned>> indicesOf; ///< per member: those of its parallel dims

  void add(ReduceOp r, llvm::ArrayRef<unsigned> indices) {
    members.push_back(r);
    indicesOf[r].assign(indices.begin(), indices.end());
  }
};

/// Each of the reductions in the first family that it fits; one that fits none, and is no product, is the first of its own.
std::vector<Family> collectFamilies(llvm::ArrayRef<ReduceOp> all);

/// The members of `chain` that r reads at its own point.
llvm::SmallVector<ReduceOp> readOf(ReduceOp r, llvm::ArrayRef<ReduceOp> chain);

/// What `read` reads, where that is defined point by point and its subscripts are what the statement's dims stand for.
ComputeOp findPlainDefinition(ReadOp read);

} // namespace kernelc::te
