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
  if (!a.isInteger())
    return a.isBF16() ? "bf16" : a.isF16() ? "f16" : "tf32";
  auto byte = [](bool isUnsigned) { return isUnsigned ? "u8" : "s8"; };
  return op.getAUnsigned() == op.getBUnsigned() ? byte(op.getAUnsigned()) : std::string(byte(op.getAUnsigned())) + byte(op.getBUnsigned());
}

class WgmmaLowering {
public:
  WgmmaLowering(ThreadCode &c, tile::DotOp op, Value acc) : c_(c), b_(c.b), op_(op), loc_(cu::unnamed(op.getLoc())), acc_(acc) {}

  LogicalResult run() {
    FailureOr<Side> aSide = side(op_.getA(), op_.getM()), bSide = side(op_.getB(), op_.getN());
    if (failed(aSide) || failed(bSide))
      return failure();
    Side &a = *aSide, &b = *bSide;
    int64_t m = extent(op_.getA(), op_.getM()), n = extent(op_.getB(), op_.getN());
    shape_ = tile::accumulatorShape(Unit::Wgmma, m, n, c_.func.getWarps());
    // Which part of the product this warpgroup has: rows or columns.
    Value group = c_.warpgroup(loc_);
    bool byRows = shape_.warpM < m;
    if (shape_.warpM % 64 || (!byRows && b.operand.transposed && shape_.warpN % b.operand.panelWidth))
      return mlir::emitError(te::getScheduleLoc(op_))
             << "the schedule of '" << c_.func.getSymName() << "' gives a warpgroup " << shape_.warpM << " rows and " << shape_.warpN
             << " columns; unit wgmma takes rows by 64 and whole panels of columns";
    if (a.ring)
      describe(a, op_.getNumberOfA(), "a_desc", byRows ? shape_.warpM : 0, group);
    describe(b, op_.getNumber(), "b_desc", !byRows && shape_.warpN < n ? shape_.warpN : 0, group);
    bool fresh = tile::isZeroTile(op_.getAcc());
    Value laterRound = findLaterRound();
    cu::WgmmaFenceOp::create(b_, loc_, acc_, a.registers, fresh);
    multiply(a, b, laterRound, fresh);
    cu::WgmmaCommitOp::create(b_, loc_);
    return success();
  }

private:
  FailureOr<Side> side(Value v, ArrayRef<int64_t> outer) {
    auto type = dyn_cast<tile::RingType>(v.getType());
    if (!type)
      return Side{{}, c_.tiles.lookup(v).array, {}, {}, {}};
    std::string why;
    int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
    auto operand = findWgmmaOperand(type.getShape(), bytes, type.getContiguous(), outer, op_.getK(), why);
    if (!operand)
      return mlir::emitError(te::getScheduleLoc(op_))
             << "the schedule of '" << c_.func.getSymName() << "' has slots that unit wgmma cannot read: " << why;
    return Side{v, {}, {}, type, *operand};
  }

  static int64_t extent(Value v, ArrayRef<int64_t> dims) {
    auto ring = dyn_cast<tile::RingType>(v.getType());
    ArrayRef<int64_t> shape = ring ? ring.getShape() : cast<RankedTensorType>(v.getType()).getShape();
    int64_t p = 1;
    for (int64_t d : dims)
      p *= shape[d];
    return p;
  }

  /// The descriptor of this warpgroup's part: `part` rows (columns), or all of them.
  void describe(Side &s, Value number, StringRef name, int64_t part, Value group) {
    SlotAddress address(c_, s.type, loc_);
    int64_t bytes = s.type.getElementType().getIntOrFloatBitWidth() / 8;
    Value start = address.slotStart(c_.scalars.lookup(number));
    if (part)
      start = c_.add(start, c_.mul(group, s.operand.outerOffset(part) / bytes, c_.named("own_start", loc_)), loc_);
    s.descriptor =
        cu::SmemDescOp::create(b_, NameLoc::get(b_.getStringAttr(name), loc_), b_.getIntegerType(64, false), c_.rings.lookup(s.ring), start,
                               s.operand.leadingBytes, s.operand.strideBytes, s.operand.swizzleBytes);
  }

  /// Where a loop's first round sets the accumulator: whether this round is another.
  Value findLaterRound() {
    auto carried = dyn_cast<BlockArgument>(op_.getAcc());
    if (!carried || !startsAfreshInFirstRound(carried))
      return {};
    auto loop = cast<scf::ForOp>(carried.getOwner()->getParentOp());
    return arith::CmpIOp::create(b_, c_.named("later_round", loc_), arith::CmpIPredicate::sgt, c_.scalars.lookup(loop.getInductionVar()),
                                 c_.scalars.lookup(loop.getLowerBound()));
  }

  Value advanced(const Side &s, int64_t by) {
    return b_.createOrFold<cu::DescAdvanceOp>(loc_, b_.getIntegerType(64, false), s.descriptor, c_.index(by, loc_));
  }

  /// Products in order of k, so that each accumulator's next product is not its last.
  void multiply(const Side &a, const Side &b, Value laterRound, bool fresh) {
    Type element = b.type.getElementType();
    int64_t bytes = element.getIntOrFloatBitWidth() / 8, perStep = 32 / bytes, points = extent(op_.getB(), op_.getK()),
            steps = stepsOf(c_, op_, points, perStep), reps = shape_.warpM / 64;
    std::string type = wgmmaType(op_, a.ring ? a.type.getElementType() : getElementTypeOrSelf(op_.getA()), element);
    for (int64_t step = 0; step < steps; ++step)
      for (int64_t rep = 0; rep < reps; ++rep) {
        Value at = c_.index(rep * shape_.warpN / 2, loc_), columns = advanced(b, b.operand.kOffset(step * perStep));
        if (a.registers)
          cu::WgmmaRegistersOp::create(b_, loc_, acc_, at, a.registers, c_.index((rep * (points / perStep) + step) * (16 / bytes), loc_),
                                       columns, step ? Value() : laterRound, type, shape_.warpN, b.operand.transposed, fresh && step == 0);
        else
          cu::WgmmaOp::create(
              b_, loc_, acc_, at, advanced(a, a.operand.kOffset(step * perStep) + (rep ? a.operand.outerOffset(rep * 64) : 0)), columns,
              step ? Value() : laterRound, type, shape_.warpN, a.operand.transposed, b.operand.transposed, fresh && step == 0);
      }
  }

  ThreadCode &c_;
  OpBuilder &b_;
  tile::DotOp op_;
  Location loc_;
  Value acc_;
  tile::AccumulatorShape shape_;
};

} // namespace

LogicalResult lowerWgmma(ThreadCode &c, tile::DotOp op, Value acc) { return WgmmaLowering(c, op, acc).run(); }

} // namespace kernelc
