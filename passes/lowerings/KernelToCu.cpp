// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cu.kernel itself: its parameters, grid and schedule line, and where a block's tile lies
// in the grid.
#include "ir/cu/Marks.h"
#include "passes/index/Affine.h"
#include "passes/lowerings/FunctionLowering.h"
#include "passes/tile/Access.h"
#include "support/Target.h"
#include "support/TargetCosts.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

/// The sizes that any map of the function mentions: they travel as arguments.
static llvm::BitVector findUsedSizes(FuncOp func) {
  llvm::BitVector used(func.getSizes().size());
  auto note = [&](AffineMap map) {
    for (AffineExpr e : map.getResults())
      e.walk([&](AffineExpr sub) {
        if (auto s = dyn_cast<AffineSymbolExpr>(sub))
          used.set(s.getPosition());
      });
  };
  note(func.getExtents());
  for (Attribute a : func.getArgShapes())
    note(cast<AffineMapAttr>(a).getValue());
  for (BlockArgument base : func.getBlock().getArguments())
    if (AffineMap strides = layoutOfBase(func, base).strides)
      note(strides);
  func.walk([&](Operation *op) {
    for (NamedAttribute a : op->getAttrs())
      if (auto map = dyn_cast<AffineMapAttr>(a.getValue()))
        note(map.getValue());
  });
  return used;
}

/// The line about the schedule in the CUDA text: what is not as usual.
static std::string describeSchedule(FuncOp func) {
  std::string schedule;
  llvm::raw_string_ostream os(schedule);
  auto flag = [&](bool is, StringRef text) {
    if (is)
      os << text;
  };
  auto number = [&](int64_t value, int64_t usual, StringRef text) {
    if (value > usual)
      os << text << value;
  };
  auto nameOf = [&](int64_t index) { return cast<StringAttr>(func.getIndices()[index]).getValue(); };
  os << "schedule:";
  for (auto [i, t] : llvm::enumerate(func.getTiles()))
    os << " tile " << nameOf(i) << " " << t << ";";
  os << " warps " << func.getWarps();
  if (func.getPingpong() > 1)
    os << " x " << func.getPingpong() << " in turns";
  if (func.getProducerWarps())
    os << " + " << func.getProducerWarps() << " that fill";
  os << "; unit " << instructionOf(func.getUnit()).name;
  flag(func.getPersistent(), func.getPaired() ? "; persistent, tiles in pairs" : "; persistent");
  flag(func.getDependent(), "; dependent");
  flag(func.getPeel(), "; peel");
  number(func.getClamp(), 0, "; clamp ");
  if (func.getCluster() > 1)
    os << "; cluster " << nameOf(func.getClusterIndex()) << " " << func.getCluster();
  number(func.getPromote(), 0, "; promote ");
  number(func.getInFlight(), 1, "; in flight ");
  flag(func.getHeld(), "; rows of first factors in registers");
  number(func.getTallies(), 0, "; tallies ");
  number(func.getProducerRegisters(), 0, "; registers of those that fill ");
  number(func.getAhead(), 1, "; ahead ");
  number(func.getStages(), 1, "; stages ");
  return schedule;
}

void FunctionLowering::makeKernel() {
  Location loc = cu::unnamed(func_.getLoc());
  AffineExpr grid = getAffineConstantExpr(1, b_.getContext());
  for (int64_t g : func_.getGridDims())
    grid = grid * func_.getNumPrograms(g);
  kernel_ = cu::KernelOp::create(b_, loc, func_.getSymName(), func_.getSizes(), b_.getArrayAttr({}),
                                 AffineMap::get(0, func_.getSizes().size(), grid),
                                 (func_.getConsumerWarps() + func_.getProducerWarps()) * 32, 0, 1, 1, describeSchedule(func_));
  c_.kernel = kernel_;
  kernel_.setMinBlocks(func_.getMinBlocks());
  kernel_.setPersistent(func_.getPersistent());
  kernel_.setCluster(func_.getCluster());
  kernel_.setTarget(func_.getTarget());
  kernel_.setKernelAttr(func_.getKernelAttr());
  kernel_.setBesideAttr(func_.getBesideAttr());
  kernel_.getBody().emplaceBlock();
  addArguments();
  b_.setInsertionPointToStart(&kernel_.getBlock());
  if (func_.getDependent() && !func_.getWaitsLast())
    cu::LaunchWaitOp::create(b_, loc);
  if (func_.getFollowed())
    cu::LaunchReleaseOp::create(b_, loc);
}

/// Tensors and scalars as the function has them, then the sizes.
void FunctionLowering::addArguments() {
  Block &block = kernel_.getBlock();
  SmallVector<Attribute> sources;
  auto number = [&](StringRef name, int64_t n) { return b_.getNamedAttr(name, b_.getI64IntegerAttr(n)); };
  for (auto [i, arg] : llvm::enumerate(func_.getBlock().getArguments())) {
    Type type = arg.getType();
    if (isOwnMemory(func_.getSources()[i])) // (openOwnMemory)
      continue;
    if (auto memref = dyn_cast<MemRefType>(type)) {
      type = cu::memrefIn({ShapedType::kDynamic}, memref.getElementType(), cu::Global);
      c_.bases[arg] = block.addArgument(type, arg.getLoc());
    } else {
      c_.scalars[arg] = block.addArgument(type, arg.getLoc());
    }
    SmallVector<NamedAttribute> fields{number("source", func_.getSources()[i])};
    if (AffineMap shape = func_.getArgShape(i))
      fields.push_back(b_.getNamedAttr("shape", AffineMapAttr::get(shape)));
    sources.push_back(b_.getDictionaryAttr(fields));
  }
  llvm::BitVector used = findUsedSizes(func_);
  c_.sizes.resize(used.size());
  for (unsigned s : used.set_bits()) {
    Location named = NameLoc::get(cast<StringAttr>(func_.getSizes()[s]), cu::unnamed(func_.getLoc()));
    c_.sizes[s] = block.addArgument(b_.getIndexType(), named);
    sources.push_back(
        b_.getDictionaryAttr({number("div", func_.getSizeDiv()[s]), number("max", func_.getSizeMax()[s]), number("size", s)}));
  }
  kernel_.setArgSourcesAttr(b_.getArrayAttr(sources));
}

void FunctionLowering::openOwnMemory() {
  for (auto [i, arg] : llvm::enumerate(func_.getBlock().getArguments()))
    if (isOwnMemory(func_.getSources()[i])) {
      int64_t elements = 1;
      for (AffineExpr e : func_.getArgShape(i).getResults())
        elements *= cast<AffineConstantExpr>(e).getValue();
      c_.bases[arg] = c_.sharedArray(elements, cast<MemRefType>(arg.getType()).getElementType(), cu::unnamed(arg.getLoc()),
                                     cast<StringAttr>(func_.getArgNames()[i]).getValue());
    }
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

/// The first copies are what a block waits for; their maps come from memory too.
void FunctionLowering::prefetchTensorMaps() {
  auto isMap = [](BlockArgument arg) { return isa<MemRefType>(arg.getType()) && cu::spaceOf(arg) == cu::Param; };
  if (llvm::none_of(kernel_.getBlock().getArguments(), isMap))
    return;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointToStart(&kernel_.getBlock());
  Location loc = cu::unnamed(func_.getLoc());
  Value first = arith::CmpIOp::create(b_, c_.named("leader", loc), arith::CmpIPredicate::eq, c_.thread(loc), c_.index(0, loc));
  b_.setInsertionPoint(scf::IfOp::create(b_, loc, first, false).thenBlock()->getTerminator());
  for (BlockArgument arg : kernel_.getBlock().getArguments())
    if (isMap(arg))
      cu::PrefetchTensorMapOp::create(b_, loc, arg);
}

/// A tile's number as one tile number per grid index, the last one fastest; with a
/// raster, the last two that have several in groups of at most `raster` rows so that
/// neighbours share operands in L2. Groups differ by a row where they can: a group of a row or two has no neighbours to share columns with.
/// Divisions are what a block begins with: groups that are known to be full, or to be one, have fewer.
llvm::DenseMap<int64_t, Value> FunctionLowering::programIdsOf(Value left, Location loc) {
  llvm::DenseMap<int64_t, Value> ids;
  SmallVector<int64_t> dims;
  for (int64_t g : func_.getGridDims()) {
    auto programs = dyn_cast<AffineConstantExpr>(func_.getNumPrograms(g));
    if (programs && programs.getValue() == 1)
      ids[g] = c_.index(0, loc);
    else
      dims.push_back(g);
  }
  auto named = [&](int64_t d, StringRef suffix) {
    return NameLoc::get(b_.getStringAttr(cast<StringAttr>(func_.getIndices()[d]).getValue() + suffix), loc);
  };
  te::SizeFacts facts{func_.getSizeDiv(), func_.getSizeMax()};
  SmallVector<Value> counts;
  for (int64_t g : dims)
    counts.push_back(c_.expand(func_.getNumPrograms(g), {}, named(g, "_tiles")));
  size_t n = dims.size();
  bool grouped = func_.getRaster() > 1 && n >= 2;
  auto rem = [&](Value x, Value y, Location l) { return arith::RemSIOp::create(b_, l, x, y).getResult(); };
  auto div = [&](Value x, Value y, Location l) { return arith::DivSIOp::create(b_, l, x, y).getResult(); };
  if (grouped) {
    auto as = [&](StringRef name) { return c_.named(name, loc); };
    Value plane = arith::MulIOp::create(b_, as("plane_tiles"), counts[n - 2], counts[n - 1]);
    Value inPlane = left;
    if (n > 2) {
      inPlane = rem(left, plane, as("in_plane"));
      left = div(left, plane, n == 3 ? named(dims[0], "_tile") : as("plane"));
    }
    int64_t raster = func_.getRaster(), most = te::knownMax(func_.getNumPrograms(dims[n - 2]), facts);
    Location row = named(dims[n - 2], "_tile"), column = named(dims[n - 1], "_tile");
    if (most >= 0 && most <= raster) { // all rows are one group
      ids[dims[n - 2]] = rem(inPlane, counts[n - 2], row);
      ids[dims[n - 1]] = div(inPlane, counts[n - 2], column);
    } else {
      auto exact = dyn_cast<AffineConstantExpr>(func_.getNumPrograms(dims[n - 2]));
      bool isFull = te::knownDivisor(func_.getNumPrograms(dims[n - 2]), facts) % raster == 0;
      // One low group of very many is not worth two divisions a tile.
      const Target *target = findTarget(func_.getTarget().str());
      int64_t fewGroups = (target ? *target->costs : kMeasuredCosts).warpgroups.evenGroups;
      bool isEven = !isFull && (exact || most < 0 || most <= fewGroups * raster);
      auto up = [&](Value x, Value y, Location l) { // of positive numbers
        Value less = arith::SubIOp::create(b_, loc, y, c_.index(1, loc));
        return div(arith::AddIOp::create(b_, loc, x, less), y, l);
      };
      int64_t known = isEven && exact ? llvm::divideCeil(exact.getValue(), llvm::divideCeil(exact.getValue(), raster)) : raster;
      Value rows = isEven && !exact ? up(counts[n - 2], up(counts[n - 2], c_.index(raster, loc), as("groups")), as("most_rows"))
                                    : c_.index(known, loc);
      Value perGroup = arith::MulIOp::create(b_, as("group_tiles"), rows, counts[n - 1]);
      Value group = div(inPlane, perGroup, as("group")), within = rem(inPlane, perGroup, as("in_group"));
      Value first = arith::MulIOp::create(b_, as("group_row"), group, rows), height = rows;
      if (!isFull && !(exact && exact.getValue() % known == 0)) // the last group has fewer
        height = arith::MinSIOp::create(b_, as("group_rows"), arith::SubIOp::create(b_, loc, counts[n - 2], first), rows);
      ids[dims[n - 2]] = arith::AddIOp::create(b_, row, first, rem(within, height, loc));
      ids[dims[n - 1]] = div(within, height, column);
    }
  }
  for (int64_t i = int64_t(grouped ? n - 2 : n) - 1; i >= 0; --i) {
    ids[dims[i]] = i == 0 ? left : rem(left, counts[i], named(dims[i], "_tile"));
    if (i > 0)
      left = div(left, counts[i], i == 1 ? named(dims[0], "_tile") : c_.named("rest", loc));
  }
  if (auto block = n == 1 ? left.getDefiningOp<cu::BlockIdOp>() : cu::BlockIdOp()) // what it is the number of
    block->setLoc(named(dims[0], "_tile"));
  // (An index that is a part of a size counts tiles of that size, whatever its own tile is.)
  SmallVector<int64_t> most32 = llvm::map_to_vector(func_.getSizeMax(), [](int64_t most) { return most < 0 ? cu::kFits32 : most; });
  for (int64_t g : dims)
    if (Operation *op = ids[g].getDefiningOp(); op && isa<arith::ArithDialect>(op->getDialect())) {
      int64_t count = te::knownMax(func_.getNumPrograms(g), {func_.getSizeDiv(), most32}), most = cu::kFits32 / func_.getTiles()[g];
      cu::kMost.putOn(op, (count > 0 ? std::min(count, most) : most) - 1);
    }
  return ids;
}

} // namespace kernelc
