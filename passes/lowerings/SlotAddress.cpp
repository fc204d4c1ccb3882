// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/lowerings/SlotAddress.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace kernelc {

tile::SlotLayout SlotAddress::layoutOf(tile::RingType ring) {
  int64_t bytes = std::max(1u, ring.getElementType().getIntOrFloatBitWidth() / 8);
  return tile::SlotLayout(ring.getShape(), bytes, ring.getContiguous(), ring.getPad());
}

Value SlotAddress::slotStart(Value number) {
  Value slot = arith::RemSIOp::create(c_.b, loc_, number, c_.index(ring_.getSlots(), loc_));
  return c_.mul(slot, layout_.elements, c_.named("slot_start", loc_));
}

Value SlotAddress::row(ArrayRef<Value> coords) {
  Value r;
  for (auto [d, v] : llvm::enumerate(coords))
    if (v && int64_t(d) != layout_.contiguous)
      r = c_.add(r, c_.mul(v, layout_.rowStride[d], loc_), loc_);
  return r ? r : c_.index(0, loc_);
}

Value SlotAddress::at(ArrayRef<Value> coords) {
  Value column = coords[layout_.contiguous];
  return offset(row(coords), column ? column : c_.index(0, loc_));
}

/// v / n of what is not negative, where all its terms are multiples of n, by what they are multiplied with.
static Value findQuotient(ThreadCode &c, Value v, int64_t n, Location loc) {
  if (std::optional<int64_t> number = getConstantIntValue(v))
    return *number % n ? Value() : c.index(*number / n, loc);
  if (auto sum = v.getDefiningOp<arith::AddIOp>()) {
    Value x = findQuotient(c, sum.getLhs(), n, loc), y = x ? findQuotient(c, sum.getRhs(), n, loc) : Value();
    return y ? c.add(x, y, loc) : Value();
  }
  if (auto rest = v.getDefiningOp<arith::RemSIOp>()) {
    std::optional<int64_t> width = getConstantIntValue(rest.getRhs());
    Value x = width && *width % n == 0 ? findQuotient(c, rest.getLhs(), n, loc) : Value();
    return x ? Value(arith::RemSIOp::create(c.b, loc, x, c.index(*width / n, loc))) : Value();
  }
  auto product = v.getDefiningOp<arith::MulIOp>();
  std::optional<int64_t> times = product ? getConstantIntValue(product.getRhs()) : std::nullopt;
  return times && *times % n == 0 ? c.mul(product.getLhs(), *times / n, loc) : Value();
}

/// Whether all terms of what is not negative are multiples of n, by what they are multiplied with.
static bool isMultiple(Value v, int64_t n) {
  if (std::optional<int64_t> number = getConstantIntValue(v))
    return *number % n == 0;
  if (auto sum = v.getDefiningOp<arith::AddIOp>())
    return isMultiple(sum.getLhs(), n) && isMultiple(sum.getRhs(), n);
  auto product = v.getDefiningOp<arith::MulIOp>();
  std::optional<int64_t> times = product ? getConstantIntValue(product.getRhs()) : std::nullopt;
  return times && *times % n == 0;
}

/// v without those of its terms that are multiples of n: of what a remainder by n is all that it depends on. Rows of a warp and of an
/// unrolled loop are, so that what is left is the lane's, and the same in each round.
static Value dropMultiples(ThreadCode &c, Value v, int64_t n, Location loc) {
  if (isMultiple(v, n))
    return {};
  auto sum = v.getDefiningOp<arith::AddIOp>();
  if (!sum)
    return v;
  Value x = dropMultiples(c, sum.getLhs(), n, loc), y = dropMultiples(c, sum.getRhs(), n, loc);
  if (x == sum.getLhs() && y == sum.getRhs())
    return v;
  return x && y ? c.add(x, y, loc) : x ? x : y;
}

Value SlotAddress::offset(Value row, Value column) {
  OpBuilder &b = c_.b;
  Value panel, within = column;
  if (layout_.width < ring_.getShape()[layout_.contiguous]) {
    panel = c_.mul(arith::DivSIOp::create(b, loc_, column, c_.index(layout_.width, loc_)), layout_.rows * layout_.width, loc_);
    within = arith::RemSIOp::create(b, c_.named("in_panel", loc_), column, c_.index(layout_.width, loc_));
  }
  Value o = c_.add(panel, c_.mul(row, layout_.pitch, c_.named("row_start", loc_)), loc_);
  if (layout_.chunks <= 1 || !layout_.swizzleBytes)
    return c_.add(o, within, loc_);
  Value whole = findQuotient(c_, within, layout_.chunk, c_.named("chunk", loc_));
  Value chunk = whole ? whole : arith::DivSIOp::create(b, c_.named("chunk", loc_), within, c_.index(layout_.chunk, loc_));
  Value key = oncePerRow_ ? row : dropMultiples(c_, row, layout_.chunks << layout_.rowShift, loc_);
  if (!key)
    key = c_.index(0, loc_);
  if (layout_.rowShift)
    key = arith::DivSIOp::create(b, loc_, key, c_.index(int64_t(1) << layout_.rowShift, loc_));
  key = arith::RemSIOp::create(b, c_.named("swizzle", loc_), key, c_.index(layout_.chunks, loc_));
  Value swizzled = arith::XOrIOp::create(b, loc_, chunk, key);
  o = c_.add(o, c_.mul(swizzled, layout_.chunk, loc_), loc_);
  if (whole)
    return o;
  return c_.add(o, arith::RemSIOp::create(b, c_.named("in_chunk", loc_), within, c_.index(layout_.chunk, loc_)), loc_);
}

} // namespace kernelc
