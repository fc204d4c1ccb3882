// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a tile.func asks of its own attributes and of all that stands in it: [C1] to [C14] of its description. What an op
// alone can say its own verifier does (TileOps.cpp, TileRings.cpp, TileSearch.cpp), and has done by now.
#include "ir/tile/FuncVerifier.h"

#include "ir/cu/Marks.h"
#include "ir/te/Combiners.h"
#include "ir/te/Marks.h"
#include "ir/tile/Marks.h"
#include "support/Target.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::tile {
namespace {

constexpr int64_t kMostPoints = int64_t(1) << 31; ///< of a tile
constexpr int64_t kMostSlots = 1024, kMostInSlot = 1 << 20, kMostFillers = 1024;

bool isElement(Type t) { return t.isIndex() || (t.isIntOrFloat() && t.getIntOrFloatBitWidth() <= 64); }

/// The product of positive numbers, or -1 where one is not positive or the product is more than `most`.
int64_t productUpTo(ArrayRef<int64_t> numbers, int64_t most) {
  int64_t product = 1;
  for (int64_t n : numbers) {
    if (n < 1 || n > most / product)
      return -1;
    product *= n;
  }
  return product;
}

class FuncVerifier {
public:
  explicit FuncVerifier(FuncOp func) : func_(func), rank_(func.getRank()), sizes_(func.getSizes().size()) {}

  LogicalResult run() {
    if (failed(checkArguments()) || failed(checkIndices()) || failed(checkSchedule()) || failed(checkBaseLayouts()) || failed(checkRows()))
      return failure();
    for (BlockArgument a : func_.getBlock().getArguments())
      if (!isa<MemRefType>(a.getType()) && !isElement(a.getType()))
        return func_.emitOpError() << "[C1] argument " << a.getArgNumber() << " is neither a memref nor a scalar";
    WalkResult result = func_.walk([&](Operation *op) {
      return (op == func_ || succeeded(checkOp(op))) && succeeded(verifyMarks(op, {kMarks, te::kMarks, cu::kMarks}, "ir/*/Marks.h"))
                 ? WalkResult::advance()
                 : WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

private:
  /// Whether a map goes from the sizes alone to `results` numbers.
  bool isOfSizes(AffineMap map, size_t results) {
    return map.getNumDims() == 0 && map.getNumSymbols() == sizes_ && map.getNumResults() == results;
  }

  LogicalResult checkArguments() { // [C1]
    size_t args = func_.getBlock().getNumArguments();
    if (func_.getArgNames().size() != args || func_.getArgTypes().size() != args || func_.getArgShapes().size() != args ||
        func_.getSources().size() != args)
      return func_.emitOpError() << "[C1] needs a name, a type, a shape and a source for each of its " << args << " arguments";
    for (size_t i = 0; i < args; ++i) {
      auto memref = dyn_cast<MemRefType>(func_.getBlock().getArgument(i).getType());
      if (!isOfSizes(func_.getArgShape(i), memref ? memref.getRank() : 0))
        return func_.emitOpError() << "[C1] the shape of argument " << i << " must give its " << (memref ? memref.getRank() : 0)
                                   << " dims over the sizes";
      if (memref && (!memref.getLayout().isIdentity() || !isElement(memref.getElementType())))
        return func_.emitOpError() << "[C1] argument " << i << " must be a plain memref of numbers, not " << memref;
      auto isNumber = [](AffineExpr e) { return isa<AffineConstantExpr>(e); };
      if (isOwnMemory(func_.getSources()[i]) && (!memref || !llvm::all_of(func_.getArgShape(i).getResults(), isNumber)))
        return func_.emitOpError() << "[C1] argument " << i << " is memory of each block's own, and must be a memref of a constant shape";
    }
    return success();
  }

  LogicalResult checkIndices() {
    if (!isOfSizes(func_.getExtents(), rank_) || func_.getTiles().size() != rank_) // [C2]
      return func_.emitOpError() << "[C2] needs an extent over its sizes and a tile size for each of its " << rank_ << " indices";
    if (llvm::any_of(func_.getTiles(), [](int64_t t) { return t < 1 || t > kMostPoints; })) // (tiles themselves: C7)
      return func_.emitOpError() << "[C2] has tiles with an extent that is not positive, or of more than " << kMostPoints << " points";
    if (func_.getSizeDiv().size() != sizes_ || func_.getSizeMax().size() != sizes_)
      return func_.emitOpError() << "[C3] needs size_div and size_max for each of its sizes";
    if (llvm::any_of(func_.getSizeDiv(), [](int64_t d) { return d < 1; }) ||
        llvm::any_of(func_.getSizeMax(), [](int64_t m) { return m < -1; }))
      return func_.emitOpError() << "[C3] divisors in size_div are 1 or more, bounds in size_max -1 or more";
    llvm::BitVector named(rank_);
    for (int64_t d : func_.getGridDims()) { // [C4]
      if (!isIndex(d))
        return func_.emitOpError() << "[C4] grid_dims names index " << d << " of " << rank_;
      if (named[d])
        return func_.emitOpError() << "[C4] grid_dims names index " << d << " twice";
      named.set(d);
    }
    if (!isIndex(func_.getClusterIndex()) && (func_.getClusterIndex() || func_.getCluster() > 1))
      return func_.emitOpError() << "[C4] has a cluster along index " << int64_t(func_.getClusterIndex()) << " of " << rank_;
    return success();
  }

  LogicalResult checkSchedule() { // [C5]
    for (const ScheduleNumber &n : kScheduleNumbers)
      if (int64_t value = func_->getAttrOfType<IntegerAttr>(n.key).getInt(); value < n.least || value > n.most)
        return func_.emitOpError() << "[C5] '" << n.key << "' is " << n.least << " to " << n.most << ", not " << value;
    if (int64_t warps = func_.getConsumerWarps() + int64_t(func_.getProducerWarps()); warps > 32)
      return func_.emitOpError() << "[C5] has " << warps << " warps; a block has 32";
    if (!findTarget(absl::string_view(func_.getTarget().data(), func_.getTarget().size())))
      return func_.emitOpError() << "[C5] has the unknown target '" << func_.getTarget() << "'";
    return success();
  }

  LogicalResult checkBaseLayouts() { // [C6]
    size_t args = func_.getBlock().getNumArguments();
    if (ArrayAttr list = func_.getArgStrides(); !list.empty()) {
      bool ok = list.size() == args;
      for (size_t i = 0; ok && i < args; ++i) {
        auto map = dyn_cast<AffineMapAttr>(list[i]);
        ok = map ? isOfSizes(map.getValue(), func_.getArgShape(i).getNumResults()) : isa<UnitAttr>(list[i]);
      }
      if (!ok)
        return func_.emitOpError() << "[C6] arg_strides must have 'unit', or a map from the sizes to a stride per dim, for each argument";
    }
    if (ArrayRef<int64_t> list = func_.getArgAlignment(); !list.empty()) {
      auto isAlignment = [](int64_t bytes) { return bytes >= 1 && bytes <= 16 && (bytes & (bytes - 1)) == 0; };
      if (list.size() != args || !llvm::all_of(list, isAlignment))
        return func_.emitOpError() << "[C6] arg_alignment must have 1, 2, 4, 8 or 16 bytes for each argument";
    }
    return success();
  }

  LogicalResult checkRows() { // [C14]
    AffineMapAttr attr = func_.getAlignedRows();
    if (!attr)
      return success();
    AffineMap map = attr.getValue();
    bool isWhole = map.getNumDims() == rank_ && map.getNumSymbols() == sizes_ && map.getNumResults() == 3;
    auto align = isWhole ? dyn_cast<AffineConstantExpr>(map.getResult(2)) : AffineConstantExpr();
    if (!align || align.getValue() < 2 || !llvm::isPowerOf2_64(uint64_t(align.getValue())) || !isa<AffineDimExpr>(map.getResult(1)))
      return func_.emitOpError() << "[C14] aligned_rows must go from the indices and the sizes to a form, an index and a power of two "
                                    "above 1";
    return success();
  }

  bool isIndex(int64_t d) { return d >= 0 && size_t(d) < rank_; }
  bool areIndices(ArrayRef<int64_t> dims) {
    llvm::BitVector named(rank_);
    for (int64_t d : dims) {
      if (!isIndex(d) || named[d])
        return false;
      named.set(d);
    }
    return true;
  }

  LogicalResult checkRingCopy(RingCopyOp copy) {
    if (copy.getChannel() && copy.getChannel().getType().getSlots() != copy.getRing().getType().getSlots())
      return LogicalResult(copy.emitOpError() << "[C11] signals a channel of other slots than the ring's");
    int64_t byData = int64_t(copy.getMap().getNumDims()) - int64_t(copy.getOffsets().size()), given = copy.getIndices().size();
    bool isWhole = byData > 0 ? given > 0 && given % byData == 0 && (copy.getAlong() ? given > byData : given == byData)
                              : given == 0 && !copy.getAlong();
    if (!isWhole || (given && !copy.getChannel()))
      return LogicalResult(copy.emitOpError() << "[C1] has " << given << " indices for " << byData << " subscripts by data"
                                              << (copy.getChannel() ? "" : " and no channel"));
    if (copy.getByThreads() && (!copy.getChannel() || !copy.getChannel().getType().getFillers() || copy.getMulticast() || given))
      return LogicalResult(copy.emitOpError() << "[C11] is made by threads, which asks for a channel with fillers, no multicast and no "
                                                 "subscripts by data");
    if (copy.getTail() && (!copy.getChannel() || copy.getByThreads() || !llvm::is_contained(func_.getGridDims(), int64_t(*copy.getTail()))))
      return LogicalResult(copy.emitOpError() << "[C2] has a tail, which takes an index of the grid and a copy that one thread makes");
    if (copy.getAlong() &&
        (failed(checkDims(copy, int64_t(*copy.getAlong()))) || copy.getRing().getType().getShape()[*copy.getAlong()] % (given / byData)))
      return LogicalResult(copy.emitOpError() << "[C1] cuts its box into " << given / byData << " pieces that are not alike");
    return failed(checkAccess(copy, copy.getBase(), copy.getOffsets(), copy.getMap(), byData, copy.getRing().getType().getElementType()))
               ? failure()
               : checkDims(copy, copy.getMask());
  }

  LogicalResult checkOp(Operation *op) {
    for (Type t : op->getResultTypes())
      if (failed(checkType(op, t)))
        return failure();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Type t : block.getArgumentTypes())
          if (failed(checkType(op, t)))
            return failure();
    if (failed(checkOperands(op)) || failed(checkControl(op)) || failed(checkElementwise(op)))
      return failure();
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](LoadOp load) {
          return failed(checkAccess(load, load.getBase(), load.getOffsets(), load.getMap(), load.getIndexTiles().size(),
                                    load.getResult().getType().getElementType()))
                     ? failure()
                     : checkDims(load, load.getMask());
        })
        .Case([&](StoreOp store) {
          return failed(checkAccess(store, store.getBase(), store.getOffsets(), store.getMap(), 0,
                                    store.getValue().getType().getElementType()))
                     ? failure()
                     : checkDims(store, store.getMask());
        })
        .Case([&](ScatterOp scatter) {
          return failed(checkAccess(scatter, scatter.getBase(), scatter.getOffsets(), scatter.getMap(), scatter.getIndexTiles().size(),
                                    scatter.getValue().getType().getElementType()))
                     ? failure()
                     : checkDims(scatter, scatter.getMask());
        })
        .Case([&](RingCopyOp copy) { return checkRingCopy(copy); })
        .Case([&](FilledOp filled) { // *full* would count an arrival that it does not wait for
          return filled.getChannel().getType().getFillers()
                     ? success()
                     : LogicalResult(filled.emitOpError()
                                     << "[C11] speaks of the copies of threads, which asks for a channel with fillers");
        })
        .Case([&](BoxStoreOp store) {
          return failed(
                     checkAccess(store, store.getBase(), store.getOffsets(), store.getMap(), 0, store.getRing().getType().getElementType()))
                     ? failure()
                     : checkDims(store, int64_t(store.getShared()));
        })
        .Case([&](ProgramIdOp id) {
          if (!llvm::is_contained(func_.getGridDims(), int64_t(id.getDim())))
            return LogicalResult(id.emitOpError() << "[C9] names index " << int64_t(id.getDim()) << ", which is none of the grid");
          return success();
        })
        .Case([&](RolesOp roles) { return checkRoles(roles); })
        .Default([&](Operation *) { return checkValue(op); });
  }

  static bool combinesAlike(CombineOp combine) {
    auto isAlike = [](auto pair) { return std::get<0>(pair).getType() == std::get<1>(pair).getType(); };
    auto elementOf = [&](unsigned i) { return cast<RankedTensorType>(combine.getResult(i).getType()).getElementType(); };
    size_t n = combine.getResults().size();
    ValueRange inputs = combine.getInputs();
    bool isArg = te::isArg(combine.getKind());
    return n == (isArg ? 2 : 1) && inputs.size() == 2 * n && llvm::all_of(llvm::zip(inputs.take_front(n), combine.getResults()), isAlike) &&
           llvm::all_of(llvm::zip(inputs.drop_front(n), combine.getResults()), isAlike) && te::combines(combine.getKind(), elementOf(0)) &&
           (!isArg || elementOf(1).isIndex());
  }

  /// Ops that make a value, or take one, of which nobody but this asks anything.
  LogicalResult checkValue(Operation *op) {
    auto holds = [&](bool ok, StringRef what) { return ok ? success() : LogicalResult(op->emitOpError() << what); };
    auto typeOf = [](Value v) { return cast<RankedTensorType>(v.getType()); };
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case([&](IndexOp index) {
          int64_t dim = index.getDim();
          if (failed(checkDims(index, dim)))
            return failure();
          auto type = typeOf(index.getResult());
          bool ok = type.getElementType().isIndex();
          for (int64_t d = 0; d < type.getRank(); ++d)
            ok &= d == dim || type.getDimSize(d) == 1;
          return holds(ok, "[C10] makes a tile of 'index' that has several elements along its index only");
        })
        .Case([&](InsideOp inside) {
          if (failed(checkDims(inside, inside.getMask())))
            return failure();
          return holds(inside.getOffsets().size() == rank_ && typeOf(inside.getResult()).getElementType().isInteger(1),
                       "[C10] has an offset per index, and makes a tile of i1");
        })
        .Case([&](ApplyOp apply) {
          AffineMap map = apply.getMap();
          return holds(map.getNumSymbols() == sizes_ && map.getNumDims() == apply.getOperands_().size() && map.getNumResults() == 1,
                       "[C10] has a map from its operands and the sizes of the function to one number");
        })
        .Case([&](SplatOp splat) {
          return holds(splat.getInput().getType() == typeOf(splat.getResult()).getElementType(),
                       "[C10] makes a tile of its operand's type");
        })
        .Case([&](ConvertOp convert) {
          auto from = typeOf(convert.getInput()), to = typeOf(convert.getResult());
          Type element = to.getElementType();
          return holds(from.getShape() == to.getShape() && isa<FloatType>(from.getElementType()) &&
                           (element.isInteger() || isa<Float8E4M3FNType, Float8E5M2Type>(element)),
                       "[C10] makes a tile of integers or f8 from one of floats with its shape");
        })
        .Case([&](ConvertLayoutOp convert) {
          auto from = typeOf(convert.getInput()), to = typeOf(convert.getResult());
          return holds(from.getShape() == to.getShape() && from.getElementType() == to.getElementType(),
                       "[C10] gives a tile another layout, not another shape or type");
        })
        .Case([&](CombineOp combine) {
          return holds(combinesAlike(combine),
                       "[C10] combines two tiles of its result's type that its kind takes, of arg kinds with their positions");
        })
        .Case([&](RingStoreOp store) {
          RingType ring = store.getRing().getType();
          auto type = store.getValue().getType();
          return holds(type.getShape() == ring.getShape() && type.getElementType() == ring.getElementType(),
                       "[C10] puts a tile of the ring's shape and type into a slot");
        })
        .Default([](Operation *) { return success(); });
  }

  LogicalResult checkType(Operation *op, Type type) {
    if (auto tile = dyn_cast<RankedTensorType>(type))
      return checkTile(op, tile);
    if (auto ring = dyn_cast<RingType>(type)) { // [C11]
      Type element = ring.getElementType();
      if (ring.getShape().size() != rank_ || productUpTo(ring.getShape(), kMostInSlot) < 0 || ring.getContiguous() < 0 ||
          !isIndex(ring.getContiguous()) || ring.getSlots() < 1 || ring.getSlots() > kMostSlots || ring.getPad() < kSwizzled ||
          ring.getPad() > kMostInSlot || !element.isIntOrFloat() || element.getIntOrFloatBitWidth() > 64)
        return op->emitOpError() << "[C11] has " << ring << "; a ring has one positive extent per index, of which there are " << rank_
                                 << ", " << kMostInSlot << " numbers a slot and " << kMostSlots
                                 << " slots at most, and its neighbours along an index";
    }
    if (auto channel = dyn_cast<ChannelType>(type))
      if (channel.getSlots() < 1 || channel.getSlots() > kMostSlots || (channel.getReader() != 32 && channel.getReader() != 128) ||
          channel.getFillers() < 0 || channel.getFillers() > kMostFillers || channel.getFillers() % 32)
        return op->emitOpError() << "[C11] has " << channel << "; a channel has 1 to " << kMostSlots
                                 << " slots, readers of 32 or 128 threads, and whole warps of fillers";
    if (auto order = dyn_cast<OrderType>(type); order && (order.getTeams() < 1 || order.getTeams() > 32))
      return op->emitOpError() << "[C11] has " << order << "; an order is of 1 to 32 teams";
    return success();
  }

  LogicalResult checkTile(Operation *op, RankedTensorType tile) { // [C7]
    auto wrong = [&] { return op->emitOpError() << "[C7] makes the tile " << tile << "; "; };
    if (size_t(tile.getRank()) != rank_ || productUpTo(tile.getShape(), kMostPoints) < 0 || !isElement(tile.getElementType()))
      return wrong() << "it has one positive extent for each of the " << rank_ << " indices, and numbers for elements";
    if (!tile.getEncoding())
      return success();
    auto attr = dyn_cast<LayoutAttr>(tile.getEncoding());
    if (!attr)
      return wrong() << "its encoding is no layout";
    Layout layout = fromAttr(attr);
    SmallVector<int64_t> sizes, reached(rank_, 1);
    auto isDigit = [&](const Digit &d) {
      sizes.push_back(d.size);
      return d.size >= 1 && d.stride >= 0 && d.stride <= kMostPoints && d.dim >= -1 && d.dim < int64_t(rank_);
    };
    bool ok = llvm::all_of(layout.reg, isDigit) && llvm::all_of(layout.lane, isDigit) && llvm::all_of(layout.warp, isDigit);
    if (!ok || productUpTo(sizes, kMostPoints) < 0)
      return wrong() << "a digit of its layout has an index or -1, a stride that is not negative and a positive size";
    int64_t lanes = 1;
    for (const Digit &d : layout.lane)
      lanes *= d.size;
    if (lanes != 32 || layout.numWarps() != int64_t(func_.getWarps()))
      return wrong() << "its layout is of " << layout.numWarps() << " warps of " << lanes << " lanes, the function's of "
                     << func_.getWarps() << " of 32";
    if (layout.shape(rank_) != tile.getShape())
      return wrong() << "its layout reaches other extents";
    return success();
  }

  /// Memrefs go to accesses alone, rings, channels and orders to the ops of this dialect, from who made them.
  LogicalResult checkOperands(Operation *op) {
    for (Value v : op->getOperands()) {
      Type t = v.getType();
      if (isa<MemRefType>(t) && !isa<LoadOp, StoreOp, ScatterOp, RingCopyOp, BoxStoreOp, TicketOp, LookBackOp>(op)) // [C8]
        return op->emitOpError() << "[C8] takes a tensor of the launch; only loads, stores and copies of this dialect do";
      if (isa<RingType, ChannelType, OrderType>(t) && !isa_and_nonnull<RingOp, ChannelOp, OrderOp>(v.getDefiningOp())) // [C11]
        return op->emitOpError() << "[C11] takes a value of type " << t << " that is not made by its op";
    }
    if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<BaseMemRefType>))
      return op->emitOpError() << "[C8] makes memory; a tile.func has its arguments and rings";
    return success();
  }

  LogicalResult checkControl(Operation *op) { // [C13]
    if (op->getNumRegions() && !isa<scf::ForOp, scf::IfOp>(op) && op->getDialect() != func_->getDialect())
      return op->emitOpError() << "[C13] is no control flow of a tile.func: that is scf.for and scf.if";
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && !loop.getInductionVar().getType().isIndex())
      return op->emitOpError() << "[C13] must count by an index";
    return success();
  }

  LogicalResult checkElementwise(Operation *op) {
    if (llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>))
      return success();
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (!isa<SplatElementsAttr>(constant.getValue()))
        return op->emitOpError() << "[C7] is a tile of several values; constant tiles have one";
      return success();
    }
    if (op->getDialect() == func_->getDialect() || isa<scf::ForOp, scf::IfOp>(op))
      return success();
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    auto isAlike = [&](Type t) {
      auto tile = dyn_cast<RankedTensorType>(t);
      return tile && tile.getShape() == type.getShape();
    };
    if (!type || !op->hasTrait<OpTrait::Elementwise>() || !llvm::all_of(op->getOperandTypes(), isAlike) ||
        !llvm::all_of(op->getResultTypes(), isAlike)) // [C10]
      return op->emitOpError() << "[C10] makes a tile, and is no elementwise op of tiles that have its shape";
    return success();
  }

  LogicalResult checkAccess(Operation *op, Value base, ValueRange offsets, AffineMap map, size_t tiles, Type element) { // [C8]
    auto arg = dyn_cast<BlockArgument>(base);
    auto memref = dyn_cast<MemRefType>(base.getType());
    if (!arg || arg.getOwner() != &func_.getBlock() || !memref)
      return op->emitOpError() << "[C8] must access an argument of its function";
    if (offsets.size() != rank_ || map.getNumDims() != rank_ + tiles || map.getNumSymbols() != sizes_ ||
        map.getNumResults() != unsigned(memref.getRank()))
      return op->emitOpError() << "[C8] must have an offset for each of the " << rank_
                               << " indices, and a map from these and the sizes to the " << memref.getRank() << " dims of the tensor";
    if (memref.getElementType() != element)
      return op->emitOpError() << "[C8] moves elements of " << element << ", the tensor has " << memref.getElementType();
    return success();
  }

  LogicalResult checkDims(Operation *op, ArrayRef<int64_t> dims) { // [C9]
    if (areIndices(dims))
      return success();
    return op->emitOpError() << "[C9] names an index twice, or one that is not there: there are " << rank_;
  }

  LogicalResult checkRoles(RolesOp roles) { // [C12]
    int64_t warps = func_.getProducerWarps(), producers = roles.getProducers().size();
    if (roles->getBlock() != &func_.getBlock() || std::exchange(hasRoles_, true))
      return roles.emitOpError() << "[C12] must stand straight in the function, once";
    if (warps < 1 || producers < 1 || producers > warps || warps % 4 || func_.getConsumerWarps() % 4)
      return roles.emitOpError() << "[C12] has " << producers << " producers and a function of " << func_.getConsumerWarps() << " and "
                                 << warps << " producer warps; roles are whole warpgroups, of 4 warps each, with a warp for each producer";
    return success();
  }

  FuncOp func_;
  size_t rank_, sizes_;
  bool hasRoles_ = false;
};

} // namespace

LogicalResult verifyFunc(FuncOp func) { return FuncVerifier(func).run(); }

} // namespace kernelc::tile
