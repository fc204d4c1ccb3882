// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/RowVector.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/index/Affine.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

static te::SizeFacts factsOf(FuncOp func) { return {func.getSizeDiv(), func.getSizeMax()}; }

int64_t rowVector(FuncOp func, Value base, AffineMap map, const ContiguousRun &run, int64_t limit) {
  std::optional<AlignedRows> rows = func.findAlignedRows();
  if (!rows || run.dim != int64_t(rows->index) || run.perElement != 1 || run.step != 1)
    return 1;
  BaseLayout layout = layoutOfBase(func, base);
  AffineExpr address = linearAddress(map, shapeOfBase(func, base), layout.strides);
  AffineExpr apart = simplifyAffineExpr(address - rows->form, map.getNumDims(), map.getNumSymbols());
  int64_t divisor = te::knownDivisor(apart, factsOf(func));
  int64_t bytes = std::max(1u, cast<MemRefType>(base.getType()).getElementTypeBitWidth() / 8);
  int64_t v = llvm::bit_floor(uint64_t(std::max<int64_t>(1, std::min({limit, rows->align, layout.alignment / bytes}))));
  while (divisor % v != 0)
    v /= 2;
  return v;
}

Value pointsBefore(OpBuilder &b, FuncOp func, unsigned index, ArrayRef<Value> offsets, Location loc) {
  std::optional<AlignedRows> rows = func.findAlignedRows();
  if (!rows || rows->index != index || !rows->mayBeginBefore())
    return {};
  // Where the row begins in memory, modulo a vector: so much is left of constants.
  unsigned rank = func.getRank(), sizes = func.getSizes().size();
  AffineExpr zero = b.getAffineConstantExpr(0), first = zero;
  for (auto [term, factor] : te::splitTerms(rows->form.replace(b.getAffineDimExpr(index), zero)))
    first = first + term * ((factor % rows->align + rows->align) % rows->align);
  first = simplifyAffineExpr(first % rows->align, rank, sizes);
  if (first == zero)
    return {};
  SmallVector<Value> at(offsets);
  at[index] = arith::ConstantIndexOp::create(b, loc, 0);
  Location named = NameLoc::get(b.getStringAttr(cast<StringAttr>(func.getIndices()[index]).getValue() + "_before"), loc);
  return ApplyOp::create(b, named, b.getIndexType(), AffineMap::get(rank, sizes, first), at);
}

int64_t mostCovered(FuncOp func, unsigned index) {
  int64_t most = te::knownMax(func.getExtent(index), factsOf(func));
  return most >= 0 && func.mayBeginBefore(index) ? most + func.findAlignedRows()->align - 1 : most;
}

} // namespace kernelc
