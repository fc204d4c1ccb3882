// tile-stage-stores: see Passes.td.
#include "passes/Passes.h"

#include "ir/tile/Accumulator.h"
#include "passes/tile/Access.h"
#include "passes/tile/Box.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILESTAGESTORES
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

RankedTensorType cut(Type type, int64_t dim, int64_t extent) {
  auto tile = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tile.getShape());
  shape[dim] = std::min(shape[dim], extent);
  return RankedTensorType::get(shape, tile.getElementType());
}

/// Clones the computation of a value for columns [start, start + extent) of `dim`.
class PartCloner {
public:
  PartCloner(OpBuilder &b, Block *block, int64_t dim, int64_t start, int64_t extent)
      : b_(b), block_(block), dim_(dim), start_(start), extent_(extent) {}

  Value clone(Value v) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    if (!type || type.getDimSize(dim_) == 1)
      return v;
    if (Value known = done_.lookup(v))
      return known;
    Value part = make(v, cut(type, dim_, extent_));
    done_[v] = part;
    return part;
  }

  /// The offset of a launch index, moved to this part.
  Value offset(int64_t index, Value v, Location loc) {
    return index == dim_ && start_ ? Value(arith::AddIOp::create(b_, loc, v, arith::ConstantIndexOp::create(b_, loc, start_))) : v;
  }

private:
  Value make(Value v, RankedTensorType type) {
    Operation *op = v.getDefiningOp();
    if (op && op->getNumRegions() == 0 && op->getNumResults() == 1 && (op->getBlock() == block_ || isa<arith::ConstantOp>(op))) {
      Location loc = op->getLoc();
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
          return arith::ConstantOp::create(b_, loc, SplatElementsAttr::get(type, splat.getSplatValue<Attribute>()));
      if (auto index = dyn_cast<IndexOp>(op))
        return IndexOp::create(b_, loc, type, index.getDim(), offset(index.getDim(), index.getOffset(), loc));
      bool elementwise = op->hasTrait<OpTrait::Elementwise>() || isa<BroadcastOp, tile::ConvertOp, SplatOp, CombineOp>(op);
      if (elementwise || isa<LoadOp, InsideOp>(op)) {
        SmallVector<Value> operands;
        int64_t index = 0; // offsets are the index operands, in the launch's order
        for (Value operand : op->getOperands())
          operands.push_back(operand.getType().isIndex() && !elementwise ? offset(index++, operand, loc) : clone(operand));
        OperationState state(loc, op->getName(), operands, TypeRange{type}, op->getAttrs());
        state.propertiesAttr = op->getPropertiesAsAttribute();
        return b_.create(state)->getResult(0);
      }
    }
    return SliceOp::create(b_, v.getLoc(), type, v, dim_, start_);
  }

  OpBuilder &b_;
  Block *block_;
  int64_t dim_, start_, extent_;
  llvm::DenseMap<Value, Value> done_;
};

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

struct TileStageStoresPass : impl::TileStageStoresBase<TileStageStoresPass> {
  void runOnOperation() override {
    FuncOp func = getOperation();
    if (!func.getProducerWarps())
      return;
    SmallVector<StoreOp> stores;
    func.walk([&](StoreOp store) {
      if (isStageable(func, store))
        stores.push_back(store);
    });
    if (stores.empty())
      return;
    // All are cut along the product's last column index: they have the same parts.
    int64_t parts = partsOf(stores.front()), slots = std::min<int64_t>(2, parts);
    SmallVector<Value> rings;
    OpBuilder setup = OpBuilder::atBlockBegin(&func.getBlock());
    for (StoreOp store : stores) // slots of their own for each team
      rings.push_back(RingOp::create(setup, store.getLoc(), ringType(store, slots * int64_t(func.getPingpong()))));
    // Part by part, all results of a part together: their common code is computed once.
    OpBuilder b(stores.back());
    for (int64_t part = 0; part < parts; ++part)
      for (auto [n, store, ring] : llvm::enumerate(stores, rings)) {
        // What may still be read: all but this slot's last contents, which an odd number of parts puts right
        // before the next tile's first.
        int64_t pending = part == 0 && parts % slots ? int64_t(n) : slots * int64_t(stores.size()) - 1;
        storePart(b, store, ring, slots, part, pending);
      }
    // The last parts are read to the end before the block's shared memory goes.
    b.setInsertionPointToEnd(&func.getBlock());
    BoxDrainOp::create(b, func.getLoc(), 0);
    Block *block = stores.front()->getBlock();
    for (StoreOp store : stores)
      store.erase();
    // What only whole results needed.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  static int64_t contiguousOf(StoreOp store) {
    return contiguousDim(store->getParentOfType<FuncOp>(), store.getBase(), store.getMap(),
                         cast<RankedTensorType>(store.getValue().getType()).getShape());
  }
  static DotOp productOf(FuncOp func) {
    DotOp dot;
    func.walk([&](DotOp d) { dot = d; });
    return dot;
  }
  /// The dim that results are cut along: registers of every thread run along it.
  static int64_t cutDim(StoreOp store) { return productOf(store->getParentOfType<FuncOp>()).getN().back(); }
  static RankedTensorType typeOf(StoreOp store) { return cast<RankedTensorType>(store.getValue().getType()); }
  static int64_t extentOf(StoreOp store) {
    return std::min<int64_t>(store->getParentOfType<FuncOp>().getPart(), typeOf(store).getDimSize(cutDim(store)));
  }
  static int64_t partsOf(StoreOp store) { return typeOf(store).getDimSize(cutDim(store)) / extentOf(store); }
  static RingType ringType(StoreOp store, int64_t slots) {
    auto type = cut(store.getValue().getType(), cutDim(store), extentOf(store));
    return RingType::get(store.getContext(), type.getShape(), type.getElementType(), slots, contiguousOf(store));
  }

  /// The dim of the rows that warpgroups share out.
  static int64_t sharedDim(DotOp dot) {
    for (int64_t d : dot.getM())
      if (dot.getResult().getType().getDimSize(d) > 1)
        return d;
    return dot.getM().back();
  }

  /// Whether parts of the store are boxes that each thread has registers of.
  static bool isStageable(FuncOp func, StoreOp store) {
    int64_t dim = contiguousOf(store);
    if (store.getCondition() || dim < 0)
      return false;
    llvm::SmallPtrSet<Operation *, 16> seen;
    DotWaitOp wait = findProduct(store.getValue(), seen);
    if (!wait || wait->getBlock() != store->getBlock())
      return false;
    DotOp dot = productOf(func);
    if (!dot || dot.getN().empty() || (dot.getN().back() != dim && dot.getM().back() != dim))
      return false;
    RankedTensorType type = typeOf(store);
    // Every thread of a warpgroup has some of each part only when warpgroups share rows.
    auto product = [&](ArrayRef<int64_t> dims) {
      int64_t p = 1;
      for (int64_t d : dims)
        p *= dot.getResult().getType().getDimSize(d);
      return p;
    };
    int64_t n = product(dot.getN()), bytes = type.getElementTypeBitWidth() / 8;
    if (accumulatorShape(func.getUnit(), product(dot.getM()), n, func.getWarps()).warpN != n || bytes == 0 ||
        type.getDimSize(cutDim(store)) == 1 || type.getDimSize(cutDim(store)) % extentOf(store))
      return false;
    // Warpgroups store their own rows: whole panels of rows that run along memory, else an even
    // share of the slot's slowest index, in whole periods of the swizzle.
    int64_t groups = func.getWarps() / 4, rows = product(dot.getM()), shared = sharedDim(dot);
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
    return findStoreBox(func, store.getBase(), store.getMap(), ringType(store, 2), why).has_value();
  }

  static void storePart(OpBuilder &b, StoreOp store, Value ring, int64_t slots, int64_t part, int64_t pending) {
    Location loc = store.getLoc();
    int64_t dim = cutDim(store), extent = extentOf(store);
    PartCloner cloner(b, store->getBlock(), dim, part * extent, extent);
    Value number = arith::ConstantIndexOp::create(b, loc, part % slots);
    if (store->getParentOfType<FuncOp>().getPingpong() > 1) {
      Value team = TeamOp::create(b, loc, b.getIndexType());
      number = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, team, arith::ConstantIndexOp::create(b, loc, slots)), number);
    }
    Value value = cloner.clone(store.getValue());
    SmallVector<Value> offsets;
    for (auto [i, o] : llvm::enumerate(store.getOffsets()))
      offsets.push_back(cloner.offset(i, o, loc));
    BoxDrainOp::create(b, loc, pending);
    RingStoreOp::create(b, loc, ring, number, value);
    BoxStoreOp::create(b, loc, ring, number, store.getBase(), store.getMap(), offsets,
                       sharedDim(productOf(store->getParentOfType<FuncOp>())));
  }
};

} // namespace
} // namespace kernelc
