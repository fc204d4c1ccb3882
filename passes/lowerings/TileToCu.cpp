// tile-to-cu: see Passes.td. Functions, the grid, loops and runs of elementwise
// ops are here; memory, reductions and dots have files of their own.
#include "passes/Passes.h"

#include <map>

#include "llvm/ADT/SetVector.h"
#include "passes/lowerings/DotToCu.h"
#include "support/Target.h"
#include "passes/te/Reduction.h"
#include "passes/tile/Access.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TILETOCU
#include "passes/Passes.h.inc"

using namespace tile;

namespace {

bool isTile(Value v) { return isa<RankedTensorType>(v.getType()); }

bool isElementwise(Operation *op) {
  if (op->getNumResults() == 0 || !isTile(op->getResult(0)) || isRematerialized(op))
    return false;
  return isa<BroadcastOp, tile::ConvertOp, CombineOp>(op) || op->hasTrait<OpTrait::Elementwise>();
}

class FunctionLowering {
public:
  FunctionLowering(OpBuilder &b, FuncOp func) : b_(b), func_(func), c_(b, func) {}

  LogicalResult run() {
    const Target *target = findTarget(absl::string_view(func_.getTarget().data(), func_.getTarget().size()));
    if (target) {
      c_.hasAsyncCopy = target->asyncCopy;
      c_.hasStmatrix = target->generation >= 90;
    }
    makeKernel();
    if (failed(lowerBlock(func_.getBlock())))
      return failure();
    if (target && c_.sharedBytes > target->maxSharedPerBlock)
      return func_.emitError() << "the schedule of '" << func_.getSymName() << "' needs " << c_.sharedBytes
                               << " bytes of shared memory a block; " << target->name << " has " << target->maxSharedPerBlock;
    if (target && int64_t(kernel_.getThreads()) > target->maxThreadsPerBlock)
      return func_.emitError() << "the schedule of '" << func_.getSymName() << "' needs " << kernel_.getThreads() << " threads a block; "
                               << target->name << " has " << target->maxThreadsPerBlock;
    kernel_.setSharedBytes(c_.sharedBytes);
    dropUnusedArguments();
    return success();
  }

private:
  void makeKernel();
  llvm::DenseMap<int64_t, Value> programIdsOf(Value number, Location loc);
  void dropUnusedArguments();
  LogicalResult lowerBlock(Block &block);
  LogicalResult lowerOp(Operation *op);
  void lowerRun(ArrayRef<Operation *> run);
  LogicalResult lowerFor(scf::ForOp loop);
  LogicalResult lowerIf(scf::IfOp branch);
  LogicalResult lowerDotOp(DotOp dot);
  LogicalResult lowerRoles(RolesOp roles);
  void lowerSlice(SliceOp slice);
  Value fetch(Value tile, const OpenDigits &open, llvm::DenseMap<Value, Value> &inRun);
  void scalarOp(Operation *op, const OpenDigits &open, llvm::DenseMap<Value, Value> &inRun);
  void copyTile(Value from, Value toArray, Location loc);

  OpBuilder &b_;
  FuncOp func_;
  cu::KernelOp kernel_;
  ThreadCode c_;
  /// Per block of code and tile number: the tile's number along each grid index.
  std::map<std::pair<Block *, void *>, llvm::DenseMap<int64_t, Value>> programIds_;
  llvm::DenseMap<Value, Value> inPlace_; ///< tile value → the array it should be left in
};

void FunctionLowering::makeKernel() {
  Location loc = cu::unnamed(func_.getLoc());
  MLIRContext *context = b_.getContext();
  // Sizes that any map mentions travel as arguments; simplest and safest is all
  // of them that are not constants folded into the maps.
  llvm::BitVector used(func_.getSizes().size());
  auto note = [&](AffineMap map) {
    for (AffineExpr e : map.getResults())
      e.walk([&](AffineExpr sub) {
        if (auto s = dyn_cast<AffineSymbolExpr>(sub))
          used.set(s.getPosition());
      });
  };
  note(func_.getExtents());
  for (Attribute a : func_.getArgShapes())
    note(cast<AffineMapAttr>(a).getValue());
  for (BlockArgument base : func_.getBlock().getArguments())
    if (AffineMap strides = layoutOfBase(func_, base).strides)
      note(strides);
  func_.walk([&](Operation *op) {
    for (NamedAttribute a : op->getAttrs())
      if (auto map = dyn_cast<AffineMapAttr>(a.getValue()))
        note(map.getValue());
  });

  AffineExpr grid = getAffineConstantExpr(1, context);
  for (int64_t g : func_.getGridDims())
    grid = grid * func_.getNumPrograms(g);

  SmallVector<Attribute> sources;
  auto source = [&](StringRef kind, int64_t n, AffineMap shape) {
    SmallVector<NamedAttribute> fields{b_.getNamedAttr(kind, b_.getI64IntegerAttr(n))};
    if (shape)
      fields.push_back(b_.getNamedAttr("shape", AffineMapAttr::get(shape)));
    sources.push_back(b_.getDictionaryAttr(fields));
  };
  std::string schedule;
  llvm::raw_string_ostream os(schedule);
  os << "schedule:";
  for (auto [i, t] : llvm::enumerate(func_.getTiles()))
    os << " tile " << cast<StringAttr>(func_.getIndices()[i]).getValue() << " " << t << ";";
  os << " warps " << func_.getWarps();
  if (func_.getProducerWarps())
    os << " + " << func_.getProducerWarps() << " that fill";
  os << "; unit " << func_.getUnit();
  if (func_.getPersistent())
    os << "; persistent";
  if (func_.getDependent())
    os << "; dependent";
  if (func_.getCluster() > 1)
    os << "; cluster " << cast<StringAttr>(func_.getIndices()[func_.getClusterIndex()]).getValue() << " " << func_.getCluster();
  if (func_.getStages() > 1)
    os << "; stages " << func_.getStages();
  kernel_ = cu::KernelOp::create(b_, loc, func_.getSymName(), func_.getSizes(), b_.getArrayAttr({}),
                                 AffineMap::get(0, func_.getSizes().size(), grid),
                                 (func_.getWarps() + func_.getProducerWarps()) * 32, 0, 1, 1, schedule);
  c_.kernel = kernel_;
  kernel_.setMinBlocks(func_.getMinBlocks());
  kernel_.setPersistent(func_.getPersistent());
  kernel_.setCluster(func_.getCluster());
  kernel_.setTarget(func_.getTarget());
  if (auto k = func_->getAttr("kernel"))
    kernel_->setAttr("kernel", k);
  Block &block = kernel_.getBody().emplaceBlock();
  for (auto [i, arg] : llvm::enumerate(func_.getBlock().getArguments())) {
    Type type = arg.getType();
    if (auto memref = dyn_cast<MemRefType>(type)) {
      type = cu::memrefIn({ShapedType::kDynamic}, memref.getElementType(), cu::Global);
      c_.bases[arg] = block.addArgument(type, arg.getLoc());
    } else {
      c_.scalars[arg] = block.addArgument(type, arg.getLoc());
    }
    source("source", func_.getSources()[i], func_.getArgShape(i));
  }
  c_.sizes.resize(used.size());
  for (unsigned s : used.set_bits()) {
    c_.sizes[s] = block.addArgument(b_.getIndexType(), NameLoc::get(cast<StringAttr>(func_.getSizes()[s]), loc));
    source("size", s, {});
  }
  kernel_.setArgSourcesAttr(b_.getArrayAttr(sources));
  b_.setInsertionPointToStart(&block);
  if (func_.getDependent())
    cu::LaunchWaitOp::create(b_, loc);
  if (func_.getFollowed())
    cu::LaunchReleaseOp::create(b_, loc);
}

/// A tensor that only tensor maps reach needs no pointer.
void FunctionLowering::dropUnusedArguments() {
  Block &block = kernel_.getBlock();
  SmallVector<Attribute> sources(kernel_.getArgSources().getValue());
  for (unsigned i = block.getNumArguments(); i-- > 0;)
    if (block.getArgument(i).use_empty()) {
      block.eraseArgument(i);
      sources.erase(sources.begin() + i);
    }
  kernel_.setArgSourcesAttr(b_.getArrayAttr(sources));
}

/// A tile's number as one tile number per grid index, the last one fastest; with a
/// raster, the last two in groups of `raster` rows so that neighbours share
/// operands in L2.
llvm::DenseMap<int64_t, Value> FunctionLowering::programIdsOf(Value left, Location loc) {
  llvm::DenseMap<int64_t, Value> ids;
  ArrayRef<int64_t> dims = func_.getGridDims();
  auto named = [&](int64_t d, StringRef suffix) {
    return NameLoc::get(b_.getStringAttr(cast<StringAttr>(func_.getIndices()[d]).getValue() + suffix), loc);
  };
  SmallVector<Value> counts;
  for (int64_t g : dims)
    counts.push_back(c_.expand(func_.getNumPrograms(g), {}, named(g, "_tiles")));
  size_t n = dims.size();
  bool grouped = func_.getRaster() > 1 && n >= 2;
  auto rem = [&](Value x, Value y, Location l) { return arith::RemSIOp::create(b_, l, x, y).getResult(); };
  auto div = [&](Value x, Value y, Location l) { return arith::DivSIOp::create(b_, l, x, y).getResult(); };
  if (grouped) {
    Value plane = arith::MulIOp::create(b_, loc, counts[n - 2], counts[n - 1]);
    Value inPlane = left;
    if (n > 2) {
      inPlane = rem(left, plane, loc);
      left = div(left, plane, loc);
    }
    Value rows = c_.index(func_.getRaster(), loc);
    Value perGroup = arith::MulIOp::create(b_, loc, rows, counts[n - 1]);
    Value group = div(inPlane, perGroup, loc), within = rem(inPlane, perGroup, loc);
    Value first = arith::MulIOp::create(b_, loc, group, rows);
    Value height = arith::MinSIOp::create(b_, loc, arith::SubIOp::create(b_, loc, counts[n - 2], first), rows);
    ids[dims[n - 2]] = arith::AddIOp::create(b_, named(dims[n - 2], "_tile"), first, rem(within, height, loc));
    ids[dims[n - 1]] = div(within, height, named(dims[n - 1], "_tile"));
  }
  for (int64_t i = int64_t(grouped ? n - 2 : n) - 1; i >= 0; --i) {
    ids[dims[i]] = i == 0 ? left : rem(left, counts[i], named(dims[i], "_tile"));
    if (i > 0)
      left = div(left, counts[i], loc);
  }  return ids;
}

LogicalResult FunctionLowering::lowerBlock(Block &block) {
  SmallVector<Operation *> run;
  auto flush = [&] {
    if (!run.empty())
      lowerRun(run);
    run.clear();
  };
  for (Operation &op : block) {
    if (isRematerialized(&op))
      continue;
    if (isElementwise(&op)) {
      Layout layout = getLayout(op.getResult(0));
      if (!run.empty() && !(getLayout(run.front()->getResult(0)) == layout))
        flush();
      run.push_back(&op);
      continue;
    }
    // Scalar index arithmetic does not interrupt a run.
    bool scalar = op.getNumRegions() == 0 && llvm::none_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>) &&
                  op.getNumResults() > 0 && !isa<LoadOp>(op);
    if (!scalar || !run.empty())
      flush();
    if (failed(lowerOp(&op)))
      return failure();
  }
  flush();
  return success();
}

LogicalResult FunctionLowering::lowerOp(Operation *op) {
  if (auto id = dyn_cast<ProgramIdOp>(op)) {
    // All of a tile's numbers are made where the first is asked for.
    Value number = id.getNumber() ? c_.scalars.lookup(id.getNumber()) : Value();
    auto [known, isNew] = programIds_.try_emplace({b_.getInsertionBlock(), number.getAsOpaquePointer()});
    if (isNew) {
      Location loc = cu::unnamed(op->getLoc());
      if (!number)
        number = cu::BlockIdOp::create(b_, NameLoc::get(b_.getStringAttr("block"), loc), b_.getIndexType());
      known->second = programIdsOf(number, loc);
    }
    c_.scalars[id] = known->second.lookup(id.getDim());
  } else if (isa<BlockIdOp>(op)) {
    c_.scalars[op->getResult(0)] = cu::BlockIdOp::create(b_, op->getLoc(), b_.getIndexType());
  } else if (isa<ClusterRankOp>(op)) {
    c_.scalars[op->getResult(0)] = cu::ClusterRankOp::create(b_, op->getLoc(), b_.getIndexType());
  } else if (isa<NumBlocksOp>(op)) {
    c_.scalars[op->getResult(0)] = cu::GridSizeOp::create(b_, op->getLoc(), b_.getIndexType());
  } else if (auto apply = dyn_cast<ApplyOp>(op)) {
    SmallVector<Value> dims;
    for (Value v : apply.getOperands_())
      dims.push_back(c_.scalars.lookup(v));
    c_.scalars[apply] = c_.expand(apply.getMap().getResult(0), dims, op->getLoc());
  } else if (auto load = dyn_cast<LoadOp>(op)) {
    lowerLoad(c_, load);
  } else if (auto store = dyn_cast<StoreOp>(op)) {
    lowerStore(c_, store);
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    lowerReduce(c_, reduce);
  } else if (auto convert = dyn_cast<ConvertLayoutOp>(op)) {
    lowerConvertLayout(c_, convert);
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    return lowerFor(loop);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    return lowerIf(branch);
  } else if (auto ring = dyn_cast<RingOp>(op)) {
    lowerRing(c_, ring);
  } else if (auto copy = dyn_cast<RingCopyOp>(op)) {
    lowerRingCopy(c_, copy);
  } else if (auto channel = dyn_cast<ChannelOp>(op)) {
    lowerChannel(c_, channel);
  } else if (auto acquire = dyn_cast<AcquireOp>(op)) {
    lowerAcquire(c_, acquire);
  } else if (auto await = dyn_cast<AwaitOp>(op)) {
    lowerAwait(c_, await);
  } else if (auto release = dyn_cast<ReleaseOp>(op)) {
    lowerRelease(c_, release);
  } else if (auto store = dyn_cast<BoxStoreOp>(op)) {
    lowerBoxStore(c_, store);
  } else if (auto drain = dyn_cast<BoxDrainOp>(op)) {
    lowerBoxDrain(c_, drain);
  } else if (auto slice = dyn_cast<SliceOp>(op)) {
    lowerSlice(slice);
  } else if (auto roles = dyn_cast<RolesOp>(op)) {
    return lowerRoles(roles);
  } else if (auto wait = dyn_cast<DotWaitOp>(op)) {
    RegTile acc = c_.tiles.lookup(wait.getAcc());
    if (func_.getUnit() == "wgmma")
      cu::WgmmaWaitOp::create(b_, op->getLoc(), acc.array, wait.getPending());
    c_.tiles[wait.getResult()] = acc;
  } else if (auto put = dyn_cast<RingStoreOp>(op)) {
    lowerRingStore(c_, put);
  } else if (isa<AsyncCommitOp>(op)) {
    if (c_.hasAsyncCopy)
      cu::CpAsyncCommitOp::create(b_, op->getLoc());
  } else if (auto wait = dyn_cast<AsyncWaitOp>(op)) {
    if (c_.hasAsyncCopy)
      cu::CpAsyncWaitOp::create(b_, op->getLoc(), wait.getPending());
  } else if (isa<BarrierOp>(op)) {
    cu::SyncOp::create(b_, op->getLoc());
  } else if (auto dot = dyn_cast<DotOp>(op)) {
    return lowerDotOp(dot);
  } else if (isa<scf::YieldOp>(op)) {
  } else if (op->getNumRegions() == 0 && llvm::none_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) &&
             llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>)) {
    IRMapping mapping;
    for (Value v : op->getOperands())
      if (Value s = c_.scalars.lookup(v))
        mapping.map(v, s);
    Operation *clone = b_.clone(*op, mapping);
    for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults()))
      c_.scalars[from] = to;
  } else {
    return op->emitOpError() << "cannot be lowered to threads";
  }
  return success();
}

/// The element of `tile` at the open digits.
Value FunctionLowering::fetch(Value tile, const OpenDigits &open, llvm::DenseMap<Value, Value> &inRun) {
  if (Value v = inRun.lookup(tile))
    return v;
  Location loc = tile.getLoc();
  Value v = c_.element(tile, open, loc);
  if (isRematerialized(tile.getDefiningOp()))
    inRun[tile] = v; // registers may be written between two reads
  return v;
}

void FunctionLowering::scalarOp(Operation *op, const OpenDigits &open, llvm::DenseMap<Value, Value> &inRun) {
  SmallVector<Value> operands;
  for (Value v : op->getOperands())
    operands.push_back(fetch(v, open, inRun));
  if (isa<BroadcastOp>(op)) {
    inRun[op->getResult(0)] = operands[0];
  } else if (auto convert = dyn_cast<tile::ConvertOp>(op)) {
    inRun[convert] = cu::ConvertOp::create(b_, op->getLoc(), convert.getResult().getType().getElementType(), operands[0], convert.getToUnsigned());
  } else if (auto combine = dyn_cast<CombineOp>(op)) {
    if (operands.size() == 2) {
      inRun[op->getResult(0)] = te::combine(combine.getKind(), operands[0], operands[1], b_, op->getLoc());
    } else {
      auto [key, position] = te::combineArg(combine.getKind(), operands[0], operands[1], operands[2], operands[3], b_, op->getLoc());
      inRun[op->getResult(0)] = key;
      inRun[op->getResult(1)] = position;
    }
  } else {
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(operands);
    state.addAttributes(op->getAttrs());
    for (Type t : op->getResultTypes())
      state.addTypes(cast<RankedTensorType>(t).getElementType());
    Operation *scalar = b_.create(state);
    for (auto [from, to] : llvm::zip(op->getResults(), scalar->getResults()))
      inRun[from] = to;
  }
}

/// Elementwise ops of one layout, one loop.
void FunctionLowering::lowerRun(ArrayRef<Operation *> run) {
  llvm::SmallPtrSet<Operation *, 16> members(run.begin(), run.end());
  Layout layout = getLayout(run.front()->getResult(0));
  std::vector<std::pair<Value, RegTile>> kept;
  for (Operation *op : run)
    for (Value result : op->getResults()) {
      if (llvm::all_of(result.getUsers(), [&](Operation *u) { return members.contains(u); }))
        continue;
      Value array = inPlace_.lookup(result);
      if (!array)
        array = c_.allocate(layout.numRegisters(), cast<RankedTensorType>(result.getType()).getElementType(), op->getLoc());
      kept.push_back({result, {layout, array}});
    }
  Location loc = cu::unnamed(run.back()->getLoc());
  OpenDigits open;
  c_.overDigits(layout.reg, loc, open, [&] {
    llvm::DenseMap<Value, Value> inRun;
    for (Operation *op : run)
      scalarOp(op, open, inRun);
    for (auto &[value, tile] : kept)
      memref::StoreOp::create(b_, loc, inRun.lookup(value), tile.array, c_.registerIndex(layout, open, loc));
  });
  for (auto &[value, tile] : kept)
    c_.tiles[value] = tile;
}

void FunctionLowering::copyTile(Value from, Value toArray, Location loc) {
  Layout layout = getLayout(from);
  OpenDigits open;
  c_.overDigits(layout.reg, loc, open, [&] {
    llvm::DenseMap<Value, Value> none;
    memref::StoreOp::create(b_, loc, fetch(from, open, none), toArray, c_.registerIndex(layout, open, loc));
  });
}

/// Registers of a part, copied: the compiler sees through it once loops are unrolled.
void FunctionLowering::lowerSlice(SliceOp slice) {
  Location loc = cu::unnamed(slice.getLoc());
  RegTile from = c_.tiles.lookup(slice.getInput());
  Layout layout = getLayout(slice.getResult());
  Value array = c_.allocate(layout.numRegisters(), slice.getResult().getType().getElementType(), slice.getLoc());
  OpenDigits open;
  c_.overDigits(layout.reg, loc, open, [&] {
    Value r;
    int64_t weight = 1;
    for (const Digit &d : from.layout.reg) {
      // A digit of the part is the low end of the whole's.
      for (const auto &[digit, v] : open.digits)
        if (digit.dim == d.dim && digit.stride == d.stride)
          r = c_.add(r, c_.mul(v, weight, loc), loc);
      if (d.dim == int64_t(slice.getDim()))
        if (int64_t start = slice.getStart() / d.stride % d.size * weight)
          r = c_.add(r, c_.index(start, loc), loc);
      weight *= d.size;
    }
    Value value = memref::LoadOp::create(b_, loc, from.array, r ? r : c_.index(0, loc));
    memref::StoreOp::create(b_, loc, value, array, c_.registerIndex(layout, open, loc));
  });
  c_.tiles[slice.getResult()] = {layout, array};
}

/// Branches carry no tiles: they guard copies.
LogicalResult FunctionLowering::lowerIf(scf::IfOp branch) {
  if (branch.getNumResults())
    return branch.emitOpError() << "with results cannot be lowered to threads";
  auto created = scf::IfOp::create(b_, branch.getLoc(), c_.scalars.lookup(branch.getCondition()), bool(branch.elseBlock()));
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(created.thenBlock()->getTerminator());
  if (failed(lowerBlock(*branch.thenBlock())))
    return failure();
  if (!branch.elseBlock())
    return success();
  b_.setInsertionPoint(created.elseBlock()->getTerminator());
  return lowerBlock(*branch.elseBlock());
}

LogicalResult FunctionLowering::lowerDotOp(DotOp dot) {
  if (!dot.getNumber())
    return dot.emitOpError() << "has operands in registers; run tile-pipeline first";
  RegTile acc = c_.tiles.lookup(dot.getAcc());
  // A wait hands the accumulator on in the registers it is in.
  Value kept = dot.getResult();
  if (kept.hasOneUse())
    if (auto wait = dyn_cast<DotWaitOp>(*kept.user_begin()))
      kept = wait.getResult();
  Value array = inPlace_.lookup(kept);
  if (array != acc.array) { // a new accumulator, starting as the old one
    array = array ? array : c_.allocate(acc.layout.numRegisters(), dot.getResult().getType().getElementType(), dot.getLoc());
    copyTile(dot.getAcc(), array, dot.getLoc());
  }
  if (failed(lowerDot(c_, dot, array)))
    return failure();
  c_.tiles[dot.getResult()] = {acc.layout, array};
  return success();
}

/// The consumer's threads come first, so that its code numbers threads, lanes and
/// warps as if it were alone.
LogicalResult FunctionLowering::lowerRoles(RolesOp roles) {
  Location loc = cu::unnamed(roles.getLoc());
  bool inCluster = func_.getCluster() > 1;
  if (inCluster)
    cu::ClusterSyncOp::create(b_, loc); // channels have been made, the others' too
  int64_t consumers = func_.getWarps() * 32, threads = consumers + func_.getProducerWarps() * 32;
  // A launch gives every thread its even share.
  const Target *target = findTarget(absl::string_view(func_.getTarget().data(), func_.getTarget().size()));
  int64_t even = target->registersPerSm / (threads * func_.getMinBlocks()) / 8 * 8;
  bool exchange = int64_t(roles.getConsumerRegisters()) > even;
  Value group = cu::WarpgroupOp::create(b_, NameLoc::get(b_.getStringAttr("warpgroup"), loc), b_.getIndexType());
  Value produces = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::sge, group, c_.index(consumers / 128, loc));
  auto branch = scf::IfOp::create(b_, loc, produces, true);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  if (exchange)
    cu::SetRegistersOp::create(b_, loc, roles.getProducerRegisters(), false);
  Value first = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::eq, c_.thread(loc), c_.index(consumers, loc));
  auto one = scf::IfOp::create(b_, loc, first, false);
  b_.setInsertionPoint(one.thenBlock()->getTerminator());
  if (failed(lowerBlock(roles.getProducer().front())))
    return failure();
  b_.setInsertionPoint(branch.elseBlock()->getTerminator());
  if (exchange)
    cu::SetRegistersOp::create(b_, loc, roles.getConsumerRegisters(), true);
  LogicalResult ok = lowerBlock(roles.getConsumer().front());
  b_.setInsertionPointAfter(branch);
  if (inCluster) // nobody leaves while another may still write to it
    cu::ClusterSyncOp::create(b_, loc);
  return ok;
}

LogicalResult FunctionLowering::lowerFor(scf::ForOp loop) {
  Location loc = loop.getLoc();
  // Carried tiles live in arrays that the body updates; scalars stay carried.
  Location plain = cu::unnamed(loc);
  SmallVector<Value> arrays(loop.getNumRegionIterArgs()), inits;
  for (auto [i, init] : llvm::enumerate(loop.getInitArgs())) {
    BlockArgument arg = loop.getRegionIterArg(i);
    if (!isTile(arg)) {
      inits.push_back(c_.scalars.lookup(init));
      continue;
    }
    Layout layout = getLayout(arg);
    Value array = c_.allocate(layout.numRegisters(), cast<RankedTensorType>(arg.getType()).getElementType(), loc);
    copyTile(init, array, plain);
    c_.tiles[arg] = {layout, array};
    c_.tiles[loop.getResult(i)] = {layout, array};
    arrays[i] = array;
  }
  auto created = scf::ForOp::create(b_, plain, c_.scalars.lookup(loop.getLowerBound()), c_.scalars.lookup(loop.getUpperBound()),
                                    c_.scalars.lookup(loop.getStep()), inits);
  created.getInductionVar().setLoc(loop.getInductionVar().getLoc());
  c_.scalars[loop.getInductionVar()] = created.getInductionVar();
  Operation *yield = loop.getBody()->getTerminator();
  unsigned scalars = 0;
  for (auto [i, arg] : llvm::enumerate(loop.getRegionIterArgs())) {
    if (!arrays[i]) {
      created.getRegionIterArg(scalars).setLoc(arg.getLoc());
      c_.scalars[arg] = created.getRegionIterArg(scalars);
      c_.scalars[loop.getResult(i)] = created.getResult(scalars++);
      continue;
    }
    // The new value may be left in the old one's registers when nobody needs the old one later.
    Value next = yield->getOperand(i);
    Operation *def = next.getDefiningOp();
    if (def && def->getBlock() == loop.getBody() && llvm::all_of(arg.getUsers(), [&](Operation *u) {
          return u->getBlock() == def->getBlock() && (u == def || u->isBeforeInBlock(def));
        }))
      inPlace_[next] = arrays[i];
  }
  OpBuilder::InsertionGuard guard(b_);
  if (scalars)
    b_.setInsertionPointToEnd(created.getBody());
  else
    b_.setInsertionPoint(created.getBody()->getTerminator());
  if (failed(lowerBlock(*loop.getBody())))
    return failure();
  // Whatever was not left in place is copied; through temporaries, since one
  // carried tile may become another.
  SmallVector<std::pair<Value, Value>> moves;
  SmallVector<Value> yielded;
  for (auto [next, array] : llvm::zip(yield->getOperands(), arrays)) {
    if (!array) {
      yielded.push_back(c_.scalars.lookup(next));
      continue;
    }
    if (!isRematerialized(next.getDefiningOp()) && c_.tiles.lookup(next).array == array)
      continue;
    if (isa<BlockArgument>(next)) {
      Layout layout = getLayout(next);
      Value temporary = c_.allocate(layout.numRegisters(), cast<RankedTensorType>(next.getType()).getElementType(), loc);
      copyTile(next, temporary, loc);
      moves.push_back({temporary, array});
      continue;
    }
    copyTile(next, array, loc);
  }
  for (auto [from, to] : moves) {
    int64_t n = cast<MemRefType>(from.getType()).getNumElements();
    Digit all{-1, 1, n};
    OpenDigits open;
    c_.overDigits(all, loc, open, [&] {
      Value r = open.valueOf(all);
      memref::StoreOp::create(b_, loc, memref::LoadOp::create(b_, loc, from, r), to, r);
    });
  }
  if (scalars)
    scf::YieldOp::create(b_, plain, yielded);
  return success();
}

/// Everything below reads layouts off types.
LogicalResult checkLayouts(FuncOp func) {
  Operation *bare = nullptr;
  func.walk([&](Operation *op) {
    for (Type t : op->getResultTypes())
      if (auto tile = dyn_cast<RankedTensorType>(t); tile && !isa_and_nonnull<LayoutAttr>(tile.getEncoding()))
        bare = bare ? bare : op;
  });
  return bare ? bare->emitOpError() << "makes a tile without a layout; run tile-layouts first" : success();
}

struct TileToCuPass : impl::TileToCuBase<TileToCuPass> {
  void runOnOperation() override {
    for (FuncOp func : llvm::to_vector(getOperation().getOps<FuncOp>())) {
      OpBuilder b(func);
      if (failed(checkLayouts(func)) || failed(FunctionLowering(b, func).run()))
        return signalPassFailure();
      func.erase();
    }
  }
};

} // namespace
} // namespace kernelc
