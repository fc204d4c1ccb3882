// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/analysis/UnitOperands.h"

#include "ir/te/Precision.h"
#include "ir/te/TeShape.h"
#include "passes/index/LinearRead.h"
#include "passes/index/Strides.h"

using namespace mlir;

namespace kernelc::te {

int64_t unitBytes(Type unitType) { return isa<FloatTF32Type>(unitType) ? 4 : unitType.getIntOrFloatBitWidth() / 8; }

static bool isF8(Type t) { return isa<Float8E4M3FNType, Float8E5M2Type>(t); }

int64_t mostInAccumulators(KernelOp kernel, Type unitType, const Target &target) {
  if (isF8(unitType))
    return accumulatesFast(kernel) ? 0 : target.promoteAfter;
  if (!isa<FloatType>(unitType) || !accumulatesRounded(kernel))
    return 0;
  return isa<FloatTF32Type>(unitType) ? kMostInUnitTf32 : kMostInUnit;
}

Type operandType(const Contraction &c, Value factor, Unit unit, const Target &target) {
  if (!c.unitType || !isF8(c.unitType))
    return c.unitType;
  return takesF8(unit, target) ? narrowestType(factor) : Float16Type::get(factor.getContext());
}

bool hasRowsOfCopies(const Contraction &c, const SizeFacts &facts) {
  return llvm::all_of(ArrayRef{c.a, c.b}, [&](Value factor) {
    return llvm::all_of(findReads(factor), [&](ReadOp read) { return hasVectorRows(read, facts); });
  });
}

bool hasUnit(const Contraction &c, const Target &target) {
  return c.unitType && (target.mmaBf16 || operandType(c, c.a, Unit::Mma, target).isF16());
}

Type findWarpgroupType(const Contraction &c) {
  ReadOp a = findOperandRead(c.a), b = findOperandRead(c.b);
  if (!c.unitType || !a || !b)
    return {};
  Type aStored = a.getResult().getType(), bStored = b.getResult().getType();
  if (isa<FloatTF32Type>(c.unitType))
    return c.a.getDefiningOp<RoundOp>() && c.b.getDefiningOp<RoundOp>() && aStored.isF32() && bStored.isF32() ? c.unitType : Type();
  if (isF8(c.unitType))
    return isF8(aStored) && isF8(bStored) ? c.unitType : Type();
  return aStored == c.unitType && bStored == c.unitType ? c.unitType : Type();
}

unsigned fastestDim(AffineMap shape) {
  unsigned last = shape.getNumResults() - 1;
  while (last > 0 && shape.getResult(last) == getAffineConstantExpr(1, shape.getContext()))
    --last;
  return last;
}

bool runsAlong(ReadOp read, ArrayRef<unsigned> indices) {
  unsigned rank = read.getMapOrIdentity().getNumResults(), fastest = fastestDim(getTensorShape(read.getTensor()));
  if (AffineMap strides = getParamStrides(getKernel(read), findParam(read.getTensor())))
    fastest = llvm::find(strides.getResults(), getAffineConstantExpr(1, read.getContext())) - strides.getResults().begin();
  if (fastest >= rank)
    return false;
  std::optional<SmallVector<int64_t>> coefficients = lineariseSubscript(read->getParentOp(), read, fastest);
  return coefficients && llvm::any_of(indices, [&](unsigned d) { return (*coefficients)[d] != 0; });
}

std::optional<WarpgroupForm> findWarpgroupForm(const Contraction &c) {
  if (Type type = findWarpgroupType(c)) {
    // Words of k lie beside each other in slots: of two operands, one that runs along rows or columns goes through
    // registers, as it is.
    bool a = !isa<FloatTF32Type>(type) || runsAlong(findOperandRead(c.a), c.k);
    bool b = !isa<FloatTF32Type>(type) || runsAlong(findOperandRead(c.b), c.k);
    return a == b ? WarpgroupForm{type} : WarpgroupForm{type, !a, !b};
  }
  // Fragments of other widths are not neighbours in the rows of a slot that lies across them.
  if (!c.unitType || !(c.unitType.isF16() || c.unitType.isBF16()))
    return std::nullopt;
  auto isDirect = [&](Value factor) {
    ReadOp read = findOperandRead(factor);
    return read && read.getResult().getType() == c.unitType;
  };
  bool a = isDirect(c.a), b = isDirect(c.b);
  return a == b ? std::nullopt : std::optional(WarpgroupForm{c.unitType, !a, !b});
}

bool embeds(Type from, Type to) {
  if (from == to)
    return true;
  // i8 of either sign has at most 8 significant bits.
  bool tiny = from.isInteger(8) || isF8(from);
  if (to.isF16() || to.isBF16())
    return tiny;
  return isa<FloatTF32Type>(to) && (tiny || from.isF16() || from.isBF16());
}

Type findUnitType(Value a, Value b, Type accumulator) {
  MLIRContext *context = accumulator.getContext();
  SmallVector<Type> candidates;
  if (accumulator.isInteger(32))
    candidates = {IntegerType::get(context, 8)};
  else if (accumulator.isF32())
    candidates = {Float16Type::get(context), BFloat16Type::get(context), FloatTF32Type::get(context)};
  Type aType = narrowestType(a), bType = narrowestType(b);
  if (accumulator.isF32() && isF8(aType) && isF8(bType))
    return Float8E4M3FNType::get(context);
  for (Type t : candidates)
    if (embeds(aType, t) && embeds(bType, t))
      return t;
  return {};
}

} // namespace kernelc::te
