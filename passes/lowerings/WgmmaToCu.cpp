// Dots on the wgmma unit: descriptors of slots, products of 64 rows by all columns
// of a warpgroup's part by 32 bytes of k.
#include "ir/tile/Accumulator.h"
#include "passes/lowerings/DotToCu.h"
#include "passes/lowerings/SlotAddress.h"
#include "passes/tile/WgmmaOperand.h"

using namespace mlir;

namespace kernelc {

LogicalResult lowerWgmma(ThreadCode &c, tile::DotOp op, Value acc) {
  OpBuilder &b = c.b;
  Location loc = cu::unnamed(op.getLoc());
  struct Side {
    Value ring;
    tile::RingType type;
    WgmmaOperand operand;
    Value descriptor;
  };
  auto side = [&](Value ring, ArrayRef<int64_t> outer) -> FailureOr<Side> {
    auto type = cast<tile::RingType>(ring.getType());
    std::string why;
    int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
    auto operand = findWgmmaOperand(type.getShape(), bytes, type.getContiguous(), outer, op.getK(), why);
    if (!operand)
      return op.emitOpError() << "cannot be read by the wgmma unit: " << why;
    return Side{ring, type, *operand, {}};
  };
  FailureOr<Side> a = side(op.getA(), op.getM()), bSide = side(op.getB(), op.getN());
  if (failed(a) || failed(bSide))
    return failure();
  auto extent = [](const Side &s, ArrayRef<int64_t> dims) {
    int64_t p = 1;
    for (int64_t d : dims)
      p *= s.type.getShape()[d];
    return p;
  };
  int64_t m = extent(*a, op.getM()), n = extent(*bSide, op.getN()), k = extent(*a, op.getK());
  tile::AccumulatorShape shape = tile::accumulatorShape("wgmma", m, n, c.func.getWarps());
  // Which part of the product this warpgroup has: rows or columns.
  Value group = c.warpgroup(loc);
  bool byRows = shape.warpM < m;
  if (shape.warpM % 64 || (!byRows && bSide->operand.transposed && shape.warpN % bSide->operand.panelWidth))
    return op.emitOpError() << "gives a warpgroup " << shape.warpM << " rows and " << shape.warpN
                            << " columns; the wgmma unit takes rows by 64 and whole panels of columns";
  Value number = c.scalars.lookup(op.getNumber());
  auto describe = [&](Side &s, StringRef name, int64_t part) {
    SlotAddress address(c, s.type, loc);
    int64_t bytes = s.type.getElementType().getIntOrFloatBitWidth() / 8;
    Value start = address.slotStart(number);
    if (part)
      start = c.add(start, c.mul(group, s.operand.outerOffset(part) / bytes, loc), loc);
    s.descriptor = cu::SmemDescOp::create(b, NameLoc::get(b.getStringAttr(name), loc), b.getIntegerType(64, false), c.rings.lookup(s.ring),
                                          start, s.operand.leadingBytes, s.operand.strideBytes, s.operand.swizzleBytes);
  };
  describe(*a, "a_desc", byRows ? shape.warpM : 0);
  describe(*bSide, "b_desc", !byRows && shape.warpN < n ? shape.warpN : 0);
  cu::WgmmaFenceOp::create(b, loc, acc);
  // Products in order of k, so that each accumulator's next product is not its last.
  int64_t perStep = 32 / (a->type.getElementType().getIntOrFloatBitWidth() / 8), reps = shape.warpM / 64;
  auto advanced = [&](const Side &s, int64_t bytes) -> Value {
    return bytes ? Value(cu::DescAdvanceOp::create(b, loc, b.getIntegerType(64, false), s.descriptor, c.index(bytes, loc))) : s.descriptor;
  };
  Type element = a->type.getElementType();
  StringRef type = element.isBF16() ? "bf16" : element.isF16() ? "f16" : element.isF32() ? "tf32" : op.getAUnsigned() ? "u8" : "s8";
  for (int64_t k0 = 0; k0 < k; k0 += perStep)
    for (int64_t rep = 0; rep < reps; ++rep)
      cu::WgmmaOp::create(b, loc, acc, c.index(rep * shape.warpN / 2, loc),
                          advanced(*a, a->operand.kOffset(k0) + (rep ? a->operand.outerOffset(rep * 64) : 0)),
                          advanced(*bSide, bSide->operand.kOffset(k0)), type, shape.warpN, a->operand.transposed, bSide->operand.transposed);
  cu::WgmmaCommitOp::create(b, loc);
  return success();
}

} // namespace kernelc
