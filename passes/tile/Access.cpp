#include "passes/tile/Access.h"

#include "passes/te/Affine.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {

AffineExpr linearAddress(AffineMap map, AffineMap shape) {
  MLIRContext *c = map.getContext();
  AffineExpr address = getAffineConstantExpr(0, c), stride = getAffineConstantExpr(1, c);
  for (int64_t d = int64_t(map.getNumResults()) - 1; d >= 0; --d) {
    address = address + map.getResult(d) * stride;
    stride = stride * shape.getResult(d);
  }
  return address;
}

int64_t contiguousDim(AffineMap map, ArrayRef<int64_t> shape) {
  if (map.getNumResults() == 0)
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

int64_t provableVector(tile::FuncOp func, AffineMap map, AffineMap shape, int64_t dim, bool ragged, int64_t limit) {
  if (dim < 0)
    return 1;
  te::SizeFacts facts{func.getSizeDiv(), func.getSizeMax()};
  AffineExpr address = linearAddress(map, shape);
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

AffineMap shapeOfBase(tile::FuncOp func, Value base) {
  return func.getArgShape(cast<BlockArgument>(base).getArgNumber());
}

} // namespace kernelc
