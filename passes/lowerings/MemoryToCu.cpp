// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile.load and tile.store: what a thread has of a tile, from memory and to it.
#include "ir/cu/Marks.h"
#include "passes/lowerings/AccessLowering.h"
#include "passes/lowerings/SlotAddress.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;
using tile::Layout;

/// Whether a tile of subscripts is the same along `dim`.
static bool isSameAlong(Value tile, int64_t dim) {
  auto spread = tile.getDefiningOp<tile::BroadcastOp>();
  return dim >= 0 && cast<RankedTensorType>((spread ? spread.getInput() : tile).getType()).getDimSize(dim) == 1;
}

namespace {

/// A load, vector by vector: zeros where masks say that there is nothing, the padding where the bounds rule does.
class LoadLowering {
public:
  LoadLowering(ThreadCode &c, tile::LoadOp op) : LoadLowering(c, op, op.getMask(), op.getClamp()) {
    if (!canTakeVectors())
      access_.scalarOnly();
    allocate("loaded", "_r");
  }

  RegTile run() {
    RegTile result{access_.layout(), array_};
    if (loadSideBySide() || loadMeeting())
      return result;
    access_.forEachVector([&](Value r, OpenDigits &open) { loadVector(r, open); });
    return result;
  }

private:
  LoadLowering(ThreadCode &c, tile::LoadOp op, ArrayRef<int64_t> mask, ArrayRef<int64_t> clamp)
      : c_(c), op_(op), loc_(cu::unnamed(op.getLoc())), access_(c, op.getMap(), op.getBase(), op.getResult(), op.getOffsets(), mask, loc_),
        element_(cast<MemRefType>(op.getBase().getType()).getElementType()) {
    access_.clamp(clamp);
  }
  /// The registers, which go by the tensor's name and `suffix`, or by `otherwise`.
  void allocate(StringRef otherwise, StringRef suffix) {
    StringRef name = cu::findName(access_.base().getLoc());
    Location loc = NameLoc::get(c_.b.getStringAttr(name.empty() ? otherwise.str() : (name + suffix).str()), loc_);
    array_ = c_.allocate(access_.layout().numRegisters(), element_, loc);
  }
  bool canTakeVectors() {
    te::BoundsMode mode = op_.getBounds();
    bool inside = mode == te::BoundsMode::InBounds || mode == te::BoundsMode::Assume;
    bool isMoved = mode == te::BoundsMode::Edge || mode == te::BoundsMode::Wrap || mode == te::BoundsMode::Reflect;
    bool isPadded = mode == te::BoundsMode::Pad && op_.getPadding().getDefiningOp<arith::ConstantOp>();
    bool isWhole = inside || (isPadded && access_.straddlesNoBorder()) || (isMoved && access_.keepsRun());
    return (isWhole || (access_.isShifted() && (isPadded || isMoved))) &&
           llvm::all_of(op_.getIndexTiles(), [&](Value t) { return isSameAlong(t, access_.run().dim); });
  }
  /// Loads vectors of registers that lie side by side whatever indices they differ in; false where there are none.
  bool loadSideBySide() {
    te::BoundsMode mode = op_.getBounds();
    bool inside = mode == te::BoundsMode::InBounds || mode == te::BoundsMode::Assume;
    if (access_.vector() > 1 || access_.runsAlong() || !inside || !op_.getIndexTiles().empty() || !op_.getClamp().empty())
      return false;
    int64_t bytes = std::max(1u, element_.getIntOrFloatBitWidth() / 8);
    std::optional<AccessLowering::SideBySideVectors> vectors = access_.findSideBySide(16 / bytes);
    if (!vectors)
      return false;
    access_.forEachSideBySide(*vectors, [&](Value r, const OpenDigits &open) {
      guarded(
          c_.b, loc_, access_.inside(access_.coordinates(open)),
          [&] {
            Value from = access_.address(access_.subscriptsByParts(open));
            cu::CopyOp::create(c_.b, loc_, access_.base(), from, array_, r, vectors->count, op_.getStreaming());
          },
          [&] { fill(r, vectors->count, [&] { return zero(); }); });
    });
    return true;
  }
  /// Loads what registers have in common once, `x[h + r, w]` of 8 rows and 5 taps as 12 rows, of vectors where neighbours are some, and
  /// then takes it apart; false where they have nothing in common.
  bool loadMeeting() {
    if (!op_.getIndexTiles().empty() || (op_.getPadding() && !isAlikeEverywhere(op_.getPadding())))
      return false;
    std::optional<AccessLowering::MeetingDigits> meeting = access_.findMeeting();
    // (Behind the index's end a mirror, or a period, is not near, and would take divisions.)
    bool isMoved = op_.getBounds() == te::BoundsMode::Wrap || op_.getBounds() == te::BoundsMode::Reflect;
    if (!meeting || (isMoved && without(op_.getMask(), *meeting).size() < op_.getMask().size()))
      return false;
    LoadLowering window(c_, op_, *meeting, access_.vector() > 1);
    window.access_.forEachVector([&](Value r, OpenDigits &open) { window.loadVector(r, open); });
    ArrayRef<Digit> reg = access_.layout().reg;
    Layout vector{{}, {}, {}}, others{{}, {}, {}};
    for (const Digit &d : reg)
      if (d != meeting->one && d != meeting->other)
        (access_.vector() > 1 && d == reg.front() ? vector : others).reg.push_back(d);
    OpenDigits open;
    c_.overDigits(reg, loc_, open, [&] {
      Value at = c_.add(open.valueOf(meeting->one), c_.mul(open.valueOf(meeting->other), meeting->by, loc_), loc_);
      at = c_.add(at, c_.mul(c_.registerIndex(others, open, loc_), meeting->points(), loc_), loc_);
      at = c_.add(c_.registerIndex(vector, open, loc_), c_.mul(at, vector.numRegisters(), loc_), loc_);
      store(memref::LoadOp::create(c_.b, loc_, window.array_, at), c_.registerIndex(access_.layout(), open, loc_));
    });
    return true;
  }
  /// Of what registers of `op` have in common. Its points go on behind the tile, where the tensor says how far.
  LoadLowering(ThreadCode &c, tile::LoadOp op, const AccessLowering::MeetingDigits &meeting, bool inVectors)
      : LoadLowering(c, op, without(op.getMask(), meeting), without(op.getClamp(), meeting)) {
    if (!inVectors)
      access_.scalarOnly();
    access_.joinDigits(meeting);
    bool inside = op.getBounds() == te::BoundsMode::InBounds || op.getBounds() == te::BoundsMode::Assume;
    if (inside &&
        (without(op.getMask(), meeting).size() < op.getMask().size() || without(op.getClamp(), meeting).size() < op.getClamp().size()))
      ends_ = meeting.subscripts;
    allocate("window", "_window");
  }
  static SmallVector<int64_t> without(ArrayRef<int64_t> dims, const AccessLowering::MeetingDigits &meeting) {
    return llvm::to_vector(llvm::make_filter_range(dims, [&](int64_t d) { return d != meeting.one.dim && d != meeting.other.dim; }));
  }
  Value zero() { return arith::ConstantOp::create(c_.b, loc_, cast<TypedAttr>(c_.b.getZeroAttr(element_))); }
  void store(Value v, Value at) { memref::StoreOp::create(c_.b, loc_, v, array_, at); }
  /// `value()` for all of the `count` elements of the vector at register `r`.
  void fill(Value r, int64_t count, llvm::function_ref<Value()> value) {
    OpBuilder::InsertionGuard guard(c_.b);
    Value i = openLoop(c_, 0, count, 1, "e", loc_);
    store(value(), c_.add(r, i, loc_));
  }
  /// The vector at register `r`.
  void loadVector(Value r, OpenDigits &open) {
    SmallVector<Value> coords = access_.coordinates(open);
    Value inside = access_.inside(coords);
    if (!ends_.empty())
      inside = access_.conjunction(inside, access_.before(ends_, access_.subscripts(coords)));
    for (Value t : op_.getIndexTiles())
      coords.push_back(c_.element(t, open, loc_));
    auto loadElement = [&](Value e, ArrayRef<Value> at) {
      Value address = access_.address(access_.subscripts(at));
      store(memref::LoadOp::create(c_.b, loc_, access_.base(), address, op_.getStreaming()), c_.add(r, e, loc_));
    };
    auto leaveElement = [&](Value e) { store(zero(), c_.add(r, e, loc_)); };
    guarded(
        c_.b, loc_, inside, [&] { access_.forEachInside(coords, [&] { loadWithinBounds(r, coords, open); }, loadElement, leaveElement); },
        [&] { fill(r, access_.vector(), [&] { return zero(); }); });
  }
  /// The same, of which all elements are asked for.
  void loadWithinBounds(Value r, ArrayRef<Value> coords, OpenDigits &open) {
    SmallVector<Value> subscripts = access_.subscripts(coords);
    auto padding = [&] { return c_.element(op_.getPadding(), open, loc_); };
    auto loadWhole = [&](int64_t knownDim) {
      SmallVector<Value> moved(subscripts);
      Value within = access_.applyBounds(op_.getBounds(), moved, knownDim);
      guarded(c_.b, loc_, within, [&] { loadAt(access_.address(moved), r); }, [&] { fill(r, access_.vector(), padding); });
    };
    if (Value inside = access_.insideUnlessNear(op_.getBounds(), subscripts); inside && !access_.isShifted())
      return guarded(c_.b, loc_, inside, [&] { loadAt(access_.address(subscripts), r); }, [&] { loadWhole(-1); });
    Value rowInside = access_.isShifted() && op_.getBounds() != te::BoundsMode::InBounds && op_.getBounds() != te::BoundsMode::Assume
                          ? access_.rowInside(subscripts)
                          : Value();
    if (!rowInside)
      return loadWhole(-1);
    // A vector that the tensor's border cuts, or that lies outside, is read element by element.
    guarded(
        c_.b, loc_, rowInside, [&] { loadWhole(int64_t(subscripts.size()) - 1); },
        [&] {
          OpBuilder::InsertionGuard guard(c_.b);
          Value e = openLoop(c_, 0, access_.vector(), 1, "e", loc_);
          SmallVector<Value> at(coords);
          int64_t dim = access_.run().dim;
          at[dim] = c_.add(at[dim], e, c_.named(c_.indexName(dim), loc_));
          SmallVector<Value> place = access_.subscripts(at);
          Value within = access_.applyBounds(op_.getBounds(), place), to = c_.add(r, e, loc_);
          guarded(
              c_.b, loc_, within,
              [&] { store(memref::LoadOp::create(c_.b, loc_, access_.base(), access_.address(place), op_.getStreaming()), to); },
              [&] { store(padding(), to); });
        });
  }
  /// The same, all of it there, by what lies between its elements in memory.
  void loadAt(Value address, Value r) {
    auto [dim, perElement, step, phase] = access_.run();
    bool streaming = op_.getStreaming();
    if (perElement > 1)
      spreadElements(c_, access_.base(), address, array_, r, access_.vector() / perElement, perElement, streaming, loc_);
    else if (step > 1)
      pickElements(c_, access_.base(), address, array_, r, access_.vector(), step, phase, streaming, loc_);
    else if (access_.isShifted())
      shiftElements(c_, access_.base(), address, array_, r, access_.vector(), phase, streaming, loc_);
    else if (access_.vector() > 1)
      cu::CopyOp::create(c_.b, loc_, access_.base(), address, array_, r, access_.vector(), streaming);
    else
      store(memref::LoadOp::create(c_.b, loc_, access_.base(), address, streaming), r);
  }

  ThreadCode &c_;
  tile::LoadOp op_;
  Location loc_;
  AccessLowering access_;
  Type element_;
  Value array_;               ///< of a thread's elements
  SmallVector<int64_t> ends_; ///< subscripts that are asked whether they lie before the tensor's end, no mask says it
};

} // namespace

void lowerLoad(ThreadCode &c, tile::LoadOp op) { c.tiles[op.getResult()] = LoadLowering(c, op).run(); }

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

} // namespace kernelc
