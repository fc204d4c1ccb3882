// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is known of infinite and NaN values. Where v is one, a finite e says that the device has the same infinity, or NaN:
// e = 0 in every way in which the language lets the program be computed, kAsWritten where no factor moves across a sum and no zero
// is passed over (docs/language.md, Expressions and types). An infinity times zero is NaN so: taken out of the sum, the factor may
// meet no zero, or another one. And so is NaN times a zero that may be one of the program's.
// Where e is infinite, the device may have anything.
#pragma once

#include "reference/ErrorMath.h"
#include "reference/ScalarEmitter.h"

namespace kernelc::reference {

inline constexpr double kAsWritten = 1;

/// `e`, the bound of the result `v` of an arith or math op on floats `in`, with what is known where `v` is infinite or NaN.
Value specialError(Builder &b, mlir::Operation *op, llvm::ArrayRef<Scalar> in, Value v, Value e);
/// Of a product; `generated`: of a NaN of an infinity and a zero.
Value specialProductError(Builder &b, Scalar x, Scalar y, Value product, Value e, double generated = kAsWritten);
/// Where `v` is NaN since one of `in` is, that one's; else `e`.
Value keptNanError(Builder &b, llvm::ArrayRef<Scalar> in, Value v, Value e);

/// A term of a sum, apart from its value.
struct SumTerm {
  Value propagated; ///< what it may be off by: infinity where nothing is known. Null: zero
  Value magnitude;  ///< how large it may be; of a known infinity 0, of a known NaN NaN, which stays whatever is added
};
SumTerm sumTerm(Builder &b, Value v, Value e);
/// Of a sum that is infinite or NaN, `propagated` and `magnitude` those of its terms together. `largest`: what no partial sum exceeds.
/// `opposites`: whether infinities of both signs among the terms are there however the sum is taken.
Value specialSumError(Builder &b, Value sum, Value propagated, Value magnitude, double largest, bool opposites);

/// Whether the sum of `op` adds up elements of the kernel's arguments, or products of two, each with an index for every summed one: no
/// factor of it can leave it, or have come from elsewhere.
bool isSumOfElements(te::ReduceOp op);

/// `s` rounded to the float type `to` of an output: an infinity where it surely exceeds the type.
Scalar overflowed(Builder &b, Scalar s, Value roundedError, mlir::Type to);

} // namespace kernelc::reference
