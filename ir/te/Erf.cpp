// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/Erf.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace kernelc::te {

std::optional<ErfBesideOne> findErfBesideOne(Operation *op) {
  auto beside = [&](unsigned at) -> std::optional<ErfBesideOne> {
    auto erf = op->getOperand(at).getDefiningOp<math::ErfOp>();
    if (!erf || !erf.getType().isF32() || !matchPattern(op->getOperand(1 - at), m_OneFloat()))
      return std::nullopt;
    return ErfBesideOne{erf, erf.getOperand(), isa<arith::AddFOp>(op)};
  };
  if (!isa<arith::AddFOp, arith::SubFOp>(op))
    return std::nullopt;
  if (auto found = beside(1))
    return found;
  return isa<arith::AddFOp>(op) ? beside(0) : std::nullopt;
}

} // namespace kernelc::te
