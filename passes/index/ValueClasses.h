// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a scalar body can come to when one of its conditions is known: enough of an
// abstract interpretation to see that a term is the identity of its reduction.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// A set of the values below. For integers PosInf and NegInf stand for the largest
/// and the smallest of the type, for i1 One is true.
using ValueClasses = unsigned;
enum : ValueClasses {
  kZero = 1, ///< either sign
  kOne = 2,
  kPosInf = 4,
  kNegInf = 8,
  kNan = 16,
  kOther = 32, ///< any other finite value
  kAny = 63
};

/// Classes of every value of a body under the assumption that the i1 value
/// `condition` is `value`. Values from outside the body may be anything.
///
/// `realProducts`: zero times anything is zero, as in a sum of reals
/// (docs/language.md, precision).
llvm::DenseMap<mlir::Value, ValueClasses> classifyBody(mlir::Block &body, mlir::Value condition, bool value, bool realProducts);

} // namespace kernelc::te
