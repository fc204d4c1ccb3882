// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chained products: one takes the results of another from registers, in one launch whose loop walks what it sums.
#pragma once

#include "passes/analysis/Contraction.h"
#include "support/Target.h"

namespace kernelc::te {

/// The second product of a chain, o[i, n] = Σ_j f(s[i, j]) · v[j, n], whose first factor is made point by point of the results of
/// the first one, s[i, j] = Σ_k q[i, k] · w[j, k]. A block has some i and all n, and goes over j: what it has of s lives for a round.
struct Chain {
  ReduceOp producer;
  Contraction first, second;
  unsigned walked;    ///< dim of the second product that is its sum's: j
  unsigned walkedOfS; ///< and the first one's
  bool fromB;         ///< the second product's factor b is made of s, not a
  llvm::ArrayRef<unsigned> rows() const { return fromB ? second.n : second.m; }
  llvm::ArrayRef<unsigned> columns() const { return fromB ? second.m : second.n; }
  mlir::Value other() const { return fromB ? second.a : second.b; }
};

/// The most columns that the second product of a chain may have: one tile has them all.
inline constexpr int64_t kMostColumns = 256;

/// `reader` as the second product of a chain, where `target` has units that take a factor from registers, a tile can hold what that
/// needs, and the two launches that it replaces would take longer (docs/lab); nothing otherwise.
std::optional<Chain> findChain(ReduceOp reader, const Target &target, const SizeFacts &facts);

/// Whether `op` is a product of a chain, the second or the first.
bool isChained(mlir::Operation *op, const Target &target, const SizeFacts &facts);

} // namespace kernelc::te
