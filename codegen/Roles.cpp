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

/// `lane_div_4`, `S_mod_T`; `otherwise` where an operand has no name.
std::string nameOfParts(Value x, StringRef word, Value y, StringRef otherwise) {
  std::string before = cu::findName(x.getLoc()).str(), after = cu::findName(y.getLoc()).str();
  if (auto c = getConstantIntValue(y))
    after = *c < 0 ? "" : std::to_string(*c);
  constexpr size_t kLongest = 20; // more is no help
  bool tells = !before.empty() && !after.empty() && before.size() + after.size() <= kLongest;
  return tells ? before + word.str() + after : otherwise.str();
}

/// (x + y - 1) / y
Value roundedUp(arith::DivSIOp quotient) {
  auto sum = quotient.getLhs().getDefiningOp<arith::AddIOp>();
  auto by = getConstantIntValue(quotient.getRhs());
  return sum && by && *by > 1 && getConstantIntValue(sum.getRhs()) == *by - 1 ? sum.getLhs() : Value();
}

std::string roleOfIndex(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case([](arith::DivSIOp o) {
        Value whole = roundedUp(o);
        StringRef name = whole ? cu::findName(whole.getLoc()) : StringRef();
        return name.empty() ? nameOfParts(o.getLhs(), "_div_", o.getRhs(), "quotient") : (name + "_tiles").str();
      })
      .Case([](arith::RemSIOp o) { return nameOfParts(o.getLhs(), "_mod_", o.getRhs(), "remainder"); })
      .Case<arith::AddIOp, arith::SubIOp, arith::MulIOp>([](auto) { return "offset"; })
      .Case<arith::MinSIOp, arith::MaxSIOp>([](auto) { return "bounded"; })
      .Case<cu::OpaqueOp>([](auto) { return "rounds"; }) // of a loop, hidden from NVRTC
      .Case<arith::SelectOp>([](auto) { return "chosen"; })
      .Case<memref::LoadOp>([](auto) { return "loaded"; })
      .Default([](auto) { return "at"; });
}

} // namespace

std::string roleOf(Operation *op) {
  if (!op || op->getNumResults() != 1)
    return {};
  Type type = op->getResult(0).getType();
  if (type.isIndex())
    return roleOfIndex(op);
  if (type.isInteger(1))
    return "condition";
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<math::ExpOp, math::Exp2Op>([](auto) { return "exponential"; })
      .Case<math::LogOp, math::Log2Op, math::Log10Op>([](auto) { return "logarithm"; })
      .Case<math::SqrtOp>([](auto) { return "root"; })
      .Case<math::RsqrtOp>([](auto) { return "inverse_root"; })
      .Case<math::AbsFOp, math::AbsIOp>([](auto) { return "magnitude"; })
      .Case<arith::AddFOp, arith::AddIOp, math::FmaOp>([](auto) { return "sum"; })
      .Case<arith::SubFOp, arith::SubIOp>([](auto) { return "difference"; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto o) { return matchPattern(o.getRhs(), m_Constant()) ? "scaled" : "product"; })
      .Case<arith::DivFOp>([](arith::DivFOp o) { return matchPattern(o.getLhs(), m_OneFloat()) ? "inverse" : "quotient"; })
      .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>([](auto) { return "quotient"; })
      .Case<arith::RemFOp, arith::RemSIOp, arith::RemUIOp>([](auto) { return "remainder"; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp, arith::MaxUIOp>([](auto) { return "larger"; })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp, arith::MinUIOp>([](auto) { return "smaller"; })
      .Case<arith::NegFOp>([](auto) { return "negated"; })
      .Case<arith::SelectOp>([](auto) { return "chosen"; })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp,
            arith::IndexCastOp, arith::IndexCastUIOp, cu::ConvertOp>([](auto) { return "converted"; })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([](auto) { return "shifted"; })
      .Case<cu::ShuffleXorOp>([](auto) { return "other"; })
      .Case<memref::LoadOp>([](auto) { return "loaded"; })
      .Default([](Operation *op) {
        // tanh: tanh_of, as C has the word for its function
        bool isFunction = op->getDialect()->getNamespace() == math::MathDialect::getDialectNamespace();
        return isFunction ? (op->getName().stripDialect() + "_of").str() : std::string();
      });
}

} // namespace kernelc::codegen
