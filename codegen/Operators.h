// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// C's operators and functions: how the scalar ops of arith and math are spelled. Private to codegen/.
#pragma once

#include <optional>
#include <string>

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace kernelc::codegen {

/// A piece of C with the precedence of its outermost operator, so that
/// parentheses go where they are needed and nowhere else. Empty text: C has no spelling.
struct Expr {
  std::string text;
  int precedence;
};
enum Precedence {
  kComma = 1,
  kConditional = 3,
  kLogicalOr = 4,
  kLogicalAnd = 5,
  kBitOr = 6,
  kBitXor = 7,
  kBitAnd = 8,
  kEquality = 9,
  kRelational = 10,
  kShift = 11,
  kAdditive = 12,
  kMultiplicative = 13,
  kUnary = 15,
  kPrimary = 16,
};
std::string parenthesize(const Expr &e, int atLeast);

/// An operator between two operands.
struct Infix {
  const char *symbol;
  int precedence;
  bool isUnsigned = false; ///< its operands are read as unsigned
  bool wraps = false;      ///< as the language's integers do; C's signed ones may not
  /// Whether C has it with an assignment, as `+=`.
  bool isArithmetic() const { return precedence >= kShift || (precedence >= kBitOr && precedence <= kBitAnd); }
};

/// None for ops that C writes otherwise.
std::optional<Infix> findInfix(mlir::Operation *op);

/// C's operator of an ordered comparison and of "unequal or unordered"; null for the others, which C has as negations of these.
const char *findComparison(mlir::arith::CmpFPredicate predicate);

/// C's function for a double that an op of math is; empty for ops that are none.
llvm::StringRef findMathFunction(mlir::Operation *op);

} // namespace kernelc::codegen
