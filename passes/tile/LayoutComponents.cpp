// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/LayoutComponents.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

LayoutComponents::LayoutComponents(FuncOp func) : func_(func) {
  separateConstants();
  connect();
}

/// Constants, splats and coordinates are free to make, what is computed from single elements of them nearly so.
static bool isFree(Operation *op) {
  if (!op || isa<arith::ConstantOp, SplatOp, IndexOp, InsideOp>(op))
    return op;
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 && isTile(op->getResult(0)) &&
         llvm::all_of(shapeOfTile(op->getResult(0)), [](int64_t extent) { return extent == 1; }) &&
         llvm::all_of(op->getOperands(), [](Value v) { return isFree(v.getDefiningOp()); });
}

/// One element that is free to make, spread over a tile.
static bool isSpread(Operation *op) {
  auto spread = dyn_cast_or_null<BroadcastOp>(op);
  return spread && isFree(spread.getInput().getDefiningOp());
}

/// Whole numbers computed from coordinates alone, `28 - (k % 2) * 4`.
static bool isIndexArithmetic(Operation *op) {
  return op && op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 && isTile(op->getResult(0)) &&
         cast<RankedTensorType>(op->getResult(0).getType()).getElementType().isIntOrIndex() && isMemoryEffectFree(op) &&
         llvm::all_of(op->getOperands(), [](Value v) {
           Operation *def = v.getDefiningOp();
           return isFree(def) || isSpread(def) || isIndexArithmetic(def);
         });
}

/// The shapes of the tiles that a tile of index arithmetic is spread over or meets.
static void collectShapes(Value v, SmallVectorImpl<ArrayRef<int64_t>> &shapes) {
  for (Operation *user : v.getUsers())
    if (isIndexArithmetic(user))
      collectShapes(user->getResult(0), shapes);
    else
      shapes.push_back(shapeOfTile(user->getNumResults() && isTile(user->getResult(0)) ? user->getResult(0) : v));
}

/// Whether tiles that meet index arithmetic have no shape in common: rows with k here, k with columns there.
static bool joinsUnlikeTiles(Operation *op) {
  SmallVector<ArrayRef<int64_t>> shapes;
  collectShapes(op->getResult(0), shapes);
  auto exceeds = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    return llvm::any_of(llvm::zip(a, b), [](auto extents) { return std::get<0>(extents) > std::get<1>(extents); });
  };
  return llvm::any_of(shapes, [&](ArrayRef<int64_t> a) {
    return llvm::any_of(shapes, [&](ArrayRef<int64_t> b) { return exceeds(a, b) && exceeds(b, a); });
  });
}

/// What is free to make, and what spreads it over a tile: one per user and beside it, so that sharing one does not
/// tie two components together, and no registers hold it until then. So is index arithmetic that would tie unlike tiles.
void LayoutComponents::separateConstants() {
  SmallVector<Operation *> cheap;
  func_.walk([&](Operation *op) {
    if (op->getNumResults() == 1 && isTile(op->getResult(0)) && (isFree(op) || isSpread(op) || isIndexArithmetic(op)))
      cheap.push_back(op);
  });
  for (Operation *op : llvm::reverse(cheap)) { // each user has its own before what it uses is shared out
    if (!isFree(op) && !isSpread(op) && !joinsUnlikeTiles(op))
      continue;
    bool first = true;
    for (OpOperand &use : llvm::make_early_inc_range(op->getResult(0).getUses())) {
      if (std::exchange(first, false)) {
        op->moveBefore(use.getOwner());
        continue;
      }
      OpBuilder b(use.getOwner());
      use.set(b.clone(*op)->getResult(0));
    }
  }
}

/// All threads have a single element, whatever it is made from: it ties nothing.
static bool isSingle(Value v) {
  return isTile(v) && llvm::all_of(shapeOfTile(v), [](int64_t extent) { return extent == 1; });
}

/// The indices that a tile has several points of.
using Support = SmallVector<bool>;
static Support supportOf(Value v) {
  return llvm::map_to_vector<6>(shapeOfTile(v), [](int64_t extent) { return extent > 1; });
}

/// Ties two values; those of different support (rows and what they are spread over, or reduced from) once all others are.
void LayoutComponents::tie(Value a, Value b) {
  if (!isTile(a) || !isTile(b) || isSingle(a) || isSingle(b))
    return;
  if (supportOf(a) == supportOf(b))
    classes_.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  else
    projections_.push_back({a, b});
}

/// Whether convertProjections gives each side of a projection its own layout.
static bool canConvert(Value from, Value to) {
  Operation *op = to.getDefiningOp();
  return isa_and_nonnull<BroadcastOp, tile::ReduceOp>(op) && llvm::is_contained(op->getOperands(), from);
}

/// Ties rows to the tiles that they are reduced from or spread over, unless that would join the registers of two products that
/// have other indices: between those, rows are projections of both. So they are between tiles of which each has indices that the
/// other lacks: a layout of both would give every thread all points along the other's.
void LayoutComponents::tieProjections(ArrayRef<Value> values) {
  llvm::DenseMap<const void *, SmallVector<int64_t>> extents; // of all that a class has, by its leader
  auto widen = [](SmallVector<int64_t> &extents, ArrayRef<int64_t> by) {
    extents.resize(by.size(), 1);
    for (auto [e, other] : llvm::zip(extents, by))
      e = std::max(e, other);
  };
  for (Value v : values)
    widen(extents[classes_.getLeaderValue(v.getAsOpaquePointer())], shapeOfTile(v));
  llvm::DenseMap<const void *, Support> fixed; // what a class's product has, by the class's leader
  auto leaderOf = [&](Value v) { return classes_.getLeaderValue(v.getAsOpaquePointer()); };
  func_.walk([&](DotOp dot) {
    fixed[leaderOf(dot.getResult())] = supportOf(dot.getResult());
    if (isTile(dot.getA()) && dot.getNumber())
      fixed[leaderOf(dot.getA())] = supportOf(dot.getA());
  });
  func_.walk([&](SliceOp slice) { // a part of what a product left
    if (auto whole = fixed.find(leaderOf(slice.getInput())); whole != fixed.end() && !isSingle(slice.getResult()))
      fixed[leaderOf(slice.getResult())] = Support(whole->second);
  });
  for (auto [a, b] : projections_) {
    const void *left = leaderOf(a), *right = leaderOf(b);
    auto ofLeft = fixed.find(left), ofRight = fixed.find(right);
    if (left == right || (ofLeft != fixed.end() && ofRight != fixed.end() && ofLeft->second != ofRight->second))
      continue;
    SmallVector<int64_t> joint = extents[left];
    widen(joint, extents[right]);
    constexpr int64_t kWasted = 4; // a conversion of the rows costs less than so much more of everything
    if (ofLeft == fixed.end() && ofRight == fixed.end() && canConvert(a, b) &&
        llvm::product_of(joint) >= kWasted * std::max(llvm::product_of(extents[left]), llvm::product_of(extents[right])))
      continue;
    std::optional<Support> support;
    if (ofLeft != fixed.end() || ofRight != fixed.end())
      support = ofLeft != fixed.end() ? ofLeft->second : ofRight->second;
    classes_.unionSets(left, right);
    extents[leaderOf(a)] = joint;
    if (support)
      fixed[leaderOf(a)] = *support;
  }
}

void LayoutComponents::connect() {
  SmallVector<Value> order;
  auto note = [&](Value v) {
    if (isTile(v)) {
      classes_.insert(v.getAsOpaquePointer());
      order.push_back(v);
    }
  };
  func_.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value r : op->getResults())
      note(r);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value a : block.getArguments())
          note(a);
    if (auto dot = dyn_cast<DotOp>(op)) {
      tie(dot.getAcc(), dot.getResult());
    } else if (isa<SliceOp>(op)) { // its result has the part of its input's layout
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, arg, result, yielded] :
           llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults(), loop.getYieldedValues())) {
        tie(init, arg);
        tie(init, result);
        tie(init, yielded);
      }
    } else if (!isa<scf::YieldOp>(op)) {
      Value first;
      for (Value v : llvm::concat<Value>(llvm::to_vector_of<Value>(op->getOperands()), llvm::to_vector_of<Value>(op->getResults()))) {
        if (!isTile(v) || isSingle(v))
          continue;
        if (first)
          tie(first, v);
        first = first ? first : v;
      }
    }
  });
  tieProjections(order);
  for (Value v : order) {
    LayoutComponent &c = components_[classes_.getLeaderValue(v.getAsOpaquePointer())];
    c.values.push_back(v);
    c.shape.resize(shapeOfTile(v).size(), 1);
    for (auto [s, e] : llvm::zip(c.shape, shapeOfTile(v)))
      s = std::max(s, e);
  }
}

LayoutComponent &LayoutComponents::of(Value v) {
  while (auto convert = v.getDefiningOp<ConvertLayoutOp>()) // of this pass: it stands for the value that it converts
    v = convert.getInput();
  return components_[classes_.getLeaderValue(v.getAsOpaquePointer())];
}

} // namespace kernelc
