// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conditions in the body of a cascade under which a point changes no component.
#pragma once

#include "ir/te/Te.h"
#include "passes/index/Affine.h"

namespace kernelc::te {

/// Whether `exponent` is c v - c x or (v - x) c, c a number above zero, x the first component or what stands for it while it says
/// nothing: of v = -inf it is -inf, unless x is NaN. Then some term that counts is, and every sum with it.
/// `hasPoints`: each result has a point that counts. Then x itself will do: while it is -inf sums are NaN, by a point that counts if by
/// no other, or are dropped once it moves.
/// `facts`: of sizes that are arguments still; those that they pin will be numbers (te-fix-sizes).
bool fallsWith(CascadeOp op, mlir::Value exponent, mlir::Value v, bool hasPoints = false, const SizeFacts *facts = nullptr);

/// Conditions without which a point's term of the first component, a maximum, is -inf, and its terms of all others zero: what a
/// walk may pass over. In order of the body.
llvm::SmallVector<mlir::Value> findPointMasks(CascadeOp op);

/// Exponents of powers of two that fall with the first component, a maximum x of f32: all are c v - c x, or all (v - x) c, with one c, and
/// of the terms v that x is the largest of.
struct FollowedExponents {
  mlir::Value scale;
  llvm::SmallVector<mlir::Value> exponents;
};

/// Those of a cascade that nobody asks what its first component comes to, other than whether that is -inf, infinite or NaN: any other
/// number would do as well that keeps the powers from getting too large or too small.
std::optional<FollowedExponents> findFollowedExponents(CascadeOp op, bool hasPoints, const SizeFacts *facts = nullptr);

} // namespace kernelc::te
