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

constexpr int64_t kPart = 64; ///< columns: one 128-byte row of 16-bit results

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
    // All are contiguous along the product's last column index: they have the same parts.
    int64_t parts = partsOf(stores.front()), slots = std::min<int64_t>(2, parts);
    SmallVector<Value> rings;
    OpBuilder setup = OpBuilder::atBlockBegin(&func.getBlock());
    for (StoreOp store : stores)
      rings.push_back(RingOp::create(setup, store.getLoc(), ringType(store, slots)));
    // Part by part, all results of a part together: their common code is computed once.
    OpBuilder b(stores.back());
    int64_t pending = slots * int64_t(stores.size()) - 1;
    for (int64_t part = 0; part < parts; ++part)
      for (auto [store, ring] : llvm::zip(stores, rings))
        storePart(b, store, ring, part, pending);
    // The last parts are read to the end before the block's shared memory goes.
    b.setInsertionPointToEnd(&func.getBlock());
    BoxDrainOp::create(b, func.getLoc(), 0);
    for (StoreOp store : stores)
      store.erase();
  }

  static int64_t contiguousOf(StoreOp store) {
    return contiguousDim(store->getParentOfType<FuncOp>(), store.getBase(), store.getMap(), cast<RankedTensorType>(store.getValue().getType()).getShape());
  }
  static int64_t extentOf(StoreOp store) {
    return std::min(kPart, cast<RankedTensorType>(store.getValue().getType()).getDimSize(contiguousOf(store)));
  }
  static int64_t partsOf(StoreOp store) {
    return cast<RankedTensorType>(store.getValue().getType()).getDimSize(contiguousOf(store)) / extentOf(store);
  }
  static RingType ringType(StoreOp store, int64_t slots) {
    auto type = cut(store.getValue().getType(), contiguousOf(store), kPart);
    return RingType::get(store.getContext(), type.getShape(), type.getElementType(), slots, contiguousOf(store));
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
    DotOp dot;
    func.walk([&](DotOp d) { dot = d; });
    if (!dot || dot.getN().empty() || dot.getN().back() != dim)
      return false;
    auto type = cast<RankedTensorType>(store.getValue().getType());
    // Every thread of a warpgroup has some of each part only when warpgroups share rows.
    auto product = [&](ArrayRef<int64_t> dims) {
      int64_t p = 1;
      for (int64_t d : dims)
        p *= dot.getResult().getType().getDimSize(d);
      return p;
    };
    int64_t n = product(dot.getN());
    if (accumulatorShape(func.getUnit(), product(dot.getM()), n, func.getWarps()).warpN != n)
      return false;
    if (type.getElementTypeBitWidth() < 8)
      return false;
    // Warpgroups store their own rows: an even share of the slot's slowest index, in
    // whole periods of the swizzle.
    int64_t groups = func.getWarps() / 4, rows = product(dot.getM());
    auto tiled = [&](int64_t d) { return type.getDimSize(d) > 1; };
    auto slowest = llvm::find_if(llvm::seq<int64_t>(0, type.getRank()), tiled);
    auto first = llvm::find_if(dot.getM(), tiled);
    if (first == dot.getM().end() || *first != *slowest || type.getDimSize(*first) % groups || rows / groups % 8)
      return false;
    std::string why;
    return findStoreBox(func, store.getBase(), store.getMap(), ringType(store, 2), why).has_value();
  }

  static void storePart(OpBuilder &b, StoreOp store, Value ring, int64_t part, int64_t pending) {
    Location loc = store.getLoc();
    int64_t dim = contiguousOf(store), extent = extentOf(store);
    PartCloner cloner(b, store->getBlock(), dim, part * extent, extent);
    Value number = arith::ConstantIndexOp::create(b, loc, part);
    Value value = cloner.clone(store.getValue());
    SmallVector<Value> offsets;
    for (auto [i, o] : llvm::enumerate(store.getOffsets()))
      offsets.push_back(cloner.offset(i, o, loc));
    BoxDrainOp::create(b, loc, pending);
    RingStoreOp::create(b, loc, ring, number, value);
    BoxStoreOp::create(b, loc, ring, number, store.getBase(), store.getMap(), offsets);
  }
};

} // namespace
} // namespace kernelc
