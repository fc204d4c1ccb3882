// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tile.func of a launch: its arguments, where a block's tile starts, the loop of a
// block over its tiles. And where the tensors of a kernel live.
#include "mlir/IR/TypeUtilities.h"
#include "passes/lowerings/LaunchEmitter.h"

#include "ir/cu/Cu.h"
#include "ir/te/Hints.h"
#include "ir/te/ScheduleLoc.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Memories.h"
#include "passes/analysis/WrittenBox.h"
#include "passes/index/Affine.h"
#include "passes/index/Strides.h"
#include "passes/plan/Beside.h"
#include "passes/plan/RowForm.h"
#include "passes/tile/Access.h"
#include "passes/tile/RowVector.h"

using namespace mlir;

namespace kernelc {

using namespace te;

static std::string str(Attribute a) { return cast<StringAttr>(a).getValue().str(); }

/// Elements of fewer than eight bits have no address of their own, which loads, stores and
/// fragments rely on.
static LogicalResult checkElements(KernelOp kernel) {
  auto isNarrow = [](Type t) {
    Type e = getElementTypeOrSelf(t);
    return e.isInteger() && !e.isInteger(1) && e.getIntOrFloatBitWidth() < 8;
  };
  for (auto [i, a] : llvm::enumerate(kernel.getBlock().getArguments()))
    if (isNarrow(a.getType()))
      return kernel.emitError() << "'" << cast<StringAttr>(kernel.getArgNames()[i]).getValue() << "' has elements of "
                                << getElementTypeOrSelf(a.getType())
                                << ", which the GPU pipeline does not support yet; the reference runs it";
  WalkResult found = kernel.walk([&](Operation *op) {
    for (Type t : op->getResultTypes())
      if (isNarrow(t)) {
        op->emitError() << "values of " << getElementTypeOrSelf(t) << " are not supported by the GPU pipeline yet; the reference runs them";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(found.wasInterrupted());
}

LogicalResult Buffers::assign(KernelOp kernel) {
  if (failed(checkElements(kernel)))
    return failure();
  Places places = placeTensors(kernel);
  if (places.torn)
    return kernel.emitError() << "output '" << cast<StringAttr>(kernel.getOutNames()[*places.torn]).getValue()
                              << "' is another tensor as it stands; copy it: write an expression";
  source_ = std::move(places.source);
  return success();
}

bool LaunchEmitter::isMember(Value v) { return isMadeIn(l_, ops_, v); }

/// A tensor or a scalar that the launch touches.
struct LaunchEmitter::Argument {
  Value value;
  int64_t source;
  std::string name, type;
  AffineMap shape;
  BaseLayout layout = {};
};

static AffineMap denseStrides(AffineMap shape) {
  SmallVector<AffineExpr> strides(shape.getNumResults(), getAffineConstantExpr(1, shape.getContext()));
  for (unsigned d = strides.size(); d-- > 1;)
    strides[d - 1] = simplifyAffineExpr(strides[d] * shape.getResult(d), 0, shape.getNumSymbols());
  return AffineMap::get(0, shape.getNumSymbols(), strides, shape.getContext());
}

/// The written box of a workspace that a read of the launch may leave: there its ends, not those of memory, are what is tested. Null
/// where none does.
AffineMap LaunchEmitter::boxToTest(Value v) {
  AffineMap box = isMember(v) ? AffineMap() : findWrittenBox(v);
  bool isTested = box && llvm::any_of(v.getUsers(), [&](Operation *user) {
                    auto read = dyn_cast<ReadOp>(user);
                    return read && llvm::any_of(l_.ops, [&](int64_t n) { return ops_[n]->isAncestor(read); }) && mayLeave(read, box);
                  });
  return isTested ? box : AffineMap();
}

LaunchEmitter::Argument LaunchEmitter::describeArgument(Value v) {
  int64_t source = buffers_.sourceOf(v), inputs = kernel_.getBlock().getNumArguments();
  if (source < 0) {
    std::string name = nameOf(v.getDefiningOp());
    if (v.getDefiningOp()->getNumResults() > 1) // a cascade's: one per component
      name += "_" + std::to_string(cast<OpResult>(v).getResultNumber());
    AffineMap shape = getTensorShape(v);
    if (AffineMap box = boxToTest(v))
      return {v, source, name, "", box, {denseStrides(shape), BaseLayout().alignment}};
    return {v, source, name, "", shape};
  }
  BaseLayout layout{getParamStrides(kernel_, source), getParamAlignment(kernel_, source)};
  if (source < inputs)
    return {v, source, str(kernel_.getArgNames()[source]), str(kernel_.getArgTypes()[source]), kernel_.getArgShape(source), layout};
  int64_t n = inputs;
  for (unsigned o = 0; o < kernel_.getOutNames().size(); ++o)
    if (kernel_.getAlias(o) < 0 && n++ == source)
      return {v, source, str(kernel_.getOutNames()[o]), str(kernel_.getOutTypes()[o]), kernel_.getOutShape(o), layout};
  return {v, source, "", "", AffineMap::get(0, kernel_.getNumSizes(), {}, b_.getContext()), layout};
}

std::vector<LaunchEmitter::Argument> LaunchEmitter::findArguments() {
  std::vector<Argument> args;
  auto add = [&](Value v) {
    if (llvm::none_of(args, [&](const Argument &a) { return a.source == buffers_.sourceOf(v); }))
      args.push_back(describeArgument(v));
  };
  for (int64_t ordinal : l_.ops) {
    Operation *op = ops_[ordinal];
    op->walk([&](Operation *inner) {
      for (Value v : inner->getOperands())
        if ((isa<RankedTensorType>(v.getType()) && !isMember(v) && !findRecurrence(v)) ||
            (isa<BlockArgument>(v) && cast<BlockArgument>(v).getOwner() == &kernel_.getBlock()))
          add(v);
    });
    for (Value result : op->getResults())
      if (isStored(result))
        add(result);
  }
  int64_t ownMemories = 0;
  for (int64_t ordinal : l_.ops)
    for (Value result : ops_[ordinal]->getResults())
      if (te::isInBlock(result.getDefiningOp()) && !isStored(result)) { // for statements of the block alone (te-block-windows)
        unsigned blocks = te::getBlockOf(result.getDefiningOp())[1], rank = cast<RankedTensorType>(result.getType()).getRank();
        SmallVector<unsigned> dims = llvm::to_vector(llvm::seq(blocks, rank)); // all that are no numbers of blocks
        AffineMap shape = getTensorShape(result).getSubMap(dims);
        args.push_back({result, tile::kOwnMemory - ownMemories++, nameOf(result.getDefiningOp()), "", shape});
        c_.own[result] = std::move(dims);
      }
  llvm::stable_sort(args, [](const Argument &a, const Argument &b) {
    return std::pair(a.source < 0, a.source < 0 ? -a.source : a.source) < std::pair(b.source < 0, b.source < 0 ? -b.source : b.source);
  });
  return args;
}

void LaunchEmitter::makeFunction(unsigned number) {
  Location loc = ops_[l_.ops.back()]->getLoc();
  std::vector<Argument> args = findArguments();
  SmallVector<LookBackTensor> lookBack = lookBackTensors();
  emitZeroes(lookBack);
  createFunction(args, lookBack, te::getLaunchLoc(cu::unnamed(loc), kernel_, l_.name));
  describeLaunch(number, !lookBack.empty());
  Block &block = func_.getBody().emplaceBlock();
  llvm::DenseMap<Value, Value> own;
  for (const Argument &a : args) {
    Type type = a.value.getType();
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      type = MemRefType::get(SmallVector<int64_t>(a.shape.getNumResults(), ShapedType::kDynamic), tensor.getElementType());
    Value arg = block.addArgument(type, NameLoc::get(b_.getStringAttr(a.name), a.value.getLoc()));
    if (c_.own.contains(a.value))
      own[a.value] = arg;
    else
      byName_[a.source] = arg;
  }
  addLookBack(lookBack);
  auto bind = [&](Value v) {
    if (Value arg = byName_.lookup(buffers_.sourceOf(v)))
      c_.buffers[v] = arg;
  };
  for (Operation &op : kernel_.getBlock())
    llvm::for_each(llvm::make_filter_range(op.getResults(), [](Value v) { return isa<RankedTensorType>(v.getType()); }), bind);
  llvm::for_each(kernel_.getBlock().getArguments(), bind);
  for (auto [v, arg] : own)
    c_.buffers[v] = arg;
  b_.setInsertionPointToStart(&block);
  placeTiles(!lookBack.empty(), loc);
}

void LaunchEmitter::createFunction(ArrayRef<Argument> args, ArrayRef<LookBackTensor> lookBack, Location loc) {
  SmallVector<StringRef> names, types, indices(l_.indices.begin(), l_.indices.end());
  SmallVector<AffineMap> shapes;
  SmallVector<int64_t> sources;
  SmallVector<BaseLayout> layouts;
  auto add = [&](StringRef name, StringRef type, AffineMap shape, int64_t source, const BaseLayout &layout) {
    names.push_back(name);
    types.push_back(type);
    shapes.push_back(shape);
    sources.push_back(source);
    layouts.push_back(layout);
  };
  for (const Argument &a : args)
    add(a.name, a.type, a.shape, a.source, a.layout);
  for (const LookBackTensor &t : lookBack)
    add(t.name, "", t.shape, t.source, {});
  std::string symbol = ("kc_" + kernel_.getSymName() + (plan_.launches.size() > 1 ? "_" + l_.name : std::string())).str();
  func_ = tile::FuncOp::create(b_, loc, symbol, kernel_.getSizes(), plan_.sizeDiv, plan_.sizeMax, b_.getStrArrayAttr(names),
                               b_.getStrArrayAttr(types), b_.getAffineMapArrayAttr(shapes), sources, b_.getStrArrayAttr(indices),
                               l_.extents, l_.tiles, l_.grid, l_.warps);
  setBaseLayouts(func_, layouts);
}

void LaunchEmitter::describeLaunch(unsigned number, bool looksBack) {
  auto sourceOf = [&](Value v) { return buffers_.sourceOf(v); };
  bool waitsLast = l_.dependent && !looksBack &&
                   llvm::all_of(ArrayRef<LaunchPlan>(plan_.launches).take_front(number),
                                [&](const LaunchPlan &before) { return areApart(l_, before, ops_, sourceOf); });
  size_t next = findLaunch(plan_, number).second;
  func_.setUnit(l_.unit);
  func_.setTarget(plan_.target);
  func_.setFollowed(next < plan_.launches.size() && plan_.launches[next].dependent);
  func_.setWaitsLast(waitsLast);
  func_.setClusterIndex(l_.clusterIndex);
  for (const ScheduleNumber &n : kScheduleNumbers)
    if (!isLeftOut(n, l_))
      func_->setAttr(n.key, b_.getI64IntegerAttr(l_.*n.field));
  for (const ScheduleFlag &f : kScheduleFlags)
    if (!isLeftOut(f, l_) && !f.inPlan)
      func_->setAttr(f.key, b_.getBoolAttr(l_.*f.field));
  const Target *target = findTarget(plan_.target);
  const AlignedRowCosts &costs = (target ? *target->costs : kMeasuredCosts).alignedRows;
  if (std::optional<RowForm> rows = findAlignedRows(l_, ops_, {plan_.sizeDiv, plan_.sizeMax}, costs))
    func_.setAlignedRows(tile::AlignedRows{rows->form, unsigned(rows->index), rows->align});
  func_.setKernel(kernel_.getSymName());
  func_.setNumber(number);
}

void LaunchEmitter::placeTiles(bool looksBack, Location loc) {
  c_.tiles = l_.tiles;
  c_.extents = l_.extents;
  c_.facts = {plan_.sizeDiv, plan_.sizeMax};
  // Roles walk tiles even where every block has only one: around a loop that carries products in
  // flight, code of one round makes ptxas serialise them (C7514), whatever is in the loop.
  Value half; // of a pair of tiles
  Value tileNumber = l_.persistent || l_.producerWarps ? openTileLoop(loc, half) : Value();
  if (looksBack) // (of a loop over tiles each round takes one)
    tileNumber = tileNumber_ = takeTicket(loc);
  c_.offsets.assign(l_.tiles.size(), constant(0, loc));
  findRagged();
  if (sharesOut())
    rank_ = clusterRank(loc);
  if (isHeld(l_.clusterIndex))
    c_.offsets[l_.clusterIndex] = startOfTile(l_.clusterIndex, rank_, loc);
  for (int64_t g : l_.grid) {
    c_.onGrid.set(unsigned(g));
    c_.offsets[g] = startOfTile(g, numberOfTile(g, tileNumber, half, loc), loc);
  }
  if (std::optional<tile::AlignedRows> rows = func_.findAlignedRows()) // (loops over the index begin there themselves)
    if (Value &at = c_.offsets[rows->index]; Value before = pointsBefore(b_, func_, rows->index, c_.offsets, loc))
      at = arith::SubIOp::create(b_, NameLoc::get(b_.getStringAttr(l_.indices[rows->index] + "0"), loc), at, before);
}

void LaunchEmitter::findRagged() {
  SizeFacts facts{plan_.sizeDiv, plan_.sizeMax};
  size_t indices = l_.tiles.size();
  c_.ragged.resize(indices);
  c_.mayBeBeyond.resize(indices);
  c_.onGrid.resize(indices);
  for (int64_t i = 0; i < int64_t(indices); ++i) {
    int64_t divisor = knownDivisor(l_.extents.getResult(i), facts);
    // The one tile of an index without a loop may have no point at all.
    bool isOnGrid = llvm::is_contained(l_.grid, i), mayBeEmpty = !isOnGrid && !knownPositive(l_.extents.getResult(i), facts);
    // The last cluster's blocks all run, and the last pair is taken, whether there are tiles for them or not.
    bool isWalked = isHeld(i) || (i == l_.clusterIndex && isOnGrid);
    int64_t together = isWalked ? (l_.paired ? 2 : l_.cluster) : 1, whole = l_.tiles[i] * together;
    c_.mayBeBeyond[i] = together > 1;
    c_.ragged[i] = func_.isAlignedAlong(unsigned(i)) || divisor == 0 || divisor % whole != 0 ||
                   (mayBeEmpty && (loopsOf(i).empty() || hasFirstRound(i)));
  }
}

Value LaunchEmitter::clusterRank(Location loc) {
  return tile::ClusterRankOp::create(b_, NameLoc::get(b_.getStringAttr("rank"), loc), b_.getIndexType());
}

Value LaunchEmitter::startOfTile(int64_t index, Value number, Location loc) {
  Location named = NameLoc::get(b_.getStringAttr(l_.indices[index] + "0"), loc);
  return arith::MulIOp::create(b_, named, number, constant(l_.tiles[index], loc));
}

Value LaunchEmitter::numberOfTile(int64_t g, Value tileNumber, Value half, Location loc) {
  Value pid = tile::ProgramIdOp::create(b_, loc, b_.getIndexType(), g, tileNumber);
  if (l_.cluster > 1 && g == l_.clusterIndex) {
    Value rank = clusterRank(loc);
    return arith::AddIOp::create(b_, loc, arith::MulIOp::create(b_, loc, pid, constant(l_.cluster, loc)), rank);
  }
  if ((!l_.descending && !half) || l_.cluster > 1 || g != l_.clusterIndex)
    return pid;
  AffineMap last = AffineMap::get(0, l_.extents.getNumSymbols(), func_.getNumPrograms(g) * (half ? 2 : 1) - 1);
  auto named = [&](StringRef suffix) { return NameLoc::get(b_.getStringAttr(l_.indices[g] + suffix), loc); };
  Value lastTile = tile::ApplyOp::create(b_, named("_last"), b_.getIndexType(), last, ValueRange{});
  Value mirrored = arith::SubIOp::create(b_, named("_tile"), lastTile, pid);
  if (!half)
    return mirrored;
  // The longer one first.
  Value isSecond = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::ne, half, constant(0, loc));
  return arith::SelectOp::create(b_, named("_tile"), isSecond, pid, mirrored);
}

Value LaunchEmitter::openTileLoop(Location named, Value &half) {
  Location loc = cu::unnamed(named);
  auto as = [&](StringRef name) { return NameLoc::get(b_.getStringAttr(name), loc); };
  // One factor after the other, so that each has its name.
  Value end;
  for (int64_t g : l_.grid) {
    Value count = tile::ApplyOp::create(b_, as(l_.indices[g] + "_tiles"), b_.getIndexType(),
                                        AffineMap::get(0, l_.extents.getNumSymbols(), func_.getNumPrograms(g)), ValueRange{});
    end = end ? Value(arith::MulIOp::create(b_, as("tiles"), end, count)) : count;
  }
  end = end ? end : constant(1, loc);
  Value first = tile::BlockIdOp::create(b_, as("block"), b_.getIndexType());
  Value step = tile::NumBlocksOp::create(b_, as("blocks"), b_.getIndexType());
  if (l_.cluster > 1) {
    first = arith::DivSIOp::create(b_, as("cluster"), first, constant(l_.cluster, loc));
    step = arith::DivSIOp::create(b_, as("clusters"), step, constant(l_.cluster, loc));
  }
  if (l_.paired) { // turns 0, 1 are the block's first pair, 2, 3 the next one
    Value two = constant(2, loc), past = arith::AddIOp::create(b_, loc, end, arith::SubIOp::create(b_, loc, step, constant(1, loc)));
    Value pairs = arith::DivSIOp::create(b_, as("pairs"), arith::SubIOp::create(b_, loc, past, first), step);
    Value turns = arith::MulIOp::create(b_, as("turns"), pairs, two);
    auto loop = scf::ForOp::create(b_, loc, constant(0, loc), turns, constant(1, loc));
    loop.getInductionVar().setLoc(as("turn"));
    b_.setInsertionPoint(loop.getBody()->getTerminator());
    half = arith::RemSIOp::create(b_, as("second"), loop.getInductionVar(), two);
    Value before = arith::MulIOp::create(b_, loc, arith::DivSIOp::create(b_, loc, loop.getInductionVar(), two), step);
    return arith::AddIOp::create(b_, as("pair"), first, before);
  }
  auto loop = scf::ForOp::create(b_, loc, first, end, step);
  loop.getInductionVar().setLoc(as("tile"));
  b_.setInsertionPoint(loop.getBody()->getTerminator());
  if (!l_.rotate)
    return loop.getInductionVar();
  // base + (first + round) mod width, of the `width` tiles of this round
  loop.getInductionVar().setLoc(as("turn"));
  Value base = arith::SubIOp::create(b_, as("base"), loop.getInductionVar(), first);
  Value width = arith::MinSIOp::create(b_, loc, step, arith::SubIOp::create(b_, loc, end, base));
  Value moved = arith::AddIOp::create(b_, loc, first, arith::DivSIOp::create(b_, loc, base, step));
  return arith::AddIOp::create(b_, as("tile"), base, arith::RemSIOp::create(b_, loc, moved, width));
}

} // namespace kernelc
