// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rings: slots in shared memory, that registers are stored to and loaded from.
#include "passes/lowerings/DotLowering.h"
#include "passes/lowerings/DotToCu.h"
#include "passes/tile/Access.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;
using tile::Layout;
using tile::SlotLayout;

/// In bytes: a swizzle is a function of the address, so slots start on its period.
constexpr int64_t kSwizzlePeriod = 1024;

void lowerRing(ThreadCode &c, tile::RingOp op) {
  auto ring = op.getResult().getType();
  if (op.getOf()) {
    c.rings[op] = c.rings.lookup(op.getOf());
    return;
  }
  SlotLayout layout = SlotAddress::layoutOf(ring);
  StringRef name = cu::findName(op.getLoc());
  c.rings[op] = c.sharedArray(layout.elements * ring.getSlots(), ring.getElementType(), cu::unnamed(op.getLoc()),
                              name.empty() ? "slots" : (name + "_slots").str(), kSwizzlePeriod);
}

namespace {

/// Fragments that stmatrix and ldmatrix move between registers and 16-byte pieces of a
/// slot's rows: those of mma and wgmma, accumulators of 16 bits and first operands.
/// Registers hold 16 rows by two pieces (32 bytes) in four words; `patches` walks such
/// patches, registers in its order.
struct Matrices {
  int64_t row, column;   ///< the dims of the 16 rows and of the words
  int64_t patchElements; ///< how many elements of a patch one thread holds: four words
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
