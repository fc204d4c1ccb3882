// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Chained products: one takes the results of another from registers, in one launch whose loop walks what it sums.
#pragma once

#include "passes/analysis/Contraction.h"
#include "support/Saturating.h"
#include "support/Target.h"
#include "support/TargetCosts.h"

namespace kernelc::te {

/// A product whose results others walk.
struct FirstProduct {
  ReduceOp op;
  Contraction product;
};
std::vector<FirstProduct> join(FirstProduct first, llvm::ArrayRef<FirstProduct> others);

/// The second product of a chain, o[i, n] = Σ_j f(s[i, j]) · v[j, n], whose first factor is made point by point of the results of
/// the first one, s[i, j] = Σ_k q[i, k] · w[j, k]. A block has some i and all n, and goes over j: what it has of s lives for a round.
struct ProductChain {
  ReduceOp producer;
  Contraction first, second;
  unsigned walked;                  ///< dim of the second product that is its sum's: j
  bool fromB;                       ///< the second product's factor b is made of s, not a
  std::vector<FirstProduct> beside; ///< of a cascade's: further products that it is made of
  std::vector<FirstProduct> firsts() const { return join({producer, first}, beside); }
  llvm::ArrayRef<unsigned> rows() const { return fromB ? second.n : second.m; }
  llvm::ArrayRef<unsigned> columns() const { return fromB ? second.m : second.n; }
  mlir::Value other() const { return fromB ? second.a : second.b; }
};

/// A reduction, or a cascade of several, over an index of a product's results: m[i] = max_j s[i, j]. A block has some i, and goes
/// over j. Components of a cascade may be products that take f(s) from registers, o[i, n] = Σ_j f(s[i, j]) · v[j, n]: the block has
/// all their n.
struct ProductWalk {
  ReduceOp producer;
  Contraction first;
  ReadOp read;                ///< of s, in the statement
  unsigned walked, walkedOfS; ///< j: dim of the statement, and of s
  std::vector<ProductChain> products = {};
  std::vector<FirstProduct> beside = {}; ///< further products read at the same points: s[i, j] = a[i, j] + b[i, j]

  /// All products whose results are walked, in their order.
  std::vector<FirstProduct> firsts() const { return join({producer, first}, beside); }
  bool has(ReduceOp op) const {
    return llvm::any_of(firsts(), [&](const FirstProduct &f) { return f.op == op; });
  }
};

/// `statement` as one that walks a product's results, which `target` can do in one launch; nothing otherwise.
std::optional<ProductWalk> findWalk(mlir::Operation *statement, const Target &target, const SizeFacts &facts);

/// The side of the first product that is not walked.
llvm::ArrayRef<unsigned> rowsOf(const ProductWalk &walk);
/// How many terms all products have together for one of their results.
double summedOf(llvm::ArrayRef<FirstProduct> products, const SizeFacts &facts);

/// Whether nobody but `reader` reads what `producer` makes.
bool isReadBy(ReduceOp producer, mlir::Operation *reader);
bool isReadBy(const ProductWalk &walk, mlir::Operation *reader);

/// Whether walking the results of `walk` takes less time than writing and reading them: where all who read them walk them, or take them
/// from registers.
bool paysToWalk(ProductWalk &walk, const Target &target, const SizeFacts &facts);

/// The same, whoever else reads them for now.
bool paysToWalkAlone(ProductWalk &walk, const Target &target, const SizeFacts &facts);

/// The same where the product runs once more, for what is made point by point of its results.
bool paysToWalkAgain(ProductWalk &walk, const Target &target, const SizeFacts &facts);

/// The walk of `statement` that shares a launch with its product: nobody else reads that, and it pays. (A cascade was made where it does.)
std::optional<ProductWalk> findJoinedWalk(mlir::Operation *statement, const Target &target, const SizeFacts &facts);

/// `reader` as the second product of a chain, where `target` has units that take a factor from registers, a tile can hold what that
/// needs, and the two launches that it replaces would take longer (docs/lab); nothing otherwise.
/// `use`: what becomes of others who read the first product's results.
enum class ChainUse {
  Alone,    ///< there are none
  Shared,   ///< it is computed once more for the chain
  InCascade ///< they reduce them, and become one cascade with the second product
};
std::optional<ProductChain> findChain(ReduceOp reader, const Target &target, const SizeFacts &facts, ChainUse use = ChainUse::Alone);

/// Why `reader`, which could take another product's results from registers as it is written, is no second product of a chain: with
/// numbers. Empty where it is none as it is written.
std::string whyApart(ReduceOp reader, const Target &target, const SizeFacts &facts);

/// A bound as a number that times are reckoned by: very many where there is none (-1), one at least.
Count countOf(int64_t bound);
/// How many points these dims have together, very many where that is not known.
Count pointsOf(mlir::AffineMap extents, llvm::ArrayRef<unsigned> dims, const SizeFacts &facts);
/// Columns of a warpgroup's tile that has all `points` columns of a chain: whole boxes of 32, or of 64 where rows of more begin inside a
/// sector of memory. Copies of narrower boxes take longer than the products (docs/lab/2026-11-26-heads-6.md).
int64_t tileOfColumns(int64_t points);
/// Multiply-adds that the busiest multiprocessor makes of a product with so many tiles of rows.
double workOf(double tilesOfRows, double columns, double tileColumns, double summed, const Target &target);
/// The same of a loop that goes over `walked` columns, with so many points of each.
double workOfLoop(double tilesOfRows, double walked, double points, const Target &target);

/// Whether `op` is a product of a chain, the second or the first, or a cascade that walks a product's results, or that product.
bool isChained(mlir::Operation *op, const Target &target, const SizeFacts &facts);

} // namespace kernelc::te
