// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dots on registers: what the units that fetch their operands from slots have in common.
#include "passes/lowerings/DotToCu.h"

#include "passes/lowerings/DotLowering.h"
#include "passes/tile/RegisterOperand.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;

int64_t bytesOf(Type t) { return std::max(1u, t.getIntOrFloatBitWidth() / 8); }

void spreadLinear(ThreadCode &c, Value linear, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape, SmallVectorImpl<Value> &coords,
                  Location loc) {
  SmallVector<int64_t> order(llvm::reverse(dims)), sizes;
  for (int64_t d : order)
    sizes.push_back(shape[d]);
  for (auto [i, d] : llvm::enumerate(order))
    if (shape[d] > 1)
      coords[d] = c.digitOf(linear, sizes, i, loc);
}

/// Points of index `d` that a tile of `points` has at most, where the tile has all there are.
static int64_t pointsIn(ThreadCode &code, int64_t d, int64_t points) {
  auto extent = dyn_cast<AffineConstantExpr>(code.func.getExtents().getResult(d));
  return extent ? std::clamp<int64_t>(extent.getValue(), 1, points) : points;
}

int64_t stepsOf(ThreadCode &code, tile::DotOp op, int64_t points, int64_t perStep) {
  ArrayRef<int64_t> shape = cast<tile::RingType>(op.getB().getType()).getShape();
  SmallVector<int64_t> tiled(llvm::make_filter_range(op.getK(), [&](int64_t d) { return shape[d] > 1; }));
  if (tiled.size() == 1)
    points = pointsIn(code, tiled.front(), points);
  return llvm::divideCeil(points, perStep);
}

SmallVector<int64_t> walkedSizes(ThreadCode &code, tile::DotOp op) {
  auto b = cast<tile::RingType>(op.getB().getType());
  auto a = dyn_cast<tile::RingType>(op.getA().getType());
  SmallVector<int64_t> sizes(b.getShape());
  if (code.func.getUnit() != Unit::Simt || !a || (op.getCount() && !op.isProduct()))
    return sizes;
  for (int64_t d : op.getK())
    if (d != a.getContiguous() && d != b.getContiguous()) // along which vectors run
      sizes[d] = pointsIn(code, d, sizes[d]);
  return sizes;
}

/// Points of each dim of a ring's slots that anything but copies reads.
static SmallVector<int64_t> readSizes(ThreadCode &code, Value ring) {
  ArrayRef<int64_t> shape = cast<tile::RingType>(ring.getType()).getShape();
  SmallVector<int64_t> read(shape.size(), 0);
  for (Operation *user : ring.getUsers()) {
    if (isa<tile::RingCopyOp>(user))
      continue;
    auto dot = dyn_cast<tile::DotOp>(user);
    if (!dot)
      return SmallVector<int64_t>(shape);
    SmallVector<int64_t> walked = walkedSizes(code, dot);
    for (auto [d, size] : llvm::enumerate(shape))
      read[d] = std::max(read[d], llvm::is_contained(dot.getK(), int64_t(d)) ? std::min(size, walked[d]) : size);
  }
  return read;
}

tile::Layout withoutUnread(ThreadCode &code, Value ring, tile::Layout layout, int64_t contiguous, SmallVectorImpl<int64_t> &whole) {
  ArrayRef<int64_t> shape = cast<tile::RingType>(ring.getType()).getShape();
  SmallVector<int64_t> read = readSizes(code, ring);
  for (Digit &digit : layout.reg) {
    int64_t d = digit.dim;
    auto isOther = [&](const Digit &other) { return other.dim == d && other.size > 1; };
    if (d < 0 || d == contiguous || digit.size != shape[d] || read[d] == 0 || read[d] == shape[d] || llvm::any_of(layout.lane, isOther) ||
        llvm::any_of(layout.warp, isOther))
      continue;
    digit.size = read[d];
    whole.push_back(d);
  }
  return layout;
}

DotLowering::DotLowering(ThreadCode &c, tile::DotOp op, Value acc)
    : c_(c), op_(op), b_(c.b), loc_(cu::unnamed(op.getLoc())), acc_(acc), aRing_(dyn_cast<tile::RingType>(op.getA().getType())),
      bRing_(cast<tile::RingType>(op.getB().getType())), aAddress_(c, aRing_ ? aRing_ : bRing_, loc_), bAddress_(c, bRing_, loc_) {
  auto product = [&](ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
    int64_t p = 1;
    for (int64_t d : dims)
      p *= shape[d];
    return p;
  };
  m_ = product(aRing_ ? aRing_.getShape() : cast<RankedTensorType>(op.getA().getType()).getShape(), op.getM());
  n_ = product(bRing_.getShape(), op.getN());
  sizesOfK_ = walkedSizes(c, op);
  k_ = product(sizesOfK_, op.getK());
  auto supply = [&](tile::RingType ring, ArrayRef<int64_t> outer) {
    return tile::supplyOf(ring.getShape(), ring.getContiguous(), ring.getPad(), bytesOf(ring.getElementType()), outer, op.getK());
  };
  if (aRing_)
    aSupply_ = supply(aRing_, op.getM());
  bSupply_ = supply(bRing_, op.getN());
  tile::RowOrder rows;
  rows.whole = takesRegisters(c.func) || readsOwnRows(c.func);
  shape_ = tile::accumulatorShape(c.func.getUnit(), m_, n_, c.func.getWarps(), aSupply_, bSupply_, rows);
  if (aRing_)
    aStart_ = aAddress_.slotStart(c.scalars.lookup(op.getNumberOfA()));
  bStart_ = bAddress_.slotStart(c.scalars.lookup(op.getNumber()));
  // Where this thread's part of the accumulator starts.
  warpM_ = start('m', shape_.warp, c_.warp(loc_), "warp_row");
  warpN_ = start('n', shape_.warp, c_.warp(loc_), "warp_column");
}

Value DotLowering::start(char axis, ArrayRef<std::pair<char, Digit>> digits, Value number, StringRef name) {
  Value at;
  SmallVector<int64_t> sizes = llvm::map_to_vector(digits, [](auto &d) { return d.second.size; });
  for (auto [i, digit] : llvm::enumerate(digits))
    if (auto &[a, d] = digit; a == axis && d.size > 1)
      at = c_.add(at, c_.mul(c_.digitOf(number, sizes, i, loc_), d.stride, c_.named(name, loc_)), c_.named(name, loc_));
  return at ? at : c_.index(0, loc_);
}

Value DotLowering::element(SlotAddress &address, Value slotStart, tile::RingType ring, ArrayRef<int64_t> outer, Value mn, Value k) {
  ArrayRef<int64_t> shape = ring.getShape();
  SmallVector<Value> coords(shape.size());
  spreadLinear(c_, k, op_.getK(), sizesOfK_, coords, loc_);
  auto several = llvm::count_if(outer, [&](int64_t d) { return shape[d] > 1; });
  if (ring.getPad() == 0 && several > 1 && tile::packedDims(shape, ring.getContiguous(), outer) == size_t(several))
    return c_.add(slotStart, c_.add(address.at(coords), mn, loc_), loc_); // rows (columns) are one run
  spreadLinear(c_, mn, outer, shape, coords, loc_);
  return c_.add(slotStart, address.at(coords), loc_);
}

Value DotLowering::widen(Value v, Type to, bool isUnsigned) {
  if (v.getType() == to)
    return v;
  if (isa<FloatType>(to))
    return arith::ExtFOp::create(b_, loc_, to, v);
  return isUnsigned ? Value(arith::ExtUIOp::create(b_, loc_, to, v)) : arith::ExtSIOp::create(b_, loc_, to, v);
}

void DotLowering::inLoop(int64_t reps, StringRef name, llvm::function_ref<void(Value)> body) {
  OpBuilder::InsertionGuard inner(b_);
  body(openLoop(c_, 0, reps, 1, name, loc_));
}

bool startsAfreshInFirstRound(BlockArgument acc) {
  auto loop = dyn_cast<scf::ForOp>(acc.getOwner()->getParentOp());
  if (!loop || acc == loop.getInductionVar() || !acc.hasOneUse() || !tile::isZeroTile(loop.getTiedLoopInit(acc)->get()))
    return false;
  auto dot = dyn_cast<tile::DotOp>(*acc.user_begin());
  return dot && dot.getAcc() == acc && dot->getBlock() == loop.getBody();
}

LogicalResult lowerDot(ThreadCode &c, tile::DotOp op, Value acc) {
  if (c.func.getUnit() == Unit::Wgmma)
    return lowerWgmma(c, op, acc);
  DotLowering dot(c, op, acc);
  if (c.func.getUnit() == Unit::Mma)
    dot.runMma();
  else
    dot.runSimt();
  return success();
}

} // namespace kernelc
