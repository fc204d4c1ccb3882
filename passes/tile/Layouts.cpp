// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile-layouts: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/ScheduleLoc.h"
#include "ir/tile/Marks.h"
#include "passes/index/Affine.h"
#include "passes/tile/Access.h"
#include "passes/tile/ProductLayouts.h"
#include "passes/tile/RowVector.h"
#include "passes/tile/SideBySide.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILELAYOUTS
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

class LayoutAssigner {
public:
  explicit LayoutAssigner(FuncOp func) : func_(func), products_(func) {}

  LogicalResult run() {
    bool ok = true;
    func_.walk([&](DotOp dot) { ok &= succeeded(products_.checkShape(dot)); });
    if (!ok)
      return failure();
    components_.emplace(func_);
    products_.orderRows(*components_);
    for (auto &[leader, component] : components_->all())
      if (failed(choose(component)))
        return failure();
    func_.walk([&](DotOp dot) { ok &= succeeded(checkFirstOperand(dot)); });
    if (!ok)
      return failure();
    for (auto &[leader, component] : components_->all())
      for (Value v : component.values)
        retype(v, component.parent);
    convertProjections();
    convertAccesses();
    return success();
  }

private:
  /// The layout that a product of the component asks for, or what it is a part of has; false where nothing does.
  FailureOr<bool> takeGiven(LayoutComponent &c) {
    for (Value v : c.values) {
      if (auto dot = v.getDefiningOp<DotOp>()) {
        c.parent = products_.accumulatorLayout(dot);
        return true;
      }
      for (Operation *user : v.getUsers())
        if (auto dot = dyn_cast<DotOp>(user); dot && dot.getA() == v && dot.getNumber()) {
          c.parent = products_.operandLayout(dot);
          return true;
        }
      if (auto slice = v.getDefiningOp<SliceOp>()) {
        LayoutComponent &whole = components_->of(slice.getInput());
        if (failed(choose(whole)))
          return failure();
        auto part = whole.parent.slice(slice.getDim(), slice.getResult().getType().getDimSize(slice.getDim()));
        if (!part)
          return slice.emitOpError() << "cuts between threads";
        c.parent = *part;
        return true;
      }
    }
    return false;
  }

  LogicalResult choose(LayoutComponent &c) {
    if (std::exchange(c.chosen, true))
      return success();
    if (FailureOr<bool> given = takeGiven(c); failed(given) || *given)
      return failure(failed(given));
    DimWeights of = weigh(c);
    for (auto [d, extent] : llvm::enumerate(c.shape))
      if (!products_.isRows(extent) && !isOfThread(c, d, of.reduced))
        return emitError(c.values.front().getLoc())
               << "a tile of " << extent << " elements along an index that is no product's has no layout: it needs powers of two";
    auto best = llvm::max_element(of.bytes);
    c.contiguous = best != of.bytes.end() && *best > 0 ? best - of.bytes.begin() : -1;
    int64_t terms = -1; // of a thread in vectors, behind those of its results
    if (int64_t results = findSharers(c, of); results >= 0)
      terms = std::exchange(c.contiguous, results);
    int64_t width = c.contiguous >= 0 ? std::min(of.vector[c.contiguous], of.most[c.contiguous]) : 1;
    if (int64_t results = width < widthOf(c) && llvm::is_contained(of.reduced, c.contiguous) ? findWindows(c, of.reduced) : -1;
        results >= 0) {
      c.contiguous = results;
      width = 1;
    }
    if (std::optional<Layout> places = of.reduces ? std::nullopt : layoutOfPlaces(c, c.contiguous < 0 ? 0 : *best)) {
      c.parent = *places;
      c.hasPlaces = true;
      return success();
    }
    int64_t near = of.reduces ? findMeetingDim(c, of.reduced) : findWindowDim(c);
    int64_t shared = of.reduces && near >= 0 ? findSharedDim(c, near, of.reduced) : -1;
    if (shared >= 0) // of which windows have no vectors
      width = 1;
    // Of a whole tile each thread has an element before one has two.
    const int64_t threads = 32 * int64_t(func_.getWarps());
    if (!of.reduces && llvm::equal(c.shape, func_.getTiles()) && llvm::product_of(c.shape) <= threads)
      width = 1;
    c.parent = blocked(c.shape, c.contiguous, width, of.reduced, near, shared);
    if (auto own = llvm::find_if(c.parent.reg, [&](const Digit &d) { return terms >= 0 && d.dim == terms; }); own != c.parent.reg.end())
      std::rotate(c.parent.reg.begin() + 1, own, own + 1);
    for (Value v : c.values)
      if (auto scan = v.getDefiningOp<ScanOp>(); scan && kHeld.isOn(scan) && v == scan.getOut())
        standWarpsBehindRounds(c.parent, scan.getDim());
    return success();
  }

  /// Each warp's rounds along a dim follow each other: it knows what comes before them without the other warps.
  static void standWarpsBehindRounds(Layout &layout, int64_t dim) {
    auto last = [&](Digits &digits) {
      auto found = llvm::find_if(llvm::reverse(digits), [&](const Digit &d) { return d.dim == dim && d.size > 1; });
      return found == digits.rend() ? nullptr : &*found;
    };
    Digit *round = last(layout.reg), *warp = last(layout.warp);
    if (!round || !warp || llvm::count_if(layout.warp, [&](const Digit &d) { return d.dim == dim; }) > 1 ||
        round->stride != warp->stride * warp->size)
      return;
    round->stride = warp->stride;
    warp->stride = round->stride * round->size;
  }

  /// What accesses of a component say of its dims, and which dims are reduced. The dim that most bytes are contiguous along decides.
  struct DimWeights {
    SmallVector<int64_t> bytes, vector, most; ///< elements of a vector: that the access of most bytes can have, and that all may
    SmallVector<int64_t> moved;               ///< bytes of that access
    SmallVector<int64_t> reduced;
    bool reduces = false;
  };
  DimWeights weigh(const LayoutComponent &c) {
    size_t rank = c.shape.size();
    DimWeights of{
        SmallVector<int64_t>(rank, 0), SmallVector<int64_t>(rank, 1), SmallVector<int64_t>(rank, 16), SmallVector<int64_t>(rank, 0), {}};
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
      of.bytes[dim] += bytes * cast<RankedTensorType>(tile.getType()).getNumElements();
      // (of nibbles as many as of bytes: what is made of them is wider)
      int64_t limit = std::min<int64_t>(16 / bytes, c.shape[dim]);
      int64_t v =
          std::max(provableVector(func_, base, map, run, llvm::is_contained(mask, dim), limit), rowVector(func_, base, map, run, limit));
      // Half a vector of another type moves as many sectors; apart from each other, halves of its own move each sector twice. (Of elements
      // that share bytes or lie apart the longest counts.)
      bool isPlain = run.step == 1 && run.perElement == 1;
      int64_t moved = isPlain ? bytes * cast<RankedTensorType>(tile.getType()).getNumElements() : std::numeric_limits<int64_t>::max();
      if (moved > of.moved[dim] && isPlain)
        of.vector[dim] = v;
      else if (moved == of.moved[dim] || of.moved[dim] == std::numeric_limits<int64_t>::max() || !isPlain)
        of.vector[dim] = std::max(of.vector[dim], v);
      of.moved[dim] = std::max(of.moved[dim], moved);
      // Accesses of less than a word are made by neighbouring lanes side by side: apart from each
      // other they cost as many sectors as words would.
      if (!func_.isAlignedAlong(unsigned(dim)) && v * bytes * run.step / run.perElement < 4 &&
          cast<RankedTensorType>(tile.getType()).getNumElements() == elements)
        of.most[dim] = v;
    };
    for (Value v : c.values) {
      if (auto load = v.getDefiningOp<LoadOp>())
        weigh(load.getBase(), load.getMap(), v, load.getMask());
      if (auto reduce = v.getDefiningOp<ReduceOp>()) {
        of.reduces = true;
        llvm::append_range(of.reduced, reduce.getDims());
      }
      for (Operation *user : v.getUsers())
        if (auto store = dyn_cast<StoreOp>(user); store && store.getValue() == v)
          weigh(store.getBase(), store.getMap(), v, store.getMask());
        else if (auto scatter = dyn_cast<ScatterOp>(user); scatter && scatter.getValue() == v)
          weigh(scatter.getBase(), scatter.getMap(), v, scatter.getMask());
    }
    return of;
  }

  /// Of a component that is contiguous along terms of its results: the dim of results, in vectors, that all have these terms in common,
  /// where every thread has several of them and their windows overlap along another dim. The terms are loaded once for a vector. -1 where
  /// there is none.
  int64_t findSharers(const LayoutComponent &c, const DimWeights &of) {
    if (!of.reduces || c.contiguous < 0 || !llvm::is_contained(of.reduced, c.contiguous))
      return -1;
    LayoutComponent trial = c;
    for (auto [d, extent] : llvm::enumerate(c.shape)) {
      trial.contiguous = int64_t(d);
      bool isShared =
          !llvm::is_contained(of.reduced, int64_t(d)) && extent > 1 && of.vector[d] == extent && llvm::all_of(c.values, [&](Value v) {
            auto load = v.getDefiningOp<LoadOp>();
            return !load || runOf(load.getBase(), load.getMap(), v).dim != c.contiguous || shapeOfTile(v)[d] == 1;
          });
      if (isShared && findMeetingDim(trial, of.reduced) >= 0)
        return int64_t(d);
    }
    return -1;
  }

  static int64_t widthOf(const LayoutComponent &c) { return c.contiguous >= 0 ? c.shape[c.contiguous] : 1; }

  /// Of a component that is contiguous along terms of its results, the dim of results whose windows of such terms meet or overlap, where
  /// every thread has results of its own; -1 where there is none. Lanes with a window each read lines as whole as lanes with a term each
  /// do, and have nothing to combine.
  int64_t findWindows(const LayoutComponent &c, ArrayRef<int64_t> reduced) {
    int64_t results = llvm::product_of(keptOf(c.shape, reduced)), found = -1;
    if (results < 32 * int64_t(func_.getWarps()))
      return -1;
    for (Value v : c.values) {
      auto load = v.getDefiningOp<LoadOp>();
      if (!load || runOf(load.getBase(), load.getMap(), v).dim != c.contiguous)
        continue;
      int64_t own = -1;
      for (auto [d, extent] : llvm::enumerate(shapeOfTile(v)))
        if (std::optional<int64_t> step = te::linearCoefficient(load.getMap().getResults().back(), unsigned(d));
            extent > 1 && int64_t(d) != c.contiguous && step && *step > 0 && *step <= widthOf(c) &&
            !llvm::is_contained(reduced, int64_t(d)))
          own = d;
      if (own < 0 || (found >= 0 && found != own))
        return -1;
      found = own;
    }
    return found;
  }

  /// Where every thread has results of its own: the dim of results, not the contiguous one, along which windows of terms overlap, `x[h + r,
  /// ..]`. A thread with neighbours along it reads what they share once. -1 where there is none.
  int64_t findMeetingDim(const LayoutComponent &c, ArrayRef<int64_t> reduced) {
    SmallVector<int64_t> kept = keptOf(c.shape, reduced);
    if (llvm::is_contained(reduced, c.contiguous) || ownOf(kept) == 1)
      return -1;
    for (Value v : c.values) {
      auto load = v.getDefiningOp<LoadOp>();
      if (!load)
        continue;
      for (AffineExpr subscript : load.getMap().getResults())
        for (auto [d, extent] : llvm::enumerate(kept)) {
          std::optional<int64_t> step = int64_t(d) == c.contiguous || extent == 1 ? std::nullopt : stepOf(subscript, d);
          if (step && llvm::any_of(reduced, [&](int64_t k) {
                std::optional<int64_t> term = stepOf(subscript, k);
                return term && std::abs(*step) < std::abs(*term) * c.shape[k];
              }))
            return int64_t(d);
        }
    }
    return -1;
  }
  /// Beside `near`, along which windows overlap: the dim of results whose points have all their windows in common (a group's results, of
  /// each of which a thread has several neighbours), where every thread can have all of them. -1 where there is none.
  int64_t findSharedDim(const LayoutComponent &c, int64_t near, ArrayRef<int64_t> reduced) {
    SmallVector<int64_t> kept = keptOf(c.shape, reduced);
    for (auto [d, extent] : llvm::enumerate(kept)) {
      if (int64_t(d) == near || int64_t(d) == c.contiguous || extent == 1 || !llvm::isPowerOf2_64(uint64_t(extent)) ||
          ownOf(kept) <= extent)
        continue;
      bool hasWindows = false, isShared = true;
      for (Value v : c.values)
        if (auto load = v.getDefiningOp<LoadOp>(); load && shapeOfTile(v)[near] > 1) {
          hasWindows = true;
          isShared &= shapeOfTile(v)[d] == 1;
        }
      if (hasWindows && isShared)
        return int64_t(d);
    }
    return -1;
  }
  /// What a point of `d` moves `subscript` by; nothing where it does not, or not evenly.
  static std::optional<int64_t> stepOf(AffineExpr subscript, unsigned d) {
    std::optional<int64_t> step = subscript.isFunctionOfDim(d) ? te::linearCoefficient(subscript, d) : std::nullopt;
    return step == 0 ? std::nullopt : step;
  }

  /// Whether a thread has all terms along `d` of the results that it has.
  bool isOfThread(const LayoutComponent &c, int64_t d, ArrayRef<int64_t> reduced) {
    return llvm::is_contained(reduced, d) && llvm::product_of(keptOf(c.shape, reduced)) >= 32 * int64_t(func_.getWarps());
  }
  /// A tile's shape once `reduced` are.
  static SmallVector<int64_t> keptOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> reduced) {
    SmallVector<int64_t> kept(shape);
    for (int64_t d : reduced)
      kept[d] = 1;
    return kept;
  }
  /// How many elements of a tile a thread has.
  int64_t ownOf(ArrayRef<int64_t> shape) { return std::max<int64_t>(1, llvm::product_of(shape) / (32 * int64_t(func_.getWarps()))); }

  /// The dim, not the contiguous one, along which neighbours in a tile read most of the same elements of a window; -1 where there is none.
  int64_t findWindowDim(const LayoutComponent &c) {
    if (!llvm::any_of(func_.getSources(), isOwnMemory))
      return -1;
    SmallVector<int64_t> shared(c.shape.size(), 0);
    SmallVector<LoadOp> loads;
    for (Value v : c.values)
      if (auto load = v.getDefiningOp<LoadOp>())
        loads.push_back(load);
    for (LoadOp x : loads)
      for (LoadOp y : loads)
        for (auto [d, extent] : llvm::enumerate(c.shape))
          shared[d] += int64_t(d) != c.contiguous && meetAlong(x, y, unsigned(d), std::min(extent, ownOf(c.shape)));
    auto most = llvm::max_element(shared);
    return most != shared.end() && *most > 0 ? most - shared.begin() : -1;
  }

  /// Whether `y` reads at each point what `x` reads at one of the next along `d`, of `points` side by side.
  static bool meetAlong(LoadOp x, LoadOp y, unsigned d, int64_t points) {
    AffineMap map = x.getMap();
    if (x.getBase() != y.getBase() || x.getIndexTiles() != y.getIndexTiles() || y.getMap().getNumDims() != map.getNumDims())
      return false;
    AffineExpr at = getAffineDimExpr(d, map.getContext());
    return llvm::any_of(llvm::seq<int64_t>(1, points), [&](int64_t by) {
      return llvm::all_of(llvm::zip(map.getResults(), y.getMap().getResults()), [&](auto pair) {
        auto [there, here] = pair;
        return simplifyAffineExpr(there.replace(at, at + by) - here, map.getNumDims(), map.getNumSymbols()) == 0;
      });
    });
  }

  /// `near`: a dim of which each thread has neighbours; `shared`: one of which it has all points.
  Layout blocked(ArrayRef<int64_t> shape, int64_t contiguous, int64_t vector, ArrayRef<int64_t> reduced, int64_t near = -1,
                 int64_t shared = -1) {
    auto isReduced = [&](int64_t d) { return llvm::is_contained(reduced, d); };
    int64_t keptExtent = llvm::product_of(keptOf(shape, reduced));
    SmallVector<int64_t> order;
    if (contiguous >= 0)
      order.push_back(contiguous);
    for (int64_t d = int64_t(shape.size()) - 1; d >= 0; --d)
      if (d != contiguous)
        order.push_back(d);
    // Where every thread has results of its own, it has all their terms: nothing is left to combine.
    if (!reduced.empty() && !isReduced(contiguous) && keptExtent >= 32 * int64_t(func_.getWarps()))
      std::stable_partition(order.begin(), order.end(), [&](int64_t d) { return !isReduced(d); });
    // A warp of its own per kept row makes reductions a matter of shuffles.
    SmallVector<int64_t> warpOrder;
    if (!reduced.empty() && keptExtent >= int64_t(func_.getWarps()) && isReduced(contiguous)) {
      warpOrder = order;
      std::stable_partition(warpOrder.begin(), warpOrder.end(), [&](int64_t d) { return !isReduced(d); });
    }
    if (near < 0)
      return blockedLayout(shape, order, vector, func_.getWarps(), warpOrder);
    SmallVector<int64_t> runs(shape);
    int64_t all = shared < 0 ? 1 : shape[shared];
    int64_t own = std::gcd(shape[near], std::max<int64_t>(1, ownOf(keptOf(shape, reduced)) / (vector * all)));
    runs[near] /= own;
    if (shared >= 0)
      runs[shared] = 1;
    Layout layout = blockedLayout(runs, order, vector, func_.getWarps(), warpOrder);
    for (Digits *digits : {&layout.reg, &layout.lane, &layout.warp})
      for (Digit &digit : *digits)
        digit.stride *= digit.dim == near ? own : 1;
    if (own > 1) { // behind what is one vector of memory
      bool isVector = vector > 1 && !layout.reg.empty() && layout.reg.front().dim == contiguous && layout.reg.front().stride == 1;
      layout.reg.insert(layout.reg.begin() + isVector, {near, 1, own});
    }
    if (shared >= 0) // (what windows are multiplied by may lie beside each other)
      layout.reg.insert(layout.reg.begin(), {shared, 1, all});
    return layout;
  }

  /// `parent` without the indices that `v` has one point of.
  static Layout projected(const Layout &parent, Value v) {
    SmallVector<int64_t> lost;
    for (auto [d, e] : llvm::enumerate(shapeOfTile(v)))
      if (e == 1)
        lost.push_back(d);
    return parent.dropDims(lost);
  }

  /// What one product leaves in registers, another takes from them only where it asks for it as it lies.
  LogicalResult checkFirstOperand(DotOp dot) {
    if (!isTile(dot.getA()) || !dot.getNumber() ||
        projected(components_->of(dot.getA()).parent, dot.getA()) == products_.operandLayout(dot))
      return success();
    return mlir::emitError(te::getScheduleLoc(dot)) << "the schedule of '" << func_.getSymName()
                                                    << "' hands results of one product to another in registers, which that does not take "
                                                       "as they lie";
  }

  /// Rows between products of other indices: each side has them as its own registers lie.
  void convertProjections() {
    for (auto [a, b] : components_->projections()) {
      if (components_->areJoined(a, b))
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
    Layout wanted = projected(components_->of(spread.getResult()).parent, rows);
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
      Layout made = projected(components_->of(input).parent, result);
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
        std::optional<Layout> own = ownLayout(v, load.getBase(), load.getMap(), load.getMask());
        bool hasPlaces = components_->of(v).hasPlaces &&
                         SideBySide(func_, load.getBase(), load.getMap(), load.getMask(), shapeOfTile(v), getLayout(v)).find(2);
        if (!own && !hasPlaces)
          own = layoutOfPlaces(load);
        if (own && load.getIndexTiles().empty() && !load.getPadding()) {
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
      return contiguousRun(func_, base, map, shapeOfTile(tile));
    return {contiguousDim(func_, base, map, shapeOfTile(tile))};
  }

  std::optional<Layout> ownLayout(Value v, Value base, AffineMap map, ArrayRef<int64_t> mask) {
    const LayoutComponent &c = components_->of(v);
    ContiguousRun run = runOf(base, map, v);
    int64_t dim = run.dim;
    if (c.contiguous < 0 || dim < 0 || dim == c.contiguous || shapeOfTile(v)[c.contiguous] == 1)
      return std::nullopt;
    int64_t bytes = std::max(1u, cast<MemRefType>(base.getType()).getElementTypeBitWidth() / 8);
    int64_t width =
        provableVector(func_, base, map, run, llvm::is_contained(mask, dim), std::min<int64_t>(16 / bytes, shapeOfTile(v)[dim]));
    return blocked(shapeOfTile(v), dim, width, {});
  }

  /// That of a load whose neighbours in memory differ in several indices: as memory goes on.
  std::optional<Layout> layoutOfPlaces(LoadOp load, int64_t along = -1) {
    Value v = load.getResult();
    if (runOf(load.getBase(), load.getMap(), v).dim >= 0 || !load.getIndexTiles().empty() || load.getBounds() != te::BoundsMode::InBounds ||
        !load.getClamp().empty())
      return std::nullopt;
    return SideBySide::inOrderOfMemory(func_, load.getBase(), load.getMap(), load.getMask(), shapeOfTile(v), func_.getWarps(), along);
  }
  /// The same, of a whole component that reduces nothing and moves no more bytes, `others`, along `c.contiguous`: what runs along that
  /// takes pieces of lines.
  std::optional<Layout> layoutOfPlaces(const LayoutComponent &c, int64_t others) {
    for (Value v : c.values)
      if (auto load = v.getDefiningOp<LoadOp>(); load && shapeOfTile(v) == ArrayRef<int64_t>(c.shape)) {
        int64_t bytes = std::max(1u, cast<MemRefType>(load.getBase().getType()).getElementTypeBitWidth() / 8);
        if (std::optional<Layout> found = layoutOfPlaces(load, c.contiguous); found && bytes * llvm::product_of(c.shape) >= others)
          return found;
      }
    return std::nullopt;
  }

  FuncOp func_;
  ProductLayouts products_;
  std::optional<LayoutComponents> components_; ///< once the function's products are known to be its unit's
};

struct TileLayoutsPass : impl::TileLayoutsBase<TileLayoutsPass> {
  void runOnOperation() override {
    if (failed(LayoutAssigner(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
