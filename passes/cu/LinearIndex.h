// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An index as a sum of multiples of values.
#pragma once

#include "ir/cu/Cu.h"

namespace kernelc {

/// constant + Σ factor · value.
struct LinearIndex {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> terms;

  /// Of `v`, but for the values in it that `isWhole` says are not looked into.
  static LinearIndex of(mlir::Value v, llvm::function_ref<bool(mlir::Value)> isWhole = [](mlir::Value) { return false; }) {
    LinearIndex index;
    index.addParts(v, 1, isWhole);
    return index;
  }
  /// Adds factor · v.
  void add(mlir::Value v, int64_t factor);
  /// Adds factor · other.
  void add(const LinearIndex &other, int64_t factor);
  /// The factor of `v`; 0 where it is no term.
  int64_t factorOf(mlir::Value v) const;
  bool operator==(const LinearIndex &other) const;
  /// As index arithmetic.
  mlir::Value build(mlir::OpBuilder &b, mlir::Location loc) const;

private:
  void addParts(mlir::Value v, int64_t factor, llvm::function_ref<bool(mlir::Value)> isWhole);
};

} // namespace kernelc
