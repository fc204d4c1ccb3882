// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/ProductLayouts.h"

#include "ir/te/ScheduleLoc.h"
#include "passes/tile/RegisterOperand.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

LogicalResult ProductLayouts::checkShape(DotOp dot) {
  const UnitInstruction &unit = instructionOf(func_.getUnit());
  auto count = [&](ArrayRef<int64_t> dims) {
    int64_t n = 1;
    for (int64_t d : dims)
      n *= shapeOfTile(dot.getResult())[d];
    return n;
  };
  int64_t m = count(dot.getM()), n = count(dot.getN());
  bool isSide = unit.unit == Unit::Simt ? isCoresSide(m) && isCoresSide(n) : isRows(m) && isColumns(unit.unit, n);
  if (m < unit.rows || n < unit.columns || !isSide)
    return mlir::emitError(te::getScheduleLoc(dot)) << "the schedule of '" << func_.getSymName() << "' has tiles of " << m << " × " << n
                                                    << " results, which fill no fragments of unit " << unit.name
                                                    << ": it needs powers of two, at least " << unit.rows << " × " << unit.columns;
  if (takesRegisters(func_) && m != 16 * int64_t(func_.getWarps()))
    return mlir::emitError(te::getScheduleLoc(dot))
           << "the schedule of '" << func_.getSymName() << "' gives " << func_.getWarps() << " warps " << m
           << " rows of a product; where another takes its results from registers unit mma has 16 rows a warp";
  if (func_.getWarps() % unit.warps)
    return mlir::emitError(te::getScheduleLoc(dot)) << "the schedule of '" << func_.getSymName() << "' gives unit " << unit.name << " "
                                                    << func_.getWarps() << " warps, no whole warpgroups";
  return success();
}

bool ProductLayouts::isRows(int64_t extent) {
  return llvm::isPowerOf2_64(extent) || (func_.getUnit() == Unit::Wgmma && extent == 16 * int64_t(func_.getWarps()));
}

static ArrayRef<int64_t> shapeOfOperand(Value operand) {
  auto ring = dyn_cast<RingType>(operand.getType());
  return ring ? ring.getShape() : shapeOfTile(operand);
}
/// Of a dot's index, whichever operand has it.
static int64_t extentOf(DotOp dot, int64_t dim) { return std::max(shapeOfOperand(dot.getA())[dim], shapeOfOperand(dot.getB())[dim]); }
static int64_t extentOf(DotOp dot, ArrayRef<int64_t> dims) {
  int64_t product = 1;
  for (int64_t d : dims)
    product *= extentOf(dot, d);
  return product;
}

/// Digits of the linear coordinates of a dot over the dims they stand for: the last index of
/// each class is the fastest.
static Layout overDims(DotOp dot, const AccumulatorShape &s) {
  auto classOf = [&](char axis) { return axis == 'm' ? dot.getM() : axis == 'n' ? dot.getN() : dot.getK(); };
  auto spread = [&](ArrayRef<std::pair<char, Digit>> digits) {
    Digits out;
    for (auto [axis, d] : digits) {
      if (axis == 'r') {
        out.push_back({-1, 0, d.size});
        continue;
      }
      SmallVector<int64_t> dims(llvm::reverse(classOf(axis)));
      llvm::append_range(out, spreadDigits(d, dims, llvm::map_to_vector(dims, [&](int64_t i) { return extentOf(dot, i); })));
    }
    return out;
  };
  return {spread(s.reg), spread(s.lane), spread(s.warp)};
}

Layout ProductLayouts::accumulatorLayout(DotOp dot) {
  auto supply = [&](Value operand, ArrayRef<int64_t> outer) {
    auto ring = dyn_cast<RingType>(operand.getType());
    int64_t bytes = ring ? std::max(1u, ring.getElementType().getIntOrFloatBitWidth() / 8) : 0;
    return ring ? supplyOf(ring.getShape(), ring.getContiguous(), ring.getPad(), bytes, outer, dot.getK()) : Supply();
  };
  return overDims(dot, accumulatorShape(func_.getUnit(), extentOf(dot, dot.getM()), extentOf(dot, dot.getN()), func_.getWarps(),
                                        supply(dot.getA(), dot.getM()), supply(dot.getB(), dot.getN()), rows_));
}

Layout ProductLayouts::operandLayout(DotOp dot) {
  int64_t bytes = std::max(1u, cast<RankedTensorType>(dot.getA().getType()).getElementTypeBitWidth() / 8);
  return overDims(
      dot, operandShape(extentOf(dot, dot.getM()), extentOf(dot, dot.getN()), extentOf(dot, dot.getK()), func_.getWarps(), bytes, rows_));
}

/// Of wgmma's rows, for all products of the function, so that those that share accumulators or operands agree: along the slots of
/// first operands, where each comes out of slots of words that run so.
void ProductLayouts::orderRows(LayoutComponents &components) {
  auto runsAlongRows = [&](DotOp dot) {
    auto loads = llvm::filter_to_vector(components.of(dot.getA()).values, [](Value v) { return v.getDefiningOp<RingLoadOp>(); });
    return !loads.empty() && llvm::all_of(loads, [&](Value v) {
      RingType ring = v.getDefiningOp<RingLoadOp>().getRing().getType();
      return ring.getElementType().getIntOrFloatBitWidth() == 32 &&
             runsOf(ring.getShape(), ring.getContiguous(), ring.getPad(), 4, dot.getM(), dot.getK()).outer > 1;
    });
  };
  bool hasDot = false, along = func_.getUnit() == Unit::Wgmma;
  func_.walk([&](DotOp dot) {
    auto type = dyn_cast<RankedTensorType>(dot.getA().getType());
    along = along && type && type.getElementTypeBitWidth() == 32 && runsAlongRows(dot);
    hasDot = true;
  });
  rows_ = along && hasDot ? rowsAlong() : RowOrder();
  rows_.whole = takesRegisters(func_) || readsOwnRows(func_);
}

} // namespace kernelc
