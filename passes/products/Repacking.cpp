// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/products/Repacking.h"

#include "ir/te/TeShape.h"

using namespace mlir;

namespace kernelc::te {

std::optional<double> Repacking::workOf(Operation *statement, const Contraction &c) const {
  double work = 1;
  for (unsigned d : llvm::concat<const unsigned>(c.batch, c.m, c.n, c.k)) {
    int64_t most = knownMax(getExtents(statement).getResult(d), facts);
    if (most < 0)
      return std::nullopt;
    work *= double(most);
  }
  return work;
}

double Repacking::elementsOf(Value tensor) const {
  double elements = 1;
  for (AffineExpr e : getTensorShape(tensor).getResults()) {
    int64_t most = knownMax(e, facts);
    elements *= most < 0 ? 0x1p40 : double(most);
  }
  return elements;
}

AffineExpr Repacking::roundUp(AffineExpr e, int64_t unit) const { return knownDivisor(e, facts) % unit == 0 ? e : e.ceilDiv(unit) * unit; }

std::string nameOfOperand(Value tensor) {
  if (auto arg = dyn_cast<BlockArgument>(tensor))
    return cast<StringAttr>(cast<KernelOp>(arg.getOwner()->getParentOp()).getArgNames()[arg.getArgNumber()]).str();
  auto name = tensor.getDefiningOp()->getAttrOfType<StringAttr>("name");
  return name ? name.str() : "operand";
}

} // namespace kernelc::te
