// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/Operators.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kernelc::codegen {

std::string parenthesize(const Expr &e, int atLeast) { return e.precedence >= atLeast ? e.text : "(" + e.text + ")"; }

const char *findComparison(arith::CmpFPredicate p) {
  switch (p) {
  case arith::CmpFPredicate::OEQ: return "==";
  case arith::CmpFPredicate::OLT: return "<";
  case arith::CmpFPredicate::OLE: return "<=";
  case arith::CmpFPredicate::OGT: return ">";
  case arith::CmpFPredicate::OGE: return ">=";
  case arith::CmpFPredicate::UNE: return "!=";
  default: return nullptr;
  }
}

static Infix comparison(arith::CmpIPredicate p) {
  switch (p) {
  case arith::CmpIPredicate::eq: return {"==", kEquality};
  case arith::CmpIPredicate::ne: return {"!=", kEquality};
  case arith::CmpIPredicate::slt: return {"<", kRelational};
  case arith::CmpIPredicate::sle: return {"<=", kRelational};
  case arith::CmpIPredicate::sgt: return {">", kRelational};
  case arith::CmpIPredicate::sge: return {">=", kRelational};
  case arith::CmpIPredicate::ult: return {"<", kRelational, true};
  case arith::CmpIPredicate::ule: return {"<=", kRelational, true};
  case arith::CmpIPredicate::ugt: return {">", kRelational, true};
  case arith::CmpIPredicate::uge: return {">=", kRelational, true};
  }
  llvm_unreachable("all predicates are above");
}

/// Of ops on integers and floats that need no look at their types.
static std::optional<Infix> findPlainInfix(StringRef op) {
  using Found = std::optional<Infix>;
  return llvm::StringSwitch<Found>(op)
      .Case("arith.addf", Found({"+", kAdditive}))
      .Case("arith.subf", Found({"-", kAdditive}))
      .Case("arith.mulf", Found({"*", kMultiplicative}))
      .Case("arith.divf", Found({"/", kMultiplicative}))
      .Case("arith.addi", Found({"+", kAdditive, false, true}))
      .Case("arith.subi", Found({"-", kAdditive, false, true}))
      .Case("arith.muli", Found({"*", kMultiplicative, false, true}))
      .Case("arith.divsi", Found({"/", kMultiplicative}))
      .Case("arith.remsi", Found({"%", kMultiplicative}))
      .Case("arith.divui", Found({"/", kMultiplicative, true}))
      .Case("arith.remui", Found({"%", kMultiplicative, true}))
      .Case("arith.andi", Found({"&", kBitAnd}))
      .Case("arith.ori", Found({"|", kBitOr}))
      .Case("arith.xori", Found({"^", kBitXor}))
      .Case("arith.shli", Found({"<<", kShift, true}))
      .Case("arith.shrui", Found({">>", kShift, true}))
      .Case("arith.shrsi", Found({">>", kShift}))
      .Default(std::nullopt);
}

/// Of truth values: one bit that does not carry.
static std::optional<Infix> findLogicalInfix(StringRef op) {
  using Found = std::optional<Infix>;
  return llvm::StringSwitch<Found>(op)
      .Cases({"arith.addi", "arith.xori"}, Found({"!=", kEquality}))
      .Cases({"arith.muli", "arith.andi"}, Found({"&&", kLogicalAnd}))
      .Case("arith.ori", Found({"||", kLogicalOr}))
      .Default(std::nullopt);
}

std::optional<Infix> findInfix(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return comparison(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpFOp>(op)) {
    const char *symbol = findComparison(compare.getPredicate());
    if (!symbol)
      return std::nullopt;
    bool isEquality = llvm::is_contained({arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE}, compare.getPredicate());
    return Infix{symbol, isEquality ? kEquality : kRelational};
  }
  StringRef name = op->getName().getStringRef();
  if (op->getNumResults() == 1 && op->getResult(0).getType().isInteger(1))
    if (std::optional<Infix> logical = findLogicalInfix(name))
      return logical;
  return findPlainInfix(name);
}

StringRef findMathFunction(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (!name.consume_front("math."))
    return "";
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "cbrt"}, name)
      .Cases({"sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"}, name)
      .Cases({"erf", "erfc", "floor", "ceil", "trunc", "round", "copysign", "fma"}, name)
      .Case("powf", "pow")
      .Case("absf", "fabs")
      .Case("roundeven", "rint")
      .Default("");
}

} // namespace kernelc::codegen
