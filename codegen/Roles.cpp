// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a value is called that neither the program nor a pass has named: by what computes it.
#include "codegen/Names.h"

#include "ir/cu/Cu.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::codegen {

namespace {

/// A name made of others; of no parts where one of those has none.
struct PartedName {
  std::string text;
  unsigned parts = 0;
};

PartedName nameOfPart(Value v);

PartedName join(const PartedName &x, StringRef word, const PartedName &y) {
  constexpr unsigned kMostParts = 3; // more is no help
  constexpr size_t kLongest = 40;
  unsigned parts = x.parts + y.parts;
  bool tells = x.parts && y.parts && parts <= kMostParts && x.text.size() + word.size() + y.text.size() <= kLongest && x.text != y.text;
  return tells ? PartedName{x.text + word.str() + y.text, parts} : PartedName();
}

PartedName nameOfNumber(int64_t number) { return number < 0 ? PartedName() : PartedName{std::to_string(number), 1}; }

/// `minus_inf`, `0`; nothing for numbers that a name cannot spell.
PartedName nameOfNumber(const APFloat &number) {
  if (number.isInfinity())
    return {number.isNegative() ? "minus_inf" : "inf", 1};
  APSInt whole(16, /*isUnsigned=*/false);
  bool isExact = false;
  auto status = number.convertToInteger(whole, APFloat::rmTowardZero, &isExact);
  return status == APFloat::opOK && isExact ? nameOfNumber(whole.getExtValue()) : PartedName();
}

/// `h_plus_r`, `i_minus_1`
PartedName nameOfSum(arith::AddIOp sum) {
  auto number = getConstantIntValue(sum.getRhs());
  PartedName x = nameOfPart(sum.getLhs());
  return number && *number < 0 ? join(x, "_minus_", nameOfNumber(-*number)) : join(x, "_plus_", nameOfPart(sum.getRhs()));
}

/// (x + y - 1) / y
Value roundedUp(Operation *quotient) {
  if (!isa<arith::DivSIOp>(quotient))
    return {};
  auto sum = quotient->getOperand(0).getDefiningOp<arith::AddIOp>();
  auto by = getConstantIntValue(quotient->getOperand(1));
  return sum && by && *by > 1 && getConstantIntValue(sum.getRhs()) == *by - 1 ? sum.getLhs() : Value();
}

/// How `v` is called as a part of a name: by its own, as a number, or by what it is made of.
PartedName nameOfPart(Value v) {
  if (auto number = getConstantIntValue(v))
    return nameOfNumber(*number);
  Operation *op = v.getDefiningOp();
  if (StringRef name = cu::findName(v.getLoc()); !name.empty())
    return {name.str(), 1};
  if (APFloat number(0.0f); op && matchPattern(v, m_ConstantFloat(&number)))
    return nameOfNumber(number);
  if (!op || !v.getType().isIndex())
    return {};
  if (Value whole = op ? roundedUp(op) : Value(); whole && !cu::findName(whole.getLoc()).empty())
    return {(cu::findName(whole.getLoc()) + "_tiles").str(), 1};
  auto joined = [](StringRef word) { return [word](auto o) { return join(nameOfPart(o.getLhs()), word, nameOfPart(o.getRhs())); }; };
  return llvm::TypeSwitch<Operation *, PartedName>(op)
      .Case([](arith::AddIOp o) { return nameOfSum(o); })
      .Case<arith::SubIOp>(joined("_minus_"))
      .Case<arith::MulIOp>(joined("_times_"))
      .Default(PartedName());
}

/// `lane_div_4`, `S_mod_T`; `otherwise` where a part has no name.
std::string nameOfParts(Value x, StringRef word, Value y, StringRef otherwise) {
  PartedName name = join(nameOfPart(x), word, nameOfPart(y));
  return name.parts ? name.text : otherwise.str();
}

/// `x_value` of an array x, or of its slots.
std::string roleOfLoad(memref::LoadOp load) {
  StringRef name = cu::findName(load.getMemRef().getLoc());
  name.consume_back("_slots");
  return name.empty() ? "loaded" : (name + "_value").str();
}

/// `inverse_sum_j`: what is done, and to what, if that has a short name.
std::string roleWithOperand(StringRef word, Value operand) {
  constexpr size_t kLongest = 16;
  std::string name = cu::findName(operand.getLoc()).str();
  if (auto load = operand.getDefiningOp<memref::LoadOp>(); load && name.empty())
    name = cu::findName(load.getMemRef().getLoc());
  else if (operand.getDefiningOp<math::RsqrtOp>() && name.empty())
    name = "inverse_root";
  StringRef stem = name;
  stem.consume_back("_r"); // (of registers)
  return stem.empty() || stem.size() > kLongest ? word.str() : (word + "_" + stem).str();
}

std::string roleOfIndex(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([](arith::DivSIOp o) {
        Value whole = roundedUp(o);
        StringRef name = whole ? cu::findName(whole.getLoc()) : StringRef();
        return name.empty() ? nameOfParts(o.getLhs(), "_div_", o.getRhs(), "quotient") : (name + "_tiles").str();
      })
      .Case([](arith::RemSIOp o) { return nameOfParts(o.getLhs(), "_mod_", o.getRhs(), "remainder"); })
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp>([](auto o) {
        PartedName name = nameOfPart(o);
        return name.parts ? name.text : "offset";
      })
      .Case<arith::MinSIOp, arith::MaxSIOp>([](auto) { return "bounded"; })
      .Case<cu::OpaqueOp>([](auto) { return "rounds"; }) // of a loop, hidden from NVRTC
      .Case<arith::SelectOp>([](auto) { return "chosen"; })
      .Case([](memref::LoadOp o) { return roleOfLoad(o); })
      .Default([](auto) { return "at"; });
}

/// What a comparison asks: `d_below_D`, `S_above_0`, `total_is_nan`; "condition" where a side has no name.
std::string roleOfCondition(Operation *op) {
  constexpr StringRef otherwise = "condition";
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    using P = arith::CmpIPredicate;
    P p = compare.getPredicate();
    StringRef word = p == P::eq                   ? "_is_"
                     : p == P::ne                 ? "_is_not_"
                     : p == P::slt || p == P::ult ? "_below_"
                     : p == P::sgt || p == P::ugt ? "_above_"
                     : p == P::sge || p == P::uge ? "_from_"
                                                  : "_up_to_";
    return nameOfParts(compare.getLhs(), word, compare.getRhs(), otherwise);
  }
  auto compare = dyn_cast<arith::CmpFOp>(op);
  if (!compare)
    return otherwise.str();
  using P = arith::CmpFPredicate;
  P p = compare.getPredicate();
  if (compare.getLhs() == compare.getRhs() && p == P::UNE) {
    StringRef name = cu::findName(compare.getLhs().getLoc());
    return name.empty() ? otherwise.str() : (name + "_is_nan").str();
  }
  StringRef word = p == P::OEQ   ? "_is_"
                   : p == P::UNE ? "_is_not_"
                   : p == P::OLT ? "_below_"
                   : p == P::OGT ? "_above_"
                   : p == P::OGE ? "_from_"
                   : p == P::OLE ? "_up_to_"
                                 : "";
  // The number stands behind what is asked about it.
  bool turns = (p == P::OEQ || p == P::UNE) && matchPattern(compare.getLhs(), m_Constant());
  return word.empty()
             ? otherwise.str()
             : nameOfParts(turns ? compare.getRhs() : compare.getLhs(), word, turns ? compare.getLhs() : compare.getRhs(), otherwise);
}

} // namespace

bool isSpelledByName(Operation *op) {
  if (op->getNumResults() != 1 || !cu::findName(op->getLoc()).empty())
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp>([](auto o) { return nameOfPart(o).parts > 0; })
      .Case<arith::RemSIOp, arith::DivSIOp>([](auto o) { // (by a number: other divisions are no trifle)
        bool isTiles = std::is_same_v<decltype(o), arith::DivSIOp> && roundedUp(o);
        return o.getType().isIndex() && getConstantIntValue(o.getRhs()) && !isTiles && nameOfPart(o.getLhs()).parts > 0;
      })
      .Case<arith::CmpIOp>(
          [](auto o) { return o.getLhs().getType().isIndex() && join(nameOfPart(o.getLhs()), "", nameOfPart(o.getRhs())).parts > 0; })
      .Default(false);
}

std::string roleOf(Operation *op) {
  if (!op || op->getNumResults() != 1)
    return {};
  Type type = op->getResult(0).getType();
  if (type.isIndex())
    return roleOfIndex(op);
  if (type.isInteger(1))
    return roleOfCondition(op);
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<math::ExpOp, math::Exp2Op>([](auto) { return "exponential"; })
      .Case<math::LogOp, math::Log2Op, math::Log10Op>([](auto) { return "logarithm"; })
      .Case<math::SqrtOp>([](auto) { return "root"; })
      .Case<math::RsqrtOp>([](auto) { return "inverse_root"; })
      .Case<math::AbsFOp, math::AbsIOp>([](auto) { return "magnitude"; })
      .Case<arith::AddFOp, arith::AddIOp, math::FmaOp>([](auto) { return "sum"; })
      .Case<arith::SubFOp, arith::SubIOp>([](auto) { return "difference"; })
      .Case<arith::MulFOp, arith::MulIOp>(
          [](auto o) { return matchPattern(o.getRhs(), m_Constant()) ? roleWithOperand("scaled", o.getLhs()) : "product"; })
      .Case<arith::DivFOp>(
          [](arith::DivFOp o) { return matchPattern(o.getLhs(), m_OneFloat()) ? roleWithOperand("inverse", o.getRhs()) : "quotient"; })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>([](auto) { return "quotient"; })
      .Case<arith::RemFOp, arith::RemSIOp, arith::RemUIOp>([](auto) { return "remainder"; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp, arith::MaxUIOp>([](auto) { return "larger"; })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp, arith::MinUIOp>([](auto) { return "smaller"; })
      .Case<arith::NegFOp>([](arith::NegFOp o) { return roleWithOperand("negated", o.getOperand()); })
      .Case<arith::SelectOp>([](arith::SelectOp o) { // between a number and something
        Value other = matchPattern(o.getTrueValue(), m_Constant()) ? o.getFalseValue() : o.getTrueValue();
        return other == o.getFalseValue() || matchPattern(o.getFalseValue(), m_Constant()) ? roleWithOperand("chosen", other)
                                                                                           : std::string("chosen");
      })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp,
            arith::IndexCastOp, arith::IndexCastUIOp, cu::ConvertOp>([](auto) { return "converted"; })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([](auto) { return "shifted"; })
      .Case<cu::ShuffleXorOp>([](auto) { return "other"; })
      .Case([](memref::LoadOp o) { return roleOfLoad(o); })
      .Default([](Operation *op) {
        // tanh: tanh_of, as C has the word for its function
        bool isFunction = op->getDialect()->getNamespace() == math::MathDialect::getDialectNamespace();
        return isFunction ? (op->getName().stripDialect() + "_of").str() : std::string();
      });
}

} // namespace kernelc::codegen
