// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Running error analysis: beside every f64 value v a bound e such that a correct
// device, which computes in the program's types, has a value within e of v.
//
// The model. An operation in a type with unit roundoff u rounds once: to what is
// propagated from the operands P it adds u (|v| + P) and the smallest subnormal.
// Math functions add their ulp budget (MathLibrary.h). A sum of n terms in any
// order adds (n + 2) u' times what a partial sum can be, max(sum of positive, sum of negative t), and u' sum(|t| + e), where u' is the
// accumulator's unit (coarser for what tensor cores multiply; products of f8 have a rule of their own, see SumUnit). A cast adds the unit
// of the narrower type. A
// comparison whose operands are within their errors may go either way; what is
// selected by it gets the difference of the sides. Integers are exact until they
// depend on such a comparison or on a cast of an approximate float. e is infinity
// where nothing holds: possible overflow, an uncertain index, a pole.
//
// e is finite and v infinite or NaN: the device has the same infinity, or NaN (SpecialErrors.h).
// Null means zero everywhere; for i1 values e is an i1, "may differ".
#pragma once

#include "reference/Combine.h"
#include "reference/ScalarEmitter.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace kernelc::reference {

Value isUncertain(Builder &b, Value e);
/// Infinity (i1: true) where `uncertain`, else r.e.
Value unknownIf(Builder &b, Value uncertain, Scalar r);
/// Infinity where s has any error; of a value whose emitted type is `type`.
Value unknownError(Builder &b, Scalar s, Type type);

/// Rounding s to the program's float type `to`; `highPart`: see te.round.
Value roundingError(Builder &b, Scalar s, Type to, bool highPart = false);
/// Of the integer that the float s truncates to.
Value integerCastError(Builder &b, Scalar s, bool toUnsigned);
/// Of the float v that the integer s (type `from`) became.
Value fromIntegerError(Builder &b, Scalar s, Value v, Type from, Type to);
Value selectError(Builder &b, Scalar condition, Scalar t, Scalar f);
/// Of an arith op on integers, some of them approximate; v is its result.
Value integerOpError(Builder &b, mlir::Operation *op, llvm::ArrayRef<Scalar> in, Value v);
/// Of an arith or math op with float operands.
Value floatOpError(Builder &b, mlir::Operation *op, llvm::ArrayRef<Scalar> in, Value v);

/// What adding up the terms of `op` rounds.
SumUnit sumUnit(te::ReduceOp op);
/// One step of a reduction with error; see Accumulator for the states.
llvm::SmallVector<Value> addWithError(Builder &b, te::Combiner kind, llvm::ArrayRef<Value> state, const Term &term, bool isFloat,
                                      const SumUnit &unit, llvm::function_ref<Value(Value, Value)> combine);
/// What the factors' errors do to a product; no rounding. `generated`: see specialProductError.
Value productError(Builder &b, Scalar x, Scalar y, Value product, double generated);
/// Of a sum with state {sum, propagated, sum of magnitudes, terms}, as sumTerm has them. Terms may be
/// products whose rounding is counted here. Holds for every order of summation.
Value sumError(Builder &b, llvm::ArrayRef<Value> state, const SumUnit &unit);
/// Of a float max or min with state {value, least, greatest}: the interval that it is in.
Value extremeError(Builder &b, llvm::ArrayRef<Value> state);
/// Arg reductions: state {.., error of the best key, best of the others with its
/// error, largest error}. `take`: the term becomes the best.
llvm::SmallVector<Value> addArgError(Builder &b, te::Combiner kind, llvm::ArrayRef<Value> state, const Term &term, Value take);
Value argError(Builder &b, te::Combiner kind, llvm::ArrayRef<Value> state);

} // namespace kernelc::reference
