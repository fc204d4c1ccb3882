// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tile.func of a launch: its arguments, where a block's tile starts, the loop of a
// block over its tiles. And where the tensors of a kernel live.
#include "ir/tile/Marks.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/lowerings/LaunchEmitter.h"

#include "ir/cu/Cu.h"
#include "ir/te/ScheduleLoc.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Memories.h"
#include "passes/index/Affine.h"
#include "passes/index/Strides.h"
#include "passes/plan/Beside.h"
#include "passes/tile/Access.h"

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

bool LaunchEmitter::isMember(Value v) {
  Operation *op = v.getDefiningOp();
  return op && llvm::is_contained(l_.ops, int64_t(llvm::find(ops_, op) - ops_.begin()));
}

LogicalResult LaunchEmitter::makeFunction(unsigned number) {
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
      a.name = nameOf(v.getDefiningOp());
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
      if (te::isOwnMemory(l_, ops_, result)) {
        SmallVector<unsigned> dims = ownMemoryDims(result);
        AffineMap shape = getTensorShape(result).getSubMap(dims);
        args.push_back({result, tile::kOwnMemory - ownMemories++, nameOf(result.getDefiningOp()), "", shape});
        c_.own[result] = std::move(dims);
      }
  llvm::stable_sort(args, [](const Arg &a, const Arg &b) {
    return std::pair(a.source < 0, a.source < 0 ? -a.source : a.source) < std::pair(b.source < 0, b.source < 0 ? -b.source : b.source);
  });

  SmallVector<LookBackTensor> lookBack = lookBackTensors();
  emitZeroes(lookBack);
  SmallVector<StringRef> names, types, indices(l_.indices.begin(), l_.indices.end());
  SmallVector<AffineMap> shapes;
  SmallVector<int64_t> sources;
  for (const Arg &a : args) {
    names.push_back(a.name);
    types.push_back(a.type);
    shapes.push_back(a.shape);
    sources.push_back(a.source);
  }
  for (const LookBackTensor &t : lookBack) {
    names.push_back(t.name);
    types.push_back("");
    shapes.push_back(t.shape);
    sources.push_back(t.source);
  }
  auto sourceOf = [&](Value v) { return buffers_.sourceOf(v); };
  bool waitsLast = l_.dependent && lookBack.empty() &&
                   llvm::all_of(ArrayRef<LaunchPlan>(plan_.launches).take_front(number),
                                [&](const LaunchPlan &before) { return areApart(l_, before, ops_, sourceOf); });
  size_t next = findLaunch(plan_, number).second;
  bool followed = next < plan_.launches.size() && plan_.launches[next].dependent;
  std::string symbol = ("kc_" + kernel_.getSymName() + (plan_.launches.size() > 1 ? "_" + l_.name : std::string())).str();
  func_ =
      tile::FuncOp::create(b_, te::getLaunchLoc(cu::unnamed(loc), kernel_, kernel_.getSymName(), l_.name), symbol, kernel_.getSizes(),
                           plan_.sizeDiv, plan_.sizeMax, b_.getStrArrayAttr(names), b_.getStrArrayAttr(types),
                           b_.getAffineMapArrayAttr(shapes), sources, b_.getStrArrayAttr(indices), l_.extents, l_.tiles, l_.grid, l_.warps);
  func_.setUnit(l_.unit);
  func_.setTarget(plan_.target);
  func_.setFollowed(followed);
  func_.setWaitsLast(waitsLast);
  func_.setClusterIndex(l_.clusterIndex);
  for (const ScheduleNumber &n : kScheduleNumbers)
    if (!isLeftOut(n, l_))
      func_->setAttr(n.key, b_.getI64IntegerAttr(l_.*n.field));
  bool LaunchPlan::*obeyedHere[] = {&LaunchPlan::descending, &LaunchPlan::lagging,
                                    &LaunchPlan::backward, // in the order of tiles and rounds
                                    &LaunchPlan::turned};  // in dots
  for (const ScheduleFlag &f : kScheduleFlags)
    if (!isLeftOut(f, l_) && !llvm::is_contained(obeyedHere, f.field))
      func_->setAttr(f.key, b_.getBoolAttr(l_.*f.field));
  tile::kKernel.putOn(func_, kernel_.getSymName());
  tile::kNumber.putOn(func_, number);
  setBaseLayouts(func_, llvm::map_to_vector(sources, [&](int64_t s) {
                   return tile::isOwnMemory(s) ? BaseLayout() : BaseLayout{getParamStrides(kernel_, s), getParamAlignment(kernel_, s)};
                 }));
  Block &block = func_.getBody().emplaceBlock();
  llvm::DenseMap<Value, Value> own;
  for (const Arg &a : args) {
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
  for (Operation &op : kernel_.getBlock())
    for (Value v : op.getResults())
      if (isa<RankedTensorType>(v.getType()))
        if (Value arg = byName_.lookup(buffers_.sourceOf(v)))
          c_.buffers[v] = arg;
  for (BlockArgument v : kernel_.getBlock().getArguments())
    if (Value arg = byName_.lookup(buffers_.sourceOf(v)))
      c_.buffers[v] = arg;
  for (auto [v, arg] : own)
    c_.buffers[v] = arg;

  b_.setInsertionPointToStart(&block);
  c_.tiles = l_.tiles;
  c_.extents = l_.extents;
  SizeFacts facts{plan_.sizeDiv, plan_.sizeMax};
  c_.ragged.resize(l_.tiles.size());
  c_.mayBeBeyond.resize(l_.tiles.size());
  c_.onGrid.resize(l_.tiles.size());
  // Roles walk tiles even where every block has only one: around a loop that carries products in
  // flight, code of one round makes ptxas serialise them (C7514), whatever is in the loop.
  Value half; // of a pair of tiles
  Value tileNumber = l_.persistent || l_.producerWarps ? openTileLoop(loc, half) : Value();
  if (!lookBack.empty()) // (of a loop over tiles each round takes one)
    tileNumber = tileNumber_ = takeTicket(loc);
  Value zero = constant(0, loc);
  for (size_t i = 0; i < l_.tiles.size(); ++i) {
    int64_t divisor = knownDivisor(l_.extents.getResult(i), facts);
    // The one tile of an index without a loop may have no point at all.
    bool mayBeEmpty = !llvm::is_contained(l_.grid, int64_t(i)) && !knownPositive(l_.extents.getResult(i), facts);
    // The last cluster's blocks all run, whether there are tiles for them or not.
    bool isWalked = isHeld(i) || (int64_t(i) == l_.clusterIndex && llvm::is_contained(l_.grid, int64_t(i)));
    int64_t whole = l_.tiles[i] * (isWalked ? l_.cluster : 1);
    c_.mayBeBeyond[i] = isWalked && l_.cluster > 1;
    c_.ragged[i] = divisor == 0 || divisor % whole != 0 || (mayBeEmpty && (loopsOf(int64_t(i)).empty() || hasFirstRound(int64_t(i))));
    c_.offsets.push_back(zero);
  }
  if (sharesOut())
    rank_ = tile::ClusterRankOp::create(b_, NameLoc::get(b_.getStringAttr("rank"), loc), b_.getIndexType());
  if (isHeld(l_.clusterIndex)) {
    Location named = NameLoc::get(b_.getStringAttr(l_.indices[l_.clusterIndex] + "0"), loc);
    c_.offsets[l_.clusterIndex] = arith::MulIOp::create(b_, named, rank_, constant(l_.tiles[l_.clusterIndex], loc));
  }
  for (int64_t g : l_.grid) {
    c_.onGrid.set(unsigned(g));
    Location named = NameLoc::get(b_.getStringAttr(l_.indices[g] + "0"), loc);
    Value pid = tile::ProgramIdOp::create(b_, loc, b_.getIndexType(), g, tileNumber);
    if (l_.cluster > 1 && g == l_.clusterIndex) {
      Value rank = tile::ClusterRankOp::create(b_, NameLoc::get(b_.getStringAttr("rank"), loc), b_.getIndexType());
      pid = arith::AddIOp::create(b_, loc, arith::MulIOp::create(b_, loc, pid, constant(l_.cluster, loc)), rank);
    }
    if ((l_.descending || half) && l_.cluster == 1 && g == l_.clusterIndex) {
      AffineMap last = AffineMap::get(0, l_.extents.getNumSymbols(), func_.getNumPrograms(g) * (half ? 2 : 1) - 1);
      Value of = tile::ApplyOp::create(b_, loc, b_.getIndexType(), last, ValueRange{});
      Location at = NameLoc::get(b_.getStringAttr(l_.indices[g] + "_tile"), loc);
      Value mirrored = arith::SubIOp::create(b_, at, of, pid);
      if (half) { // the longer one first
        Value isSecond = arith::CmpIOp::create(b_, loc, arith::CmpIPredicate::ne, half, zero);
        pid = arith::SelectOp::create(b_, at, isSecond, pid, mirrored);
      } else {
        pid = mirrored;
      }
    }
    c_.offsets[g] = arith::MulIOp::create(b_, named, pid, constant(l_.tiles[g], loc));
  }
  return success();
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
