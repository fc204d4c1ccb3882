// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns the scalar body of a te.compute or te.reduce into arith, math and llvm
// ops on the chosen arithmetic, one lane or a vector of lanes at a time. Loops and
// stores are those of the emitters of statements.
#pragma once

#include "absl/status/status.h"
#include "ir/te/Te.h"
#include "reference/Emit.h"
#include "reference/Program.h"
#include "reference/Reference.h"
#include "llvm/ADT/DenseMap.h"

namespace kernelc::reference {

/// A scalar of the program in emitted code.
struct Scalar {
  Value v;
  /// F64WithError: bound on |device - v| (f64); for i1 an i1 "may differ". Null: exact.
  Value e;
  /// i1: computed from an element outside its tensor. Null: never.
  Value bad;
};

/// One tensor of the program in emitted code.
struct TensorAccess {
  Value data, errors;
  llvm::SmallVector<Value> strides, extents;
};

/// What the emitters of one generated function share: the context array's contents,
/// loaded once at the function's entry, and the program being built.
class FunctionEnv {
public:
  FunctionEnv(Arithmetic arithmetic, const Program &program, const llvm::DenseMap<Value, int> &slotOf, mlir::Operation *entryMarker,
              Value context)
      : arithmetic(arithmetic), program(program), slotOf(slotOf), entry(entryMarker->getLoc(), entryMarker), context(context) {}

  const Arithmetic arithmetic;
  const Program &program;
  const llvm::DenseMap<Value, int> &slotOf;
  /// Inserts at the function's entry, before all other code.
  Builder entry;
  const Value context;

  bool isF64() const { return arithmetic != Arithmetic::Own; }
  bool withError() const { return arithmetic == Arithmetic::F64WithError; }
  /// Type of a program value in emitted code (scalar).
  Type valueType(Type type) const;
  /// Type of an element of `slot` in memory.
  Type memoryType(Type element, const Slot &slot) const;
  mlir::ArrayRef<Value> sizes();
  const TensorAccess &tensor(int slot);
  /// From now on `slot` is at these addresses (function parameters known not to alias).
  void setAddresses(int slot, Value data, Value errors);
  Value word(int index);
  /// An affine map over the sizes, evaluated at the entry.
  Value sizeExpr(mlir::AffineExpr expr);

private:
  llvm::SmallVector<Value> sizes_;
  llvm::DenseMap<int, TensorAccess> tensors_;
};

/// Emits one point (or `lanes` neighbours along one dim) of a body.
class ScalarEmitter {
public:
  ScalarEmitter(Builder &b, FunctionEnv &env, int64_t lanes = 1, Value vectorIndex = {})
      : b(b), env(env), lanes_(lanes), vectorIndex_(vectorIndex) {}

  void bind(Value from, Scalar to) { map_[from] = to; }
  /// Emits the block's ops up to its terminator.
  absl::Status emit(mlir::Block &block);
  /// The emitted form of a value of the body, the kernel's scalars or constants.
  absl::StatusOr<Scalar> lookup(Value v);

  /// An element of `slot` at i64 `indices` that lie inside it.
  Scalar load(int slot, Type element, mlir::ArrayRef<Value> indices, int64_t lanes = 1);
  void store(int slot, Type element, mlir::ArrayRef<Value> indices, Scalar value);
  /// v as the emitted type of `to`, a float type: rounds in Own arithmetic.
  /// `stored`: into an output, which is infinite where v surely exceeds the type.
  Scalar castFloat(Scalar v, Type from, Type to, bool saturate, bool highPart = false, bool stored = false);
  /// A number of the program, of the type that `value` has there.
  absl::StatusOr<Scalar> constant(mlir::TypedAttr value, mlir::Operation *op);
  /// Widens a narrow float's carrier to the type it is computed in.
  Scalar widen(Scalar v, Type type);

private:
  absl::Status emitOp(mlir::Operation *op);
  absl::StatusOr<Scalar> emitRead(te::ReadOp op);
  absl::StatusOr<Scalar> emitConvert(te::ConvertOp op);
  absl::StatusOr<Scalar> emitRound(te::RoundOp op);
  absl::StatusOr<Scalar> emitConstant(mlir::arith::ConstantOp op);
  absl::Status emitGeneric(mlir::Operation *op, mlir::ArrayRef<Scalar> operands);
  Scalar emitSelect(mlir::ArrayRef<Scalar> operands);
  std::optional<Scalar> emitCast(mlir::Operation *op, const Scalar &operand);
  Value emitDefined(mlir::Operation *op, mlir::ArrayRef<Scalar> operands);
  Value emitFunction(mlir::Operation *op, llvm::SmallVectorImpl<Value> &args);
  /// `bad`, `inexact`: of any operand.
  absl::Status emitElementwise(mlir::Operation *op, mlir::MutableArrayRef<Scalar> operands, Value bad, bool inexact);
  absl::StatusOr<Scalar> emitBitcast(mlir::arith::BitcastOp op, Scalar v);
  Scalar toInteger(Scalar v, Type from, Type to, bool toUnsigned);
  Scalar fromInteger(Scalar v, Type from, Type to, bool isUnsigned);
  /// In elements; null for rank 0.
  Value elementOffset(int slot, mlir::ArrayRef<Value> indices);

  Builder &b;
  FunctionEnv &env;
  int64_t lanes_;
  Value vectorIndex_; ///< the te block argument whose lanes are emitted
  llvm::DenseMap<Value, Scalar> map_;
};

/// The unsupported-op status: names the op and where it stands in the source.
absl::Status unsupported(mlir::Operation *op, llvm::StringRef why = "");
/// "file:line:col", or "" when unknown.
std::string locationText(mlir::Location loc);

} // namespace kernelc::reference
