// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-layouts: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/ScheduleLoc.h"
#include "ir/tile/Accumulator.h"
#include "passes/tile/Access.h"
#include "passes/tile/RegisterOperand.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILELAYOUTS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

bool isTile(Value v) { return isa<RankedTensorType>(v.getType()); }
ArrayRef<int64_t> shapeOf(Value v) { return cast<RankedTensorType>(v.getType()).getShape(); }

/// Tile values that must share a parent layout.
struct Component {
  SmallVector<Value> values;
  SmallVector<int64_t> shape;
  Layout parent;
  int64_t contiguous = -1;
  bool chosen = false;
};

class LayoutAssigner {
public:
  explicit LayoutAssigner(FuncOp func) : func_(func) {}

  LogicalResult run() {
    bool ok = true;
    func_.walk([&](DotOp dot) { ok &= succeeded(checkShape(dot)); });
    if (!ok)
      return failure();
    separateConstants();
    connect();
    rows_ = rowOrder();
    for (auto &[leader, component] : components_)
      if (failed(choose(component)))
        return failure();
    func_.walk([&](DotOp dot) { ok &= succeeded(checkFirstOperand(dot)); });
    if (!ok)
      return failure();
    for (auto &[leader, component] : components_)
      for (Value v : component.values)
        retype(v, component.parent);
    convertProjections();
    convertAccesses();
    return success();
  }

private:
  /// A dot has the unit's fragments for its accumulator, or no layout.
  LogicalResult checkShape(DotOp dot) {
    StringRef unit = func_.getUnit();
    int64_t least = unit == "wgmma" ? 64 : unit == "mma" ? 16 : 1;
    int64_t leastColumns = unit == "wgmma" ? 8 : least;
    auto count = [&](ArrayRef<int64_t> dims) {
      int64_t n = 1;
      for (int64_t d : dims)
        n *= shapeOf(dot.getResult())[d];
      return n;
    };
    int64_t m = count(dot.getM()), n = count(dot.getN());
    bool columns = llvm::isPowerOf2_64(n) || (unit == "wgmma" && n % 8 == 0);
    if (m < least || n < leastColumns || !isRows(m) || !columns)
      return mlir::emitError(te::getScheduleLoc(dot)) << "the schedule of '" << func_.getSymName() << "' has tiles of " << m << " × " << n
                                                      << " results, which fill no fragments of unit " << unit
                                                      << ": it needs powers of two, at least " << least << " × " << leastColumns;
    if (takesRegisters(func_) && m != 16 * int64_t(func_.getWarps()))
      return mlir::emitError(te::getScheduleLoc(dot))
             << "the schedule of '" << func_.getSymName() << "' gives " << func_.getWarps() << " warps " << m
             << " rows of a product; where another takes its results from registers unit mma has 16 rows a warp";
    if (unit == "wgmma" && func_.getWarps() % 4)
      return mlir::emitError(te::getScheduleLoc(dot))
             << "the schedule of '" << func_.getSymName() << "' gives unit wgmma " << func_.getWarps() << " warps, no whole warpgroups";
    return success();
  }

  /// Whether a product may have so many rows, or parts of rows: a power of two, or 64 for each of several warpgroups.
  bool isRows(int64_t extent) {
    return llvm::isPowerOf2_64(extent) || (func_.getUnit() == "wgmma" && extent == 16 * int64_t(func_.getWarps()));
  }

  /// Constants, splats and coordinates are free to make, what is computed from single elements of them nearly so.
  static bool isFree(Operation *op) {
    if (!op || isa<arith::ConstantOp, SplatOp, IndexOp, InsideOp>(op))
      return op;
    return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 && isTile(op->getResult(0)) &&
           llvm::all_of(shapeOf(op->getResult(0)), [](int64_t extent) { return extent == 1; }) &&
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
        shapes.push_back(shapeOf(user->getNumResults() && isTile(user->getResult(0)) ? user->getResult(0) : v));
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
  void separateConstants() {
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
    return isTile(v) && llvm::all_of(shapeOf(v), [](int64_t extent) { return extent == 1; });
  }

  /// The indices that a tile has several points of.
  using Support = SmallVector<bool>;
  static Support supportOf(Value v) {
    return llvm::map_to_vector<6>(shapeOf(v), [](int64_t extent) { return extent > 1; });
  }

  /// Ties two values; those of different support (rows and what they are spread over, or reduced from) once all others are.
  void tie(Value a, Value b) {
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
  void tieProjections(ArrayRef<Value> values) {
    llvm::DenseMap<const void *, SmallVector<int64_t>> extents; // of all that a class has, by its leader
    auto widen = [](SmallVector<int64_t> &extents, ArrayRef<int64_t> by) {
      extents.resize(by.size(), 1);
      for (auto [e, other] : llvm::zip(extents, by))
        e = std::max(e, other);
    };
    for (Value v : values)
      widen(extents[classes_.getLeaderValue(v.getAsOpaquePointer())], shapeOf(v));
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

  void connect() {
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
      Component &c = components_[classes_.getLeaderValue(v.getAsOpaquePointer())];
      c.values.push_back(v);
      c.shape.resize(shapeOf(v).size(), 1);
      for (auto [s, e] : llvm::zip(c.shape, shapeOf(v)))
        s = std::max(s, e);
    }
  }

  Component &componentOf(Value v) {
    while (auto convert = v.getDefiningOp<ConvertLayoutOp>()) // of this pass: it stands for the value that it converts
      v = convert.getInput();
    return components_[classes_.getLeaderValue(v.getAsOpaquePointer())];
  }

  LogicalResult choose(Component &c) {
    if (std::exchange(c.chosen, true))
      return success();
    for (Value v : c.values) {
      if (auto dot = v.getDefiningOp<DotOp>()) {
        c.parent = accumulatorLayout(dot);
        return success();
      }
      for (Operation *user : v.getUsers())
        if (auto dot = dyn_cast<DotOp>(user); dot && dot.getA() == v && dot.getNumber()) {
          c.parent = operandLayout(dot);
          return success();
        }
      if (auto slice = v.getDefiningOp<SliceOp>()) {
        Component &whole = componentOf(slice.getInput());
        if (failed(choose(whole)))
          return failure();
        auto part = whole.parent.slice(slice.getDim(), slice.getResult().getType().getDimSize(slice.getDim()));
        if (!part)
          return slice.emitOpError() << "cuts between threads";
        c.parent = *part;
        return success();
      }
    }
    for (int64_t extent : c.shape)
      if (!isRows(extent))
        return emitError(c.values.front().getLoc())
               << "a tile of " << extent << " elements along an index that is no product's has no layout: it needs powers of two";
    // The dim most bytes are contiguous along decides.
    SmallVector<int64_t> weight(c.shape.size(), 0), vector(c.shape.size(), 1), most(c.shape.size(), 16);
    int64_t elements = llvm::product_of(c.shape);
    llvm::DenseSet<std::pair<const void *, const void *>> seen;
    auto weigh = [&](Value base, AffineMap map, Value tile, ArrayRef<int64_t> mask) {
      // A loop that takes several rounds at a time reads what each of them reads.
      if (func_.getAhead() && !seen.insert({base.getAsOpaquePointer(), map.getAsOpaquePointer()}).second)
        return;
      ContiguousRun run = runOf(base, map, tile);
      int64_t dim = run.dim;
      if (dim < 0)
        return;
      int64_t bytes = std::max(1u, cast<MemRefType>(base.getType()).getElementTypeBitWidth() / 8);
      weight[dim] += bytes * cast<RankedTensorType>(tile.getType()).getNumElements();
      // (of nibbles as many as of bytes: what is made of them is wider)
      int64_t v = provableVector(func_, base, map, run, llvm::is_contained(mask, dim), std::min<int64_t>(16 / bytes, c.shape[dim]));
      vector[dim] = std::max(vector[dim], v);
      // Accesses of less than a word are made by neighbouring lanes side by side: apart from each
      // other they cost as many sectors as words would.
      if (v * bytes * run.step / run.perElement < 4 && cast<RankedTensorType>(tile.getType()).getNumElements() == elements)
        most[dim] = v;
    };
    bool reduces = false;
    SmallVector<int64_t> reducedDims;
    for (Value v : c.values) {
      if (auto load = v.getDefiningOp<LoadOp>())
        weigh(load.getBase(), load.getMap(), v, load.getMask());
      if (auto reduce = v.getDefiningOp<ReduceOp>()) {
        reduces = true;
        llvm::append_range(reducedDims, reduce.getDims());
      }
      for (Operation *user : v.getUsers())
        if (auto store = dyn_cast<StoreOp>(user); store && store.getValue() == v)
          weigh(store.getBase(), store.getMap(), v, store.getMask());
        else if (auto scatter = dyn_cast<ScatterOp>(user); scatter && scatter.getValue() == v)
          weigh(scatter.getBase(), scatter.getMap(), v, scatter.getMask());
    }
    auto best = llvm::max_element(weight);
    c.contiguous = best != weight.end() && *best > 0 ? best - weight.begin() : -1;
    int64_t width = c.contiguous >= 0 ? std::min(vector[c.contiguous], most[c.contiguous]) : 1;
    c.parent = blocked(c.shape, c.contiguous, width, reduces ? ArrayRef<int64_t>(reducedDims) : ArrayRef<int64_t>());
    return success();
  }

  Layout blocked(ArrayRef<int64_t> shape, int64_t contiguous, int64_t vector, ArrayRef<int64_t> reduced) {
    SmallVector<int64_t> order;
    if (contiguous >= 0)
      order.push_back(contiguous);
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d)
      if (d != contiguous)
        order.push_back(d);
    // A warp of its own per kept row makes reductions a matter of shuffles.
    SmallVector<int64_t> warpOrder;
    int64_t keptExtent = 1;
    for (int64_t d : order)
      if (!llvm::is_contained(reduced, d))
        keptExtent *= shape[d];
    if (!reduced.empty() && keptExtent >= int64_t(func_.getWarps()) && llvm::is_contained(reduced, contiguous)) {
      for (int64_t d : order)
        if (!llvm::is_contained(reduced, d))
          warpOrder.push_back(d);
      for (int64_t d : order)
        if (llvm::is_contained(reduced, d))
          warpOrder.push_back(d);
    }
    return blockedLayout(shape, order, vector, func_.getWarps(), warpOrder);
  }

  /// Digits of the linear coordinates of a dot over the dims they stand for: the last index of
  /// each class is the fastest.
  Layout overDims(DotOp dot, const AccumulatorShape &s) {
    auto classOf = [&](char axis) { return axis == 'm' ? dot.getM() : axis == 'n' ? dot.getN() : dot.getK(); };
    auto spread = [&](ArrayRef<std::pair<char, Digit>> digits) {
      Digits out;
      for (auto [axis, d] : digits) {
        if (axis == 'r') {
          out.push_back({-1, 0, d.size});
          continue;
        }
        SmallVector<int64_t> dims(llvm::reverse(classOf(axis)));
        llvm::append_range(out, spreadDigits(d, dims, llvm::map_to_vector(dims, [&](int64_t i) { return extentOf(dot, i); })));
      }
      return out;
    };
    return {spread(s.reg), spread(s.lane), spread(s.warp)};
  }
  static ArrayRef<int64_t> shapeOfOperand(Value operand) {
    auto ring = dyn_cast<RingType>(operand.getType());
    return ring ? ring.getShape() : shapeOf(operand);
  }
  /// Of a dot's index, whichever operand has it.
  static int64_t extentOf(DotOp dot, int64_t dim) { return std::max(shapeOfOperand(dot.getA())[dim], shapeOfOperand(dot.getB())[dim]); }
  static int64_t extentOf(DotOp dot, ArrayRef<int64_t> dims) {
    int64_t product = 1;
    for (int64_t d : dims)
      product *= extentOf(dot, d);
    return product;
  }

  /// Registers of a matrix unit's accumulator, or 8 × 8 patches per thread.
  Layout accumulatorLayout(DotOp dot) {
    auto supply = [&](Value operand, ArrayRef<int64_t> outer) {
      auto ring = dyn_cast<RingType>(operand.getType());
      int64_t bytes = ring ? std::max(1u, ring.getElementType().getIntOrFloatBitWidth() / 8) : 0;
      return ring ? supplyOf(ring.getShape(), ring.getContiguous(), bytes, outer, dot.getK()) : Supply();
    };
    return overDims(dot, accumulatorShape(func_.getUnit(), extentOf(dot, dot.getM()), extentOf(dot, dot.getN()), func_.getWarps(),
                                          supply(dot.getA(), dot.getM()), supply(dot.getB(), dot.getN()), rows_));
  }

  /// Registers of a first operand that a unit takes from them.
  Layout operandLayout(DotOp dot) {
    int64_t bytes = std::max(1u, cast<RankedTensorType>(dot.getA().getType()).getElementTypeBitWidth() / 8);
    return overDims(
        dot, operandShape(extentOf(dot, dot.getM()), extentOf(dot, dot.getN()), extentOf(dot, dot.getK()), func_.getWarps(), bytes, rows_));
  }

  /// Of wgmma's rows, for all products of the function, so that those that share accumulators or operands agree: along the slots of
  /// first operands, where each comes out of slots of words that run so.
  RowOrder rowOrder() {
    auto runsAlongRows = [&](DotOp dot) {
      auto loads = llvm::filter_to_vector(componentOf(dot.getA()).values, [](Value v) { return v.getDefiningOp<RingLoadOp>(); });
      return !loads.empty() && llvm::all_of(loads, [&](Value v) {
        RingType ring = v.getDefiningOp<RingLoadOp>().getRing().getType();
        return ring.getElementType().getIntOrFloatBitWidth() == 32 &&
               runsOf(ring.getShape(), ring.getContiguous(), 4, dot.getM(), dot.getK()).outer > 1;
      });
    };
    bool hasDot = false, along = func_.getUnit() == "wgmma";
    func_.walk([&](DotOp dot) {
      auto type = dyn_cast<RankedTensorType>(dot.getA().getType());
      along = along && type && type.getElementTypeBitWidth() == 32 && runsAlongRows(dot);
      hasDot = true;
    });
    RowOrder order = along && hasDot ? rowsAlong() : RowOrder();
    order.whole = takesRegisters(func_);
    return order;
  }

  /// `parent` without the indices that `v` has one point of.
  static Layout projected(const Layout &parent, Value v) {
    SmallVector<int64_t> lost;
    for (auto [d, e] : llvm::enumerate(shapeOf(v)))
      if (e == 1)
        lost.push_back(d);
    return parent.dropDims(lost);
  }

  /// What one product leaves in registers, another takes from them only where it asks for it as it lies.
  LogicalResult checkFirstOperand(DotOp dot) {
    if (!isTile(dot.getA()) || !dot.getNumber() || projected(componentOf(dot.getA()).parent, dot.getA()) == operandLayout(dot))
      return success();
    return mlir::emitError(te::getScheduleLoc(dot)) << "the schedule of '" << func_.getSymName()
                                                    << "' hands results of one product to another in registers, which that does not take "
                                                       "as they lie";
  }

  /// Rows between products of other indices: each side has them as its own registers lie.
  void convertProjections() {
    for (auto [a, b] : projections_) {
      if (classes_.getLeaderValue(a.getAsOpaquePointer()) == classes_.getLeaderValue(b.getAsOpaquePointer()))
        continue;
      for (Operation *op : {a.getDefiningOp(), b.getDefiningOp()})
        if (auto spread = dyn_cast_or_null<BroadcastOp>(op))
          convertOperand(spread);
        else if (auto reduce = dyn_cast_or_null<tile::ReduceOp>(op))
          convertResults(reduce);
    }
  }
  void convertOperand(BroadcastOp spread) {
    Value rows = spread.getInput();
    Layout wanted = projected(componentOf(spread.getResult()).parent, rows);
    if (getLayout(rows) == wanted)
      return;
    OpBuilder b(spread);
    spread.getInputMutable().set(
        ConvertLayoutOp::create(b, spread.getLoc(), withLayout(cast<RankedTensorType>(rows.getType()), wanted), rows));
  }

  void convertResults(tile::ReduceOp reduce) {
    OpBuilder b(reduce->getContext());
    b.setInsertionPointAfter(reduce);
    for (auto [input, result] : llvm::zip(reduce.getInputs(), reduce.getResults())) {
      Layout made = projected(componentOf(input).parent, result);
      auto wanted = cast<RankedTensorType>(result.getType());
      if (getLayout(result) == made)
        continue;
      result.setType(withLayout(wanted, made));
      auto convert = ConvertLayoutOp::create(b, reduce.getLoc(), wanted, result);
      result.replaceAllUsesExcept(convert, convert);
    }
  }

  void retype(Value v, const Layout &parent) {
    auto type = withLayout(cast<RankedTensorType>(v.getType()), projected(parent, v));
    v.setType(type);
    if (auto constant = v.getDefiningOp<arith::ConstantOp>())
      constant.setValueAttr(SplatElementsAttr::get(type, cast<SplatElementsAttr>(constant.getValue()).getSplatValue<Attribute>()));
  }

  /// Accesses that are contiguous along another dim than their component.
  void convertAccesses() {
    func_.walk([&](Operation *op) {
      if (auto load = dyn_cast<LoadOp>(op)) {
        Value v = load.getResult();
        if (std::optional<Layout> own = ownLayout(v, load.getBase(), load.getMap(), load.getMask());
            own && load.getIndexTiles().empty() && !load.getPadding()) {
          OpBuilder b(op->getContext());
          b.setInsertionPointAfter(op);
          auto shared = cast<RankedTensorType>(v.getType());
          v.setType(withLayout(shared, *own));
          auto convert = ConvertLayoutOp::create(b, op->getLoc(), shared, v);
          v.replaceAllUsesExcept(convert, convert);
        }
      } else if (auto store = dyn_cast<StoreOp>(op)) {
        Value v = store.getValue();
        if (std::optional<Layout> own = ownLayout(v, store.getBase(), store.getMap(), store.getMask()); own && !store.getCondition()) {
          OpBuilder b(op);
          store.getValueMutable().set(ConvertLayoutOp::create(b, op->getLoc(), withLayout(cast<RankedTensorType>(v.getType()), *own), v));
        }
      }
    });
  }

  /// What neighbours of a tile that is loaded or stored are in memory.
  ContiguousRun runOf(Value base, AffineMap map, Value tile) {
    if (tile.getDefiningOp<LoadOp>())
      return contiguousRun(func_, base, map, shapeOf(tile));
    return {contiguousDim(func_, base, map, shapeOf(tile))};
  }

  std::optional<Layout> ownLayout(Value v, Value base, AffineMap map, ArrayRef<int64_t> mask) {
    const Component &c = componentOf(v);
    ContiguousRun run = runOf(base, map, v);
    int64_t dim = run.dim;
    if (c.contiguous < 0 || dim < 0 || dim == c.contiguous || shapeOf(v)[c.contiguous] == 1)
      return std::nullopt;
    int64_t bytes = std::max(1u, cast<MemRefType>(base.getType()).getElementTypeBitWidth() / 8);
    int64_t width = provableVector(func_, base, map, run, llvm::is_contained(mask, dim), std::min<int64_t>(16 / bytes, shapeOf(v)[dim]));
    return blocked(shapeOf(v), dim, width, {});
  }

  FuncOp func_;
  RowOrder rows_;
  llvm::EquivalenceClasses<const void *> classes_;
  SmallVector<std::pair<Value, Value>> projections_; ///< values of one op that have other indices
  llvm::MapVector<const void *, Component> components_;
};

struct TileLayoutsPass : impl::TileLayoutsBase<TileLayoutsPass> {
  void runOnOperation() override {
    if (failed(LayoutAssigner(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
