// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rings: slots in shared memory, filled by copies without registers or from registers.
#include "passes/index/Affine.h"
#include "passes/lowerings/DotLowering.h"
#include "passes/lowerings/DotToCu.h"
#include "passes/lowerings/MaskNames.h"
#include "passes/tile/Access.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>

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

/// By how much `e` grows with dim `d`, where that is the same everywhere.
static std::optional<AffineExpr> slopeAlong(AffineExpr e, unsigned d) {
  AffineExpr zero = getAffineConstantExpr(0, e.getContext());
  if (!e.isFunctionOfDim(d))
    return zero;
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  if (!bin)
    return zero + 1;
  std::optional<AffineExpr> x = slopeAlong(bin.getLHS(), d), y = slopeAlong(bin.getRHS(), d);
  if (!x || !y)
    return std::nullopt;
  if (e.getKind() == AffineExprKind::Add)
    return *x + *y;
  if (e.getKind() == AffineExprKind::Mul && !bin.getRHS().isFunctionOfDim(d) && bin.getRHS().isSymbolicOrConstant())
    return *x * bin.getRHS();
  return std::nullopt;
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
    int64_t neighbours = contiguousDim(c_.func, op_.getBase(), op_.getMap(), shape_);
    bool across = neighbours >= 0 && neighbours != dim_ && vector_ == 1;
    Layout layout = across ? acrossLayout(neighbours) : alongLayout();
    if (covers(layout))
      byDigits(withoutUnread(c_, op_.getRing(), std::move(layout), dim_, whole_));
    else
      byNumbers();
  }

private:
  /// Those that copy: of the launch, or of the fillers.
  int64_t warps() { return op_.getChannel() ? op_.getChannel().getType().getFillers() / 32 : int64_t(c_.func.getWarps()); }

  /// Rows of the slot are runs of the tensor: neighbouring threads bring a row's vectors, then those of the row that lies behind it in the
  /// slot. (Rows of few words so lie in different banks, and a pool's windows side by side in memory.)
  Layout alongLayout() {
    SmallVector<int64_t> order{dim_};
    llvm::append_range(order, llvm::reverse(address_.layout().rowDims));
    return tile::blockedLayout(shape_, order, vector_, warps());
  }

  /// Rows of the slot lie across the tensor's, whose neighbours run along `neighbours`: elements of a sector of
  /// memory by neighbouring threads, which the padding of the slot spreads over the banks.
  Layout acrossLayout(int64_t neighbours) {
    constexpr int64_t kSector = 32;
    return tile::acrossLayout(shape_, neighbours, dim_, kSector / bytes_, warps());
  }

  /// Whether each element is in a thread's vector.
  bool covers(const Layout &layout) {
    int64_t points = 1;
    for (const tile::Digits *digits : {&layout.reg, &layout.lane, &layout.warp})
      for (const Digit &d : *digits)
        points *= d.dim >= 0 ? d.size : 1;
    bool hasVector = vector_ == 1 || (!layout.reg.empty() && layout.reg[0] == Digit{dim_, 1, vector_});
    return hasVector && points == llvm::product_of(shape_);
  }

  void byDigits(const Layout &layout) {
    ArrayRef<Digit> copies = ArrayRef(layout.reg).drop_front(vector_ > 1);
    steps_.assign(shape_.size(), 0);
    for (const Digit &d : copies)
      steps_[d.dim] = std::gcd(steps_[d.dim], d.stride);
    c_.inBranch(c_.isFirstReplica(layout, loc_), loc_, [&] {
      OpenDigits open;
      c_.overDigits(copies, loc_, open, [&] {
        SmallVector<Value> own = c_.threadCoordinates(layout, shape_.size(), loc_), more(shape_.size());
        for (int64_t d = 0; d < int64_t(shape_.size()); ++d)
          more[d] = c_.registerCoordinate(layout, open, d, loc_);
        copy(own, more);
      });
    });
  }

  /// Vector by vector, whatever the shape is.
  void byNumbers() {
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
      copy(coords, SmallVector<Value>(shape_.size()));
    });
  }

  /// x + y of what may be nothing.
  Value sum(Value x, Value y, StringRef name) {
    Value v = c_.add(x, y, c_.named(name, loc_));
    return v ? v : c_.index(0, loc_);
  }

  /// One vector: from the element at `own` + `more` of the tile to the same one of the slot. `more` is what a thread's copies differ by:
  /// what it adds to both addresses is added last, so that it is a number in the instruction where it is known.
  void copy(ArrayRef<Value> own, ArrayRef<Value> more) {
    SmallVector<Value> coords, base; // in the tensor's subscripts; without what is added last
    AffineMap tensorShape = shapeOfBase(c_.func, op_.getBase()), strides = layoutOfBase(c_.func, op_.getBase()).strides;
    AffineExpr address = linearAddress(op_.getMap(), tensorShape, strides);
    Value added;
    for (auto [d, offset] : llvm::enumerate(c_.scalarsOf(op_.getOffsets()))) {
      std::string name = c_.indexName(d).str();
      coords.push_back(sum(offset, c_.add(own[d], more[d], c_.named(name + "_in", loc_)), name));
      std::optional<AffineExpr> slope = more[d] ? slopeAlong(address, d) : std::nullopt;
      if (!slope) {
        base.push_back(coords.back());
        continue;
      }
      base.push_back(sum(offset, own[d], name));
      added = c_.add(added, scaled(c_, more[d], *slope, loc_), loc_);
    }
    Value valid = isInside(coords, tensorShape);
    Value from = c_.add(linearIn(base, tensorShape, strides), added, loc_);
    Value source = c_.bases.lookup(op_.getBase()), target = c_.rings.lookup(op_.getRing()), to = placeInSlot(own, more);
    // (Where `valid` is false nothing is read, wherever `from` is.)
    if (c_.hasAsyncCopy)
      cu::CpAsyncOp::create(b_, loc_, source, from, target, to, valid, vector_, /*signalled=*/bool(op_.getChannel()));
    else
      copyThroughRegisters(source, from, target, to, valid);
  }

  /// The condition under which the vector at `coords` lies inside the tensor; null where it always does.
  Value isInside(ArrayRef<Value> coords, AffineMap tensorShape) {
    Value valid;
    auto require = [&](const llvm::Twine &name, arith::CmpIPredicate predicate, Value x, Value y) {
      Value holds = arith::CmpIOp::create(b_, c_.named(name, loc_), predicate, x, y);
      valid = valid ? Value(arith::AndIOp::create(b_, c_.named("inside", loc_), valid, holds)) : holds;
    };
    for (int64_t d : llvm::make_filter_range(op_.getMask(), [&](int64_t d) { return !llvm::is_contained(whole_, d); }))
      require(c_.indexName(d) + "_inside", arith::CmpIPredicate::slt, coords[d], c_.expand(c_.func.getExtent(d), {}, loc_));
    if (op_.getBounds() != te::BoundsMode::Pad)
      return valid;
    for (auto [r, e] : llvm::enumerate(op_.getMap().getResults())) {
      auto [keepsLow, keepsHigh] = findKeptEnds(c_.func, op_.getMap(), tensorShape, r, shape_, op_.getMask());
      if (keepsLow && keepsHigh)
        continue;
      Value s = subscriptAt(c_, e, coords, loc_);
      if (!keepsLow)
        require(maskName(c_, e, "not_negative"), arith::CmpIPredicate::sge, s, c_.index(0, loc_));
      if (!keepsHigh)
        require(maskName(c_, e, "inside"), arith::CmpIPredicate::slt, s, c_.expand(tensorShape.getResult(r), {}, loc_));
    }
    return valid;
  }

  /// The element of the tensor at `coords`.
  Value linearIn(ArrayRef<Value> coords, AffineMap tensorShape, AffineMap strides) {
    Value linear;
    Location row = c_.named(cu::findName(op_.getBase().getLoc()) + "_row", loc_);
    for (auto [r, e] : llvm::enumerate(op_.getMap().getResults())) {
      Value s = subscriptAt(c_, e, coords, loc_);
      if (strides)
        linear = c_.add(linear, scaled(c_, s, strides.getResult(r), loc_), row);
      else if (!linear)
        linear = s;
      else
        linear = arith::AddIOp::create(b_, row, arith::MulIOp::create(b_, row, linear, c_.expand(tensorShape.getResult(r), {}, loc_)), s);
    }
    return linear;
  }

  /// Whether what a thread's copies differ by along `d` moves them in the slot, too: by whole periods of its swizzle.
  bool isLinearInSlot(int64_t d) {
    const SlotLayout &slot = address_.layout();
    bool isSwizzled = slot.swizzleBytes && slot.chunks > 1;
    if (d == dim_)
      return !isSwizzled && slot.width == shape_[d];
    return !isSwizzled || steps_[d] * slot.rowStride[d] % (slot.chunks << slot.rowShift) == 0;
  }

  /// Where `own` + `more` of the slot lies, with what copies differ by added last.
  Value placeInSlot(ArrayRef<Value> own, ArrayRef<Value> more) {
    const SlotLayout &slot = address_.layout();
    Value added;
    SmallVector<Value> coords(own);
    for (auto [d, m] : llvm::enumerate(more))
      if (m && isLinearInSlot(d))
        added = c_.add(added, c_.mul(m, int64_t(d) == dim_ ? 1 : slot.rowStride[d] * slot.pitch, loc_), loc_);
      else
        coords[d] = c_.add(own[d], m, c_.named(c_.indexName(d) + "_in", loc_));
    Value at = c_.add(start_, address_.at(coords), loc_);
    nameIfUnnamed(c_, at, cu::findName(op_.getBase().getLoc()) + "_in_slot");
    return c_.add(at, added, loc_);
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
  int64_t bytes_, dim_;        ///< of an element; the slot's contiguous dim
  int64_t vector_ = 1;         ///< elements
  Value start_;                ///< of the slot
  SmallVector<int64_t> steps_; ///< between a thread's copies, along each dim
  SmallVector<int64_t> whole_; ///< dims whose points are copied as far as there are any
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
  bool across = false; ///< rows of the slot are columns of the fragment: matrices are transposed
  /// Where an odd number of pieces lies along the words: all pieces in the registers' order. A patch is any two that follow each other
  /// then, and `patches` counts these; the last piece may be left over.
  tile::Digits pieces;

  int64_t numPieces() const {
    int64_t n = 1;
    for (const Digit &d : pieces)
      n *= d.size;
    return n;
  }
  bool leavesPiece() const { return !pieces.empty() && numPieces() % 2; }
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
  if (r.size() < 2 || l.size() != 2 || !is(r[0], 8, 2) || r[0].dim == column || r[1].dim != column || r[1].stride != 16 / bytes)
    return std::nullopt;
  if (l[0].dim != column || !is(l[0], word, 4) || l[1].dim != r[0].dim || !is(l[1], 1, 8))
    return std::nullopt;
  Matrices f{r[0].dim, column, 4 * word, {}};
  if (r[1].size % 2) {
    llvm::append_range(f.pieces, r.drop_front());
    f.patches.push_back({column, 1, f.numPieces() / 2});
    return f.numPieces() > 1 ? std::optional(f) : std::nullopt;
  }
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
  Value column = !f.pieces.empty() ? (f.across ? mod(lane, 8) : c.index(0, loc))
                 : f.across        ? c.add(mod(lane, 8), c.mul(div(lane, 16), 8, loc), c.named("lane_column", loc))
                                   : c.mul(div(lane, 16), 16 / bytes, c.named("lane_column", loc));
  OpenDigits open;
  c.overDigits(f.patches, loc, open, [&] {
    SmallVector<Value> coords = c.threadCoordinates(warps, address.rank(), loc);
    coords[f.row] = c.add(coords[f.row], row, c.named("row", loc));
    coords[f.column] = c.add(coords[f.column], column, c.named("column", loc));
    Value r;
    int64_t weight = f.patchElements;
    if (!f.pieces.empty()) {
      Value patch = open.valueOf(f.patches.front()), piece = c.add(c.mul(patch, 2, loc), div(lane, 16), c.named("piece", loc));
      for (const Digit &d : f.pieces) {
        Value at = &d == &f.pieces.back() ? piece : mod(piece, d.size);
        coords[d.dim] = c.add(coords[d.dim], c.mul(at, d.stride, loc), c.named(d.dim == f.row ? "row" : "column", loc));
        piece = &d == &f.pieces.back() ? piece : div(piece, d.size);
      }
      move(c.mul(patch, weight, c.named("reg", loc)), c.add(start, address.at(coords), loc));
      return;
    }
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

/// The elements of the piece that patches of two leave over.
void storeLastPiece(ThreadCode &c, const Layout &layout, const Matrices &f, Location loc,
                    llvm::function_ref<void(const OpenDigits &)> store) {
  OpenDigits open;
  for (const Digit &d : f.pieces)
    open.digits.push_back({d, c.index(d.size - 1, loc)});
  ArrayRef<Digit> others = ArrayRef<Digit>(layout.reg).drop_back(f.pieces.size());
  c.overDigits(others, loc, open, [&] { store(open); });
}

} // namespace

/// Elements that a thread moves at once: registers that run along the contiguous dim within
/// a chunk of it.
static int64_t vectorOf(const Layout &layout, const SlotLayout &slot, int64_t bytes) {
  ArrayRef<Digit> digits = layout.reg;
  bool isRun = !digits.empty() && digits[0].dim == slot.contiguous && digits[0].stride == 1 && digits[0].size <= slot.chunk;
  return isRun && digits[0].size * bytes >= 2 ? digits[0].size : 1;
}

/// The digit of registers, not the first one, whose elements a slot has side by side, 16 bytes of them; 0 where there is none.
static size_t findAcross(const Layout &layout, const SlotLayout &slot, int64_t bytes) {
  for (auto [n, digit] : llvm::enumerate(layout.reg))
    if (n > 0 && digit.dim == slot.contiguous && digit.stride == 1 && digit.size <= slot.chunk && digit.size * bytes == 16)
      return n;
  return 0;
}

/// Elements whose registers lie apart are gathered into vectors of neighbours in the slot.
static void storeAcross(ThreadCode &c, tile::RingStoreOp op, const Layout &layout, size_t across, SlotAddress &address, Value start) {
  Location loc = cu::unnamed(op.getLoc());
  tile::Digits others(layout.reg);
  const Digit along = others[across];
  others.erase(others.begin() + across);
  Value row = c.allocate(along.size, op.getRing().getType().getElementType(), c.named("neighbours", loc));
  OpenDigits open;
  c.overDigits(others, loc, open, [&] {
    SmallVector<Value> coords = c.coordinates(layout, open, address.rank(), loc);
    for (int64_t i = 0; i < along.size; ++i) {
      OpenDigits at = open;
      at.digits.push_back({along, c.index(i, loc)});
      memref::StoreOp::create(c.b, loc, c.element(op.getValue(), at, loc), row, c.index(i, loc));
    }
    cu::CopyOp::create(c.b, loc, row, c.index(0, loc), c.rings.lookup(op.getRing()), c.add(start, address.at(coords), loc), along.size);
  });
}

void lowerRingStore(ThreadCode &c, tile::RingStoreOp op) {
  Location loc = cu::unnamed(op.getLoc());
  auto ring = op.getRing().getType();
  SlotAddress address(c, ring, loc, /*oncePerRow=*/true);
  Layout layout = tile::getLayout(op.getValue());
  Value start = address.slotStart(c.scalars.lookup(op.getNumber()));
  Value target = c.rings.lookup(op.getRing());
  int64_t bytes = bytesOf(ring.getElementType());
  bool inRegisters = !isRematerialized(op.getValue().getDefiningOp());
  if (c.hasStmatrix && bytes == 2 && address.layout().chunk == 8 && inRegisters)
    if (auto f = findMatrices(layout, ring.getContiguous(), bytes)) {
      Value array = c.tiles.lookup(op.getValue()).array;
      forEachPatch(c, layout, *f, bytes, address, start, loc,
                   [&](Value r, Value to) { cu::StmatrixOp::create(c.b, loc, array, r, target, to, f->across); });
      if (f->leavesPiece())
        storeLastPiece(c, layout, *f, loc, [&](const OpenDigits &open) {
          Value to = c.add(start, address.at(c.coordinates(layout, open, address.rank(), loc)), loc);
          memref::StoreOp::create(c.b, loc, c.element(op.getValue(), open, loc), target, to);
        });
      return;
    }
  OpBuilder::InsertionGuard guard(c.b);
  if (Value first = c.isFirstReplica(layout, loc)) {
    auto branch = scf::IfOp::create(c.b, loc, first, false);
    c.b.setInsertionPoint(branch.thenBlock()->getTerminator());
  }
  int64_t vector = inRegisters ? vectorOf(layout, address.layout(), bytes) : 1;
  if (size_t across = vector == 1 && inRegisters ? findAcross(layout, address.layout(), bytes) : 0)
    return storeAcross(c, op, layout, across, address, start);
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
  SlotAddress address(c, ring, loc, /*oncePerRow=*/true);
  Layout layout = tile::getLayout(op.getResult());
  Value start = address.slotStart(c.scalars.lookup(op.getNumber()));
  Value source = c.rings.lookup(op.getRing());
  int64_t bytes = bytesOf(ring.getElementType()), contiguous = ring.getContiguous();
  Value array = c.allocate(layout.numRegisters(), ring.getElementType(), op.getLoc());
  c.tiles[op.getResult()] = {layout, array};
  if (op.getResult().getType().getShape() != ring.getShape())
    return spreadSlot(c, op, address, layout, start, array);
  if (c.hasLdmatrix && address.layout().chunk * bytes == 16)
    if (auto f = findMatrices(layout, contiguous, bytes); f && !f->leavesPiece())
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
