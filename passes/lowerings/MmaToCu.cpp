// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dots on mma.sync: fragments from slots, two sets of them in turns; across rounds where the next one's slots are there (ReadAhead).
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "passes/lowerings/DotLowering.h"
#include "passes/lowerings/DotToCu.h"

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

/// Where the lanes of `lane` find the elements that they name for operand a or b.
DotLowering::MmaOperand DotLowering::placeOperand(bool isA, Value lane) {
  bool byRows = (isA ? aSupply_ : bSupply_).fetch == Fetch::Rows;
  int64_t half = 16 / bytesOf(bRing_.getElementType());
  // The matrix row each lane names to ldmatrix: see reference on mma.m16n8k16
  // fragments. Those of other element sizes are the same in bytes.
  auto laneBy8 = [&](StringRef name) { return c_.add(mod(lane, 8), c_.mul(div(lane, 16), 8, loc_), named(name)); };
  auto oddEight = [&](StringRef name) -> Value { return arith::RemSIOp::create(b_, named(name), div(lane, 8), c_.index(2, loc_)); };
  auto laneMod16 = [&](StringRef name) -> Value { return arith::RemSIOp::create(b_, named(name), lane, c_.index(16, loc_)); };
  if (isA) {
    MmaOperand a{aRing_, aAddress_, aStart_, op_.getM(), aSupply_.fetch, warpM_, "row", "a_set", "a_k", lane, "mi"};
    a.row = byRows ? laneMod16("lane_row") : c_.mul(mod(div(lane, 8), 2), 8, named("lane_row"));
    a.k = byRows ? c_.mul(div(lane, 16), half, named("a_lane_k")) : laneBy8("a_lane_k");
    a.dealt = {0, 1, 2, 3};
    a.isRounded = op_.getARounded();
    a.reps = shape_.warpM / 16;
    return a;
  }
  MmaOperand b{bRing_, bAddress_, bStart_, op_.getN(), bSupply_.fetch, warpN_, "column", "b_set", "b_k", lane, "np"};
  b.row = byRows ? laneBy8("lane_column") : c_.mul(div(lane, 16), 8, named("lane_column"));
  b.k = byRows ? c_.mul(oddEight("b_lane_chunk"), half, named("b_lane_k")) : laneMod16("b_lane_k");
  b.rowBit = 1;
  b.dealt = {0, 2, 1, 3};
  b.isRounded = op_.getBRounded();
  b.reps = shape_.warpN / 16;
  return b;
}

/// Across K, 8-bit elements come in matrices of 8 x 16: a lane gets two k of two rows, and two matrices make the four k of a register.
/// Where only one operand lies so, those are neighbours, as the other has them; else any order will do.
void DotLowering::placeBytes(MmaOperand &o, int64_t second, int64_t upper) {
  if (o.fetch != Fetch::Bytes)
    return;
  o.row = c_.index(0, loc_);
  int64_t half = 16 / bytesOf(bRing_.getElementType());
  Value r = mod(o.lane, 8), isSecond = mod(div(o.lane, second), 2), isUpper = mod(div(o.lane, upper), 2);
  o.k = c_.mul(isUpper, half, loc_);
  if (aSupply_.fetch == Fetch::Bytes && bSupply_.fetch == Fetch::Bytes) {
    o.k = c_.add(c_.add(o.k, c_.mul(isSecond, 8, loc_), loc_), r, loc_);
    return;
  }
  o.k = c_.add(o.k, c_.mul(isSecond, 2, loc_), loc_);
  o.k = c_.add(c_.add(o.k, c_.mul(div(r, 2), 4, loc_), loc_), mod(r, 2), loc_);
}

/// Four registers element by element: register j holds row lane / 4 (+ 8 by bit `rowBit` of j) and the lane's word of a half of K (by the
/// other bit).
void DotLowering::gatherWords(MmaOperand &o, Value first, Value k, Value at) {
  int64_t bytes = bytesOf(bRing_.getElementType()), half = 16 / bytes;
  inLoop(4, "j", [&](Value j) {
    Value bits[] = {mod(j, 2), div(j, 2)};
    Value row = c_.add(c_.add(first, div(o.lane, 4), loc_), c_.mul(bits[o.rowBit], 8, loc_), loc_);
    // Two operands that lie across K may take its words in any order: every other
    // one keeps the lanes of a row on banks of their own.
    bool spread = bytes == 4 && aSupply_.fetch == bSupply_.fetch;
    Value word = c_.mul(mod(o.lane, 4), spread ? 2 : 4 / bytes, loc_);
    Value k0 = c_.add(c_.add(k, word, loc_), c_.mul(bits[1 - o.rowBit], spread ? 1 : half, loc_), loc_);
    SmallVector<Value> elements;
    for (int64_t e = 0; e < 4 / bytes; ++e)
      elements.push_back(element(o.address, o.start, o.ring, o.outer, row, e ? c_.add(k0, c_.index(e, loc_), loc_) : k0));
    cu::GatherOp::create(b_, loc_, o.slots, elements, o.fragments, c_.add(at, j, loc_));
  });
}

/// All fragments of the operand for a step from `k` on, into set number `set`.
void DotLowering::loadFragments(MmaOperand &o, Value k, Value set) {
  inLoop(o.reps, o.repName, [&](Value rep) {
    Value first = c_.add(o.warp, c_.mul(rep, 16, loc_), named(o.rowName));
    Value to = c_.add(c_.mul(set, o.perSet(), named(o.setName)), c_.mul(rep, 4, loc_), loc_);
    if (o.fetch == Fetch::Gather) {
      gatherWords(o, first, k, to);
    } else {
      Value from = element(o.address, o.start, o.ring, o.outer, c_.add(first, o.row, named(o.rowName)), c_.add(k, o.k, named(o.kName)));
      cu::LdmatrixOp::create(b_, loc_, o.slots, from, o.fragments, to, 4, o.fetch != Fetch::Rows);
      if (o.fetch == Fetch::Bytes) { // registers of a pair hold the same k of two rows: one row each
        auto reg = [&](int64_t r) { return r ? c_.add(to, c_.index(r, loc_), loc_) : to; };
        cu::DealBytesOp::create(b_, loc_, o.fragments, reg(o.dealt[0]), reg(o.dealt[1]));
        cu::DealBytesOp::create(b_, loc_, o.fragments, reg(o.dealt[2]), reg(o.dealt[3]));
      }
    }
    if (o.isRounded)
      inLoop(4, "j", [&](Value j) { cu::RoundTf32Op::create(b_, loc_, o.fragments, c_.add(to, j, loc_)); });
  });
}

std::pair<DotLowering::MmaOperand, DotLowering::MmaOperand> DotLowering::placeOperands(const ReadAhead *made, int64_t sets) {
  Value lane = c_.lane(loc_);
  MmaOperand a = placeOperand(true, lane), b = placeOperand(false, lane);
  placeBytes(a, 8, 16);
  placeBytes(b, 16, 8);
  Type word = b_.getIntegerType(32, /*isSigned=*/false);
  // (of one in registers all there are, 16 rows by all of k)
  a.fragments = made ? made->a : aRing_ ? c_.allocate(sets * a.perSet(), word, named("a_frag")) : c_.tiles.lookup(op_.getA()).array;
  b.fragments = made ? made->b : c_.allocate(sets * b.perSet(), word, named("b_frag"));
  a.slots = aRing_ ? c_.rings.lookup(op_.getA()) : Value();
  b.slots = c_.rings.lookup(op_.getB());
  return {a, b};
}

void DotLowering::loadOf(MmaOperand &a, MmaOperand &b, Value k, Value set) {
  if (aRing_)
    loadFragments(a, k, set);
  loadFragments(b, k, set);
}

/// All rows by all columns, of fragments in set number `set`.
void DotLowering::multiplySet(const MmaOperand &a, const MmaOperand &b, Value set, Value step) {
  int64_t nReps = b.reps * 2;
  std::string shape = mmaShape();
  inLoop(a.reps, "mi", [&](Value mi) {
    inLoop(nReps, "ni", [&](Value ni) {
      Value d = c_.mul(c_.add(c_.mul(mi, nReps, loc_), ni, loc_), 4, loc_);
      Value x = aRing_ ? c_.add(c_.mul(set, a.perSet(), named("a_set")), c_.mul(mi, 4, loc_), named("a_reg"))
                       : c_.mul(step, 16 / bytesOf(bRing_.getElementType()), named("a_reg")),
            y = c_.add(c_.mul(set, b.perSet(), named("b_set")), c_.mul(ni, 2, loc_), loc_);
      cu::MmaOp::create(b_, loc_, acc_, d, a.fragments, x, b.fragments, y, shape);
    });
  });
}

void DotLowering::runMma() {
  OpBuilder::InsertionGuard guard(b_);
  // Two sets of fragments: those of the next step of k load while these multiply.
  int64_t steps = mmaSteps(c_, op_), sets = steps > 1 ? 2 : 1;
  auto [a, b] = placeOperands(nullptr, sets);
  loadOf(a, b, c_.index(0, loc_), c_.index(0, loc_));
  Value step = openLoop(c_, 0, steps, 1, "step", loc_);
  Value set = arith::RemSIOp::create(b_, named("set"), step, c_.index(2, loc_));
  if (sets == 2) {
    Value next = c_.add(step, c_.index(1, loc_), named("next"));
    Value more = arith::CmpIOp::create(b_, named("more"), arith::CmpIPredicate::slt, next, c_.index(steps, loc_));
    auto branch = scf::IfOp::create(b_, loc_, more, false);
    OpBuilder::InsertionGuard inner(b_);
    b_.setInsertionPoint(branch.thenBlock()->getTerminator());
    loadOf(a, b, c_.mul(next, mmaPoints(op_), named("next_k")), mod(next, 2));
  } else {
    set = c_.index(0, loc_);
  }
  multiplySet(a, b, set, step);
}

void DotLowering::readFirst(ReadAhead &ahead, Value exists) {
  auto operands = placeOperands(nullptr, 2);
  ahead.a = operands.first.fragments;
  ahead.b = operands.second.fragments;
  c_.inBranch(exists, loc_, [&] { loadOf(operands.first, operands.second, c_.index(0, loc_), c_.index(0, loc_)); });
}

void DotLowering::readSecond(const ReadAhead &ahead) {
  auto [a, b] = placeOperands(&ahead, 2);
  loadOf(a, b, c_.index(mmaPoints(op_), loc_), c_.index(1, loc_));
}

void DotLowering::runAllButLast(const ReadAhead &ahead) {
  auto [a, b] = placeOperands(&ahead, 2);
  multiplySet(a, b, c_.index(0, loc_), c_.index(0, loc_));
  int64_t last = mmaSteps(c_, op_) - 1;
  if (last == 1)
    return;
  OpBuilder::InsertionGuard guard(b_);
  Value step = openLoop(c_, 1, last, 1, "step", loc_);
  Value next = c_.add(step, c_.index(1, loc_), named("next"));
  loadOf(a, b, c_.mul(next, mmaPoints(op_), named("next_k")), mod(next, 2));
  multiplySet(a, b, mod(step, 2), step);
}

void DotLowering::runLast(const ReadAhead &ahead, Value next, Value exists) {
  auto operands = placeOperands(&ahead, 2);
  c_.inBranch(exists, loc_, [&] {
    operands.first.start = aAddress_.slotStart(next);
    operands.second.start = bAddress_.slotStart(next);
    loadOf(operands.first, operands.second, c_.index(0, loc_), c_.index(0, loc_));
  });
  multiplySet(operands.first, operands.second, c_.index(1, loc_), c_.index(mmaSteps(c_, op_) - 1, loc_));
}

int64_t mmaPoints(tile::DotOp op) { return 32 / bytesOf(cast<tile::RingType>(op.getB().getType()).getElementType()); }

int64_t mmaSteps(ThreadCode &code, tile::DotOp op) {
  ArrayRef<int64_t> shape = cast<tile::RingType>(op.getB().getType()).getShape();
  int64_t points = 1;
  for (int64_t d : op.getK())
    points *= shape[d];
  return stepsOf(code, op, points, mmaPoints(op));
}

tile::DotOp findReadAhead(ThreadCode &code, scf::ForOp loop) {
  if (code.func.getUnit() != Unit::Mma)
    return {};
  // Fragments are read behind the barrier, and what they are multiplied with is done nowhere before the round's end.
  Operation *barrier = loop.getBody()->getTerminator()->getPrevNode();
  Operation *wait = isa_and_nonnull<tile::BarrierOp>(barrier) ? barrier->getPrevNode() : nullptr;
  auto dot = isa_and_nonnull<tile::AsyncWaitOp>(wait) ? dyn_cast_or_null<tile::DotOp>(wait->getPrevNode()) : tile::DotOp();
  bool isLast = dot && dot->hasOneUse() && isa<scf::YieldOp>(*dot->user_begin());
  if (!isLast || !isa<tile::RingType>(dot.getA().getType()) || dot.getANumber() || dot.getNumber() != loop.getInductionVar())
    return {};
  // Fragments of the next tile go where those of an even step are.
  return mmaSteps(code, dot) % 2 == 0 ? dot : tile::DotOp();
}

ReadAhead::ReadAhead(ThreadCode &code, scf::ForOp loop, tile::DotOp dot) : dot(dot) {
  Value first = code.scalars.lookup(loop.getLowerBound()), end = code.scalars.lookup(loop.getUpperBound());
  Location loc = cu::unnamed(dot.getLoc());
  std::optional<int64_t> from = getConstantIntValue(first), to = getConstantIntValue(end);
  Value exists = from && to && *from < *to ? Value() : Value(arith::CmpIOp::create(code.b, loc, arith::CmpIPredicate::slt, first, end));
  code.scalars[loop.getInductionVar()] = first;
  DotLowering(code, dot, {}).readFirst(*this, exists);
  // Within the loop every copy into a slot is a barrier away from what was read of it.
  cu::SyncOp::create(code.b, loc, 0);
}

void ReadAhead::begin(ThreadCode &code) { DotLowering(code, dot, {}).readSecond(*this); }

void ReadAhead::run(ThreadCode &code, Value acc) {
  this->acc = acc;
  DotLowering(code, dot, acc).runAllButLast(*this);
}

void ReadAhead::finish(ThreadCode &code, Value end) {
  Location loc = cu::unnamed(dot.getLoc());
  Value next = code.add(code.scalars.lookup(dot.getNumber()), code.index(1, loc), code.named("next_tile", loc));
  Value exists = arith::CmpIOp::create(code.b, loc, arith::CmpIPredicate::slt, next, end);
  DotLowering(code, dot, acc).runLast(*this, next, exists);
}

} // namespace kernelc
