#include "passes/tile/Access.h"

#include "passes/te/Affine.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {

void setBaseLayouts(tile::FuncOp func, ArrayRef<BaseLayout> layouts) {
  if (llvm::all_of(layouts, [](const BaseLayout &l) { return !l.strides && l.alignment == 16; }))
    return;
  Builder b(func.getContext());
  SmallVector<Attribute> strides;
  SmallVector<int64_t> alignment;
  for (const BaseLayout &l : layouts) {
    strides.push_back(l.strides ? Attribute(AffineMapAttr::get(l.strides)) : b.getUnitAttr());
    alignment.push_back(l.alignment);
  }
  func->setAttr("arg_strides", b.getArrayAttr(strides));
  func->setAttr("arg_alignment", b.getDenseI64ArrayAttr(alignment));
}

BaseLayout layoutOfBase(tile::FuncOp func, Value base) {
  BaseLayout layout;
  unsigned i = cast<BlockArgument>(base).getArgNumber();
  if (auto strides = func->getAttrOfType<ArrayAttr>("arg_strides"))
    if (auto map = dyn_cast<AffineMapAttr>(strides[i]))
      layout.strides = map.getValue();
  if (auto alignment = func->getAttrOfType<DenseI64ArrayAttr>("arg_alignment"))
    layout.alignment = alignment.asArrayRef()[i];
  return layout;
}

AffineExpr linearAddress(AffineMap map, AffineMap shape, AffineMap strides) {
  MLIRContext *c = map.getContext();
  if (strides) {
    AffineExpr address = getAffineConstantExpr(0, c);
    for (auto [e, s] : llvm::zip(map.getResults(), strides.getResults()))
      address = address + e * s;
    return address;
  }
  AffineExpr address = getAffineConstantExpr(0, c), stride = getAffineConstantExpr(1, c);
  for (int64_t d = int64_t(map.getNumResults()) - 1; d >= 0; --d) {
    address = address + map.getResult(d) * stride;
    stride = stride * shape.getResult(d);
  }
  return address;
}

int64_t contiguousDim(tile::FuncOp func, Value base, AffineMap map, ArrayRef<int64_t> shape) {
  if (map.getNumResults() == 0)
    return -1;
  if (AffineMap strides = layoutOfBase(func, base).strides)
    if (strides.getResults().back() != getAffineConstantExpr(1, map.getContext()))
      return -1;
  AffineExpr last = map.getResults().back();
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] <= 1 || te::linearCoefficient(last, d) != 1)
      continue;
    // The dim must not appear in slower subscripts too.
    if (llvm::none_of(map.getResults().drop_back(), [&](AffineExpr e) { return e.isFunctionOfDim(d); }))
      return d;
  }
  return -1;
}

int64_t provableVector(tile::FuncOp func, Value base, AffineMap map, int64_t dim, bool ragged, int64_t limit) {
  if (dim < 0)
    return 1;
  te::SizeFacts facts{func.getSizeDiv(), func.getSizeMax()};
  BaseLayout layout = layoutOfBase(func, base);
  AffineExpr address = linearAddress(map, shapeOfBase(func, base), layout.strides);
  int64_t bytes = std::max(1u, cast<MemRefType>(base.getType()).getElementTypeBitWidth() / 8);
  limit = std::max<int64_t>(1, std::min(limit, layout.alignment / bytes));
  for (int64_t v = llvm::bit_floor(uint64_t(limit)); v > 1; v /= 2) {
    SmallVector<int64_t> dimDiv(map.getNumDims(), 1);
    dimDiv[dim] = v;
    int64_t d = te::knownDivisor(address, facts, dimDiv);
    if (d != 0 && d % v != 0)
      continue;
    int64_t extent = te::knownDivisor(func.getExtent(dim), facts);
    if (ragged && extent != 0 && extent % v != 0)
      continue;
    return v;
  }
  return 1;
}

bool isZeroPadded(tile::LoadOp load) {
  if (load.getBounds() != te::BoundsMode::Pad)
    return false;
  auto constant = load.getPadding().getDefiningOp<arith::ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  return splat && (isa<FloatType>(splat.getElementType()) ? splat.getSplatValue<APFloat>().isPosZero()
                                                          : splat.getSplatValue<APInt>().isZero());
}

AffineMap shapeOfBase(tile::FuncOp func, Value base) {
  return func.getArgShape(cast<BlockArgument>(base).getArgNumber());
}

} // namespace kernelc
