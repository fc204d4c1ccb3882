// Rings and dots: from slots in shared memory to fragments and multiply-adds.
#include "passes/lowerings/DotToCu.h"

#include "ir/tile/Accumulator.h"
#include "llvm/ADT/STLExtras.h"
#include "passes/lowerings/SlotAddress.h"
#include "passes/tile/Access.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;
using tile::Fetch;
using tile::Layout;
using tile::SlotLayout;

namespace {

int64_t bytesOf(Type t) { return std::max(1u, t.getIntOrFloatBitWidth() / 8); }

/// Digits of a linear number over `dims`, the last fastest.
void spreadLinear(ThreadCode &c, Value linear, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape, SmallVectorImpl<Value> &coords, Location loc) {
  SmallVector<int64_t> order(llvm::reverse(dims)), sizes;
  for (int64_t d : order)
    sizes.push_back(shape[d]);
  for (auto [i, d] : llvm::enumerate(order))
    if (shape[d] > 1)
      coords[d] = c.digitOf(linear, sizes, i, loc);
}

/// A loop; returns its variable with the builder inside.
Value openLoop(ThreadCode &c, int64_t from, int64_t to, int64_t step, StringRef name, Location loc) {
  if (to - from <= step)
    return c.index(from, loc);
  auto loop = scf::ForOp::create(c.b, loc, c.index(from, loc), c.index(to, loc), c.index(step, loc));
  loop.getInductionVar().setLoc(NameLoc::get(c.b.getStringAttr(name), loc));
  c.b.setInsertionPoint(loop.getBody()->getTerminator());
  return loop.getInductionVar();
}

} // namespace

void lowerRing(ThreadCode &c, tile::RingOp op) {
  auto ring = op.getResult().getType();
  // A swizzle is a function of the address: slots start on its period.
  c.sharedBytes = (c.sharedBytes + 1023) / 1024 * 1024;
  SlotLayout layout = SlotAddress::layoutOf(ring);
  StringRef name = cu::findName(op.getLoc());
  c.rings[op] = c.sharedArray(layout.elements * ring.getSlots(), ring.getElementType(), op.getLoc(), name.empty() ? "ring" : name);
}

void lowerRingCopy(ThreadCode &c, tile::RingCopyOp op) {
  if (op.getChannel())
    return lowerBoxCopy(c, op);
  Location loc = cu::unnamed(op.getLoc());
  OpBuilder &b = c.b;
  auto ring = op.getRing().getType();
  SlotAddress address(c, ring, loc);
  const SlotLayout &layout = address.layout();
  ArrayRef<int64_t> shape = ring.getShape();
  int64_t dim = layout.contiguous, bytes = bytesOf(ring.getElementType());
  AffineMap tensorShape = shapeOfBase(c.func, op.getBase()), strides = layoutOfBase(c.func, op.getBase()).strides;
  int64_t vector = provableVector(c.func, op.getBase(), op.getMap(), dim, llvm::is_contained(op.getMask(), dim),
                                  std::min<int64_t>(16 / bytes, shape[dim]));
  vector = std::min(vector, layout.chunk);
  int64_t perRow = shape[dim] / vector, total = layout.rows * perRow, threads = c.func.getWarps() * 32;
  Value start = address.slotStart(c.scalars.lookup(op.getNumber()));
  OpBuilder::InsertionGuard guard(b);
  Value base = openLoop(c, 0, total, threads, "copy", loc);
  Value id = c.add(base, c.thread(loc), loc);
  if (total % threads) {
    Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, id, c.index(total, loc));
    auto branch = scf::IfOp::create(b, loc, some, false);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  Value row = perRow > 1 ? Value(arith::DivSIOp::create(b, loc, id, c.index(perRow, loc))) : id;
  Value column = perRow > 1 ? c.mul(arith::RemSIOp::create(b, loc, id, c.index(perRow, loc)), vector, loc) : c.index(0, loc);
  // Coordinates of the vector's first element.
  SmallVector<Value> coords(shape.size());
  SmallVector<int64_t> rowDims;
  for (size_t d = 0; d < shape.size(); ++d)
    if (int64_t(d) != dim)
      rowDims.push_back(d);
  spreadLinear(c, row, rowDims, shape, coords, loc);
  coords[dim] = column;
  for (auto [d, v] : llvm::enumerate(coords)) {
    v = c.add(c.scalars.lookup(op.getOffsets()[d]), v, loc);
    v = v ? v : c.index(0, loc);
  }
  Value valid;
  auto require = [&](Value condition) { valid = valid ? Value(arith::AndIOp::create(b, loc, valid, condition)) : condition; };
  for (int64_t d : op.getMask())
    require(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, coords[d], c.expand(c.func.getExtent(d), {}, loc)));
  Value linear;
  for (auto [r, e] : llvm::enumerate(op.getMap().getResults())) {
    Value s = c.expand(e, coords, loc), n = c.expand(tensorShape.getResult(r), {}, loc);
    if (op.getBounds() == te::BoundsMode::Pad) {
      require(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, s, c.index(0, loc)));
      require(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, s, n));
    }
    if (strides) {
      linear = c.add(linear, scaled(c, s, strides.getResult(r), loc), loc);
      continue;
    }
    linear = linear ? Value(arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, linear, n), s)) : s;
  }
  // Nothing is read where `valid` is false, but the address stays inside the tensor.
  if (valid)
    linear = arith::SelectOp::create(b, loc, valid, linear, c.index(0, loc));
  Value to = c.add(start, address.offset(row, column), loc);
  Value source = c.bases.lookup(op.getBase()), target = c.rings.lookup(op.getRing());
  if (c.hasAsyncCopy)
    cu::CpAsyncOp::create(b, loc, source, linear, target, to, valid, vector);
  else {
    Value temporary = c.allocate(vector, ring.getElementType(), loc);
    auto load = [&] { cu::CopyOp::create(b, loc, source, linear, temporary, c.index(0, loc), vector); };
    if (valid) {
      Value zero = arith::ConstantOp::create(b, loc, cast<TypedAttr>(b.getZeroAttr(ring.getElementType())));
      for (int64_t i = 0; i < vector; ++i)
        memref::StoreOp::create(b, loc, zero, temporary, c.index(i, loc));
      auto branch = scf::IfOp::create(b, loc, valid, false);
      OpBuilder::InsertionGuard inner(b);
      b.setInsertionPoint(branch.thenBlock()->getTerminator());
      load();
    } else {
      load();
    }
    cu::CopyOp::create(b, loc, temporary, c.index(0, loc), target, to, vector);
  }
}

/// Whether registers and lanes hold 16 x 16 patches as stmatrix.x4 takes them: the
/// accumulator fragments of mma and wgmma, rows contiguous along the ring's dim.
static bool isMatrixFragment(const Layout &layout, int64_t contiguous) {
  auto is = [](const Digit &d, int64_t stride, int64_t size) { return d.stride == stride && d.size == size; };
  ArrayRef<Digit> r = layout.reg, l = layout.lane;
  return r.size() >= 3 && l.size() == 2 && r[0].dim == contiguous && is(r[0], 1, 2) && is(r[1], 8, 2) && r[1].dim != contiguous &&
         r[2].dim == contiguous && r[2].stride == 8 && r[2].size % 2 == 0 && l[0].dim == contiguous && is(l[0], 2, 4) &&
         l[1].dim == r[1].dim && is(l[1], 1, 8);
}

/// Fragments leave by stmatrix: lane l names row l mod 16, columns from 8 (l / 16).
static void storeFragments(ThreadCode &c, tile::RingStoreOp op, SlotAddress &address, const Layout &layout, Value start, Location loc) {
  Layout warps{{}, {}, layout.warp};
  Value lane = c.lane(loc), row = arith::RemSIOp::create(c.b, loc, lane, c.index(16, loc));
  Value column = c.mul(arith::DivSIOp::create(c.b, loc, lane, c.index(16, loc)), 8, loc);
  RegTile value = c.tiles.lookup(op.getValue());
  Digit pairs = layout.reg[2]; // of 8 columns; stmatrix takes two at once
  pairs = {pairs.dim, 16, pairs.size / 2};
  tile::Digits digits{pairs};
  llvm::append_range(digits, ArrayRef<Digit>(layout.reg).drop_front(3));
  OpenDigits open;
  c.overDigits(digits, loc, open, [&] {
    SmallVector<Value> coords = c.threadCoordinates(warps, op.getRing().getType().getShape().size(), loc);
    coords[layout.reg[1].dim] = c.add(coords[layout.reg[1].dim], row, loc);
    coords[pairs.dim] = c.add(coords[pairs.dim], column, loc);
    Value r;
    int64_t weight = 8;
    for (const Digit &d : digits) {
      if (Value v = open.valueOf(d)) {
        coords[d.dim] = c.add(coords[d.dim], c.mul(v, d.stride, loc), loc);
        r = c.add(r, c.mul(v, weight, loc), loc);
      }
      weight *= d.size;
    }
    Value to = c.add(start, address.offset(address.row(coords), coords[pairs.dim]), loc);
    cu::StmatrixOp::create(c.b, loc, value.array, r ? r : c.index(0, loc), c.rings.lookup(op.getRing()), to);
  });
}

void lowerRingStore(ThreadCode &c, tile::RingStoreOp op) {
  Location loc = cu::unnamed(op.getLoc());
  auto ring = op.getRing().getType();
  SlotAddress address(c, ring, loc);
  Layout layout = tile::getLayout(op.getValue());
  Value start = address.slotStart(c.scalars.lookup(op.getNumber()));
  Value target = c.rings.lookup(op.getRing());
  if (c.hasStmatrix && bytesOf(ring.getElementType()) == 2 && address.layout().chunk == 8 && !isRematerialized(op.getValue().getDefiningOp()) &&
      isMatrixFragment(layout, ring.getContiguous()))
    return storeFragments(c, op, address, layout, start, loc);
  OpBuilder::InsertionGuard guard(c.b);
  if (Value first = c.isFirstReplica(layout, loc)) {
    auto branch = scf::IfOp::create(c.b, loc, first, false);
    c.b.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  // A vector where registers run along the contiguous dim within a chunk.
  int64_t vector = 1;
  ArrayRef<Digit> digits = layout.reg;
  if (!digits.empty() && !isRematerialized(op.getValue().getDefiningOp()) && digits[0].dim == address.layout().contiguous && digits[0].stride == 1 &&
      digits[0].size <= address.layout().chunk && digits[0].size * bytesOf(ring.getElementType()) >= 2)
    vector = digits[0].size;
  OpenDigits open;
  c.overDigits(vector > 1 ? digits.drop_front() : digits, loc, open, [&] {
    SmallVector<Value> coords = c.coordinates(layout, open, ring.getShape().size(), loc);
    Value column = coords[address.layout().contiguous];
    Value to = c.add(start, address.offset(address.row(coords), column ? column : c.index(0, loc)), loc);
    Value r = c.registerIndex(layout, open, loc);
    RegTile value = c.tiles.lookup(op.getValue());
    if (vector > 1)
      cu::CopyOp::create(c.b, loc, value.array, r, target, to, vector);
    else
      memref::StoreOp::create(c.b, loc, c.element(op.getValue(), open, loc), target, to);
  });
}

namespace {

/// One dot: its operands' slots, its warps' parts, its unit.
class DotLowering {
public:
  DotLowering(ThreadCode &c, tile::DotOp op, Value acc)
      : c_(c), op_(op), b_(c.b), loc_(cu::unnamed(op.getLoc())), acc_(acc), aRing_(cast<tile::RingType>(op.getA().getType())),
        bRing_(cast<tile::RingType>(op.getB().getType())), aAddress_(c, aRing_, loc_), bAddress_(c, bRing_, loc_) {
    auto product = [&](tile::RingType ring, ArrayRef<int64_t> dims) {
      int64_t p = 1;
      for (int64_t d : dims)
        p *= ring.getShape()[d];
      return p;
    };
    m_ = product(aRing_, op.getM());
    n_ = product(bRing_, op.getN());
    k_ = product(aRing_, op.getK());
    auto fetch = [&](tile::RingType ring, ArrayRef<int64_t> outer) {
      return tile::fetchOf(ring.getShape(), ring.getContiguous(), bytesOf(ring.getElementType()), outer, op.getK());
    };
    aFetch_ = fetch(aRing_, op.getM());
    bFetch_ = fetch(bRing_, op.getN());
    shape_ = tile::accumulatorShape(c.func.getUnit(), m_, n_, c.func.getWarps(), aFetch_, bFetch_);
    Value number = c.scalars.lookup(op.getNumber());
    aStart_ = aAddress_.slotStart(number);
    bStart_ = bAddress_.slotStart(number);
  }

  void run() {
    // Where this thread's part of the accumulator starts.
    warpM_ = start('m', shape_.warp, c_.warp(loc_));
    warpN_ = start('n', shape_.warp, c_.warp(loc_));
    if (c_.func.getUnit() == "mma")
      runMma();
    else
      runSimt();
  }

private:
  /// What a lane or warp number contributes to the linear row or column.
  Value start(char axis, ArrayRef<std::pair<char, Digit>> digits, Value number) {
    Value at;
    SmallVector<int64_t> sizes = llvm::map_to_vector(digits, [](auto &d) { return d.second.size; });
    for (auto [i, digit] : llvm::enumerate(digits))
      if (auto &[a, d] = digit; a == axis && d.size > 1)
        at = c_.add(at, c_.mul(c_.digitOf(number, sizes, i, loc_), d.stride, loc_), loc_);
    return at ? at : c_.index(0, loc_);
  }

  /// Address in the ring of (linear row or column, linear k).
  Value element(SlotAddress &address, Value slotStart, tile::RingType ring, ArrayRef<int64_t> outer, Value mn, Value k) {
    SmallVector<Value> coords(ring.getShape().size());
    spreadLinear(c_, mn, outer, ring.getShape(), coords, loc_);
    spreadLinear(c_, k, op_.getK(), ring.getShape(), coords, loc_);
    Value column = coords[address.layout().contiguous];
    return c_.add(slotStart, address.offset(address.row(coords), column ? column : c_.index(0, loc_)), loc_);
  }

  bool kMajor(tile::RingType ring) { return llvm::is_contained(op_.getK(), ring.getContiguous()); }

  /// The instruction: operands of b bytes take 32 / b of K.
  std::string mmaShape() {
    Type t = aRing_.getElementType();
    if (t.isF32())
      return "m16n8k8_tf32";
    if (!t.isInteger(8))
      return t.isBF16() ? "m16n8k16_bf16" : "m16n8k16_f16";
    std::string a = op_.getAUnsigned() ? "u8" : "s8", b = op_.getBUnsigned() ? "u8" : "s8";
    return "m16n8k32_" + (a == b ? a : a + b);
  }

  void runMma() {
    OpBuilder::InsertionGuard guard(b_);
    int64_t mReps = shape_.warpM / 16, nPairs = shape_.warpN / 16;
    int64_t bytes = bytesOf(aRing_.getElementType()), half = 16 / bytes, kStep = 32 / bytes;
    Value lane = c_.lane(loc_);
    auto mod = [&](Value v, int64_t n) { return arith::RemSIOp::create(b_, loc_, v, c_.index(n, loc_)).getResult(); };
    auto div = [&](Value v, int64_t n) { return arith::DivSIOp::create(b_, loc_, v, c_.index(n, loc_)).getResult(); };
    // The matrix row each lane names to ldmatrix: see reference on mma.m16n8k16
    // fragments. Those of other element sizes are the same in bytes.
    bool aK = aFetch_ == Fetch::Rows, bK = bFetch_ == Fetch::Rows, aBytes = aFetch_ == Fetch::Bytes, bBytes = bFetch_ == Fetch::Bytes;
    Value aRow = aK ? mod(lane, 16) : c_.mul(mod(div(lane, 8), 2), 8, loc_);
    Value aK0 = aK ? c_.mul(div(lane, 16), half, loc_) : c_.add(mod(lane, 8), c_.mul(div(lane, 16), 8, loc_), loc_);
    Value bCol = bK ? c_.add(mod(lane, 8), c_.mul(div(lane, 16), 8, loc_), loc_) : c_.mul(div(lane, 16), 8, loc_);
    Value bK0 = bK ? c_.mul(mod(div(lane, 8), 2), half, loc_) : mod(lane, 16);
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
    auto named = [&](StringRef n) { return NameLoc::get(b_.getStringAttr(n), loc_); };
    // Two sets of fragments: those of the next step of k load while these multiply.
    int64_t sets = k_ > kStep ? 2 : 1, aSet = mReps * 4, bSet = nPairs * 4;
    Value aFragments = c_.allocate(sets * aSet, word, named("a"));
    Value bFragments = c_.allocate(sets * bSet, word, named("b"));
    auto inLoop = [&](int64_t reps, StringRef name, llvm::function_ref<void(Value)> body) {
      OpBuilder::InsertionGuard inner(b_);
      body(openLoop(c_, 0, reps, 1, name, loc_));
    };
    // Four registers element by element: register j holds row lane / 4 (+ 8 by bit
    // `rowBit` of j) and the lane's word of a half of K (by the other bit).
    auto gather = [&](Value ring, SlotAddress &address, Value slot, tile::RingType type, ArrayRef<int64_t> outer, Value first, Value k,
                      int rowBit, Value to, Value at) {
      inLoop(4, "j", [&](Value j) {
        Value bits[] = {mod(j, 2), div(j, 2)};
        Value row = c_.add(c_.add(first, div(lane, 4), loc_), c_.mul(bits[rowBit], 8, loc_), loc_);
        // Two operands that lie across K may take its words in any order: every other
        // one keeps the lanes of a row on banks of their own.
        bool spread = bytes == 4 && aFetch_ == bFetch_;
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
    Value aSlots = c_.rings.lookup(op_.getA()), bSlots = c_.rings.lookup(op_.getB());
    auto load = [&](Value k, Value set) {
      inLoop(mReps, "mi", [&](Value mi) {
        Value first = c_.add(warpM_, c_.mul(mi, 16, loc_), loc_);
        Value to = c_.add(c_.mul(set, aSet, loc_), c_.mul(mi, 4, loc_), loc_);
        if (aFetch_ == Fetch::Gather) {
          gather(aSlots, aAddress_, aStart_, aRing_, op_.getM(), first, k, 0, aFragments, to);
        } else {
          Value from = element(aAddress_, aStart_, aRing_, op_.getM(), c_.add(first, aRow, loc_), c_.add(k, aK0, loc_));
          cu::LdmatrixOp::create(b_, loc_, aSlots, from, aFragments, to, 4, !aK);
          if (aBytes)
            deal(aFragments, to, 0, 1, 2, 3);
        }
        if (op_.getARounded())
          round(aFragments, to);
      });
      inLoop(nPairs, "np", [&](Value np) {
        Value first = c_.add(warpN_, c_.mul(np, 16, loc_), loc_);
        Value to = c_.add(c_.mul(set, bSet, loc_), c_.mul(np, 4, loc_), loc_);
        if (bFetch_ == Fetch::Gather) {
          gather(bSlots, bAddress_, bStart_, bRing_, op_.getN(), first, k, 1, bFragments, to);
        } else {
          Value from = element(bAddress_, bStart_, bRing_, op_.getN(), c_.add(first, bCol, loc_), c_.add(k, bK0, loc_));
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
    Value set = mod(step, 2);
    if (sets == 2) {
      Value next = c_.add(step, c_.index(1, loc_), loc_);
      Value more = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, next, c_.index(k_ / kStep, loc_));
      auto branch = scf::IfOp::create(b_, loc_, more, false);
      OpBuilder::InsertionGuard inner(b_);
      b_.setInsertionPoint(branch.thenBlock()->getTerminator());
      load(c_.mul(next, kStep, loc_), mod(next, 2));
    } else {
      set = c_.index(0, loc_);
    }
    int64_t nReps = nPairs * 2;
    std::string shape = mmaShape();
    inLoop(mReps, "mi", [&](Value mi) {
      inLoop(nReps, "ni", [&](Value ni) {
        Value d = c_.mul(c_.add(c_.mul(mi, nReps, loc_), ni, loc_), 4, loc_);
        Value x = c_.add(c_.mul(set, aSet, loc_), c_.mul(mi, 4, loc_), loc_), y = c_.add(c_.mul(set, bSet, loc_), c_.mul(ni, 2, loc_), loc_);
        cu::MmaOp::create(b_, loc_, acc_, d, aFragments, x, bFragments, y, shape);
      });
    });
  }

  /// Multiply-adds on registers; a step takes as many k as make a 16-byte vector
  /// of the operand that is contiguous along k.
  void runSimt() {
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
    auto inLoop = [&](int64_t reps, StringRef name, llvm::function_ref<void(Value)> body) {
      OpBuilder::InsertionGuard inner(b_);
      body(openLoop(c_, 0, reps, 1, name, loc_));
    };
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
          move(aSlots, element(aAddress_, aStart_, aRing_, op_.getM(), row, c_.add(k0, k, loc_)), a, c_.add(c_.mul(mi, step, loc_), k, loc_), 1, aType);
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
          move(bSlots, element(bAddress_, bStart_, bRing_, op_.getN(), columnAt({}), c_.add(k0, k, loc_)), bv, bIndex(first, k), nVector.size, bType);
        });
        return;
      }
      inLoop(nVector.size, "nv", [&](Value nv) {
        Value column = c_.add(first, nv, loc_);
        if (bK)
          return move(bSlots, element(bAddress_, bStart_, bRing_, op_.getN(), columnAt(nv), k0), bv, bIndex(column, c_.index(0, loc_)), step, bType);
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

  Value widen(Value v, Type to, bool isUnsigned) {
    if (v.getType() == to)
      return v;
    if (isa<FloatType>(to))
      return arith::ExtFOp::create(b_, loc_, to, v);
    return isUnsigned ? Value(arith::ExtUIOp::create(b_, loc_, to, v)) : arith::ExtSIOp::create(b_, loc_, to, v);
  }

  ThreadCode &c_;
  tile::DotOp op_;
  OpBuilder &b_;
  Location loc_;
  Value acc_;
  tile::RingType aRing_, bRing_;
  SlotAddress aAddress_, bAddress_;
  Fetch aFetch_, bFetch_;
  tile::AccumulatorShape shape_;
  Value aStart_, bStart_, warpM_, warpN_;
  int64_t m_, n_, k_;
};

} // namespace

LogicalResult lowerDot(ThreadCode &c, tile::DotOp op, Value acc) {
  if (c.func.getUnit() == "wgmma")
    return lowerWgmma(c, op, acc);
  DotLowering(c, op, acc).run();
  return success();
}

} // namespace kernelc
