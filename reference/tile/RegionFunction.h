// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions of scalar code in ops on tiles, for the tile interpreter.
#pragma once

#include <cassert>

#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpDefinition.h"
#include "reference/tile/TileScalars.h"
#include "llvm/ADT/DenseMap.h"

namespace kernelc::reference {

/// What a region of scalar code makes of its arguments, on elements: the term of a dot, or the state that two states combine to.
class RegionFunction {
public:
  RegionFunction(mlir::Region &region, TileArithmetic arithmetic) {
    if (region.empty())
      return;
    mlir::Block &block = region.front();
    arguments_ = block.getNumArguments();
    llvm::DenseMap<mlir::Value, size_t> numbers;
    auto numberOf = [&](mlir::Value v) {
      if (auto [it, isNew] = numbers.try_emplace(v, values_.size()); !isNew)
        return it->second;
      values_.push_back({});
      if (mlir::Attribute constant; mlir::matchPattern(v, mlir::m_Constant(&constant)))
        known_ &= findConstant(constant, arithmetic, values_.back());
      return values_.size() - 1;
    };
    for (mlir::Value argument : block.getArguments())
      numberOf(argument);
    for (mlir::Operation &op : block.without_terminator()) {
      if (op.hasTrait<mlir::OpTrait::ConstantLike>())
        continue;
      Step step{findScalarFunction(&op, arithmetic), {}, 0};
      known_ &= bool(step.function) && op.getNumOperands() <= 3;
      for (mlir::Value operand : op.getOperands())
        step.operands.push_back(numberOf(operand));
      step.result = numberOf(op.getResult(0));
      steps_.push_back(std::move(step));
    }
    for (mlir::Value v : block.getTerminator()->getOperands())
      results_.push_back(numberOf(v));
  }

  bool isKnown() const { return known_; }

  /// Result k of the last run.
  TileElement result(size_t k = 0) const { return values_[results_[k]]; }

  TileElement run(llvm::ArrayRef<TileElement> arguments) {
    assert(arguments.size() == arguments_);
    std::copy(arguments.begin(), arguments.end(), values_.begin());
    for (const Step &step : steps_) {
      TileElement operands[3] = {};
      for (auto [to, from] : llvm::zip(operands, step.operands))
        to = values_[from];
      values_[step.result] = step.function(operands);
    }
    return result();
  }

private:
  struct Step {
    ScalarFunction function;
    llvm::SmallVector<size_t, 3> operands;
    size_t result;
  };
  std::vector<TileElement> values_; ///< the arguments first
  std::vector<Step> steps_;
  llvm::SmallVector<size_t> results_;
  size_t arguments_ = 0;
  bool known_ = true;
};

} // namespace kernelc::reference
