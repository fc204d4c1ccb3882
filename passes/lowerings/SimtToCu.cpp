// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dots on CUDA cores: fused multiply-adds on registers, operands in vectors from slots.
#include "passes/lowerings/DotLowering.h"

#include "ir/cu/Marks.h"
#include "mlir/IR/IRMapping.h"
#include "passes/analysis/Reduction.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;

namespace {

/// What a thread multiplies of one operand in a step over k: `count` rows (columns), a vector of
/// neighbours and its repeats.
struct Patch {
  char axis; ///< of the accumulator's digits: rows 'm', columns 'n'
  tile::RingType ring;
  SlotAddress &address;
  ArrayRef<int64_t> outer;
  const tile::Runs &runs;
  Value slotStart, first; ///< of the slot in the ring; of this thread's rows
  Digit vector, repeat;
  Value array; ///< [k][row] where loads run along rows, [row][k] where they run along k

  int64_t count() const { return vector.size * repeat.size; }
  bool alongK() const { return runs.k > 1; }
  Type type() const { return ring.getElementType(); }
  /// Registers of one k: narrow elements share them.
  int64_t bytes() const { return count() * bytesOf(type()); }
};

} // namespace

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

void DotLowering::runSimt() {
  OpBuilder::InsertionGuard guard(b_);
  auto patch = [&](char axis, tile::RingType ring, SlotAddress &address, ArrayRef<int64_t> outer, const tile::Supply &supply,
                   Value slotStart, Value warpStart) {
    Patch p{axis,
            ring,
            address,
            outer,
            supply.runs,
            slotStart,
            c_.add(start(axis, shape_.lane, c_.lane(loc_), axis == 'm' ? "lane_row" : "lane_column"), warpStart,
                   c_.named(axis == 'm' ? "thread_row" : "thread_column", loc_)),
            {},
            {},
            {}};
    for (auto &[a, d] : shape_.reg)
      if (a == axis)
        (d.stride == 1 ? p.vector : p.repeat) = d;
    return p;
  };
  Patch a = patch('m', aRing_, aAddress_, op_.getM(), aSupply_, aStart_, warpM_);
  Patch b = patch('n', bRing_, bAddress_, op_.getN(), bSupply_, bStart_, warpN_);
  // Vectors along k are held for all of their k, others for one k at a time.
  int64_t step = a.alongK() && b.alongK() ? std::min(a.runs.k, b.runs.k) : std::max(a.runs.k, b.runs.k);
  constexpr int64_t kMostBytes = 448; // of operands in registers, beside the accumulators
  auto held = [&](const Patch &p) { return p.alongK() ? step * p.bytes() : p.bytes(); };
  while (step > 1 && (held(a) + held(b) > kMostBytes || k_ % step))
    step /= 2;
  auto stepOf = [&](const Patch &p) { return p.alongK() ? step : 1; };
  a.array = c_.allocate(a.count() * stepOf(a), a.type(), c_.named("a_frag", loc_));
  b.array = c_.allocate(b.count() * stepOf(b), b.type(), c_.named("b_frag", loc_));
  Value k0 = openLoop(c_, 0, k_, step, "kk", loc_);
  // A comparison of 64 bits is many instructions, of which unrolled loops make too many to compile in a moment.
  if (!op_.isProduct() && isa<BlockArgument>(k0) && cast<MemRefType>(acc_.getType()).getElementTypeBitWidth() > 32)
    cu::kUnroll.putOn(b_.getInsertionBlock()->getParentOp(), 2);

  /// Where a row (column) and one of its k are in registers.
  auto indexOf = [&](const Patch &p, Value row, Value k) { return p.alongK() ? c_.add(c_.mul(row, step, loc_), k, loc_) : row; };
  /// Vectors from k on.
  auto fetch = [&](Patch &p, Value source, Value k) {
    int64_t count = p.alongK() ? step : p.vector.size;
    inLoop(p.repeat.size, std::string(1, p.axis) + "r", [&](Value r) {
      Value row = c_.add(p.first, c_.mul(r, p.repeat.stride, loc_), loc_);
      Value from = element(p.address, p.slotStart, p.ring, p.outer, row, k), to = c_.mul(r, count, loc_);
      if (count > 1)
        cu::CopyOp::create(b_, loc_, source, from, p.array, to, count);
      else
        memref::StoreOp::create(b_, loc_, memref::LoadOp::create(b_, loc_, source, from), p.array, to);
    });
  };
  Value aSource = c_.rings.lookup(op_.getA()), bSource = c_.rings.lookup(op_.getB());
  if (a.alongK())
    fetch(a, aSource, k0);
  if (b.alongK())
    fetch(b, bSource, k0);

  // Back and forth over the columns: a multiply-add finds two of its operands where the one before left them
  // (the register file has fewer ports than it asks for; 2 % of f32 4096³ on an H200).
  bool turns = a.count() > 1 && b.count() > 2 && llvm::isPowerOf2_64(b.count());
  auto backAndForth = [&](Value row, Value nth) -> Value {
    Value all = c_.mul(arith::RemSIOp::create(b_, loc_, row, c_.index(2, loc_)), b.count() - 1, c_.named("turn", loc_));
    return arith::XOrIOp::create(b_, NameLoc::get(b_.getStringAttr("n"), loc_), nth, all);
  };

  if (turns)
    cu::CommentOp::create(b_, loc_, "Back and forth over the columns: a register that was read last is read next.");
  Type accType = cast<MemRefType>(acc_.getType()).getElementType();
  inLoop(step, "k", [&](Value k) {
    Value number = c_.add(k0, k, loc_);
    if (op_.getCount()) { // (the loop's guard puts the builder back)
      Value counts = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, number, c_.scalars.lookup(op_.getCount()));
      b_.setInsertionPoint(scf::IfOp::create(b_, loc_, counts, false).thenBlock()->getTerminator());
    }
    if (!a.alongK())
      fetch(a, aSource, number);
    if (!b.alongK())
      fetch(b, bSource, number);
    inLoop(a.count(), "mi", [&](Value mi) {
      Value x = widen(memref::LoadOp::create(b_, c_.named("a_elem", loc_), a.array, indexOf(a, mi, k)), accType, op_.getAUnsigned());
      inLoop(b.count(), "ni", [&](Value nth) {
        Value ni = turns ? backAndForth(mi, nth) : nth;
        Value y = widen(memref::LoadOp::create(b_, loc_, b.array, indexOf(b, ni, k)), accType, op_.getBUnsigned());
        Value at = c_.add(c_.mul(mi, b.count(), loc_), ni, c_.named("reg", loc_));
        memref::StoreOp::create(b_, loc_, addTerm(memref::LoadOp::create(b_, loc_, acc_, at), x, y), acc_, at);
      });
    });
  });
}

} // namespace kernelc
