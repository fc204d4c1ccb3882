// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How small and how large the index values of a kernel can get, from the constants,
// thread numbers and loop bounds they are made of and from the branches they stand in.
// Facts only: nothing here changes IR.
#pragma once

#include <map>

#include "ir/cu/Cu.h"
#include "llvm/ADT/DenseMap.h"

namespace kernelc {

/// The multiples of `divisor` from `low` to `high`. A bound of ±2^62 means: none known;
/// divisor 0: zero alone.
struct Range {
  static constexpr int64_t kNoBound = int64_t(1) << 62;
  int64_t low = -kNoBound, high = kNoBound, divisor = 1;

  static Range just(int64_t v) { return {v, v, v < 0 ? -v : v}; }
  bool isKnown() const { return low > -kNoBound && high < kNoBound; }
  bool isNonNegative() const { return low >= 0; }
  bool fitsIn32Bits() const { return low >= std::numeric_limits<int32_t>::min() && high <= std::numeric_limits<int32_t>::max(); }
};
Range operator+(Range x, Range y);
Range operator-(Range x, Range y);
Range operator*(Range x, Range y);

class IndexRanges {
public:
  /// `fits32`: the variant's guard bounds every tensor, so that sizes and numbers of elements are at most 2^30.
  explicit IndexRanges(cu::KernelOp kernel, bool fits32 = false) : kernel_(kernel), fits32_(fits32) {}

  /// Of an integer or index value, wherever it is used.
  Range of(mlir::Value v) { return compute(v, facts_[nullptr]); }
  /// Where `user` stands: the conditions of the branches around it hold.
  Range at(mlir::Value v, mlir::Operation *user);
  /// Whether one of those conditions speaks of `v` itself.
  bool isGuarded(mlir::Value v, mlir::Operation *user) { return factsAt(user).known.contains(v); }

private:
  /// The ranges that hold inside one branch: those that its condition tells, and those derived from them so far.
  struct Facts {
    llvm::DenseMap<mlir::Value, Range> known, computed;
  };
  Facts &factsAt(mlir::Operation *user);
  Range compute(mlir::Value v, Facts &facts);
  Range derive(mlir::Value v, Facts &facts);
  Range ofOp(mlir::Operation *op, Facts &facts);
  Range ofResult(mlir::Operation *op, Facts &facts);
  Range ofElements(mlir::Value array);
  Range ofArgument(mlir::BlockArgument arg);
  Range ofSize(unsigned size);
  Range ofSizes(mlir::AffineExpr e);
  void assume(mlir::Value condition, bool holds, Facts &facts);

  cu::KernelOp kernel_;
  bool fits32_;
  std::map<mlir::Block *, Facts> facts_; ///< by the branch; null: everywhere
};

} // namespace kernelc
