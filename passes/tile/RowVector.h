// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vectors of rows that begin anywhere in memory, in launches whose tiles begin where vectors do (tile::kRows).
#pragma once

#include "passes/tile/Access.h"

namespace kernelc {

/// As provableVector, of an access along the index of such rows, which may begin or end inside a vector: the access takes the elements of
/// it that are there. 1 along other indices, and where the tensor's rows lie otherwise.
int64_t rowVector(tile::FuncOp func, mlir::Value base, mlir::AffineMap map, const ContiguousRun &run, int64_t limit);

/// How many points before the first one of `index` its tiles begin where the other indices' tiles begin at `offsets`; null for none.
mlir::Value pointsBefore(mlir::OpBuilder &b, tile::FuncOp func, unsigned index, llvm::ArrayRef<mlir::Value> offsets, mlir::Location loc);

/// The most points of an index that tiles have to cover; -1: any number.
int64_t mostCovered(tile::FuncOp func, unsigned index);

} // namespace kernelc
