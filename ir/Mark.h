// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Marks: what a pass leaves for later ones on ops of other dialects (loops of scf, scalars of arith), which cannot declare it; what passes
// leave on kernelc's own ops these declare themselves. A mark is an attribute with a dialect's prefix and one constant in that dialect's
// table (ir/te/Marks.h, ir/tile/Marks.h, ir/cu/Marks.h), which names the ops that may have it and its value; the verifiers of kernels and
// functions hold all that stands in them against the tables, so that a misspelt or misplaced attribute is an error.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace kernelc {

/// What marks may be on, and what they may be.
template <typename... Ops> bool isOp(mlir::Operation *op) { return llvm::isa<Ops...>(op); }
template <typename A> bool isAttribute(mlir::Operation *, mlir::Attribute a) { return llvm::isa<A>(a); }

/// What all marks have.
class Mark {
public:
  using IsOp = bool (*)(mlir::Operation *);
  using IsValue = bool (*)(mlir::Operation *, mlir::Attribute);
  /// `onWhat` and `isWhat` say in words what `mayBeOn` and `isValue` hold for.
  constexpr Mark(llvm::StringLiteral name, IsOp mayBeOn, llvm::StringLiteral onWhat, IsValue isValue, llvm::StringLiteral isWhat)
      : name(name), mayBeOn(mayBeOn), onWhat(onWhat), isValue(isValue), isWhat(isWhat) {}

  bool isOn(mlir::Operation *op) const { return bool(get(op)); }
  void removeFrom(mlir::Operation *op) const { op->removeDiscardableAttr(name); }

  llvm::StringLiteral name;
  IsOp mayBeOn;
  llvm::StringLiteral onWhat;
  IsValue isValue;
  llvm::StringLiteral isWhat;

protected:
  mlir::Attribute get(mlir::Operation *op) const { return op->getDiscardableAttr(name); }
  void put(mlir::Operation *op, mlir::Attribute value) const { op->setDiscardableAttr(name, value); }
};

/// One that is there or not.
class UnitMark : public Mark {
public:
  constexpr UnitMark(llvm::StringLiteral name, IsOp mayBeOn, llvm::StringLiteral onWhat)
      : Mark(name, mayBeOn, onWhat, isAttribute<mlir::UnitAttr>, "a unit") {}
  void putOn(mlir::Operation *op) const { put(op, mlir::UnitAttr::get(op->getContext())); }
  /// Puts it on `to` where it is on `from`.
  void keep(mlir::Operation *from, mlir::Operation *to) const {
    if (isOn(from))
      putOn(to);
  }
};

/// One with a number of 64 bits.
class NumberMark : public Mark {
public:
  constexpr NumberMark(llvm::StringLiteral name, IsOp mayBeOn, llvm::StringLiteral onWhat)
      : Mark(name, mayBeOn, onWhat, isNumber, "a number") {}
  void putOn(mlir::Operation *op, int64_t number) const { put(op, mlir::Builder(op->getContext()).getI64IntegerAttr(number)); }
  std::optional<int64_t> findOn(mlir::Operation *op) const {
    auto number = llvm::dyn_cast_or_null<mlir::IntegerAttr>(get(op));
    return number ? std::optional(number.getInt()) : std::nullopt;
  }
  static bool isNumber(mlir::Operation *, mlir::Attribute a) {
    auto number = llvm::dyn_cast<mlir::IntegerAttr>(a);
    return number && number.getType().isSignlessInteger(64);
  }
};

/// Whether each attribute of `op` that it does not declare is one of these marks, where that may be, with a value that it may have; if not,
/// an error. `tables`: where the marks are listed; `label`: of a constraint, before the error's words.
mlir::LogicalResult verifyMarks(mlir::Operation *op, llvm::ArrayRef<llvm::ArrayRef<const Mark *>> marks, llvm::StringRef tables,
                                llvm::StringRef label = "");

} // namespace kernelc
