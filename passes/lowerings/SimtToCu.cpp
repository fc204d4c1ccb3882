// Dots on CUDA cores: fused multiply-adds on registers, operands in vectors from slots.
#include "passes/lowerings/DotLowering.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;

void DotLowering::runSimt() {
  OpBuilder::InsertionGuard guard(b_);
  Type accType = cast<MemRefType>(acc_.getType()).getElementType();
  auto digit = [&](char axis, size_t which) -> Digit {
    for (auto &[a, d] : shape_.reg)
      if (a == axis && which-- == 0)
        return d;
    return {-1, 0, 1};
  };
  // Columns: a vector, then repeats; rows: repeats.
  bool vectored = !shape_.reg.empty() && shape_.reg[0].first == 'n' && shape_.reg[0].second.stride == 1;
  Digit nVector = vectored ? digit('n', 0) : Digit{-1, 0, 1}, nRepeat = digit('n', vectored ? 1 : 0), mRepeat = digit('m', 0);
  Value laneM = c_.add(start('m', shape_.lane, c_.lane(loc_)), warpM_, loc_);
  Value laneN = c_.add(start('n', shape_.lane, c_.lane(loc_)), warpN_, loc_);
  Type aType = aRing_.getElementType(), bType = bRing_.getElementType();
  bool aK = kMajor(aRing_), bK = kMajor(bRing_);
  int64_t rows = mRepeat.size, columns = nVector.size * nRepeat.size;
  auto stepOf = [&](tile::RingType ring, Type t) { return std::min<int64_t>(16 / bytesOf(t), ring.getShape()[ring.getContiguous()]); };
  int64_t step = 1;
  if (aK)
    step = stepOf(aRing_, aType);
  if (bK)
    step = std::max(step, stepOf(bRing_, bType));
  if (aK && bK)
    step = std::min(stepOf(aRing_, aType), stepOf(bRing_, bType));
  while (step > 1 && (step * (rows + columns) > 112 || k_ % step || (aK && step * bytesOf(aType) < 2)))
    step /= 2;
  auto named = [&](StringRef n) { return NameLoc::get(b_.getStringAttr(n), loc_); };
  Value a = c_.allocate(rows * step, aType, named("a")), bv = c_.allocate(columns * step, bType, named("b"));
  Value k0 = openLoop(c_, 0, k_, step, "kk", loc_);
  Value aSlots = c_.rings.lookup(op_.getA()), bSlots = c_.rings.lookup(op_.getB());
  auto move = [&](Value from, Value at, Value to, Value index, int64_t count, Type t) {
    if (count > 1 && count * bytesOf(t) <= 16)
      cu::CopyOp::create(b_, loc_, from, at, to, index, count);
    else
      memref::StoreOp::create(b_, loc_, memref::LoadOp::create(b_, loc_, from, at), to, index);
  };
  // a[row][k], b[k][column] or b[column][k]: whichever a vector fills.
  inLoop(rows, "mi", [&](Value mi) {
    Value row = c_.add(laneM, c_.mul(mi, mRepeat.stride, loc_), loc_);
    if (aK) {
      move(aSlots, element(aAddress_, aStart_, aRing_, op_.getM(), row, k0), a, c_.mul(mi, step, loc_), step, aType);
    } else {
      inLoop(step, "k", [&](Value k) {
        move(aSlots, element(aAddress_, aStart_, aRing_, op_.getM(), row, c_.add(k0, k, loc_)), a, c_.add(c_.mul(mi, step, loc_), k, loc_),
             1, aType);
      });
    }
  });
  bool bVector = !bK && nVector.size > 1 && nVector.size <= bAddress_.layout().chunk;
  auto bIndex = [&](Value column, Value k) {
    return bK ? c_.add(c_.mul(column, step, loc_), k, loc_) : c_.add(c_.mul(k, columns, loc_), column, loc_);
  };
  inLoop(nRepeat.size, "nr", [&](Value nr) {
    auto columnAt = [&](Value v) { return c_.add(c_.add(laneN, c_.mul(nr, nRepeat.stride, loc_), loc_), v, loc_); };
    Value first = c_.mul(nr, nVector.size, loc_);
    if (bVector) {
      inLoop(step, "k", [&](Value k) {
        move(bSlots, element(bAddress_, bStart_, bRing_, op_.getN(), columnAt({}), c_.add(k0, k, loc_)), bv, bIndex(first, k), nVector.size,
             bType);
      });
      return;
    }
    inLoop(nVector.size, "nv", [&](Value nv) {
      Value column = c_.add(first, nv, loc_);
      if (bK)
        return move(bSlots, element(bAddress_, bStart_, bRing_, op_.getN(), columnAt(nv), k0), bv, bIndex(column, c_.index(0, loc_)), step,
                    bType);
      inLoop(step, "k", [&](Value k) {
        move(bSlots, element(bAddress_, bStart_, bRing_, op_.getN(), columnAt(nv), c_.add(k0, k, loc_)), bv, bIndex(column, k), 1, bType);
      });
    });
  });
  inLoop(step, "k", [&](Value k) {
    inLoop(rows, "mi", [&](Value mi) {
      Value x = widen(memref::LoadOp::create(b_, loc_, a, c_.add(c_.mul(mi, step, loc_), k, loc_)), accType, op_.getAUnsigned());
      inLoop(columns, "ni", [&](Value ni) {
        Value y = widen(memref::LoadOp::create(b_, loc_, bv, bIndex(ni, k)), accType, op_.getBUnsigned());
        Value at = c_.add(c_.mul(mi, columns, loc_), ni, loc_);
        Value before = memref::LoadOp::create(b_, loc_, acc_, at);
        Value after = isa<FloatType>(accType) ? Value(math::FmaOp::create(b_, loc_, x, y, before))
                                              : arith::AddIOp::create(b_, loc_, before, arith::MulIOp::create(b_, loc_, x, y));
        memref::StoreOp::create(b_, loc_, after, acc_, at);
      });
    });
  });
}

} // namespace kernelc
