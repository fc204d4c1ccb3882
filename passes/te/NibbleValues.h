// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of i4 and u4 in the bodies of statements, as an i8 of 0 to 15 each, whatever their sign: what makes them and
// what is made of them. Knows no tensors; te-emulate-narrow-types does.
#pragma once

#include "ir/te/Te.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace kernelc::te {

/// Whether elements of `t` are i4 (signless: u4, too).
inline bool isNibble(mlir::Type t) { return mlir::getElementTypeOrSelf(t).isInteger(4); }

class NibbleValues {
public:
  /// Says that an i8 of 0 to 15 stands for an i4.
  mlir::Value note(mlir::Value v) {
    nibbles_.insert(v);
    return v;
  }
  mlir::Value number(mlir::OpBuilder &b, mlir::Location loc, int64_t v, mlir::Type type);
  /// The low four bits of an i8.
  mlir::Value lowBits(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v);
  /// The byte of two nibbles.
  mlir::Value bothNibbles(mlir::OpBuilder &b, mlir::Location loc, mlir::Value low, mlir::Value high);
  /// The four bits of `byte` from `shift` on, 0 or 4 (i32).
  mlir::Value nibbleOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value byte, mlir::Value shift);
  /// `op`, which is elementwise, on such values in place of i4; its operands are. Fails with a diagnostic for what is not an
  /// operation of the language on them.
  mlir::LogicalResult convert(mlir::Operation *op);

private:
  mlir::Value asSigned(mlir::OpBuilder &b, mlir::Location loc, mlir::Value nibble);
  mlir::Value replacementOf(mlir::OpBuilder &b, mlir::Operation *op);

  llvm::DenseSet<mlir::Value> nibbles_;
  struct Place {
    mlir::Value byte, shift; ///< i32
  };
  llvm::DenseMap<mlir::Value, Place> places_; ///< of nibbles in bytes that were read
};

} // namespace kernelc::te
