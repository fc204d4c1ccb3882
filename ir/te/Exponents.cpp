// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/Exponents.h"

#include <cmath>

#include "ir/te/Te.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace kernelc::te {
namespace {

constexpr double kMostFactor = 0x1p7; // times 2^-21 a 32nd of what 16 bits are rounded by
constexpr unsigned kNarrow = 16;

/// What a yielded value is part of: elements of a tensor, or a reduction of them by one of `kinds`.
Value resultOf(OpOperand &yielded, ArrayRef<Combiner> kinds) {
  if (yielded.get().getType().isInteger(1))
    return {};
  Operation *statement = yielded.getOwner()->getParentOp();
  if (auto compute = dyn_cast<ComputeOp>(statement))
    return compute.getResult();
  auto reduce = dyn_cast<ReduceOp>(statement);
  return reduce && llvm::is_contained(kinds, reduce.getKind()) ? Value(reduce.getResult()) : Value();
}

class Exponents {
public:
  explicit Exponents(Value v) { add(v, 1); }

  bool areRounded() {
    while (!summands_.empty())
      if (Value v = summands_.pop_back_val(); !llvm::all_of(v.getUses(), [&](OpOperand &use) { return take(use, factors_.at(v)); }))
        return false;
    while (!powers_.empty())
      if (Value v = powers_.pop_back_val(); !llvm::all_of(v.getUses(), [&](OpOperand &use) { return takePower(use); }))
        return false;
    return true;
  }

private:
  /// A value that holds the scalar `factor` times at most.
  bool add(Value v, double factor) {
    auto [at, isNew] = factors_.try_emplace(v, factor);
    if (!isNew && at->second >= factor)
      return true;
    at->second = factor;
    summands_.push_back(v);
    return factor <= kMostFactor;
  }
  bool addPower(Value v) {
    if (v && seen_.insert(v).second)
      powers_.push_back(v);
    return bool(v);
  }

  /// A use of what is to be a summand of exponents.
  bool take(OpOperand &use, double factor) {
    Operation *op = use.getOwner();
    unsigned at = use.getOperandNumber();
    if (isa<math::ExpOp, math::Exp2Op>(op))
      return addPower(op->getResult(0));
    FloatAttr constant;
    if (isa<arith::MulFOp>(op))
      return matchPattern(op->getOperand(1 - at), m_Constant(&constant)) &&
             add(op->getResult(0), factor * std::fabs(constant.getValueAsDouble()));
    if (isa<arith::DivFOp>(op))
      return at == 0 && matchPattern(op->getOperand(1), m_Constant(&constant)) &&
             add(op->getResult(0), factor / std::fabs(constant.getValueAsDouble()));
    bool isKept = isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::ExtFOp, arith::TruncFOp, arith::MaximumFOp, arith::MinimumFOp,
                      arith::MaxNumFOp, arith::MinNumFOp, ReadOp>(op);
    if (isKept || (isa<arith::SelectOp>(op) && at > 0))
      return add(op->getResult(0), factor);
    Value made = isa<YieldOp>(op) ? resultOf(use, {Combiner::Max, Combiner::Min}) : Value();
    return made && add(made, factor);
  }

  /// A use of an exponential, or of what is as exact in proportion.
  bool takePower(OpOperand &use) {
    Operation *op = use.getOwner();
    if (auto cast = dyn_cast<arith::TruncFOp>(op); cast && cast.getType().getIntOrFloatBitWidth() <= kNarrow)
      return true;
    if (isa<arith::MulFOp, arith::DivFOp, ReadOp>(op) || (isa<arith::SelectOp>(op) && use.getOperandNumber() > 0))
      return addPower(op->getResult(0));
    return isa<YieldOp>(op) && addPower(resultOf(use, {Combiner::Sum}));
  }

  llvm::DenseMap<Value, double> factors_;
  llvm::DenseSet<Value> seen_;
  SmallVector<Value> summands_, powers_;
};

} // namespace

bool isOfRoundedExponents(Value v) { return Exponents(v).areRounded(); }

} // namespace kernelc::te
