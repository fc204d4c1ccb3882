// te-to-tile: see Passes.td. BodyToTiles.cpp turns scalar bodies into tiles; this
// file makes the functions, the loops and the reductions.
#include "passes/Passes.h"

#include "ir/cu/Cu.h"
#include "ir/te/TeShape.h"
#include "passes/lowerings/BodyToTiles.h"
#include "passes/te/Affine.h"
#include "passes/te/Contraction.h"
#include "passes/te/Domain.h"
#include "passes/te/PlanAttr.h"
#include "passes/te/Reduction.h"
#include "passes/te/Strides.h"
#include "passes/tile/Access.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TETOTILE
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Where each tensor of a kernel lives: `sources` numbers as in tile.func.
class Buffers {
public:
  /// Fails with a diagnostic where one value would have to be in two places.
  LogicalResult assign(KernelOp kernel) {
    int64_t args = kernel.getBlock().getNumArguments(), outputs = 0;
    for (BlockArgument a : kernel.getBlock().getArguments())
      source_[a] = a.getArgNumber();
    for (auto [i, v] : llvm::enumerate(kernel.getReturn().getOperands())) {
      int64_t alias = kernel.getAlias(i);
      int64_t source = alias >= 0 ? alias : args + outputs++;
      if (auto it = source_.find(v); it != source_.end() && it->second != source)
        return kernel.emitError() << "output '" << cast<StringAttr>(kernel.getOutNames()[i]).getValue()
                                  << "' is another tensor as it stands; copy it: write an expression";
      for (Value chain = v; chain; chain = initOf(chain))
        if (!isa<BlockArgument>(chain))
          source_[chain] = source;
    }
    int64_t workspaces = 0;
    for (Operation *op : getDomainOps(kernel))
      for (Value v : op->getResults())
        if (!source_.contains(v)) {
          Value init = initOf(v);
          source_[v] = init ? source_.lookup(init) : -1 - workspaces++;
        }
    return success();
  }
  int64_t sourceOf(Value v) const { return source_.lookup(v); }

private:
  static Value initOf(Value v) {
    Operation *op = v.getDefiningOp();
    if (!op)
      return {};
    return isa<ComputeOp>(op) ? cast<ComputeOp>(op).getInit() : isa<ReduceOp>(op) ? cast<ReduceOp>(op).getInit() : Value();
  }
  llvm::DenseMap<Value, int64_t> source_;
};

/// One launch: makes its tile.func.
class LaunchEmitter {
public:
  LaunchEmitter(OpBuilder &b, KernelOp kernel, const KernelPlan &plan, const LaunchPlan &launch, const Buffers &buffers)
      : b_(b), kernel_(kernel), plan_(plan), l_(launch), buffers_(buffers), ops_(getDomainOps(kernel)) {}

  LogicalResult emit(unsigned number) {
    if (failed(makeFunction(number)))
      return failure();
    for (auto [ordinal, dims] : llvm::zip(l_.ops, l_.dims)) {
      Operation *op = ops_[ordinal];
      LogicalResult ok = isa<ComputeOp>(op)   ? emitCompute(cast<ComputeOp>(op), dims)
                         : isa<CascadeOp>(op) ? emitCascade(cast<CascadeOp>(op), dims)
                                              : emitReduce(cast<ReduceOp>(op), dims);
      if (failed(ok))
        return failure();
    }
    return success();
  }

private:
  bool isMember(Value v) {
    Operation *op = v.getDefiningOp();
    return op && llvm::is_contained(l_.ops, int64_t(llvm::find(ops_, op) - ops_.begin()));
  }

  /// A result that someone outside this launch wants.
  bool isStored(Value v) {
    return llvm::any_of(v.getUsers(), [&](Operation *user) {
      if (isa<ReturnOp>(user))
        return true;
      while (!isDomainOp(user) || user->getParentOp() != kernel_)
        user = user->getParentOp();
      return !llvm::is_contained(l_.ops, int64_t(llvm::find(ops_, user) - ops_.begin())) || user->getOperands().size();
    });
  }

  LogicalResult makeFunction(unsigned number) {
    Location loc = ops_[l_.ops.back()]->getLoc();
    // Tensors and scalars the launch touches, in source order: parameters, outputs, workspaces.
    struct Arg {
      Value value;
      int64_t source;
      std::string name, type;
      AffineMap shape;
    };
    SmallVector<Arg> args;
    auto add = [&](Value v) {
      int64_t source = buffers_.sourceOf(v);
      if (llvm::any_of(args, [&](const Arg &a) { return a.source == source; }))
        return;
      Arg a{v, source, "", "", AffineMap::get(0, kernel_.getNumSizes(), {}, b_.getContext())};
      int64_t inputs = kernel_.getBlock().getNumArguments();
      if (source >= 0 && source < inputs) {
        a.name = str(kernel_.getArgNames()[source]);
        a.type = str(kernel_.getArgTypes()[source]);
        a.shape = kernel_.getArgShape(source);
      } else if (source >= inputs) {
        int64_t n = inputs;
        for (unsigned o = 0; o < kernel_.getOutNames().size(); ++o) {
          if (kernel_.getAlias(o) >= 0 || n++ != source)
            continue;
          a.name = str(kernel_.getOutNames()[o]);
          a.type = str(kernel_.getOutTypes()[o]);
          a.shape = kernel_.getOutShape(o);
        }
      } else {
        auto name = v.getDefiningOp()->getAttrOfType<StringAttr>("name");
        a.name = (name ? name.getValue() : StringRef("workspace")).str();
        if (v.getDefiningOp()->getNumResults() > 1) // a cascade's: one per component
          a.name += "_" + std::to_string(cast<OpResult>(v).getResultNumber());
        a.shape = getTensorShape(v);
      }
      args.push_back(a);
    };
    for (int64_t ordinal : l_.ops) {
      Operation *op = ops_[ordinal];
      op->walk([&](Operation *inner) {
        for (Value v : inner->getOperands())
          if ((isa<RankedTensorType>(v.getType()) && !isMember(v)) ||
              (isa<BlockArgument>(v) && cast<BlockArgument>(v).getOwner() == &kernel_.getBlock()))
            add(v);
      });
      for (Value result : op->getResults())
        if (isStored(result))
          add(result);
    }
    llvm::stable_sort(args, [](const Arg &a, const Arg &b) {
      return std::pair(a.source < 0, a.source < 0 ? -a.source : a.source) < std::pair(b.source < 0, b.source < 0 ? -b.source : b.source);
    });

    SmallVector<StringRef> names, types, indices(l_.indices.begin(), l_.indices.end());
    SmallVector<AffineMap> shapes;
    SmallVector<int64_t> sources;
    for (const Arg &a : args) {
      names.push_back(a.name);
      types.push_back(a.type);
      shapes.push_back(a.shape);
      sources.push_back(a.source);
    }
    bool followed = number + 1 < plan_.launches.size() && plan_.launches[number + 1].dependent;
    std::string symbol = ("kc_" + kernel_.getSymName() + (plan_.launches.size() > 1 ? "_" + l_.name : std::string())).str();
    func_ = tile::FuncOp::create(b_, loc, symbol, kernel_.getSizes(), plan_.sizeDiv, plan_.sizeMax,
                                 b_.getStrArrayAttr(names), b_.getStrArrayAttr(types), b_.getAffineMapArrayAttr(shapes),
                                 sources, b_.getStrArrayAttr(indices), l_.extents, l_.tiles, l_.grid, l_.warps,
                                 l_.raster, l_.minBlocks, l_.stages, l_.fillLate, l_.unit, l_.producerWarps, l_.persistent, l_.dependent, followed, l_.cluster, l_.clusterIndex, plan_.target);
    func_->setAttr("kernel", b_.getStringAttr(kernel_.getSymName()));
    func_->setAttr("number", b_.getI64IntegerAttr(number));
    setBaseLayouts(func_, llvm::map_to_vector(sources, [&](int64_t s) {
      return BaseLayout{getParamStrides(kernel_, s), getParamAlignment(kernel_, s)};
    }));
    Block &block = func_.getBody().emplaceBlock();
    for (const Arg &a : args) {
      Type type = a.value.getType();
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        type = MemRefType::get(SmallVector<int64_t>(tensor.getRank(), ShapedType::kDynamic), tensor.getElementType());
      byName_[a.source] = block.addArgument(type, NameLoc::get(b_.getStringAttr(a.name), a.value.getLoc()));
    }
    for (Operation &op : kernel_.getBlock())
      for (Value v : op.getResults())
        if (isa<RankedTensorType>(v.getType()))
          if (Value arg = byName_.lookup(buffers_.sourceOf(v)))
            c_.buffers[v] = arg;
    for (BlockArgument v : kernel_.getBlock().getArguments())
      if (Value arg = byName_.lookup(buffers_.sourceOf(v)))
        c_.buffers[v] = arg;

    b_.setInsertionPointToStart(&block);
    c_.tiles = l_.tiles;
    c_.extents = l_.extents;
    SizeFacts facts{plan_.sizeDiv, plan_.sizeMax};
    c_.ragged.resize(l_.tiles.size());
    Value tileNumber = l_.persistent ? openTileLoop(loc) : Value();
    Value zero = constant(0, loc);
    for (size_t i = 0; i < l_.tiles.size(); ++i) {
      int64_t divisor = knownDivisor(l_.extents.getResult(i), facts);
      // The one tile of an index without a loop may have no point at all.
      bool mayBeEmpty = !llvm::is_contained(l_.grid, int64_t(i)) && !knownPositive(l_.extents.getResult(i), facts);
      c_.ragged[i] = divisor == 0 || divisor % l_.tiles[i] != 0 || (mayBeEmpty && loopsOf(int64_t(i)).empty());
      c_.offsets.push_back(zero);
    }
    for (int64_t g : l_.grid) {
      Location named = NameLoc::get(b_.getStringAttr(l_.indices[g] + "0"), loc);
      Value pid = tile::ProgramIdOp::create(b_, loc, b_.getIndexType(), g, tileNumber);
      if (l_.cluster > 1 && g == l_.clusterIndex) {
        Value rank = tile::ClusterRankOp::create(b_, NameLoc::get(b_.getStringAttr("rank"), loc), b_.getIndexType());
        pid = arith::AddIOp::create(b_, loc, arith::MulIOp::create(b_, loc, pid, constant(l_.cluster, loc)), rank);
      }
      c_.offsets[g] = arith::MulIOp::create(b_, named, pid, constant(l_.tiles[g], loc));
    }
    return success();
  }

  /// The loop of a block, or of a cluster, over its tiles; the builder is left inside.
  /// Returns the tile's number.
  Value openTileLoop(Location named) {
    Location loc = cu::unnamed(named);
    auto as = [&](StringRef name) { return NameLoc::get(b_.getStringAttr(name), loc); };
    AffineExpr tiles = b_.getAffineConstantExpr(1);
    for (int64_t g : l_.grid)
      tiles = tiles * func_.getNumPrograms(g);
    Value end = tile::ApplyOp::create(b_, as("tiles"), b_.getIndexType(), AffineMap::get(0, l_.extents.getNumSymbols(), tiles), ValueRange{});
    Value first = tile::BlockIdOp::create(b_, as("block"), b_.getIndexType());
    Value step = tile::NumBlocksOp::create(b_, as("blocks"), b_.getIndexType());
    if (l_.cluster > 1) {
      first = arith::DivSIOp::create(b_, as("cluster"), first, constant(l_.cluster, loc));
      step = arith::DivSIOp::create(b_, as("clusters"), step, constant(l_.cluster, loc));
    }
    auto loop = scf::ForOp::create(b_, loc, first, end, step);
    loop.getInductionVar().setLoc(as("tile"));
    b_.setInsertionPoint(loop.getBody()->getTerminator());
    return loop.getInductionVar();
  }

  static std::string str(Attribute a) { return cast<StringAttr>(a).getValue().str(); }
  Value constant(int64_t v, Location loc) { return arith::ConstantIndexOp::create(b_, loc, v); }

  /// Launch indices of `dims` that need a loop: off the grid and larger than a tile.
  SmallVector<int64_t> loopsOf(ArrayRef<int64_t> dims) {
    SmallVector<int64_t> loops;
    SizeFacts facts{plan_.sizeDiv, plan_.sizeMax};
    for (int64_t i : dims) {
      if (llvm::is_contained(l_.grid, i))
        continue;
      int64_t max = knownMax(l_.extents.getResult(i), facts);
      // A tile of one point has no mask: where there may be no point it needs the loop.
      bool mayBeEmpty = l_.tiles[i] == 1 && !knownPositive(l_.extents.getResult(i), facts);
      if (max < 0 || max > l_.tiles[i] || mayBeEmpty)
        loops.push_back(i);
    }
    return loops;
  }

  /// Where the points of a domain lie along launch index `index`: the first tile's
  /// offset and one past the last point. Indices in `open` are yet to be walked by
  /// loops; the others have the offsets of the current tile.
  std::pair<Value, Value> findSpan(std::optional<IntegerSet> set, ArrayRef<int64_t> dims, int64_t index, ArrayRef<int64_t> open,
                                   Location loc) {
    unsigned symbols = l_.extents.getNumSymbols(), rank = c_.rank();
    auto apply = [&](AffineExpr e, ArrayRef<Value> operands, Location at) -> Value {
      return tile::ApplyOp::create(b_, at, b_.getIndexType(), AffineMap::get(operands.size(), symbols, e), operands);
    };
    Value begin = constant(0, loc), end = apply(l_.extents.getResult(index), {}, loc);
    if (!set)
      return {begin, end};
    SmallVector<DimRange> ranges;
    unsigned self = 0;
    for (auto [d, i] : llvm::enumerate(dims)) {
      AffineExpr offset = b_.getAffineDimExpr(i);
      ranges.push_back(llvm::is_contained(open, i) ? DimRange{b_.getAffineConstantExpr(0), l_.extents.getResult(i) - 1}
                                                   : DimRange{offset, offset + (l_.tiles[i] - 1)});
      if (i == index)
        self = d;
    }
    IndexBounds bounds = findBounds(*set, self, ranges);
    // Whole tiles: an access may count on where a tile starts.
    int64_t tile = l_.tiles[index];
    for (AffineExpr lower : bounds.lowers) {
      AffineExpr first = simplifyAffineExpr(lower, rank, symbols).floorDiv(tile) * tile;
      begin = arith::MaxSIOp::create(b_, NameLoc::get(b_.getStringAttr(l_.indices[index] + "_begin"), cu::unnamed(loc)), begin,
                                     apply(first, c_.offsets, loc));
    }
    for (AffineExpr upper : bounds.uppers)
      end = arith::MinSIOp::create(b_, NameLoc::get(b_.getStringAttr(l_.indices[index] + "_end"), cu::unnamed(loc)), end,
                                   apply(simplifyAffineExpr(upper + 1, rank, symbols), c_.offsets, loc));
    return {begin, end};
  }

  /// for i0 .. for i1 .. { body } carrying `carried`, over the tiles that can hold a
  /// point of `set` (over launch indices `dims`); returns what comes out.
  SmallVector<Value> loopNest(ArrayRef<int64_t> loops, std::optional<IntegerSet> set, ArrayRef<int64_t> dims,
                              SmallVector<Value> carried, Location loc,
                              llvm::function_ref<SmallVector<Value>(SmallVector<Value>)> body) {
    if (loops.empty())
      return body(std::move(carried));
    int64_t index = loops.front();
    auto [begin, end] = findSpan(set, dims, index, loops, loc);
    auto loop = scf::ForOp::create(b_, loc, begin, end, constant(l_.tiles[index], loc), carried);
    loop.getInductionVar().setLoc(NameLoc::get(b_.getStringAttr(l_.indices[index] + "0"), loc));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(loop.getBody());
    Value outside = c_.offsets[index];
    c_.offsets[index] = loop.getInductionVar();
    SmallVector<Value> results = loopNest(loops.drop_front(), set, dims, llvm::to_vector_of<Value>(loop.getRegionIterArgs()), loc, body);
    c_.offsets[index] = outside;
    if (results.size() == carried.size()) {
      if (!loop.getBody()->empty() && loop.getBody()->back().hasTrait<OpTrait::IsTerminator>())
        loop.getBody()->back().erase();
      b_.setInsertionPointToEnd(loop.getBody());
      scf::YieldOp::create(b_, loc, results);
    }
    return llvm::to_vector_of<Value>(loop.getResults());
  }

  void store(Value tile, Value te, AffineMap outMap, ArrayRef<int64_t> dims, Value condition, BodyToTiles &body, Location loc) {
    SmallVector<AffineExpr> replacements;
    for (int64_t d : dims)
      replacements.push_back(b_.getAffineDimExpr(d));
    SmallVector<AffineExpr> results;
    for (AffineExpr e : outMap.getResults())
      results.push_back(e.replaceDims(replacements));
    AffineMap map = AffineMap::get(c_.rank(), outMap.getNumSymbols(), results, b_.getContext());
    SmallVector<int64_t> shape = body.shapeOf(dims);
    tile = body.broadcast(tile, shape);
    if (condition)
      condition = body.broadcast(condition, shape);
    SmallVector<int64_t> mask;
    for (int64_t d : dims)
      if (shape[d] > 1 && c_.ragged[d])
        mask.push_back(d);
    llvm::sort(mask);
    tile::StoreOp::create(b_, loc, tile, c_.buffers.lookup(te), map, c_.offsets, mask, condition);
  }

  LogicalResult emitCompute(ComputeOp op, ArrayRef<int64_t> dims) {
    bool ok = true;
    loopNest(loopsOf(dims), op.getCondition(), dims, {}, op.getLoc(), [&](SmallVector<Value>) {
      BodyToTiles body(b_, c_, op, dims);
      Value value = body.evaluate(op.getYield().getValues()[0]);
      Value condition = op.getCondition() ? body.evaluateSet(*op.getCondition(), op.getLoc()) : Value();
      if (op.getYield().getCondition())
        condition = body.conjunction(condition, body.evaluate(op.getYield().getCondition()), op.getLoc());
      ok = bool(value);
      if (value)
        store(value, op.getResult(), op.getOutMapOrIdentity(), dims, condition, body, op.getLoc());
      return SmallVector<Value>();
    });
    return success(ok);
  }

  LogicalResult emitReduce(ReduceOp op, ArrayRef<int64_t> dims) {
    if (std::optional<Contraction> c = findContraction(op))
      return emitContraction(op, *c, dims);
    Location loc = NameLoc::get(op.getNameAttr() ? op.getNameAttr() : b_.getStringAttr("sum"), op.getLoc());
    ArrayRef<int64_t> reduced = dims.drop_front(op.getNumParallel());
    BodyToTiles shaper(b_, c_, op, dims);
    SmallVector<int64_t> full = shaper.shapeOf(dims);
    bool arg = op.isArg();
    Value yielded = op.getYield().getValues()[0];
    auto partial = RankedTensorType::get(full, yielded.getType());
    auto positions = RankedTensorType::get(full, b_.getIndexType());
    SmallVector<Value> identity;
    SmallVector<int64_t> loops = loopsOf(dims);
    auto identityTile = [&](RankedTensorType type, TypedAttr value) -> Value {
      return arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, Attribute(value)));
    };
    TypedAttr neutral = identityOf(op.getKind(), yielded.getType(), b_);
    if (!loops.empty()) {
      identity.push_back(identityTile(partial, neutral));
      if (arg)
        identity.push_back(identityTile(positions, b_.getIndexAttr(std::numeric_limits<int32_t>::max())));
    }
    bool ok = true;
    auto iteration = [&](SmallVector<Value> carried) {
      BodyToTiles body(b_, c_, op, dims);
      // A step of a sum of products is one fused multiply-add.
      auto product = yielded.getDefiningOp<arith::MulFOp>();
      Value condition = op.getCondition() ? body.evaluateSet(*op.getCondition(), loc) : Value();
      if (op.getYield().getCondition())
        condition = body.conjunction(condition, body.evaluate(op.getYield().getCondition()), loc);
      condition = body.conjunction(condition, body.inside(reduced, loc), loc);
      if (product && op.getKind() == Combiner::Sum && !condition && !carried.empty()) {
        Value x = body.evaluate(product.getLhs()), y = body.evaluate(product.getRhs());
        ok &= x && y;
        if (!ok)
          return carried;
        return SmallVector<Value>{math::FmaOp::create(b_, loc, body.broadcast(x, full), body.broadcast(y, full), carried[0])};
      }
      Value value = body.evaluate(yielded);
      if (!value) {
        ok = false;
        return carried;
      }
      value = body.broadcast(value, full);
      SmallVector<Value> next{value};
      if (arg)
        next.push_back(body.broadcast(body.evaluate(op.getBlock().getArguments().back()), full));
      if (condition) {
        condition = body.broadcast(condition, full);
        next[0] = arith::SelectOp::create(b_, loc, condition, value, identityTile(partial, neutral));
        if (arg)
          next[1] = arith::SelectOp::create(b_, loc, condition, next[1], identityTile(positions, b_.getIndexAttr(std::numeric_limits<int32_t>::max())));
      }
      if (carried.empty())
        return next;
      carried.append(next);
      SmallVector<Type> types{partial};
      if (arg)
        types.push_back(positions);
      auto combine = tile::CombineOp::create(b_, loc, types, op.getKind(), carried);
      return llvm::to_vector_of<Value>(combine.getResults());
    };
    SmallVector<Value> partials = loopNest(loops, op.getCondition(), dims, identity, loc, iteration);
    if (!ok)
      return failure();
    SmallVector<int64_t> kept(dims.take_front(op.getNumParallel()));
    SmallVector<int64_t> outShape = shaper.shapeOf(kept);
    SmallVector<Type> outTypes{RankedTensorType::get(outShape, yielded.getType())};
    if (arg)
      outTypes.push_back(RankedTensorType::get(outShape, b_.getIndexType()));
    SmallVector<int64_t> sortedDims(reduced);
    llvm::sort(sortedDims);
    auto reduce = tile::ReduceOp::create(b_, loc, outTypes, op.getKind(), partials, sortedDims);
    Value result = reduce.getResults().back();
    if (arg)
      result = arith::IndexCastOp::create(b_, loc, RankedTensorType::get(outShape, b_.getI64Type()), result);
    return finishReduce(op, dims, result, shaper);
  }

  /// Several reductions at once: every register carries the state of the points it has
  /// seen; at the end the states are moved to the common components, and combine.
  LogicalResult emitCascade(CascadeOp op, ArrayRef<int64_t> dims) {
    Location loc = NameLoc::get(op.getNameAttr() ? op.getNameAttr() : b_.getStringAttr("state"), op.getLoc());
    unsigned n = op.getNumComponents();
    ArrayRef<int64_t> reduced = dims.drop_front(op.getNumParallel()), kept = dims.take_front(op.getNumParallel());
    BodyToTiles shaper(b_, c_, op, dims);
    SmallVector<int64_t> full = shaper.shapeOf(dims), outShape = shaper.shapeOf(kept), sorted(reduced);
    llvm::sort(sorted);
    bool ok = true;
    auto identity = [&](unsigned k) -> Value {
      auto type = RankedTensorType::get(full, op.getComponentType(k));
      TypedAttr value = identityOf(op.getComponentKind(k), op.getComponentType(k), b_);
      return arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, Attribute(value)));
    };
    /// Component k of `state`, moved to the new values of the components before it.
    auto rescale = [&](ArrayRef<Value> state, ArrayRef<Value> moved, unsigned k) -> Value {
      BodyToTiles body(b_, c_, op, {});
      Block &block = op.getRescale().front();
      for (unsigned j = 0; j <= k; ++j)
        body.bind(block.getArgument(j), state[j]);
      for (unsigned j = 0; j < k; ++j)
        body.bind(block.getArgument(n + j), moved[j]);
      Value v = body.evaluate(op.getRescaledValue(k));
      ok &= bool(v);
      return v ? body.broadcast(v, full) : state[k];
    };
    SmallVector<int64_t> loops = loopsOf(dims);
    SmallVector<Value> start;
    if (!loops.empty())
      for (unsigned k = 0; k < n; ++k)
        start.push_back(identity(k));
    SmallVector<Value> states = loopNest(loops, op.getCondition(), dims, start, loc, [&](SmallVector<Value> carried) {
      BodyToTiles body(b_, c_, op, dims);
      Value condition = op.getCondition() ? body.evaluateSet(*op.getCondition(), loc) : Value();
      if (op.getYield().getCondition())
        condition = body.conjunction(condition, body.evaluate(op.getYield().getCondition()), loc);
      condition = body.conjunction(condition, body.inside(reduced, loc), loc);
      SmallVector<Value> next;
      for (unsigned k = 0; k < n && ok; ++k) {
        Value term = body.evaluate(op.getElementValue(k));
        ok &= bool(term);
        if (!ok)
          break;
        term = body.broadcast(term, full);
        if (condition)
          term = arith::SelectOp::create(b_, loc, body.broadcast(condition, full), term, identity(k));
        if (!carried.empty())
          term = tile::CombineOp::create(b_, loc, term.getType(), op.getComponentKind(k),
                                         ValueRange{rescale(carried, next, k), term}).getResult(0);
        next.push_back(term);
        body.bind(op.getBlock().getArgument(op.getNumDims() + k), term);
      }
      return ok ? next : carried;
    });
    if (!ok)
      return failure();
    // What all states have in common, component by component.
    SmallVector<Value> finals, spread;
    for (unsigned k = 0; k < n; ++k) {
      SmallVector<Type> type{RankedTensorType::get(outShape, op.getComponentType(k))};
      Value moved = rescale(states, spread, k);
      finals.push_back(tile::ReduceOp::create(b_, loc, type, op.getComponentKind(k), moved, sorted).getResults()[0]);
      spread.push_back(shaper.broadcast(finals.back(), full));
    }
    BodyToTiles last(b_, c_, op, kept);
    for (unsigned k = 0; k < n; ++k)
      last.bind(op.getFinalize().front().getArgument(op.getNumParallel() + k), finals[k]);
    AffineMap plain = AffineMap::getMultiDimIdentityMap(kept.size(), b_.getContext());
    plain = AffineMap::get(kept.size(), l_.extents.getNumSymbols(), plain.getResults(), b_.getContext());
    for (unsigned k = 0; k < n && ok; ++k) {
      Value value = last.evaluate(op.getFinalValue(k));
      ok &= bool(value);
      if (!ok)
        break;
      value = last.broadcast(value, outShape);
      c_.results[op.getResult(k)] = value;
      if (isStored(op.getResult(k)))
        store(value, op.getResult(k), plain, kept, {}, last, op.getLoc());
    }
    return success(ok);
  }

  /// Continues from an init, keeps the value for readers, stores it if wanted.
  LogicalResult finishReduce(ReduceOp op, ArrayRef<int64_t> dims, Value result, BodyToTiles &shaper) {
    SmallVector<int64_t> kept(dims.take_front(op.getNumParallel()));
    if (op.getInit()) {
      if (op.isArg())
        return op.emitError() << "an arg reduction cannot continue from an earlier value";
      Value before = loadInit(op, kept, shaper);
      result = tile::CombineOp::create(b_, op.getLoc(), result.getType(), op.getKind(), ValueRange{before, result}).getResult(0);
    }
    c_.results[op.getResult()] = result;
    if (isStored(op.getResult()))
      store(result, op.getResult(), op.getOutMapOrIdentity(), kept, {}, shaper, op.getLoc());
    return success();
  }

  Value loadInit(ReduceOp op, ArrayRef<int64_t> kept, BodyToTiles &shaper) {
    SmallVector<AffineExpr> replacements, results;
    for (int64_t d : kept)
      replacements.push_back(b_.getAffineDimExpr(d));
    AffineMap out = op.getOutMapOrIdentity();
    for (AffineExpr e : out.getResults())
      results.push_back(e.replaceDims(replacements));
    SmallVector<int64_t> mask;
    for (int64_t d : kept)
      if (c_.ragged[d] && c_.tiles[d] > 1)
        mask.push_back(d);
    llvm::sort(mask);
    auto type = RankedTensorType::get(shaper.shapeOf(kept), op.getResult().getType().getElementType());
    return tile::LoadOp::create(b_, op.getLoc(), type, c_.buffers.lookup(op.getInit()),
                                AffineMap::get(c_.rank(), out.getNumSymbols(), results, b_.getContext()), c_.offsets,
                                ValueRange{}, mask, BoundsMode::InBounds, Value());
  }

  LogicalResult emitContraction(ReduceOp op, const Contraction &c, ArrayRef<int64_t> dims) {
    Location loc = NameLoc::get(op.getNameAttr() ? op.getNameAttr() : b_.getStringAttr("acc"), op.getLoc());
    auto indicesOf = [&](ArrayRef<unsigned> list) {
      SmallVector<int64_t> out;
      for (unsigned d : list)
        out.push_back(dims[d]);
      return out;
    };
    SmallVector<int64_t> m = indicesOf(c.m), n = indicesOf(c.n), k = indicesOf(c.k);
    Value left = c.a, right = c.b;
    std::optional<IntegerSet> leftWhere = c.aWhere, rightWhere = c.bWhere;
    // The unit's rows are the side with tiles that fill them.
    auto tileOf = [&](ArrayRef<int64_t> list) {
      int64_t p = 1;
      for (int64_t d : list)
        p *= l_.tiles[d];
      return p;
    };
    if (l_.unit == "wgmma" && tileOf(m) < 64) {
      std::swap(m, n);
      std::swap(left, right);
      std::swap(leftWhere, rightWhere);
    }
    SmallVector<int64_t> kept(dims.take_front(op.getNumParallel()));
    BodyToTiles shaper(b_, c_, op, dims);
    auto type = RankedTensorType::get(shaper.shapeOf(kept), op.getResult().getType().getElementType());
    Value zero = arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, Attribute(b_.getZeroAttr(type.getElementType()))));
    bool ok = true;
    SmallVector<Value> out = contractionLoop(k, op.getCondition(), dims, zero, loc, [&](Value acc) -> Value {
      BodyToTiles body(b_, c_, op, dims);
      Type unitType = l_.unit == "simt" ? Type() : c.unitType;
      bool aRounded = false, bRounded = false;
      Value a = operand(left, unitType, leftWhere, k, body, loc, aRounded), b = operand(right, unitType, rightWhere, k, body, loc, bRounded);
      ok = a && b;
      return ok ? tile::DotOp::create(b_, loc, type, a, b, acc, m, n, k, Value(), c.aUnsigned, c.bUnsigned, aRounded, bRounded)
                      .getResult()
                : acc;
    });
    if (!ok)
      return failure();
    return finishReduce(op, dims, out[0], shaper);
  }

  /// One loop over all tiles of the reduced indices, however many there are: it
  /// becomes the pipeline. The slowest of them starts and ends where the domain does.
  SmallVector<Value> contractionLoop(ArrayRef<int64_t> k, std::optional<IntegerSet> set, ArrayRef<int64_t> dims, Value init,
                                     Location loc, llvm::function_ref<Value(Value)> body) {
    SmallVector<AffineExpr> counts;
    for (int64_t i : k)
      counts.push_back(l_.extents.getResult(i).ceilDiv(l_.tiles[i]));
    unsigned symbols = l_.extents.getNumSymbols();
    Value begin, end;
    if (set)
      std::tie(begin, end) = findSpan(set, dims, k.front(), k, loc);
    if (begin && matchPattern(begin, m_Zero()))
      begin = {};
    if (end && end.getDefiningOp<tile::ApplyOp>())
      end = {}; // the extent
    SmallVector<Value> span;
    AffineExpr length = l_.extents.getResult(k.front());
    if (end) {
      length = b_.getAffineDimExpr(span.size());
      span.push_back(end);
    }
    if (begin) {
      length = length - b_.getAffineDimExpr(span.size());
      span.push_back(begin);
    }
    AffineExpr total = length.ceilDiv(l_.tiles[k.front()]);
    for (AffineExpr faster : ArrayRef(counts).drop_front())
      total = total * faster;
    Location counted = NameLoc::get(b_.getStringAttr(l_.indices[k.back()] + "_tiles"), cu::unnamed(loc));
    Value tileCount = tile::ApplyOp::create(b_, counted, b_.getIndexType(), AffineMap::get(span.size(), symbols, total), span);
    auto loop = scf::ForOp::create(b_, loc, constant(0, loc), tileCount, constant(1, loc), init);
    loop.getInductionVar().setLoc(NameLoc::get(b_.getStringAttr(l_.indices[k.back()] + "_tile"), loc));
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(loop.getBody());
    // Tile numbers, the last reduced index fastest.
    AffineExpr left = b_.getAffineDimExpr(0);
    for (size_t i = k.size(); i-- > 0;) {
      AffineExpr number = i == 0 ? left : left % counts[i];
      left = i == 0 ? left : left.floorDiv(counts[i]);
      SmallVector<Value> operands{loop.getInductionVar()};
      AffineExpr offset = number * l_.tiles[k[i]];
      if (i == 0 && begin) {
        offset = b_.getAffineDimExpr(1) + offset;
        operands.push_back(begin);
      }
      c_.offsets[k[i]] = tile::ApplyOp::create(b_, NameLoc::get(b_.getStringAttr(l_.indices[k[i]] + "0"), loc), b_.getIndexType(),
                                               AffineMap::get(operands.size(), symbols, offset), operands);
    }
    Value next = body(loop.getRegionIterArg(0));
    scf::YieldOp::create(b_, loc, next);
    b_.setInsertionPointAfter(loop);
    Value zero = constant(0, loc);
    for (int64_t i : k)
      c_.offsets[i] = zero;
    return {loop.getResult(0)};
  }

  /// A factor in the type the matrix unit takes; without one, in the narrowest type
  /// that holds it.
  Value inUnitType(Value factor, Type unitType, BodyToTiles &body, Location loc, bool &rounded) {
    Value narrow = stripWidening(factor);
    if (!unitType || narrow.getType() == unitType)
      return body.evaluate(narrow);
    if (auto round = factor.getDefiningOp<RoundOp>()) {
      rounded = true; // by the dot
      return body.evaluate(round.getInput());
    }
    Value tile = body.evaluate(factor);
    if (!tile || isa<FloatTF32Type>(unitType))
      return tile; // f32 that is a tf32
    auto type = cast<RankedTensorType>(tile.getType());
    return arith::TruncFOp::create(b_, loc, RankedTensorType::get(type.getShape(), unitType), tile);
  }

  /// As inUnitType, zero beyond the reduced extents and where `where` does not hold.
  Value operand(Value factor, Type unitType, std::optional<IntegerSet> where, ArrayRef<int64_t> k, BodyToTiles &body, Location loc,
                bool &rounded) {
    Value tile = inUnitType(factor, unitType, body, loc, rounded);
    if (!tile)
      return tile;
    Value counts = where ? body.evaluateSet(*where, loc) : Value();
    if (!tile.getDefiningOp<tile::LoadOp>()) // loads give zero there
      counts = body.conjunction(counts, body.inside(k, loc), loc);
    if (!counts)
      return tile;
    SmallVector<int64_t> shape(cast<RankedTensorType>(tile.getType()).getShape());
    for (auto [s, n] : llvm::zip(shape, cast<RankedTensorType>(counts.getType()).getShape()))
      s = std::max(s, n);
    tile = body.broadcast(tile, shape);
    auto type = cast<RankedTensorType>(tile.getType());
    Value zero = arith::ConstantOp::create(b_, loc, type, SplatElementsAttr::get(type, Attribute(b_.getZeroAttr(type.getElementType()))));
    return arith::SelectOp::create(b_, loc, body.broadcast(counts, shape), tile, zero);
  }

  OpBuilder &b_;
  KernelOp kernel_;
  const KernelPlan &plan_;
  const LaunchPlan &l_;
  const Buffers &buffers_;
  SmallVector<Operation *> ops_;
  tile::FuncOp func_;
  llvm::DenseMap<int64_t, Value> byName_;
  LaunchContext c_;
};

struct TeToTilePass : impl::TeToTileBase<TeToTilePass> {
  void runOnOperation() override {
    for (KernelOp kernel : llvm::to_vector(getOperation().getOps<KernelOp>())) {
      FailureOr<KernelPlan> plan = getPlan(kernel);
      Buffers buffers;
      if (failed(plan) || failed(buffers.assign(kernel)))
        return signalPassFailure();
      OpBuilder b(kernel->getContext());
      for (auto [i, launch] : llvm::enumerate(plan->launches)) {
        b.setInsertionPointToEnd(getOperation().getBody());
        if (failed(LaunchEmitter(b, kernel, *plan, launch, buffers).emit(i)))
          return signalPassFailure();
      }
    }
  }
};

} // namespace
} // namespace kernelc
