// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small building blocks shared by the emitters: constants and types that may be
// vectors, affine expressions, loads of the context. No knowledge of te.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace kernelc::reference {

using mlir::Type;
using mlir::Value;
using Builder = mlir::ImplicitLocOpBuilder;

/// `type`, or a vector of it when `like` is a vector type.
Type shapedLike(Type scalar, Type like);
/// Lanes of a value: 1 for scalars.
int64_t lanesOf(Value v);

/// Constants of `type`, splat when it is a vector.
Value constInt(Builder &b, Type type, int64_t value);
Value constFloat(Builder &b, Type type, double value);
inline Value constI64(Builder &b, int64_t value) { return constInt(b, b.getI64Type(), value); }

/// `v` in every lane of a vector of `lanes`; unchanged if it is one, or lanes is 1.
Value splat(Builder &b, Value v, int64_t lanes);
/// Splats the scalars among `values` when any is a vector. Returns the lanes.
int64_t unifyLanes(Builder &b, llvm::MutableArrayRef<Value> values);

/// Integer division and remainder that never trap: by zero they give 0, and
/// MIN / -1 wraps.
enum class Division { SignedTrunc, SignedFloor, SignedCeil, Unsigned, UnsignedCeil };
Value emitDivision(Builder &b, Division kind, Value n, Value d);
/// The remainder that goes with SignedTrunc, SignedFloor or Unsigned division.
Value emitRemainder(Builder &b, Division kind, Value n, Value d);

/// An affine expression over i64 values. Semi-affine is fine.
Value emitAffine(Builder &b, mlir::AffineExpr expr, mlir::ValueRange dims, mlir::ValueRange symbols);

Value minS(Builder &b, Value x, Value y);
Value maxS(Builder &b, Value x, Value y);
/// a | b where null means never.
Value orMaybe(Builder &b, Value x, Value y);

/// Calls an LLVM intrinsic whose overloads follow from the types.
Value callIntrinsic(Builder &b, llvm::StringRef name, Type result, mlir::ValueRange args);
/// Calls a pure function of the runtime table (MathLibrary.h), lane by lane for vectors.
Value callPure(Builder &b, llvm::StringRef symbol, Type result, mlir::ValueRange args);

} // namespace kernelc::reference
