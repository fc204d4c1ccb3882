// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many integer points a box has under affine conditions: what a statement's domain holds
// when all sizes are known. Exact; no estimate.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/ArrayRef.h"

namespace kernelc {

/// form >= 0, or == 0, over the box's dims: sums, products with numbers, floordiv, ceildiv and mod by numbers.
struct PointConstraint {
  mlir::AffineExpr form;
  bool isEquality = false;
  bool operator==(const PointConstraint &) const = default;
  bool operator<(const PointConstraint &o) const;
};

/// Points with 0 <= d_i < extents[i] that fulfil all constraints; nothing where that takes too long to count.
/// Dims that no constraint ties to each other are counted apart; of those that are tied, all but one are enumerated,
/// and the one is counted by residues of its divisors, between bounds.
std::optional<int64_t> countPoints(llvm::ArrayRef<int64_t> extents, llvm::ArrayRef<PointConstraint> constraints);

/// x * y of counts; the largest count where that is larger.
int64_t multiplyCounts(int64_t x, int64_t y);

/// Which points of a domain count, as a sum of conjunctions with factors: `a or b` is a + b - ab, `not a` is 1 - a.
class PointSet {
public:
  using Conjunction = std::vector<PointConstraint>; ///< sorted, without duplicates

  static PointSet all();
  static PointSet where(PointConstraint c);
  PointSet operator&(const PointSet &o) const;
  PointSet operator|(const PointSet &o) const;
  PointSet operator!() const;
  bool operator==(const PointSet &o) const { return terms_ == o.terms_ && unknown_ == o.unknown_; }

  /// Nothing as countPoints(); or where the sum has too many terms.
  std::optional<int64_t> count(llvm::ArrayRef<int64_t> extents) const;
  /// Of the points of a space with only the dims `kept`, in that order, those that some point of this set lies on,
  /// or more: conditions on other dims are left out.
  PointSet project(llvm::ArrayRef<unsigned> kept) const;
  const std::map<Conjunction, int64_t> &terms() const { return terms_; }

private:
  void add(Conjunction c, int64_t factor);
  bool unknown_ = false; ///< too many terms
  std::map<Conjunction, int64_t> terms_;
};

} // namespace kernelc
