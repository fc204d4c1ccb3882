// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-stage-stores: see Passes.td.
#include "passes/Passes.h"

#include "ir/cu/Cu.h"
#include "ir/tile/Accumulator.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/Matchers.h"
#include "passes/tile/Access.h"
#include "passes/tile/Box.h"
#include "passes/tile/ColumnParts.h"
#include "passes/tile/ProductLayouts.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILESTAGESTORES
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

/// The product that `v` is computed from by elementwise code; null when there is none.
DotWaitOp findProduct(Value v, llvm::SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = v.getDefiningOp();
  if (!op || !seen.insert(op).second)
    return {};
  if (auto wait = dyn_cast<DotWaitOp>(op))
    return wait;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      if (DotWaitOp found = findProduct(operand, seen))
        return found;
  return {};
}

/// Whether a reduction stands between `v` and the product.
bool isReduced(Value v, llvm::SmallPtrSetImpl<Operation *> &seen) {
  Operation *op = v.getDefiningOp();
  if (!op || !seen.insert(op).second)
    return false;
  return isa<tile::ReduceOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
           return isa<RankedTensorType>(operand.getType()) && isReduced(operand, seen);
         });
}

/// An epilogue, cut into parts.
class EpilogueCutter {
public:
  explicit EpilogueCutter(FuncOp func) : func_(func) {
    func.walk([&](DotOp d) { dot_ = d; });
  }

  void run() {
    if (!dot_ || dot_.getN().empty())
      return;
    // All are cut along one column index: they have the same parts. Registers of every thread run along it.
    SmallVector<int64_t> stored = storedColumns(), extents;
    for (int64_t d : stored)
      extents.push_back(dot_.getResult().getType().getDimSize(d));
    ColumnCut chosen = cutColumns(extents, func_.getPart());
    int64_t extent = extents[chosen.index];
    parts_ = {stored[chosen.index], chosen.extent, extent / chosen.extent};
    func_.walk([&](StoreOp store) {
      llvm::SmallPtrSet<Operation *, 16> seen;
      if (isStageable(store) && isBox(store))
        staged_.push_back(store);
      else if (isStageable(store) && isWhole(store) && isTurnable(store) && func_.getPingpong() == 1)
        turned_.push_back(store);
      else if (isCut(store.getValue()) && isReduced(store.getValue(), seen))
        rows_.push_back(store);
    });
    func_.walk([&](tile::ReduceOp r) {
      if (r.getInputs().size() == 1 && llvm::is_contained(r.getDims(), parts_.dim) && (isCut(r.getInputs()[0]) || isCount(r, extent)))
        sums_.push_back(r);
    });
    if (llvm::all_of(sums_, [&](tile::ReduceOp r) { return isCount(r, extent); }))
      sums_.clear();
    // (Sums alone go through registers as they are: what a part of them comes to would take as many more as the part has.)
    if (staged_.empty() && turned_.empty() && rows_.empty())
      return;
    cut();
  }

private:
  static RankedTensorType typeOf(StoreOp store) { return cast<RankedTensorType>(store.getValue().getType()); }

  /// The product's column indices that results which are stored have; all where none has any. (Those of windows are reduced within the
  /// tile.)
  SmallVector<int64_t> storedColumns() {
    llvm::DenseSet<int64_t> kept;
    func_.walk([&](StoreOp store) {
      llvm::SmallPtrSet<Operation *, 16> seen;
      if (findProduct(store.getValue(), seen))
        for (int64_t d : dot_.getN())
          if (typeOf(store).getDimSize(d) > 1)
            kept.insert(d);
    });
    SmallVector<int64_t> stored(dot_.getN());
    if (!kept.empty())
      llvm::erase_if(stored, [&](int64_t d) { return !kept.contains(d); });
    return stored;
  }

  /// Whether `v` is computed from the product, beside it, and has all of its columns.
  bool isCut(Value v) {
    llvm::SmallPtrSet<Operation *, 16> seen;
    DotWaitOp wait = findProduct(v, seen);
    int64_t extent = cast<RankedTensorType>(v.getType()).getDimSize(parts_.dim);
    return wait && !wait.getAcc().getDefiningOp<DotOp>() && wait->getBlock() == v.getParentBlock() &&
           extent == parts_.extent * parts_.count && parts_.count > 1 && hasEachPart();
  }

  /// Whether all that is reduced are constants, of as many columns as the product has: what is counted beside its sums.
  bool isCount(tile::ReduceOp r, int64_t extent) {
    Value v = r.getInputs()[0];
    auto chosen = v.getDefiningOp<arith::SelectOp>();
    auto isOne = [](Value x) {
      auto spread = x.getDefiningOp<BroadcastOp>();
      return matchPattern(spread ? spread.getInput() : x, m_Constant());
    };
    bool isConstant = chosen && isOne(chosen.getTrueValue()) && isOne(chosen.getFalseValue());
    return isConstant && parts_.count > 1 && hasEachPart() && cast<RankedTensorType>(v.getType()).getDimSize(parts_.dim) == extent;
  }

  /// Whether every thread of a warpgroup has some of each part: where warpgroups share rows.
  bool hasEachPart() {
    int64_t n = pointsAlong(dot_.getN());
    return accumulatorShape(func_.getUnit(), pointsAlong(dot_.getM()), n, func_.getWarps()).warpN == n;
  }
  /// Of the product's tile.
  int64_t pointsAlong(ArrayRef<int64_t> dims) { return pointsOf(dot_.getResult().getType().getShape(), dims); }

  /// What `op` computes is needed by what is stored in parts.
  bool feedsParts(Operation *op) {
    SetVector<Operation *> slice;
    getForwardSlice(op, &slice);
    return llvm::any_of(slice, [&](Operation *user) {
      return llvm::is_contained(staged_, user) || llvm::is_contained(turned_, user) || llvm::is_contained(rows_, user);
    });
  }

  void cut() {
    SmallVector<tile::ReduceOp> later = addUpFirst();
    makeSlots();
    Block *block = sums_.empty() ? nullptr : sums_.back()->getBlock();
    for (StoreOp store : llvm::concat<StoreOp>(staged_, turned_, rows_))
      block = store->getBlock();
    OpBuilder b(block->getTerminator());
    SmallVector<Value> sums(later.size());
    storeParts(b, block, later, sums);
    for (auto [r, sum] : llvm::zip(later, sums))
      finishBehind(b, block, r, sum);
    // The last parts are read to the end before the block's shared memory goes.
    if (!staged_.empty()) {
      b.setInsertionPointToEnd(&func_.getBlock());
      BoxDrainOp::create(b, func_.getLoc(), 0);
    }
    for (StoreOp store : llvm::concat<StoreOp>(staged_, turned_, rows_))
      store.erase();
    // What only whole results needed.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  /// Sums over all columns that parts of results need come first; returns the others, to each of which a part is added when it is there.
  SmallVector<tile::ReduceOp> addUpFirst() {
    SmallVector<tile::ReduceOp> later;
    for (tile::ReduceOp r : sums_) {
      if (!feedsParts(r)) {
        later.push_back(r);
        continue;
      }
      OpBuilder b(r);
      Value sum;
      for (int64_t part = 0; part < parts_.count; ++part) {
        PartCloner cloner(b, r->getBlock(), parts_, part);
        addPart(b, cloner, r, sum);
      }
      finish(b, r, sum);
    }
    return later;
  }

  int64_t slotsOfStaged() const { return std::min<int64_t>(2, parts_.count); }

  void makeSlots() {
    OpBuilder setup = OpBuilder::atBlockBegin(&func_.getBlock());
    for (StoreOp store : staged_) // slots of their own for each team
      rings_.push_back(RingOp::create(setup, nameOf(store), ringType(store, slotsOfStaged() * int64_t(func_.getPingpong()))));
    for (StoreOp store : turned_)
      turnedRings_.push_back(RingOp::create(setup, nameOf(store), ringType(store, 1)));
  }

  /// Part by part, all results of a part together: their common code is computed once.
  void storeParts(OpBuilder &b, Block *block, ArrayRef<tile::ReduceOp> later, MutableArrayRef<Value> sums) {
    int64_t slots = slotsOfStaged();
    for (int64_t part = 0; part < parts_.count; ++part) {
      PartCloner cloner(b, block, parts_, part);
      for (auto [n, store, ring] : llvm::enumerate(staged_, rings_)) {
        // What may still be read: all but this slot's last contents, which an odd number of parts puts right
        // before the next tile's first.
        int64_t pending = part == 0 && parts_.count % slots ? int64_t(n) : slots * int64_t(staged_.size()) - 1;
        stagePart(b, cloner, store, ring, part % slots, slots, pending);
      }
      for (StoreOp store : rows_)
        storePart(b, cloner, store, cloner.clone(store.getValue()));
      for (auto [r, sum] : llvm::zip(later, sums))
        addPart(b, cloner, r, sum);
      turnPart(b, cloner); // (what only the part's other users read is gone by then)
    }
  }

  /// Whatever `r` comes to is known behind all parts, and who reads it stands there.
  void finishBehind(OpBuilder &b, Block *block, tile::ReduceOp r, Value sum) {
    SetVector<Operation *> users;
    ForwardSliceOptions options;
    options.filter = [&](Operation *op) { return op->getBlock() == block; };
    getForwardSlice(r.getOperation(), &users, options);
    SmallVector<Operation *> order(users.begin(), users.end());
    llvm::sort(order, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
    finish(b, r, sum);
    for (Operation *user : order)
      if (!user->hasTrait<OpTrait::IsTerminator>())
        user->moveBefore(block->getTerminator());
  }

  /// sum ⊕ the part's elements, in registers.
  static void addPart(OpBuilder &b, PartCloner &cloner, tile::ReduceOp r, Value &sum) {
    Value v = cloner.clone(r.getInputs()[0]);
    sum = sum ? CombineOp::create(b, r.getLoc(), v.getType(), r.getKind(), ValueRange{sum, v}).getResult(0) : v;
  }

  static void finish(OpBuilder &b, tile::ReduceOp r, Value sum) {
    auto whole = tile::ReduceOp::create(b, r.getLoc(), r.getResultTypes(), r.getKind(), ValueRange(sum), r.getDims());
    r.replaceAllUsesWith(whole.getResults());
    r.erase();
  }

  /// The name of what is stored.
  static Location nameOf(StoreOp store) {
    return NameLoc::get(StringAttr::get(store.getContext(), cu::findName(store.getBase().getLoc())), store.getLoc());
  }

  RingType ringType(StoreOp store, int64_t slots) {
    auto type = partOf(store.getValue().getType(), parts_);
    return RingType::get(store.getContext(), type.getShape(), type.getElementType(), slots, contiguousOf(store));
  }

  int64_t contiguousOf(StoreOp store) { return contiguousDim(func_, store.getBase(), store.getMap(), typeOf(store).getShape()); }

  /// The dim of the rows that warpgroups share out.
  int64_t sharedDim() {
    for (int64_t d : dot_.getM())
      if (dot_.getResult().getType().getDimSize(d) > 1)
        return d;
    return dot_.getM().back();
  }

  /// Whether parts of the store can pass through shared memory: boxes that each thread has registers of.
  bool isStageable(StoreOp store) {
    int64_t dim = contiguousOf(store);
    if (store.getCondition() || dim < 0)
      return false;
    llvm::SmallPtrSet<Operation *, 16> seen;
    DotWaitOp wait = findProduct(store.getValue(), seen);
    if (!wait || wait->getBlock() != store->getBlock())
      return false;
    if (!llvm::is_contained(dot_.getN(), dim) && dot_.getM().back() != dim)
      return false;
    RankedTensorType type = typeOf(store);
    int64_t bytes = type.getElementTypeBitWidth() / 8, columns = type.getDimSize(parts_.dim);
    return hasEachPart() && bytes > 0 && columns > 1 && columns % parts_.extent == 0;
  }

  /// Whether the store has all rows of the product's tile, and of its columns all that windows have left.
  bool isWhole(StoreOp store) {
    ArrayRef<int64_t> shape = typeOf(store).getShape(), ofProduct = dot_.getResult().getType().getShape();
    return pointsOf(shape, dot_.getM()) == pointsAlong(dot_.getM()) && shape[parts_.dim] == ofProduct[parts_.dim];
  }

  /// Whether what threads read back from the slot has a layout of its own (tile-layouts): not 24 columns.
  bool isTurnable(StoreOp store) {
    ProductLayouts layouts(func_);
    return llvm::all_of(partOf(typeOf(store), parts_).getShape(), [&](int64_t extent) { return layouts.isRows(extent); });
  }

  /// Whether tensor copies store what isStageable: parts are boxes of which warpgroups have whole rows each.
  bool isBox(StoreOp store) {
    RankedTensorType type = typeOf(store);
    int64_t dim = contiguousOf(store), bytes = type.getElementTypeBitWidth() / 8;
    // Warpgroups store their own rows: whole panels of rows that run along memory, else an even
    // share of the slot's slowest index, in whole periods of the swizzle.
    int64_t groups = func_.getWarps() / 4, rows = pointsOf(type.getShape(), dot_.getM()), shared = sharedDim();
    if (shared == dim && groups > 1) {
      if (type.getDimSize(dim) != rows || rows / groups * bytes % 128)
        return false;
    } else if (shared != dim) {
      auto tiled = [&](int64_t d) { return type.getDimSize(d) > 1; };
      auto slowest = llvm::find_if(llvm::seq<int64_t>(0, type.getRank()), tiled);
      if (slowest == llvm::seq<int64_t>(0, type.getRank()).end() || *slowest != shared || type.getDimSize(shared) % groups ||
          rows / groups % 8)
        return false;
    }
    std::string why;
    return findStoreBox(func_, store.getBase(), store.getMap(), ringType(store, 2), why).has_value();
  }

  /// Parts that no tensor copy stores, rows that begin anywhere in 16 bytes: the role meets, and then its threads have neighbours of a
  /// row side by side, which the unit's registers have in pairs.
  void turnPart(OpBuilder &b, PartCloner &cloner) {
    if (turned_.empty())
      return;
    Location loc = turned_.front().getLoc();
    Value number = arith::ConstantIndexOp::create(b, loc, 0);
    SmallVector<Value> values = llvm::map_to_vector(turned_, [&](StoreOp store) { return cloner.clone(store.getValue()); });
    BarrierOp::create(b, loc); // nobody reads the part before
    for (auto [store, ring, value] : llvm::zip(turned_, turnedRings_, values))
      RingStoreOp::create(b, store.getLoc(), ring, number, value);
    BarrierOp::create(b, loc);
    for (auto [store, ring] : llvm::zip(turned_, turnedRings_))
      storePart(b, cloner, store, RingLoadOp::create(b, store.getLoc(), partOf(store.getValue().getType(), parts_), ring, number));
  }

  /// `store` of `value`, the part's.
  static void storePart(OpBuilder &b, PartCloner &cloner, StoreOp store, Value value) {
    SmallVector<Value> operands;
    int64_t index = 0;
    for (Value operand : store->getOperands())
      operands.push_back(operand == store.getValue()   ? value
                         : operand.getType().isIndex() ? cloner.offset(index++, operand, store.getLoc())
                                                       : cloner.clone(operand));
    b.clone(*store)->setOperands(operands);
  }

  void stagePart(OpBuilder &b, PartCloner &cloner, StoreOp store, Value ring, int64_t slot, int64_t slots, int64_t pending) {
    Location loc = store.getLoc();
    Value number = arith::ConstantIndexOp::create(b, loc, slot);
    if (func_.getPingpong() > 1) {
      Value team = TeamOp::create(b, loc, b.getIndexType());
      number = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, team, arith::ConstantIndexOp::create(b, loc, slots)), number);
    }
    Value value = cloner.clone(store.getValue());
    SmallVector<Value> offsets;
    for (auto [i, o] : llvm::enumerate(store.getOffsets()))
      offsets.push_back(cloner.offset(i, o, loc));
    BoxDrainOp::create(b, loc, pending);
    RingStoreOp::create(b, loc, ring, number, value);
    BoxStoreOp::create(b, loc, ring, number, store.getBase(), store.getMap(), offsets, sharedDim());
  }

  FuncOp func_;
  DotOp dot_;
  ColumnParts parts_{};
  SmallVector<StoreOp> staged_;            ///< go through shared memory, from which tensor copies take them
  SmallVector<StoreOp> turned_;            ///< go through shared memory to other threads, which store them
  SmallVector<Value> rings_, turnedRings_; ///< slots of the two
  SmallVector<StoreOp> rows_;              ///< of what rows of the tile were reduced to
  SmallVector<tile::ReduceOp> sums_;       ///< over all columns
};

struct TileStageStoresPass : impl::TileStageStoresBase<TileStageStoresPass> {
  void runOnOperation() override {
    if (getOperation().getProducerWarps())
      EpilogueCutter(getOperation()).run();
  }
};

} // namespace
} // namespace kernelc
