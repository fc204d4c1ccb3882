// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dots on the wgmma unit: descriptors of slots, products of 64 rows by all columns
// of a warpgroup's part by 32 bytes of k.
#include "ir/te/ScheduleLoc.h"
#include "ir/tile/Accumulator.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/lowerings/DotToCu.h"
#include "passes/lowerings/SlotAddress.h"
#include "passes/tile/WgmmaOperand.h"

using namespace mlir;

namespace kernelc {

namespace {

/// An operand in slots of a ring, with the descriptor of its part; or, without a ring, in registers.
struct Side {
  Value ring, registers, descriptor;
  tile::RingType type;
  WgmmaOperand operand;
};

/// What wgmma calls its operands' types (PTX ISA, "wgmma.mma_async").
std::string wgmmaType(tile::DotOp op, Type a, Type b) {
  auto f8 = [](Type t) { return isa<Float8E4M3FNType>(t) ? "e4m3" : "e5m2"; };
  if (isa<Float8E4M3FNType, Float8E5M2Type>(a))
    return a == b ? f8(a) : std::string(f8(a)) + f8(b);
  return a.isBF16() ? "bf16" : a.isF16() ? "f16" : a.isF32() ? "tf32" : op.getAUnsigned() ? "u8" : "s8";
}

} // namespace

LogicalResult lowerWgmma(ThreadCode &c, tile::DotOp op, Value acc) {
  OpBuilder &b = c.b;
  Location loc = cu::unnamed(op.getLoc());
  auto side = [&](Value v, ArrayRef<int64_t> outer) -> FailureOr<Side> {
    if (!isa<tile::RingType>(v.getType()))
      return Side{{}, c.tiles.lookup(v).array, {}, {}, {}};
    auto type = cast<tile::RingType>(v.getType());
    std::string why;
    int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
    auto operand = findWgmmaOperand(type.getShape(), bytes, type.getContiguous(), outer, op.getK(), why);
    if (!operand)
      return mlir::emitError(te::getScheduleLoc(op))
             << "the schedule of '" << c.func.getSymName() << "' has slots that unit wgmma cannot read: " << why;
    return Side{v, {}, {}, type, *operand};
  };
  FailureOr<Side> a = side(op.getA(), op.getM()), bSide = side(op.getB(), op.getN());
  if (failed(a) || failed(bSide))
    return failure();
  auto extent = [&](Value v, ArrayRef<int64_t> dims) {
    auto ring = dyn_cast<tile::RingType>(v.getType());
    ArrayRef<int64_t> shape = ring ? ring.getShape() : cast<RankedTensorType>(v.getType()).getShape();
    int64_t p = 1;
    for (int64_t d : dims)
      p *= shape[d];
    return p;
  };
  int64_t m = extent(op.getA(), op.getM()), n = extent(op.getB(), op.getN()), k = extent(op.getB(), op.getK());
  tile::AccumulatorShape shape = tile::accumulatorShape(Unit::Wgmma, m, n, c.func.getWarps());
  // Which part of the product this warpgroup has: rows or columns.
  Value group = c.warpgroup(loc);
  bool byRows = shape.warpM < m;
  if (shape.warpM % 64 || (!byRows && bSide->operand.transposed && shape.warpN % bSide->operand.panelWidth))
    return mlir::emitError(te::getScheduleLoc(op))
           << "the schedule of '" << c.func.getSymName() << "' gives a warpgroup " << shape.warpM << " rows and " << shape.warpN
           << " columns; unit wgmma takes rows by 64 and whole panels of columns";
  auto describe = [&](Side &s, Value number, StringRef name, int64_t part) {
    SlotAddress address(c, s.type, loc);
    int64_t bytes = s.type.getElementType().getIntOrFloatBitWidth() / 8;
    Value start = address.slotStart(c.scalars.lookup(number));
    if (part)
      start = c.add(start, c.mul(group, s.operand.outerOffset(part) / bytes, c.named("own_start", loc)), loc);
    s.descriptor = cu::SmemDescOp::create(b, NameLoc::get(b.getStringAttr(name), loc), b.getIntegerType(64, false), c.rings.lookup(s.ring),
                                          start, s.operand.leadingBytes, s.operand.strideBytes, s.operand.swizzleBytes);
  };
  if (a->ring)
    describe(*a, op.getNumberOfA(), "a_desc", byRows ? shape.warpM : 0);
  describe(*bSide, op.getNumber(), "b_desc", !byRows && shape.warpN < n ? shape.warpN : 0);
  bool fresh = tile::isZeroTile(op.getAcc());
  Value laterRound; // where a loop's first round sets the accumulator
  if (auto carried = dyn_cast<BlockArgument>(op.getAcc()); carried && startsAfreshInFirstRound(carried)) {
    auto loop = cast<scf::ForOp>(carried.getOwner()->getParentOp());
    laterRound = arith::CmpIOp::create(b, c.named("later_round", loc), arith::CmpIPredicate::sgt, c.scalars.lookup(loop.getInductionVar()),
                                       c.scalars.lookup(loop.getLowerBound()));
  }
  cu::WgmmaFenceOp::create(b, loc, acc, a->registers, fresh);
  // Products in order of k, so that each accumulator's next product is not its last.
  Type element = bSide->type.getElementType();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8, perStep = 32 / bytes, steps = k / perStep, reps = shape.warpM / 64;
  auto advanced = [&](const Side &s, int64_t by) -> Value {
    return by ? Value(cu::DescAdvanceOp::create(b, loc, b.getIntegerType(64, false), s.descriptor, c.index(by, loc))) : s.descriptor;
  };
  std::string type = wgmmaType(op, a->ring ? a->type.getElementType() : getElementTypeOrSelf(op.getA()), element);
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t rep = 0; rep < reps; ++rep) {
      Value at = c.index(rep * shape.warpN / 2, loc), columns = advanced(*bSide, bSide->operand.kOffset(step * perStep));
      if (a->registers)
        cu::WgmmaRegistersOp::create(b, loc, acc, at, a->registers, c.index((rep * steps + step) * (16 / bytes), loc), columns,
                                     step ? Value() : laterRound, type, shape.warpN, bSide->operand.transposed, fresh && step == 0);
      else
        cu::WgmmaOp::create(
            b, loc, acc, at, advanced(*a, a->operand.kOffset(step * perStep) + (rep ? a->operand.outerOffset(rep * 64) : 0)), columns,
            step ? Value() : laterRound, type, shape.warpN, a->operand.transposed, bSide->operand.transposed, fresh && step == 0);
    }
  cu::WgmmaCommitOp::create(b, loc);
  return success();
}

} // namespace kernelc
