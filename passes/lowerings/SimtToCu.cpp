// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dots on CUDA cores: fused multiply-adds on registers, operands in vectors from slots.
#include "passes/lowerings/DotLowering.h"

#include "ir/cu/Marks.h"
#include "ir/tile/AbsentMark.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Reduction.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;

/// What a thread multiplies of one operand in a step over k: `count` rows (columns), a vector of
/// neighbours and its repeats.
struct DotLowering::Patch {
  char axis; ///< of the accumulator's digits: rows 'm', columns 'n'
  tile::RingType ring;
  SlotAddress &address;
  ArrayRef<int64_t> outer;
  const tile::Runs &runs;
  Value source, slotStart, first; ///< the ring; its slot's place; this thread's rows
  Digit vector{}, repeat{};
  int64_t step = 1; ///< so many k are in registers at once
  Value array{};    ///< [k][row] where loads run along rows, [row][k] where they run along k

  int64_t count() const { return vector.size * repeat.size; }
  bool alongK() const { return runs.k > 1; }
  Type type() const { return ring.getElementType(); }
  /// Registers of one k: narrow elements share them.
  int64_t bytes() const { return count() * bytesOf(type()); }
};

Value DotLowering::addTerm(Value before, Value x, Value y) {
  bool isFloat = isa<FloatType>(before.getType());
  if (op_.isProduct())
    return isFloat ? Value(math::FmaOp::create(b_, loc_, x, y, before))
                   : arith::AddIOp::create(b_, loc_, before, arith::MulIOp::create(b_, loc_, x, y));
  Block &term = op_.getTerm().front();
  IRMapping mapping;
  mapping.map(term.getArgument(0), x);
  mapping.map(term.getArgument(1), y);
  Value last = cast<tile::TermOp>(term.getTerminator()).getValue();
  // A step of a sum of products is one fused multiply-add.
  auto product = last.getDefiningOp<arith::MulFOp>();
  bool fuses = product && op_.getKind() == te::Combiner::Sum;
  for (Operation &op : term.without_terminator()) {
    for (Value v : op.getOperands())
      if (!mapping.contains(v))
        mapping.map(v, c_.scalars.lookup(v)); // a constant outside
    if (!fuses || &op != product.getOperation())
      b_.clone(op, mapping);
  }
  if (fuses)
    return math::FmaOp::create(b_, loc_, mapping.lookup(product.getLhs()), mapping.lookup(product.getRhs()), before);
  return te::combine(op_.getKind(), before, mapping.contains(last) ? mapping.lookup(last) : c_.scalars.lookup(last), b_, loc_);
}

DotLowering::Patch DotLowering::placePatch(char axis) {
  bool isA = axis == 'm';
  Value lanes = start(axis, shape_.lane, c_.lane(loc_), isA ? "lane_row" : "lane_column");
  Value first = c_.add(lanes, isA ? warpM_ : warpN_, c_.named(isA ? "thread_row" : "thread_column", loc_));
  Patch p = isA ? Patch{axis, aRing_, aAddress_, op_.getM(), aSupply_.runs, c_.rings.lookup(op_.getA()), aStart_, first}
                : Patch{axis, bRing_, bAddress_, op_.getN(), bSupply_.runs, c_.rings.lookup(op_.getB()), bStart_, first};
  for (auto &[a, d] : shape_.reg)
    if (a == axis)
      (d.stride == 1 ? p.vector : p.repeat) = d;
  return p;
}

/// Vectors along k are held for all of their k, others for one k at a time.
int64_t DotLowering::stepOverK(const Patch &a, const Patch &b) const {
  int64_t step = a.alongK() && b.alongK() ? std::min(a.runs.k, b.runs.k) : std::max(a.runs.k, b.runs.k);
  constexpr int64_t kMostBytes = 448; // of operands in registers, beside the accumulators
  auto held = [&](const Patch &p) { return p.alongK() ? step * p.bytes() : p.bytes(); };
  while (step > 1 && (held(a) + held(b) > kMostBytes || k_ % step))
    step /= 2;
  return step;
}

void DotLowering::fetch(const Patch &p, Value k) {
  int64_t count = p.alongK() ? p.step : p.vector.size;
  inLoop(p.repeat.size, std::string(1, p.axis) + "r", [&](Value r) {
    Value row = c_.add(p.first, c_.mul(r, p.repeat.stride, loc_), loc_);
    Value from = element(p.address, p.slotStart, p.ring, p.outer, row, k), to = c_.mul(r, count, loc_);
    if (count > 1)
      cu::CopyOp::create(b_, loc_, p.source, from, p.array, to, count);
    else
      memref::StoreOp::create(b_, loc_, memref::LoadOp::create(b_, loc_, p.source, from), p.array, to);
  });
}

Value DotLowering::registerOf(const Patch &p, Value row, Value k) { return p.alongK() ? c_.add(c_.mul(row, p.step, loc_), k, loc_) : row; }

void DotLowering::multiply(const Patch &a, const Patch &b, Value k, bool turns, bool skips) {
  Type accType = cast<MemRefType>(acc_.getType()).getElementType();
  auto backAndForth = [&](Value row, Value nth) -> Value {
    Value all = c_.mul(arith::RemSIOp::create(b_, loc_, row, c_.index(2, loc_)), b.count() - 1, c_.named("turn", loc_));
    return arith::XOrIOp::create(b_, NameLoc::get(b_.getStringAttr("n"), loc_), nth, all);
  };
  inLoop(a.count(), "mi", [&](Value mi) {
    Value x = widen(memref::LoadOp::create(b_, c_.named("a_elem", loc_), a.array, registerOf(a, mi, k)), accType, op_.getAUnsigned());
    if (skips) { // (the loop's guard puts the builder back)
      Value mark = arith::ConstantOp::create(b_, loc_, b_.getI32IntegerAttr(int32_t(tile::absentMark().bitcastToAPInt().getZExtValue())));
      Value bits = arith::BitcastOp::create(b_, loc_, b_.getI32Type(), x);
      Value counts = arith::CmpIOp::create(b_, c_.named("counts", loc_), arith::CmpIPredicate::ne, bits, mark);
      b_.setInsertionPoint(scf::IfOp::create(b_, loc_, counts, false).thenBlock()->getTerminator());
    }
    inLoop(b.count(), "ni", [&](Value nth) {
      Value ni = turns ? backAndForth(mi, nth) : nth;
      Value y = widen(memref::LoadOp::create(b_, loc_, b.array, registerOf(b, ni, k)), accType, op_.getBUnsigned());
      Value at = c_.add(c_.mul(mi, b.count(), loc_), ni, c_.named("reg", loc_));
      memref::StoreOp::create(b_, loc_, addTerm(memref::LoadOp::create(b_, loc_, acc_, at), x, y), acc_, at);
    });
  });
}

void DotLowering::runSimt() {
  OpBuilder::InsertionGuard guard(b_);
  Patch a = placePatch('m'), b = placePatch('n');
  int64_t step = stepOverK(a, b);
  if (!op_.isProduct() || !op_.getCount())
    return runSteps(a, b, step, /*skips=*/false);
  Value all = b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::sge, c_.scalars.lookup(op_.getCount()), c_.index(k_, loc_));
  auto type = cast<MemRefType>(acc_.getType());
  Value before = c_.allocate(type.getNumElements(), type.getElementType(), c_.named("before", loc_));
  inLoop(type.getNumElements(), "reg",
         [&](Value reg) { memref::StoreOp::create(b_, loc_, memref::LoadOp::create(b_, loc_, acc_, reg), before, reg); });
  runSteps(a, b, step, /*skips=*/false);
  // What is absent has added nothing, unless the other operand is no number there.
  Value one = arith::ConstantOp::create(b_, loc_, b_.getBoolAttr(true)), some = arith::XOrIOp::create(b_, loc_, all, one);
  b_.setInsertionPoint(scf::IfOp::create(b_, loc_, some, false).thenBlock()->getTerminator());
  cu::CommentOp::create(b_, loc_, "A condition's border crosses this tile. Where a result is NaN, what it excludes is left out.");
  Value total = sumOfRegisters(acc_, a.count()), isNan = arith::CmpFOp::create(b_, loc_, arith::CmpFPredicate::UNO, total, total);
  b_.setInsertionPoint(scf::IfOp::create(b_, loc_, isNan, false).thenBlock()->getTerminator());
  inLoop(type.getNumElements(), "reg",
         [&](Value reg) { memref::StoreOp::create(b_, loc_, memref::LoadOp::create(b_, loc_, before, reg), acc_, reg); });
  runSteps(a, b, step, /*skips=*/true);
}

Value DotLowering::sumOfRegisters(Value array, int64_t rows) {
  auto type = cast<MemRefType>(array.getType());
  int64_t columns = type.getNumElements() / rows;
  Value sums = c_.allocate(rows, type.getElementType(), c_.named("row_sums", loc_)), zero = c_.index(0, loc_);
  auto at = [&](Value i) { return memref::LoadOp::create(b_, loc_, sums, i); };
  inLoop(rows, "mi", [&](Value mi) {
    Value first = c_.mul(mi, columns, loc_);
    memref::StoreOp::create(b_, loc_, memref::LoadOp::create(b_, loc_, array, first), sums, mi);
    inLoop(columns - 1, "ni", [&](Value ni) {
      Value next = memref::LoadOp::create(b_, loc_, array, c_.add(c_.add(first, ni, loc_), c_.index(1, loc_), loc_));
      memref::StoreOp::create(b_, loc_, arith::AddFOp::create(b_, loc_, at(mi), next), sums, mi);
    });
  });
  inLoop(rows - 1, "mi", [&](Value mi) {
    Value next = at(c_.add(mi, c_.index(1, loc_), loc_));
    memref::StoreOp::create(b_, loc_, arith::AddFOp::create(b_, loc_, at(zero), next), sums, zero);
  });
  return at(zero);
}

void DotLowering::runSteps(Patch a, Patch b, int64_t step, bool skips) {
  OpBuilder::InsertionGuard guard(b_);
  for (Patch *p : {&a, &b}) {
    p->step = p->alongK() ? step : 1;
    p->array = c_.allocate(p->count() * p->step, p->type(), c_.named(p == &a ? "a_frag" : "b_frag", loc_));
  }
  Value k0 = openLoop(c_, 0, k_, step, "kk", loc_);
  auto unroll = [&](int64_t rounds) {
    if (isa<BlockArgument>(k0))
      cu::kUnroll.putOn(b_.getInsertionBlock()->getParentOp(), rounds);
  };
  if (skips) // few come here
    unroll(1);
  // A comparison of 64 bits is many instructions, of which unrolled loops make too many to compile in a moment.
  else if (!op_.isProduct() && cast<MemRefType>(acc_.getType()).getElementTypeBitWidth() > 32)
    unroll(2);
  for (const Patch *p : {&a, &b})
    if (p->alongK())
      fetch(*p, k0);

  // Back and forth over the columns: a multiply-add finds two of its operands where the one before left them, as the register file has
  // fewer ports than operands.
  bool turns = !skips && a.count() > 1 && b.count() > 2 && llvm::isPowerOf2_64(b.count());
  if (turns)
    cu::CommentOp::create(b_, loc_, "Back and forth over the columns: a register that was read last is read next.");
  inLoop(step, "k", [&](Value k) {
    Value number = c_.add(k0, k, loc_);
    if (!op_.isProduct() && op_.getCount()) { // (the loop's guard puts the builder back)
      Value counts = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, number, c_.scalars.lookup(op_.getCount()));
      b_.setInsertionPoint(scf::IfOp::create(b_, loc_, counts, false).thenBlock()->getTerminator());
    }
    for (const Patch *p : {&a, &b})
      if (!p->alongK())
        fetch(*p, number);
    multiply(a, b, k, turns, skips);
  });
}

} // namespace kernelc
