// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dots on mma.sync: fragments from slots, two sets of them in turns.
#include "passes/lowerings/DotLowering.h"

using namespace mlir;

namespace kernelc {

using tile::Fetch;

std::string DotLowering::mmaShape() {
  Type t = aRing_ ? aRing_.getElementType() : cast<RankedTensorType>(op_.getA().getType()).getElementType();
  if (t.isF32())
    return "m16n8k8_tf32";
  auto f8 = [](Type t) { return isa<Float8E4M3FNType>(t) ? "e4m3" : "e5m2"; };
  if (Type other = bRing_.getElementType(); isa<Float8E4M3FNType, Float8E5M2Type>(t))
    return std::string("m16n8k32_") + f8(t) + (t == other ? "" : f8(other));
  if (!t.isInteger(8))
    return t.isBF16() ? "m16n8k16_bf16" : "m16n8k16_f16";
  std::string a = op_.getAUnsigned() ? "u8" : "s8", b = op_.getBUnsigned() ? "u8" : "s8";
  return "m16n8k32_" + (a == b ? a : a + b);
}

void DotLowering::runMma() {
  OpBuilder::InsertionGuard guard(b_);
  int64_t mReps = shape_.warpM / 16, nPairs = shape_.warpN / 16;
  int64_t bytes = bytesOf(bRing_.getElementType()), half = 16 / bytes, kStep = 32 / bytes;
  Value lane = c_.lane(loc_);
  auto mod = [&](Value v, int64_t n) { return arith::RemSIOp::create(b_, loc_, v, c_.index(n, loc_)).getResult(); };
  auto div = [&](Value v, int64_t n) { return arith::DivSIOp::create(b_, loc_, v, c_.index(n, loc_)).getResult(); };
  auto named = [&](StringRef n) { return NameLoc::get(b_.getStringAttr(n), loc_); };
  // The matrix row each lane names to ldmatrix: see reference on mma.m16n8k16
  // fragments. Those of other element sizes are the same in bytes.
  bool aK = aSupply_.fetch == Fetch::Rows, bK = bSupply_.fetch == Fetch::Rows, aBytes = aSupply_.fetch == Fetch::Bytes,
       bBytes = bSupply_.fetch == Fetch::Bytes;
  auto laneBy8 = [&](StringRef name) { return c_.add(mod(lane, 8), c_.mul(div(lane, 16), 8, loc_), named(name)); };
  auto laneMod16 = [&](StringRef name) -> Value { return arith::RemSIOp::create(b_, named(name), lane, c_.index(16, loc_)); };
  Value aRow = aK ? laneMod16("lane_row") : c_.mul(mod(div(lane, 8), 2), 8, named("lane_row"));
  Value aK0 = aK ? c_.mul(div(lane, 16), half, named("a_lane_k")) : laneBy8("a_lane_k");
  Value bCol = bK ? laneBy8("lane_column") : c_.mul(div(lane, 16), 8, named("lane_column"));
  Value bK0 = bK ? c_.mul(mod(div(lane, 8), 2), half, named("b_lane_k")) : laneMod16("b_lane_k");
  // Across K, 8-bit elements come in matrices of 8 x 16: a lane gets two k of two
  // rows, and two matrices make the four k of a register. Where only one operand
  // lies so, those are neighbours, as the other has them; else any order will do.
  auto byteK = [&](int64_t second, int64_t upper) {
    Value r = mod(lane, 8), isSecond = mod(div(lane, second), 2), isUpper = mod(div(lane, upper), 2);
    Value k = c_.mul(isUpper, half, loc_);
    if (aBytes && bBytes)
      return c_.add(c_.add(k, c_.mul(isSecond, 8, loc_), loc_), r, loc_);
    k = c_.add(k, c_.mul(isSecond, 2, loc_), loc_);
    return c_.add(c_.add(k, c_.mul(div(r, 2), 4, loc_), loc_), mod(r, 2), loc_);
  };
  if (aBytes) {
    aRow = c_.index(0, loc_);
    aK0 = byteK(8, 16);
  }
  if (bBytes) {
    bCol = c_.index(0, loc_);
    bK0 = byteK(16, 8);
  }
  Type word = b_.getIntegerType(32, /*isSigned=*/false);
  // Two sets of fragments: those of the next step of k load while these multiply.
  int64_t sets = k_ > kStep ? 2 : 1, aSet = mReps * 4, bSet = nPairs * 4;
  // (of one in registers all there are, 16 rows by all of k)
  Value aFragments = aRing_ ? c_.allocate(sets * aSet, word, named("a_frag")) : c_.tiles.lookup(op_.getA()).array;
  Value bFragments = c_.allocate(sets * bSet, word, named("b_frag"));
  // Four registers element by element: register j holds row lane / 4 (+ 8 by bit
  // `rowBit` of j) and the lane's word of a half of K (by the other bit).
  auto gather = [&](Value ring, SlotAddress &address, Value slot, tile::RingType type, ArrayRef<int64_t> outer, Value first, Value k,
                    int rowBit, Value to, Value at) {
    inLoop(4, "j", [&](Value j) {
      Value bits[] = {mod(j, 2), div(j, 2)};
      Value row = c_.add(c_.add(first, div(lane, 4), loc_), c_.mul(bits[rowBit], 8, loc_), loc_);
      // Two operands that lie across K may take its words in any order: every other
      // one keeps the lanes of a row on banks of their own.
      bool spread = bytes == 4 && aSupply_.fetch == bSupply_.fetch;
      Value word = c_.mul(mod(lane, 4), spread ? 2 : 4 / bytes, loc_);
      Value k0 = c_.add(c_.add(k, word, loc_), c_.mul(bits[1 - rowBit], spread ? 1 : half, loc_), loc_);
      SmallVector<Value> elements;
      for (int64_t e = 0; e < 4 / bytes; ++e)
        elements.push_back(element(address, slot, type, outer, row, e ? c_.add(k0, c_.index(e, loc_), loc_) : k0));
      cu::GatherOp::create(b_, loc_, ring, elements, to, c_.add(at, j, loc_));
    });
  };
  auto round = [&](Value fragments, Value at) {
    inLoop(4, "j", [&](Value j) { cu::RoundTf32Op::create(b_, loc_, fragments, c_.add(at, j, loc_)); });
  };
  // Registers x and y, u and v hold the same k of two rows: one row each.
  auto deal = [&](Value fragments, Value at, int64_t x, int64_t y, int64_t u, int64_t v) {
    auto reg = [&](int64_t r) { return r ? c_.add(at, c_.index(r, loc_), loc_) : at; };
    cu::DealBytesOp::create(b_, loc_, fragments, reg(x), reg(y));
    cu::DealBytesOp::create(b_, loc_, fragments, reg(u), reg(v));
  };
  Value aSlots = aRing_ ? c_.rings.lookup(op_.getA()) : Value(), bSlots = c_.rings.lookup(op_.getB());
  auto load = [&](Value k, Value set) {
    auto loadA = [&](Value mi) {
      Value first = c_.add(warpM_, c_.mul(mi, 16, loc_), named("row"));
      Value to = c_.add(c_.mul(set, aSet, named("a_set")), c_.mul(mi, 4, loc_), loc_);
      if (aSupply_.fetch == Fetch::Gather) {
        gather(aSlots, aAddress_, aStart_, aRing_, op_.getM(), first, k, 0, aFragments, to);
      } else {
        Value from = element(aAddress_, aStart_, aRing_, op_.getM(), c_.add(first, aRow, named("row")), c_.add(k, aK0, named("a_k")));
        cu::LdmatrixOp::create(b_, loc_, aSlots, from, aFragments, to, 4, !aK);
        if (aBytes)
          deal(aFragments, to, 0, 1, 2, 3);
      }
      if (op_.getARounded())
        round(aFragments, to);
    };
    if (aRing_)
      inLoop(mReps, "mi", loadA);
    inLoop(nPairs, "np", [&](Value np) {
      Value first = c_.add(warpN_, c_.mul(np, 16, loc_), named("column"));
      Value to = c_.add(c_.mul(set, bSet, named("b_set")), c_.mul(np, 4, loc_), loc_);
      if (bSupply_.fetch == Fetch::Gather) {
        gather(bSlots, bAddress_, bStart_, bRing_, op_.getN(), first, k, 1, bFragments, to);
      } else {
        Value from = element(bAddress_, bStart_, bRing_, op_.getN(), c_.add(first, bCol, named("column")), c_.add(k, bK0, named("b_k")));
        cu::LdmatrixOp::create(b_, loc_, bSlots, from, bFragments, to, 4, !bK);
        if (bBytes)
          deal(bFragments, to, 0, 2, 1, 3);
      }
      if (op_.getBRounded())
        round(bFragments, to);
    });
  };
  load(c_.index(0, loc_), c_.index(0, loc_));
  Value step = openLoop(c_, 0, k_ / kStep, 1, "step", loc_);
  Value set = arith::RemSIOp::create(b_, named("set"), step, c_.index(2, loc_));
  if (sets == 2) {
    Value next = c_.add(step, c_.index(1, loc_), named("next"));
    Value more = arith::CmpIOp::create(b_, named("more"), arith::CmpIPredicate::slt, next, c_.index(k_ / kStep, loc_));
    auto branch = scf::IfOp::create(b_, loc_, more, false);
    OpBuilder::InsertionGuard inner(b_);
    b_.setInsertionPoint(branch.thenBlock()->getTerminator());
    load(c_.mul(next, kStep, named("next_k")), mod(next, 2));
  } else {
    set = c_.index(0, loc_);
  }
  int64_t nReps = nPairs * 2;
  std::string shape = mmaShape();
  inLoop(mReps, "mi", [&](Value mi) {
    inLoop(nReps, "ni", [&](Value ni) {
      Value d = c_.mul(c_.add(c_.mul(mi, nReps, loc_), ni, loc_), 4, loc_);
      Value x = aRing_ ? c_.add(c_.mul(set, aSet, named("a_set")), c_.mul(mi, 4, loc_), named("a_reg"))
                       : c_.mul(step, 16 / bytes, named("a_reg")),
            y = c_.add(c_.mul(set, bSet, named("b_set")), c_.mul(ni, 2, loc_), loc_);
      cu::MmaOp::create(b_, loc_, acc_, d, aFragments, x, bFragments, y, shape);
    });
  });
}

} // namespace kernelc
