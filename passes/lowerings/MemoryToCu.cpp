// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile.load and tile.store: coordinates, masks, bounds rules, vectors.
#include "ir/cu/Marks.h"
#include "ir/tile/Marks.h"
#include "passes/index/Affine.h"
#include "passes/lowerings/MaskNames.h"
#include "passes/lowerings/SlotAddress.h"
#include "passes/lowerings/Tallies.h"
#include "passes/tile/Access.h"
#include "passes/tile/RowVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;
using tile::Layout;

namespace {

/// One access: where its elements are and how they are walked.
class AccessLowering {
public:
  AccessLowering(ThreadCode &c, AffineMap map, Value base, Value tileValue, OperandRange offsets, ArrayRef<int64_t> mask, Location loc)
      : c_(c), map_(map), shape_(shapeOfBase(c.func, base)), base_(c.bases.lookup(base)), offsets_(offsets),
        tile_(cast<RankedTensorType>(tileValue.getType()).getShape()), mask_(mask.begin(), mask.end()),
        strides_(layoutOfBase(c.func, base).strides), layout_(tile::getLayout(tileValue)),
        rank_(cast<RankedTensorType>(tileValue.getType()).getRank()), loc_(loc) {
    int64_t bytes = std::max(1u, cast<MemRefType>(base.getType()).getElementTypeBitWidth() / 8);
    bool isLoad = tileValue.getDefiningOp<tile::LoadOp>() && tileValue.getDefiningOp<tile::LoadOp>().getBase() == base;
    ContiguousRun run = isLoad ? contiguousRun(c.func, base, map, tile_) : ContiguousRun{contiguousDim(c.func, base, map, tile_)};
    bool liesAlong = !layout_.reg.empty() && run.dim >= 0 && layout_.reg[0].dim == run.dim && layout_.reg[0].stride == 1;
    int64_t most = liesAlong ? layout_.reg[0].size : 1;
    vector_ = provableVector(c.func, base, map, run, llvm::is_contained(mask, run.dim), std::min(16 / bytes * run.perElement, most));
    if (vector_ == 1) {
      vector_ = rowVector(c.func, base, map, run, std::min(16 / bytes, most));
      partial_ = vector_ > 1;
    }
    if (vector_ > 1)
      run_ = run;
  }

  const Layout &layout() const { return layout_; }
  Value base() const { return base_; }
  int64_t vector() const { return vector_; }
  /// How the neighbours of a vector lie in memory.
  const ContiguousRun &run() const { return run_; }
  void scalarOnly() {
    vector_ = 1;
    run_ = {};
    partial_ = false;
  }
  /// Cuts the slowest registers, so that batches of at most `most` remain. Returns the digit that counts those.
  tile::Digits cutIntoBatches(int64_t most) {
    int64_t batches = llvm::divideCeil(layout_.numRegisters(), most);
    if (batches == 1 || layout_.reg.back().size % batches)
      return {};
    Digit slowest = layout_.reg.pop_back_val();
    int64_t size = slowest.size / batches;
    layout_.reg.push_back({slowest.dim, slowest.stride, size});
    layout_.reg.push_back({slowest.dim, slowest.stride * size, batches});
    return {layout_.reg.back()};
  }
  /// Whether a vector lies inside the tensor or outside it as a whole.
  bool straddlesNoBorder() const {
    if (vector_ == 1)
      return true;
    if (partial_)
      return false;
    int64_t dim = layout_.reg[0].dim;
    te::SizeFacts facts{c_.func.getSizeDiv(), c_.func.getSizeMax()};
    return llvm::all_of(llvm::zip(map_.getResults(), shape_.getResults()), [&](auto subscript) {
      auto [e, extent] = subscript;
      int64_t shared = run_.perElement;
      SmallVector<int64_t> dimDiv(map_.getNumDims(), 1);
      dimDiv[dim] = vector_;
      bool isWhole = shared > 1 ? e == getAffineDimExpr(dim, e.getContext()).floorDiv(shared)
                                : run_.step == 1 && te::linearCoefficient(e, dim) == 1 && te::knownDivisor(e, facts, dimDiv) % vector_ == 0;
      return !e.isFunctionOfDim(dim) || (isWhole && te::knownDivisor(extent, facts) % (vector_ / shared) == 0);
    });
  }

  /// Runs `body(registerIndex, digits)` for every vector of the layout.
  void forEachVector(llvm::function_ref<void(Value, OpenDigits &)> body) {
    OpenDigits open;
    ArrayRef<Digit> digits = layout_.reg;
    if (vector_ == 1)
      return c_.overDigits(digits, loc_, open, [&] { body(c_.registerIndex(layout_, open, loc_), open); });
    Digit first = digits.front();
    c_.overDigits(digits.drop_front(), loc_, open, [&] {
      // The vector digit in steps of the vector.
      auto step = [&](Value v) {
        open.digits.push_back({first, v});
        body(c_.registerIndex(layout_, open, loc_), open);
        open.digits.pop_back();
      };
      if (first.size == vector_)
        return step(c_.index(0, loc_));
      auto loop = scf::ForOp::create(c_.b, loc_, c_.index(0, loc_), c_.index(first.size, loc_), c_.index(vector_, loc_));
      OpBuilder::InsertionGuard guard(c_.b);
      c_.b.setInsertionPoint(loop.getBody()->getTerminator());
      step(loop.getInductionVar());
    });
  }

  /// Points beyond the extents of `dims` are not asked for but read as the last that is inside.
  void clamp(ArrayRef<int64_t> dims) {
    clamped_.append(dims.begin(), dims.end());
    llvm::erase_if(mask_, [&](int64_t d) { return llvm::is_contained(dims, d); });
  }

  /// The launch coordinates of the open element.
  SmallVector<Value> coordinates(const OpenDigits &open) {
    SmallVector<Value> coords = c_.coordinates(layout_, open, rank_, loc_);
    for (auto [d, v] : llvm::enumerate(coords)) {
      v = c_.add(c_.scalars.lookup(offsets_[d]), v, c_.named(c_.indexName(d), loc_));
      if (!v)
        v = c_.index(0, loc_);
    }
    for (int64_t d : clamped_) {
      int64_t last = vector_ > 1 && layout_.reg[0].dim == d ? vector_ : 1;
      coords[d] =
          arith::MinSIOp::create(c_.b, c_.named(c_.indexName(d), loc_), coords[d], c_.expand(c_.func.getExtent(d) - last, {}, loc_));
    }
    return coords;
  }

  /// Inside the extents of the masked dims; null when nothing is masked. Of vectors that may lie inside in part: of the other dims.
  Value inside(ArrayRef<Value> coords) {
    Value all;
    for (int64_t d : mask_)
      if (!partial_ || d != run_.dim)
        all = conjunction(all, insideAlong(d, coords[d], 1));
    return all;
  }

  /// Runs `whole` where all of the vector at `coords` lies inside, and elsewhere `element(e, its coordinates)` for those of its elements
  /// that do and `outside(e)`, if any, for the others.
  void forEachInside(ArrayRef<Value> coords, llvm::function_ref<void()> whole, llvm::function_ref<void(Value, ArrayRef<Value>)> element,
                     llvm::function_ref<void(Value)> outside = {}) {
    if (!partial_)
      return whole();
    auto all = scf::IfOp::create(c_.b, loc_, insideAlong(run_.dim, coords[run_.dim], vector_), /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(c_.b);
    c_.b.setInsertionPoint(all.thenBlock()->getTerminator());
    whole();
    c_.b.setInsertionPoint(all.elseBlock()->getTerminator());
    Value e = openLoop(c_, 0, vector_, 1, "e", loc_);
    SmallVector<Value> at(coords);
    at[run_.dim] = c_.add(at[run_.dim], e, c_.named(c_.indexName(run_.dim), loc_));
    auto some = scf::IfOp::create(c_.b, loc_, insideAlong(run_.dim, at[run_.dim], 1), bool(outside));
    c_.b.setInsertionPoint(some.thenBlock()->getTerminator());
    element(e, at);
    if (outside) {
      c_.b.setInsertionPoint(some.elseBlock()->getTerminator());
      outside(e);
    }
  }

  Value conjunction(Value x, Value y) {
    if (!x || !y)
      return x ? x : y;
    return arith::AndIOp::create(c_.b, c_.named("inside", loc_), x, y);
  }

  /// Whether the subscripts of `dims` lie before the tensor's end; null without dims.
  Value before(ArrayRef<int64_t> dims, ArrayRef<Value> subscripts) {
    Value all;
    for (int64_t r : dims)
      all = conjunction(all, arith::CmpIOp::create(c_.b, c_.named(maskName(c_, map_.getResult(r), "inside"), loc_),
                                                   arith::CmpIPredicate::slt, subscripts[r], c_.expand(shape_.getResult(r), {}, loc_)));
    return all;
  }

  SmallVector<Value> subscripts(ValueRange coords) {
    SmallVector<Value> out;
    for (AffineExpr e : map_.getResults())
      out.push_back(subscriptAt(c_, e, coords, loc_));
    return out;
  }

  /// Address of subscripts.
  Value address(ArrayRef<Value> subscripts) {
    Value a;
    // What loops do not change of it is declared ahead of them.
    Location row = c_.named(cu::findName(base_.getLoc()) + "_row", loc_);
    if (strides_) {
      for (auto [s, stride] : llvm::zip(subscripts, strides_.getResults()))
        a = c_.add(a, scaled(c_, s, stride, loc_), row);
      return a ? a : c_.index(0, loc_);
    }
    for (auto [d, s] : llvm::enumerate(subscripts)) {
      if (a)
        a = arith::MulIOp::create(c_.b, row, a, c_.expand(shape_.getResult(d), {}, loc_));
      a = a ? arith::AddIOp::create(c_.b, row, a, s) : s;
    }
    return a ? a : c_.index(0, loc_);
  }

  /// Applies edge, reflect or wrap to subscripts; for pad, returns whether they
  /// are inside the tensor. Stands where `inside` holds.
  Value applyBounds(te::BoundsMode mode, SmallVectorImpl<Value> &subscripts) {
    OpBuilder &b = c_.b;
    Value inside;
    for (auto [d, s] : llvm::enumerate(subscripts)) {
      auto [keepsLow, keepsHigh] = keptEnds(d);
      if (keepsLow && keepsHigh)
        continue;
      Value n = c_.expand(shape_.getResult(d), {}, loc_), zero = c_.index(0, loc_), one = c_.index(1, loc_);
      Value last = arith::SubIOp::create(b, loc_, n, one);
      switch (mode) {
      case te::BoundsMode::Pad: {
        if (!keepsLow)
          inside = conjunction(inside, arith::CmpIOp::create(b, loc_, arith::CmpIPredicate::sge, s, zero));
        if (!keepsHigh)
          inside = conjunction(inside, arith::CmpIOp::create(b, loc_, arith::CmpIPredicate::slt, s, n));
        break;
      }
      case te::BoundsMode::Edge:
        // (Of both ends where one may be left: a thread's neighbours to the left and to the right then read what they share at one place.)
        s = arith::MaxSIOp::create(b, loc_, zero, arith::MinSIOp::create(b, loc_, s, last));
        break;
      case te::BoundsMode::Wrap: s = floorMod(s, n); break;
      case te::BoundsMode::Reflect: {
        // Period 2 (n - 1): fold into it, then fold the second half back.
        Value period = arith::MaxSIOp::create(b, loc_, one, c_.mul(last, 2, loc_));
        Value t = floorMod(s, period);
        s = arith::MinSIOp::create(b, loc_, t, arith::SubIOp::create(b, loc_, period, t));
        s = arith::MaxSIOp::create(b, loc_, zero, arith::MinSIOp::create(b, loc_, s, last));
        break;
      }
      default: break;
      }
    }
    return inside;
  }

private:
  /// Whether `points` points along `d` lie inside its extent, from `at` on.
  Value insideAlong(int64_t d, Value at, int64_t points) {
    Location loc = c_.named(c_.indexName(d) + "_inside", loc_);
    Value end = c_.expand(c_.func.getExtent(d) - (points - 1), {}, loc_);
    Value below = arith::CmpIOp::create(c_.b, loc, arith::CmpIPredicate::slt, at, end);
    if (!tile::isAligned(c_.func, unsigned(d)))
      return below;
    Location begun = c_.named(c_.indexName(d) + "_begun", loc_);
    return conjunction(arith::CmpIOp::create(c_.b, begun, arith::CmpIPredicate::sge, at, c_.index(0, loc_)), below);
  }
  /// Which ends of dim `d` are never left, wherever the point is that is asked for.
  KeptEnds keptEnds(unsigned d) const {
    SmallVector<int64_t> kept(mask_);
    llvm::append_range(kept, clamped_);
    return findKeptEnds(c_.func, map_, shape_, d, tile_, kept);
  }
  Value floorMod(Value x, Value y) {
    Value q = arith::FloorDivSIOp::create(c_.b, loc_, x, y);
    return arith::SubIOp::create(c_.b, loc_, x, arith::MulIOp::create(c_.b, loc_, q, y));
  }

  ThreadCode &c_;
  AffineMap map_, shape_;
  Value base_;
  OperandRange offsets_;
  ArrayRef<int64_t> tile_; ///< the shape of what is loaded or stored
  SmallVector<int64_t> mask_, clamped_;
  AffineMap strides_; ///< null: dense row-major
  Layout layout_;
  int64_t rank_;
  Location loc_;
  int64_t vector_ = 1;
  bool partial_ = false; ///< a border of the index may lie inside a vector
  ContiguousRun run_;
};

/// if (condition) then() else otherwise(), either possibly absent.
void guarded(OpBuilder &b, Location loc, Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = {}) {
  if (!condition)
    return then();
  auto branch = scf::IfOp::create(b, loc, condition, bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  then();
  if (otherwise) {
    b.setInsertionPoint(branch.elseBlock()->getTerminator());
    otherwise();
  }
}

} // namespace

void spreadElements(ThreadCode &c, Value source, Value from, Value array, Value first, int64_t elements, int64_t times, bool streaming,
                    Location loc) {
  Value vector;
  if (elements > 1) {
    vector = c.allocate(elements, cast<MemRefType>(source.getType()).getElementType(), loc);
    cu::CopyOp::create(c.b, loc, source, from, vector, c.index(0, loc), elements, streaming);
  } else {
    vector = memref::LoadOp::create(c.b, loc, source, from, streaming);
  }
  auto loop = scf::ForOp::create(c.b, loc, c.index(0, loc), c.index(elements * times, loc), c.index(1, loc));
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPoint(loop.getBody()->getTerminator());
  Value i = loop.getInductionVar(), element = vector;
  if (elements > 1)
    element = memref::LoadOp::create(c.b, loc, vector, Value(arith::DivSIOp::create(c.b, loc, i, c.index(times, loc))));
  memref::StoreOp::create(c.b, loc, element, array, c.add(first, i, loc));
}

/// Every step-th of the elements around `from` to `count` registers of `array`: whole vectors, of which another load takes the rest.
static void pickElements(ThreadCode &c, Value source, Value from, Value array, Value first, int64_t count, int64_t step, int64_t phase,
                         bool streaming, Location loc) {
  Value vector = c.allocate(count * step, cast<MemRefType>(source.getType()).getElementType(), loc);
  if (phase)
    from = arith::SubIOp::create(c.b, loc, from, c.index(phase, loc));
  cu::CopyOp::create(c.b, loc, source, from, vector, c.index(0, loc), count * step, streaming);
  auto loop = scf::ForOp::create(c.b, loc, c.index(0, loc), c.index(count, loc), c.index(1, loc));
  OpBuilder::InsertionGuard guard(c.b);
  c.b.setInsertionPoint(loop.getBody()->getTerminator());
  Value i = loop.getInductionVar(), at = c.mul(i, step, loc);
  Value element = memref::LoadOp::create(c.b, loc, vector, phase ? c.add(at, c.index(phase, loc), loc) : at);
  memref::StoreOp::create(c.b, loc, element, array, c.add(first, i, loc));
}

/// Whether a tile of subscripts is the same along `dim`.
static bool isSameAlong(Value tile, int64_t dim) {
  auto spread = tile.getDefiningOp<tile::BroadcastOp>();
  return dim >= 0 && cast<RankedTensorType>((spread ? spread.getInput() : tile).getType()).getDimSize(dim) == 1;
}

void lowerLoad(ThreadCode &c, tile::LoadOp op) {
  Location loc = cu::unnamed(op.getLoc());
  AccessLowering access(c, op.getMap(), op.getBase(), op.getResult(), op.getOffsets(), op.getMask(), loc);
  access.clamp(op.getClamp());
  auto mode = op.getBounds();
  bool inside = mode == te::BoundsMode::InBounds || mode == te::BoundsMode::Assume;
  bool padded = mode == te::BoundsMode::Pad && op.getPadding().getDefiningOp<arith::ConstantOp>() && access.straddlesNoBorder();
  bool sameAlong = llvm::all_of(op.getIndexTiles(), [&](Value t) { return isSameAlong(t, access.run().dim); });
  if (!(inside || padded) || !sameAlong)
    access.scalarOnly();
  Type element = cast<MemRefType>(op.getBase().getType()).getElementType();
  StringRef name = cu::findName(access.base().getLoc());
  Value array = c.allocate(access.layout().numRegisters(), element,
                           NameLoc::get(c.b.getStringAttr(name.empty() ? "loaded" : (name + "_r").str()), loc));
  RegTile result{access.layout(), array};
  access.forEachVector([&](Value r, OpenDigits &open) {
    SmallVector<Value> coords = access.coordinates(open);
    Value inside = access.inside(coords);
    for (Value t : op.getIndexTiles())
      coords.push_back(c.element(t, open, loc));
    auto store = [&](Value v, Value at) { memref::StoreOp::create(c.b, loc, v, array, at); };
    auto fill = [&](llvm::function_ref<Value()> value) {
      OpBuilder::InsertionGuard guard(c.b);
      Value i = openLoop(c, 0, access.vector(), 1, "e", loc);
      store(value(), c.add(r, i, loc));
    };
    auto zero = [&]() -> Value { return arith::ConstantOp::create(c.b, loc, cast<TypedAttr>(c.b.getZeroAttr(element))); };
    guarded(
        c.b, loc, inside,
        [&] {
          access.forEachInside(
              coords,
              [&] {
                SmallVector<Value> subscripts = access.subscripts(coords);
                Value within = access.applyBounds(mode, subscripts);
                guarded(
                    c.b, loc, within,
                    [&] {
                      Value address = access.address(subscripts);
                      auto [dim, perElement, step, phase] = access.run();
                      if (perElement > 1)
                        spreadElements(c, access.base(), address, array, r, access.vector() / perElement, perElement, op.getStreaming(),
                                       loc);
                      else if (step > 1)
                        pickElements(c, access.base(), address, array, r, access.vector(), step, phase, op.getStreaming(), loc);
                      else if (access.vector() > 1)
                        cu::CopyOp::create(c.b, loc, access.base(), address, array, r, access.vector(), op.getStreaming());
                      else
                        store(memref::LoadOp::create(c.b, loc, access.base(), address, op.getStreaming()), r);
                    },
                    [&] { fill([&] { return c.element(op.getPadding(), open, loc); }); });
              },
              [&](Value e, ArrayRef<Value> at) {
                Value address = access.address(access.subscripts(at));
                store(memref::LoadOp::create(c.b, loc, access.base(), address, op.getStreaming()), c.add(r, e, loc));
              },
              [&](Value e) { store(zero(), c.add(r, e, loc)); });
        },
        [&] { fill(zero); });
  });
  c.tiles[op.getResult()] = result;
}

/// What a thread stores of one vector, if it lies where `op` stores: `write(address)`, or `writeElement(which, address)` for each of its
/// elements that does.
static void storeWhereInside(ThreadCode &c, tile::StoreOp op, AccessLowering &access, OpenDigits &open, Location loc,
                             llvm::function_ref<void(Value)> write, llvm::function_ref<void(Value, Value)> writeElement = {}) {
  SmallVector<Value> coords = access.coordinates(open);
  Value inside = access.inside(coords);
  if (op.getCondition())
    inside = access.conjunction(inside, c.element(op.getCondition(), open, loc));
  guarded(c.b, loc, inside, [&] {
    access.forEachInside(
        coords,
        [&] {
          SmallVector<Value> subscripts = access.subscripts(coords);
          guarded(c.b, loc, access.before(op.getClip(), subscripts), [&] { write(access.address(subscripts)); });
        },
        [&](Value e, ArrayRef<Value> at) { writeElement(e, access.address(access.subscripts(at))); });
  });
}

bool isStoredAtOnce(tile::RingLoadOp load) {
  Operation *next = load->getNextNode();
  while (next && isPure(next)) // index arithmetic
    next = next->getNextNode();
  auto store = dyn_cast_or_null<tile::StoreOp>(next);
  ArrayRef<int64_t> shape = load.getResult().getType().getShape();
  if (!store || store.getValue() != load.getResult() || !load->hasOneUse() || store.getCondition() ||
      shape != load.getRing().getType().getShape())
    return false;
  auto func = load->getParentOfType<tile::FuncOp>();
  int64_t dim = contiguousDim(func, store.getBase(), store.getMap(), shape);
  bool masked = llvm::is_contained(store.getMask(), dim);
  return dim < 0 || provableVector(func, store.getBase(), store.getMap(), dim, masked, shape[dim]) == 1;
}

/// From a slot to memory, element by element: a batch is loaded, then stored. All of a tile side by side take more registers than a
/// product leaves (256 × 128 results spilled 556 bytes a thread); a load beside each store would wait for it.
static void lowerSlotStore(ThreadCode &c, tile::RingLoadOp load, tile::StoreOp op, AccessLowering &access, Location loc) {
  constexpr int64_t kBatch = 32; // elements: 128 × 128 results are a batch for each part of 64 columns
  tile::RingType ring = load.getRing().getType();
  SlotAddress slot(c, ring, loc);
  Value start = slot.slotStart(c.scalars.lookup(load.getNumber())), source = c.rings.lookup(load.getRing());
  tile::Digits batches = access.cutIntoBatches(kBatch);
  Layout batch{tile::Digits(ArrayRef<Digit>(access.layout().reg).drop_back(batches.size())), {}, {}};
  OpenDigits open;
  c.overDigits(batches, loc, open, [&] {
    if (!batches.empty())
      cu::kUnroll.putOn(c.b.getInsertionBlock()->getParentOp(), 1);
    Value array = c.allocate(batch.numRegisters(), ring.getElementType(), load.getLoc());
    c.overDigits(batch.reg, loc, open, [&] {
      Value from = c.add(start, slot.at(c.coordinates(access.layout(), open, slot.rank(), loc)), loc);
      memref::StoreOp::create(c.b, loc, memref::LoadOp::create(c.b, loc, source, from), array, c.registerIndex(batch, open, loc));
    });
    c.overDigits(batch.reg, loc, open, [&] {
      storeWhereInside(c, op, access, open, loc, [&](Value address) {
        Value element = memref::LoadOp::create(c.b, loc, array, c.registerIndex(batch, open, loc));
        memref::StoreOp::create(c.b, loc, element, access.base(), address);
      });
    });
  });
}

/// Whether a tile that has no registers is the same at all points.
static bool isAlikeEverywhere(Value tile) { return isa_and_nonnull<arith::ConstantOp, tile::SplatOp>(tile.getDefiningOp()); }

/// The registers of what is stored. What is the same at all points has an array of its own where vectors of it leave.
static RegTile registersOf(ThreadCode &c, Value tile, const AccessLowering &access, Location loc) {
  if (access.vector() == 1 || !isAlikeEverywhere(tile))
    return c.tiles.lookup(tile);
  RegTile value{access.layout(),
                c.allocate(access.layout().numRegisters(), cast<RankedTensorType>(tile.getType()).getElementType(), tile.getLoc())};
  OpenDigits open;
  c.overDigits(value.layout.reg, loc, open, [&] {
    memref::StoreOp::create(c.b, loc, c.element(tile, open, loc), value.array, c.registerIndex(value.layout, open, loc));
  });
  return value;
}

void lowerStore(ThreadCode &c, tile::StoreOp op) {
  Location loc = cu::unnamed(op.getLoc());
  AccessLowering access(c, op.getMap(), op.getBase(), op.getValue(), op.getOffsets(), op.getMask(), loc);
  // What has no registers, and is not the same at all points, is made element by element.
  bool isMade = isRematerialized(op.getValue().getDefiningOp()) && !isAlikeEverywhere(op.getValue());
  if (op.getCondition() || isMade || (!op.getClip().empty() && !access.straddlesNoBorder()))
    access.scalarOnly();
  RegTile value = registersOf(c, op.getValue(), access, loc);
  Value first = c.isFirstReplica(access.layout(), loc);
  // An update in place: replicas have read what the first of them now writes.
  if (first && llvm::any_of(op.getBase().getUsers(), llvm::IsaPred<tile::LoadOp>))
    cu::SyncOp::create(c.b, loc);
  guarded(c.b, loc, first, [&] {
    if (auto load = op.getValue().getDefiningOp<tile::RingLoadOp>(); load && isStoredAtOnce(load))
      return lowerSlotStore(c, load, op, access, loc);
    access.forEachVector([&](Value r, OpenDigits &open) {
      storeWhereInside(
          c, op, access, open, loc,
          [&](Value address) {
            if (access.vector() > 1)
              cu::CopyOp::create(c.b, loc, value.array, r, access.base(), address, access.vector());
            else
              memref::StoreOp::create(c.b, loc, c.element(op.getValue(), open, loc), access.base(), address);
          },
          [&](Value e, Value address) {
            memref::StoreOp::create(c.b, loc, memref::LoadOp::create(c.b, loc, value.array, c.add(r, e, loc)), access.base(), address);
          });
    });
  });
}

/// Whether neighbours of a tile that are neighbours in memory, too, are added by one instruction: what says where they go, and whether,
/// is the same of all of them.
static bool addsVectors(ThreadCode &c, tile::ScatterOp op, const AccessLowering &access) {
  RegTile value = c.tiles.lookup(op.getValue());
  bool hasRegisters = isAlikeEverywhere(op.getValue()) || (value.array && !value.first);
  auto isAlike = [&](Value tile) {
    auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
    return isAlikeEverywhere(tile) ||
           (broadcast && cast<RankedTensorType>(broadcast.getInput().getType()).getDimSize(access.run().dim) == 1);
  };
  return c.hasVectorAdds && access.vector() > 1 && op.getKind() == te::Combiner::Sum && op.getValue().getType().getElementType().isF32() &&
         hasRegisters && !c.tallies.lookup(op.getBase()) && access.straddlesNoBorder() && llvm::all_of(op.getIndexTiles(), isAlike) &&
         (!op.getCondition() || isAlike(op.getCondition()));
}

void lowerScatter(ThreadCode &c, tile::ScatterOp op) {
  Location loc = cu::unnamed(op.getLoc());
  AccessLowering access(c, op.getMap(), op.getBase(), op.getValue(), op.getOffsets(), op.getMask(), loc);
  if (!addsVectors(c, op, access))
    access.scalarOnly();
  RegTile value = registersOf(c, op.getValue(), access, loc);
  guarded(c.b, loc, c.isFirstReplica(access.layout(), loc), [&] {
    access.forEachVector([&](Value r, OpenDigits &open) {
      SmallVector<Value> coords = access.coordinates(open);
      Value inside = access.inside(coords);
      if (op.getCondition())
        inside = access.conjunction(inside, c.element(op.getCondition(), open, loc));
      guarded(c.b, loc, inside, [&] {
        for (Value t : op.getIndexTiles())
          coords.push_back(c.element(t, open, loc));
        SmallVector<Value> subscripts = access.subscripts(coords);
        Value within = op.getGuarded() ? access.applyBounds(te::BoundsMode::Pad, subscripts) : Value();
        guarded(c.b, loc, within, [&] {
          if (access.vector() > 1) {
            cu::AddVectorOp::create(c.b, loc, value.array, r, access.base(), access.address(subscripts), access.vector());
            return;
          }
          Value v = c.element(op.getValue(), open, loc);
          if (!op.getKind())
            cu::WriteOnceOp::create(c.b, loc, v, access.base(), access.address(subscripts));
          else if (Value copies = c.tallies.lookup(op.getBase()))
            cu::AtomicOp::create(c.b, loc, te::stringifyCombiner(*op.getKind()), v, copies, tallyAddress(c, op, subscripts));
          else
            cu::AtomicOp::create(c.b, loc, te::stringifyCombiner(*op.getKind()), v, access.base(), access.address(subscripts));
        });
      });
    });
  });
}

} // namespace kernelc
