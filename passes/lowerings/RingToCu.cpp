// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rings: slots in shared memory, filled by copies without registers or from registers.
#include "passes/index/Affine.h"
#include "passes/lowerings/DotLowering.h"
#include "passes/lowerings/DotToCu.h"
#include "passes/tile/Access.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;
using tile::Layout;
using tile::SlotLayout;

void lowerRing(ThreadCode &c, tile::RingOp op) {
  auto ring = op.getResult().getType();
  if (op.getOf()) {
    c.rings[op] = c.rings.lookup(op.getOf());
    return;
  }
  // A swizzle is a function of the address: slots start on its period.
  c.sharedBytes = (c.sharedBytes + 1023) / 1024 * 1024;
  SlotLayout layout = SlotAddress::layoutOf(ring);
  StringRef name = cu::findName(op.getLoc());
  c.rings[op] = c.sharedArray(layout.elements * ring.getSlots(), ring.getElementType(), cu::unnamed(op.getLoc()),
                              name.empty() ? "slots" : (name + "_slots").str());
}

namespace {

/// Copies of vectors from a tensor into a slot, by threads.
class VectorCopy {
public:
  VectorCopy(ThreadCode &c, tile::RingCopyOp op)
      : c_(c), b_(c.b), op_(op), loc_(cu::unnamed(op.getLoc())), ring_(op.getRing().getType()), shape_(ring_.getShape()),
        address_(c, ring_, loc_), bytes_(bytesOf(ring_.getElementType())), dim_(address_.layout().contiguous) {}

  void run() {
    int64_t most = std::min<int64_t>(16 / bytes_, shape_[dim_]);
    bool masked = llvm::is_contained(op_.getMask(), dim_);
    vector_ = std::min(copiedVector(c_.func, op_.getBase(), op_.getMap(), op_.getBounds(), dim_, masked, most), address_.layout().chunk);
    start_ = address_.slotStart(c_.scalars.lookup(op_.getNumber()));
    if (op_.getChannel())
      settleAddress();
    int64_t neighbours = contiguousDim(c_.func, op_.getBase(), op_.getMap(), shape_);
    if (neighbours >= 0 && neighbours != dim_ && vector_ == 1)
      across(neighbours);
    else if (op_.getChannel())
      inRounds();
    else
      along();
  }

private:
  /// Those that copy: of the launch, or of the fillers.
  int64_t warps() { return op_.getChannel() ? op_.getChannel().getType().getFillers() / 32 : int64_t(c_.func.getWarps()); }

  /// Rows of the slot are runs of the tensor.
  void along() {
    int64_t perRow = shape_[dim_] / vector_, total = address_.layout().rows * perRow;
    shareOut(c_, total, warps() * 32, "copy", loc_, [&](Value id) {
      Value row = id, column = c_.index(0, loc_);
      if (perRow > 1) {
        row = arith::DivSIOp::create(b_, c_.named("row", loc_), id, c_.index(perRow, loc_));
        column = c_.mul(arith::RemSIOp::create(b_, loc_, id, c_.index(perRow, loc_)), vector_, c_.named("column", loc_));
      }
      SmallVector<Value> coords(shape_.size());
      spreadLinear(c_, row, address_.layout().rowDims, shape_, coords, loc_);
      coords[dim_] = column;
      copy(coords, address_.offset(row, column));
    });
  }

  /// The same by fillers: in each round every thread copies one vector. A digit of the vector's number is the thread's or the round's
  /// wherever it can be, so that a thread's place is settled ahead of all rounds.
  void inRounds() {
    int64_t perRow = shape_[dim_] / vector_, total = address_.layout().rows * perRow, threads = warps() * 32;
    OpBuilder::InsertionGuard guard(b_);
    Value thread = c_.thread(loc_), round = openLoop(c_, 0, llvm::divideCeil(total, threads), 1, "copy", loc_), mine;
    Value number = c_.add(c_.mul(round, threads, loc_), thread, c_.named("copy_number", loc_));
    if (total % threads)
      mine = arith::CmpIOp::create(b_, loc_, arith::CmpIPredicate::slt, number, c_.index(total, loc_));
    c_.inBranch(mine, loc_, [&] {
      int64_t faster = 1; // points of the digits before
      auto quotient = [&](Value v, int64_t by) { return by == 1 ? v : Value(arith::DivSIOp::create(b_, loc_, v, c_.index(by, loc_))); };
      auto remainder = [&](Value v, int64_t of, int64_t below) {
        return below <= of ? v : Value(arith::RemSIOp::create(b_, loc_, v, c_.index(of, loc_)));
      };
      int64_t rounds = llvm::divideCeil(total, threads);
      auto digit = [&](int64_t size) -> Value {
        int64_t first = faster;
        faster *= size;
        if (threads % faster == 0)
          return remainder(quotient(thread, first), size, threads / first);
        if (first % threads == 0)
          return remainder(quotient(round, first / threads), size, llvm::divideCeil(rounds, first / threads));
        if (threads % first == 0 && faster % threads == 0)
          return c_.add(quotient(thread, first), c_.mul(remainder(round, faster / threads, rounds), threads / first, loc_), loc_);
        return remainder(quotient(number, first), size, llvm::divideCeil(total, first));
      };
      SmallVector<Value> coords(shape_.size());
      coords[dim_] = perRow > 1 ? c_.mul(digit(perRow), vector_, c_.named("column", loc_)) : c_.index(0, loc_);
      for (int64_t d : llvm::reverse(address_.layout().rowDims))
        if (shape_[d] > 1)
          coords[d] = digit(shape_[d]);
      copy(coords, address_.at(coords));
    });
  }

  /// Rows of the slot lie across the tensor's, whose neighbours run along `neighbours`: elements of a sector of
  /// memory by neighbouring threads, which the padding of the slot spreads over the banks.
  void across(int64_t neighbours) {
    constexpr int64_t kSector = 32;
    Layout layout = tile::acrossLayout(shape_, neighbours, dim_, kSector / bytes_, warps());
    c_.inBranch(c_.isFirstReplica(layout, loc_), loc_, [&] {
      OpenDigits open;
      c_.overDigits(layout.reg, loc_, open, [&] {
        SmallVector<Value> coords = c_.coordinates(layout, open, shape_.size(), loc_);
        copy(coords, address_.at(coords));
      });
    });
  }

  /// Whether a subscript is an index of the launch that its mask keeps inside, or that has whole tiles.
  bool isKeptInside(AffineExpr subscript, AffineExpr end) {
    std::optional<int64_t> d = findOwnIndex(c_.func, subscript, end);
    te::SizeFacts facts{c_.func.getSizeDiv(), c_.func.getSizeMax()};
    return d && (llvm::is_contained(op_.getMask(), *d) || te::knownDivisor(end, facts) % shape_[*d] == 0);
  }

  /// Fillers have few registers and start many copies: where subscripts are sums of indices, the address of the tile's first element
  /// and what a step along each index adds, ahead of all copies.
  void settleAddress() {
    AffineMap map = op_.getMap(), shape = shapeOfBase(c_.func, op_.getBase());
    for (AffineExpr e : map.getResults())
      for (size_t d = 0; d < shape_.size(); ++d)
        if (shape_[d] > 1 && e.isFunctionOfDim(d) && !te::linearCoefficient(e, d))
          return;
    AffineExpr address = linearAddress(map, shape, layoutOfBase(c_.func, op_.getBase()).strides);
    auto at = [&](int64_t one) { // with one step along an index, or none
      SmallVector<AffineExpr> dims;
      for (int64_t d = 0; d < int64_t(map.getNumDims()); ++d)
        dims.push_back(getAffineConstantExpr(d == one, map.getContext()));
      return address.replaceDims(dims);
    };
    steps_.resize(shape_.size());
    for (size_t d = 0; d < shape_.size(); ++d)
      if (AffineExpr step = simplifyAffineExpr(at(d) - at(-1), 0, map.getNumSymbols());
          shape_[d] > 1 && step != getAffineConstantExpr(0, map.getContext()))
        steps_[d] = c_.expand(step, {}, c_.named(c_.indexName(d) + "_step", loc_));
    from_ = addressAt(c_.scalarsOf(op_.getOffsets()), {});
  }

  /// The address of the element whose coordinates in the tensor's map are `coords`; `visit` sees each subscript and where the tensor ends.
  Value addressAt(ArrayRef<Value> coords, llvm::function_ref<void(AffineExpr, Value, AffineExpr, Value)> visit) {
    AffineMap tensorShape = shapeOfBase(c_.func, op_.getBase()), strides = layoutOfBase(c_.func, op_.getBase()).strides;
    Value linear;
    Location row = c_.named(cu::findName(op_.getBase().getLoc()) + "_row", loc_);
    for (auto [r, e] : llvm::enumerate(op_.getMap().getResults())) {
      AffineExpr end = tensorShape.getResult(r);
      Value s = c_.expand(e, coords, loc_, /*computed=*/true), n = c_.expand(end, {}, loc_);
      if (visit)
        visit(e, s, end, n);
      if (strides)
        linear = c_.add(linear, scaled(c_, s, strides.getResult(r), loc_), row);
      else
        linear = linear ? Value(arith::AddIOp::create(b_, row, arith::MulIOp::create(b_, row, linear, n), s)) : s;
    }
    return linear;
  }

  /// One vector: from the element at `coords` of the tile to `offset` in the slot.
  void copy(SmallVector<Value> coords, Value offset) {
    Value stepped = from_;
    for (auto [v, step] : llvm::zip(coords, steps_))
      if (v && step)
        stepped = c_.add(stepped, arith::MulIOp::create(b_, loc_, v, step), loc_);
    for (auto [d, v] : llvm::enumerate(coords)) {
      v = c_.add(c_.scalars.lookup(op_.getOffsets()[d]), v, c_.named(c_.indexName(d), loc_));
      v = v ? v : c_.index(0, loc_);
    }
    Value valid;
    Location isInside = c_.named("inside", loc_);
    auto require = [&](Value condition) { valid = valid ? Value(arith::AndIOp::create(b_, isInside, valid, condition)) : condition; };
    for (int64_t d : op_.getMask())
      require(arith::CmpIOp::create(b_, isInside, arith::CmpIPredicate::slt, coords[d], c_.expand(c_.func.getExtent(d), {}, loc_)));
    Value linear = addressAt(coords, [&](AffineExpr e, Value s, AffineExpr end, Value n) {
      if (op_.getBounds() != te::BoundsMode::Pad || isKeptInside(e, end))
        return;
      require(arith::CmpIOp::create(b_, isInside, arith::CmpIPredicate::sge, s, c_.index(0, loc_)));
      require(arith::CmpIOp::create(b_, isInside, arith::CmpIPredicate::slt, s, n));
    });
    linear = stepped ? stepped : linear;
    // Nothing is read where `valid` is false, but the address stays inside the tensor.
    if (valid)
      linear = arith::SelectOp::create(b_, loc_, valid, linear, c_.index(0, loc_));
    Value to = c_.add(start_, offset, loc_);
    Value source = c_.bases.lookup(op_.getBase()), target = c_.rings.lookup(op_.getRing());
    if (c_.hasAsyncCopy)
      cu::CpAsyncOp::create(b_, loc_, source, linear, target, to, valid, vector_, /*signalled=*/bool(op_.getChannel()));
    else
      copyThroughRegisters(source, linear, target, to, valid);
  }

  void copyThroughRegisters(Value source, Value from, Value target, Value to, Value valid) {
    Value temporary = c_.allocate(vector_, ring_.getElementType(), loc_);
    if (valid) {
      Value zero = arith::ConstantOp::create(b_, loc_, cast<TypedAttr>(b_.getZeroAttr(ring_.getElementType())));
      OpBuilder::InsertionGuard guard(b_);
      Value i = openLoop(c_, 0, vector_, 1, "e", loc_);
      memref::StoreOp::create(b_, loc_, zero, temporary, i);
    }
    c_.inBranch(valid, loc_, [&] { cu::CopyOp::create(b_, loc_, source, from, temporary, c_.index(0, loc_), vector_); });
    cu::CopyOp::create(b_, loc_, temporary, c_.index(0, loc_), target, to, vector_);
  }

  ThreadCode &c_;
  OpBuilder &b_;
  tile::RingCopyOp op_;
  Location loc_;
  tile::RingType ring_;
  ArrayRef<int64_t> shape_;
  SlotAddress address_;
  int64_t bytes_, dim_;      ///< of an element; the slot's contiguous dim
  int64_t vector_ = 1;       ///< elements
  Value start_;              ///< of the slot
  Value from_;               ///< the address of the tile's first element, if it is settled
  SmallVector<Value> steps_; ///< and what a step along each index adds
};

} // namespace

void lowerRingCopy(ThreadCode &c, tile::RingCopyOp op) {
  if (op.getChannel() && !op.getByThreads())
    return c.ifFirstFiller(op.getChannel().getType(), cu::unnamed(op.getLoc()), [&] { lowerBoxCopy(c, op); });
  VectorCopy(c, op).run();
}

namespace {

/// Fragments that stmatrix and ldmatrix move between registers and 16-byte pieces of a
/// slot's rows: those of mma and wgmma, accumulators of 16 bits and first operands.
/// Registers hold 16 rows by two pieces (32 bytes) in four words; `patches` walks such
/// patches, registers in its order.
struct Matrices {
  int64_t row, column;   ///< the dims of the 16 rows and of the words
  int64_t patchElements; ///< of one thread in a patch: four words
  tile::Digits patches;
  bool across; ///< rows of the slot are columns of the fragment: matrices are transposed
};

/// Elements of `bytes`, words along `column`. Nothing for other layouts.
std::optional<Matrices> findFragment(const Layout &layout, int64_t column, int64_t bytes) {
  // In elements: a word, eight rows, a piece of 16 bytes.
  auto is = [](const Digit &d, int64_t stride, int64_t size) { return d.stride == stride && d.size == size; };
  ArrayRef<Digit> r = layout.reg, l = layout.lane;
  int64_t word = 4 / bytes;
  if (word > 1) {
    if (r.empty() || r[0].dim != column || !is(r[0], 1, word))
      return std::nullopt;
    r = r.drop_front();
  }
  if (r.size() < 2 || l.size() != 2 || !is(r[0], 8, 2) || r[0].dim == column || r[1].dim != column || r[1].stride != 16 / bytes ||
      r[1].size % 2)
    return std::nullopt;
  if (l[0].dim != column || !is(l[0], word, 4) || l[1].dim != r[0].dim || !is(l[1], 1, 8))
    return std::nullopt;
  Matrices f{r[0].dim, column, 4 * word, {}, false};
  f.patches.push_back({column, 32 / bytes, r[1].size / 2});
  llvm::append_range(f.patches, r.drop_front(2));
  return f;
}

/// How matrices move between a layout and slots that are contiguous along a dim.
std::optional<Matrices> findMatrices(const Layout &layout, int64_t contiguous, int64_t bytes) {
  if (auto f = findFragment(layout, contiguous, bytes))
    return f;
  if (bytes == 2)
    for (const Digit &d : layout.lane)
      if (d.dim >= 0 && d.dim != contiguous)
        if (auto f = findFragment(layout, d.dim, bytes); f && f->row == contiguous) {
          f->across = true;
          return f;
        }
  return std::nullopt;
}

/// Calls `move(register, address)` for each patch, with the address that this lane names:
/// of row l mod 16, piece l / 16; across, of column l mod 8 + 8 (l / 16), eight rows from
/// 8 (l / 8 mod 2).
void forEachPatch(ThreadCode &c, const Layout &layout, const Matrices &f, int64_t bytes, SlotAddress &address, Value start, Location loc,
                  llvm::function_ref<void(Value, Value)> move) {
  auto mod = [&](Value v, int64_t n) { return arith::RemSIOp::create(c.b, loc, v, c.index(n, loc)).getResult(); };
  auto div = [&](Value v, int64_t n) { return arith::DivSIOp::create(c.b, loc, v, c.index(n, loc)).getResult(); };
  Layout warps{{}, {}, layout.warp};
  Value lane = c.lane(loc);
  Value row = f.across ? c.mul(mod(div(lane, 8), 2), 8, c.named("lane_row", loc)) : mod(lane, 16);
  Value column = f.across ? c.add(mod(lane, 8), c.mul(div(lane, 16), 8, loc), c.named("lane_column", loc))
                          : c.mul(div(lane, 16), 16 / bytes, c.named("lane_column", loc));
  OpenDigits open;
  c.overDigits(f.patches, loc, open, [&] {
    SmallVector<Value> coords = c.threadCoordinates(warps, address.rank(), loc);
    coords[f.row] = c.add(coords[f.row], row, c.named("row", loc));
    coords[f.column] = c.add(coords[f.column], column, c.named("column", loc));
    Value r;
    int64_t weight = f.patchElements;
    for (const Digit &d : f.patches) {
      if (Value v = open.valueOf(d)) {
        coords[d.dim] = c.add(coords[d.dim], c.mul(v, d.stride, loc), c.named(d.dim == f.row ? "row" : "column", loc));
        r = c.add(r, c.mul(v, weight, loc), c.named("reg", loc));
      }
      weight *= d.size;
    }
    move(r ? r : c.index(0, loc), c.add(start, address.at(coords), loc));
  });
}

} // namespace

/// Elements that a thread moves at once: registers that run along the contiguous dim within
/// a chunk of it.
static int64_t vectorOf(const Layout &layout, const SlotLayout &slot, int64_t bytes) {
  ArrayRef<Digit> digits = layout.reg;
  bool isRun = !digits.empty() && digits[0].dim == slot.contiguous && digits[0].stride == 1 && digits[0].size <= slot.chunk;
  return isRun && digits[0].size * bytes >= 2 ? digits[0].size : 1;
}

void lowerRingStore(ThreadCode &c, tile::RingStoreOp op) {
  Location loc = cu::unnamed(op.getLoc());
  auto ring = op.getRing().getType();
  SlotAddress address(c, ring, loc);
  Layout layout = tile::getLayout(op.getValue());
  Value start = address.slotStart(c.scalars.lookup(op.getNumber()));
  Value target = c.rings.lookup(op.getRing());
  int64_t bytes = bytesOf(ring.getElementType());
  bool inRegisters = !isRematerialized(op.getValue().getDefiningOp());
  if (c.hasStmatrix && bytes == 2 && address.layout().chunk == 8 && inRegisters)
    if (auto f = findMatrices(layout, ring.getContiguous(), bytes)) {
      Value array = c.tiles.lookup(op.getValue()).array;
      return forEachPatch(c, layout, *f, bytes, address, start, loc,
                          [&](Value r, Value to) { cu::StmatrixOp::create(c.b, loc, array, r, target, to, f->across); });
    }
  OpBuilder::InsertionGuard guard(c.b);
  if (Value first = c.isFirstReplica(layout, loc)) {
    auto branch = scf::IfOp::create(c.b, loc, first, false);
    c.b.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  int64_t vector = inRegisters ? vectorOf(layout, address.layout(), bytes) : 1;
  ArrayRef<Digit> digits = layout.reg;
  OpenDigits open;
  c.overDigits(vector > 1 ? digits.drop_front() : digits, loc, open, [&] {
    SmallVector<Value> coords = c.coordinates(layout, open, ring.getShape().size(), loc);
    Value to = c.add(start, address.at(coords), loc);
    if (vector > 1)
      cu::CopyOp::create(c.b, loc, c.tiles.lookup(op.getValue()).array, c.registerIndex(layout, open, loc), target, to, vector);
    else
      memref::StoreOp::create(c.b, loc, c.element(op.getValue(), open, loc), target, to);
  });
}

/// Neighbours that share an element of the slot: each is read once for registers that are neighbours, side by side
/// where these run along the slot's rows.
static void spreadSlot(ThreadCode &c, tile::RingLoadOp op, SlotAddress &address, const Layout &layout, Value start, Value array) {
  Location loc = cu::unnamed(op.getLoc());
  auto ring = op.getRing().getType();
  Value source = c.rings.lookup(op.getRing());
  auto times = llvm::map_to_vector(llvm::zip(op.getResult().getType().getShape(), ring.getShape()),
                                   [](auto extents) { return std::get<0>(extents) / std::get<1>(extents); });
  ArrayRef<Digit> digits = layout.reg;
  int64_t shared = 1, elements = 1;
  if (!digits.empty() && digits[0].dim >= 0 && digits[0].stride == 1 && times[digits[0].dim] > 1) {
    shared = std::min(times[digits[0].dim], digits[0].size);
    elements = digits[0].size / shared;
    if (digits[0].dim != ring.getContiguous() || elements > address.layout().chunk)
      shared = elements = 1;
    else
      digits = digits.drop_front();
  }
  OpenDigits open;
  c.overDigits(digits, loc, open, [&] {
    SmallVector<Value> coords = c.coordinates(layout, open, address.rank(), loc);
    for (auto [v, t] : llvm::zip(coords, times))
      if (v && t > 1)
        v = arith::DivSIOp::create(c.b, loc, v, c.index(t, loc));
    Value from = c.add(start, address.at(coords), loc), r = c.registerIndex(layout, open, loc);
    if (shared * elements > 1)
      spreadElements(c, source, from, array, r, elements, shared, /*streaming=*/false, loc);
    else
      memref::StoreOp::create(c.b, loc, memref::LoadOp::create(c.b, loc, source, from), array, r);
  });
}

void lowerRingLoad(ThreadCode &c, tile::RingLoadOp op) {
  Location loc = cu::unnamed(op.getLoc());
  auto ring = op.getRing().getType();
  SlotAddress address(c, ring, loc);
  Layout layout = tile::getLayout(op.getResult());
  Value start = address.slotStart(c.scalars.lookup(op.getNumber()));
  Value source = c.rings.lookup(op.getRing());
  int64_t bytes = bytesOf(ring.getElementType()), contiguous = ring.getContiguous();
  Value array = c.allocate(layout.numRegisters(), ring.getElementType(), op.getLoc());
  c.tiles[op.getResult()] = {layout, array};
  if (op.getResult().getType().getShape() != ring.getShape())
    return spreadSlot(c, op, address, layout, start, array);
  if (c.hasLdmatrix && address.layout().chunk * bytes == 16)
    if (auto f = findMatrices(layout, contiguous, bytes))
      return forEachPatch(c, layout, *f, bytes, address, start, loc,
                          [&](Value r, Value from) { cu::LdmatrixOp::create(c.b, loc, source, from, array, r, 4, f->across); });
  int64_t vector = vectorOf(layout, address.layout(), bytes);
  ArrayRef<Digit> digits = layout.reg;
  OpenDigits open;
  c.overDigits(vector > 1 ? digits.drop_front() : digits, loc, open, [&] {
    Value from = c.add(start, address.at(c.coordinates(layout, open, address.rank(), loc)), loc);
    Value r = c.registerIndex(layout, open, loc);
    if (vector > 1)
      cu::CopyOp::create(c.b, loc, source, from, array, r, vector);
    else
      memref::StoreOp::create(c.b, loc, memref::LoadOp::create(c.b, loc, source, from), array, r);
  });
}

} // namespace kernelc
