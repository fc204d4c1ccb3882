// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifiers and folds of the tile ops, and the dialect itself.
#include "ir/tile/Tile.h"

#include "ir/te/Combiners.h"
#include "ir/tile/FuncVerifier.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kernelc;
using namespace kernelc::tile;

#include "ir/tile/TileDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/tile/TileTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/tile/TileAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "ir/tile/TileOps.cpp.inc"

namespace {
/// Blocks of a cluster read what the others hold, and write nothing that a program sees: what is loaded before they meet is still the
/// same behind, so that a row which several statements go over is loaded once.
struct MeetingEffects : MemoryEffectOpInterface::ExternalModel<MeetingEffects, ClusterReduceOp> {
  void getEffects(Operation *, SmallVectorImpl<MemoryEffects::EffectInstance> &effects) const {
    effects.emplace_back(MemoryEffects::Read::get());
  }
};
} // namespace

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/tile/TileOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/tile/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/tile/TileAttrs.cpp.inc"
      >();
  ClusterReduceOp::attachInterface<MeetingEffects>(*getContext());
}

//===----------------------------------------------------------------------===//
// Layout attribute
//===----------------------------------------------------------------------===//

namespace {
SmallVector<int64_t> flatten(const Digits &digits) {
  SmallVector<int64_t> out;
  for (const Digit &d : digits)
    out.append({d.dim, d.stride, d.size});
  return out;
}
Digits unflatten(ArrayRef<int64_t> flat) {
  Digits out;
  for (size_t i = 0; i + 2 < flat.size(); i += 3)
    out.push_back({flat[i], flat[i + 1], flat[i + 2]});
  return out;
}
} // namespace

// #tile.layout<reg = [[1, 1, 4], [0, 8, 2]] lane = [...] warp = [...]>
static void printDigits(AsmPrinter &p, StringRef name, ArrayRef<int64_t> flat) {
  p << name << " = [";
  for (size_t i = 0; i + 2 < flat.size(); i += 3)
    p << (i ? ", " : "") << "[" << flat[i] << ", " << flat[i + 1] << ", " << flat[i + 2] << "]";
  p << "]";
}

void LayoutAttr::print(AsmPrinter &p) const {
  p << "<";
  printDigits(p, "reg", getReg());
  printDigits(p, " lane", getLane());
  printDigits(p, " warp", getWarp());
  p << ">";
}

static ParseResult parseDigits(AsmParser &p, StringRef name, SmallVectorImpl<int64_t> &flat) {
  if (p.parseKeyword(name) || p.parseEqual())
    return failure();
  return p.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    size_t before = flat.size();
    auto one = [&]() { return p.parseInteger(flat.emplace_back()); };
    if (p.parseCommaSeparatedList(AsmParser::Delimiter::Square, one))
      return failure();
    if (flat.size() - before != 3)
      return p.emitError(p.getCurrentLocation(), "a digit is [dim, stride, size]");
    return success();
  });
}

Attribute LayoutAttr::parse(AsmParser &p, Type) {
  SmallVector<int64_t> reg, lane, warp;
  if (p.parseLess() || parseDigits(p, "reg", reg) || parseDigits(p, "lane", lane) || parseDigits(p, "warp", warp) || p.parseGreater())
    return {};
  return LayoutAttr::get(p.getContext(), reg, lane, warp);
}

LayoutAttr tile::toAttr(MLIRContext *context, const Layout &l) {
  return LayoutAttr::get(context, flatten(l.reg), flatten(l.lane), flatten(l.warp));
}
Layout tile::fromAttr(LayoutAttr a) { return {unflatten(a.getReg()), unflatten(a.getLane()), unflatten(a.getWarp())}; }
Layout tile::getLayout(Value v) { return fromAttr(cast<LayoutAttr>(cast<RankedTensorType>(v.getType()).getEncoding())); }
RankedTensorType tile::withLayout(RankedTensorType type, const Layout &layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), toAttr(type.getContext(), layout));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

AffineMap FuncOp::getArgShape(unsigned i) { return cast<AffineMapAttr>(getArgShapes()[i]).getValue(); }
AffineExpr FuncOp::getExtent(unsigned d) { return getExtents().getResult(d); }

AffineExpr FuncOp::getNumPrograms(unsigned d) {
  int64_t blocks = int64_t(getClusterIndex()) != d ? 1 : getPaired() ? 2 : getCluster();
  return getExtent(d).ceilDiv(getTiles()[d] * blocks);
}

LogicalResult FuncOp::verifyRegions() { return verifyFunc(*this); }

OpFoldResult ApplyOp::fold(FoldAdaptor) {
  if (getMap().getNumResults() != 1 || getMap().getNumDims() != getOperands().size())
    return {};
  AffineExpr e = getMap().getResult(0);
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return IntegerAttr::get(IndexType::get(getContext()), c.getValue());
  if (auto d = dyn_cast<AffineDimExpr>(e))
    return getOperand(d.getPosition());
  return {};
}

LogicalResult LoadOp::verify() {
  int64_t rank = cast<MemRefType>(getBase().getType()).getRank();
  if (getMap().getNumResults() != rank || getMap().getNumDims() != getOffsets().size() + getIndexTiles().size())
    return emitOpError() << "map must go from the " << getOffsets().size() << " indices and " << getIndexTiles().size()
                         << " index tiles to the tensor's " << rank << " dims";
  if ((getBounds() == te::BoundsMode::Pad) != bool(getPadding()))
    return emitOpError() << "padding goes with bounds 'pad', and only with it";
  if (!llvm::all_of(getClamp(), [&](int64_t d) { return llvm::is_contained(getMask(), d); }))
    return emitOpError() << "clamp names dims of mask";
  auto result = getResult().getType();
  for (Value v : getIndexTiles())
    if (auto type = cast<RankedTensorType>(v.getType()); type.getShape() != result.getShape() || !type.getElementType().isIntOrIndex())
      return emitOpError() << "[C1] takes index tiles of integers with its result's shape, not " << type;
  if (Value padding = getPadding()) {
    auto type = dyn_cast<RankedTensorType>(padding.getType());
    if (!type || type.getElementType() != result.getElementType() || type.getRank() != result.getRank() ||
        (!llvm::all_of(type.getShape(), [](int64_t n) { return n == 1; }) && type.getShape() != result.getShape()))
      return emitOpError() << "[C2] takes as padding a tile of one element, or of as many as its result has, not " << padding.getType();
  }
  return success();
}

LogicalResult StoreOp::verify() {
  int64_t rank = cast<MemRefType>(getBase().getType()).getRank();
  if (getMap().getNumResults() != rank || getMap().getNumDims() != getOffsets().size())
    return emitOpError() << "[C1] map must go from the indices to the tensor's " << rank << " dims";
  int64_t last = -1;
  for (int64_t r : getClip()) {
    if (r <= last || r >= rank)
      return emitOpError() << "[C2] clip must hold dims of the tensor, of which there are " << rank << ", in rising order";
    last = r;
  }
  if (Value condition = getCondition())
    if (auto type = cast<RankedTensorType>(condition.getType());
        type.getShape() != getValue().getType().getShape() || !type.getElementType().isInteger(1))
      return emitOpError() << "[C3] takes as condition a tile of i1 with the value's shape, not " << type;
  return success();
}

LogicalResult ScatterOp::verify() {
  int64_t rank = cast<MemRefType>(getBase().getType()).getRank();
  if (getMap().getNumResults() != rank || getMap().getNumDims() != getOffsets().size() + getIndexTiles().size())
    return emitOpError() << "map must go from the " << getOffsets().size() << " indices and " << getIndexTiles().size()
                         << " index tiles to the tensor's " << rank << " dims";
  RankedTensorType value = getValue().getType();
  for (Value v : getIndexTiles())
    if (auto type = cast<RankedTensorType>(v.getType()); type.getShape() != value.getShape() || !type.getElementType().isIntOrIndex())
      return emitOpError() << "[C1] takes index tiles of integers with its value's shape, not " << type;
  if (Value condition = getCondition())
    if (auto type = cast<RankedTensorType>(condition.getType()); type.getShape() != value.getShape() || !type.getElementType().isInteger(1))
      return emitOpError() << "[C2] takes as condition a tile of i1 with the value's shape, not " << type;
  Type element = value.getElementType();
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  if (getKind() && (!te::combines(*getKind(), element) || te::isArg(*getKind()) || (bits != 32 && bits != 64)))
    return emitOpError() << "[C3] does not combine elements of " << element << " by " << te::stringifyCombiner(*getKind());
  if (int64_t(getTallies()) < 0 || (int64_t(getTallies()) > 0 && (!getKind() || int64_t(getElements()) < 1)))
    return emitOpError() << "[C3] has tallies of " << int64_t(getElements()) << " elements, and needs a kind that combines them";
  return success();
}

LogicalResult ElementOp::verify() {
  auto from = getInput().getType();
  if (from.getNumElements() != 1 || from.getElementType() != getResult().getType())
    return emitOpError() << "[C1] takes a tile of one " << getResult().getType() << ", not " << from;
  return success();
}

LogicalResult BroadcastOp::verify() {
  auto from = getInput().getType(), to = getResult().getType();
  if (from.getRank() != to.getRank() || from.getElementType() != to.getElementType())
    return emitOpError() << "keeps rank and element type";
  for (auto [a, b] : llvm::zip(from.getShape(), to.getShape()))
    if (a != b && a != 1)
      return emitOpError() << "extends extents of 1 only, not " << a << " to " << b;
  return success();
}

LogicalResult SliceOp::verify() {
  auto from = getInput().getType(), to = getResult().getType();
  int64_t dim = getDim(), start = getStart();
  if (from.getRank() != to.getRank() || dim < 0 || dim >= from.getRank())
    return emitOpError() << "names dim " << dim << " of " << from.getRank();
  if (from.getElementType() != to.getElementType() || !from.hasStaticShape() || !to.hasStaticShape() || to.getDimSize(dim) < 1)
    return emitOpError() << "takes a part of some known, positive extent, of the input's type";
  for (int64_t d = 0; d < from.getRank(); ++d)
    if (d == dim ? start < 0 || start % to.getDimSize(d) || start + to.getDimSize(d) > from.getDimSize(d)
                 : from.getDimSize(d) != to.getDimSize(d))
      return emitOpError() << "takes a whole part along dim " << dim << " and everything along others";
  return success();
}

/// What the kind asks of keys, and arg kinds of positions.
static LogicalResult verifyCombines(Operation *op, te::Combiner kind, ValueRange results) {
  auto elementOf = [](Value v) { return cast<RankedTensorType>(v.getType()).getElementType(); };
  bool isArg = te::isArg(kind);
  if (results.size() != (isArg ? 2 : 1) || !te::combines(kind, elementOf(results[0])) || (isArg && !elementOf(results[1]).isIndex()))
    return op->emitOpError() << "[C2] has one tile of elements that " << te::stringifyCombiner(kind)
                             << " takes, of arg kinds with positions";
  return success();
}

/// [C3] What combines states: of one component in each of `components`.
static LogicalResult verifyStates(Operation *op, te::Combiner kind, std::optional<ArrayAttr> identity, Region &combine,
                                  ValueRange components) {
  if ((kind == te::Combiner::Custom) != identity.has_value() || identity.has_value() == combine.empty())
    return op->emitOpError() << "[C3] has an identity and a region where its kind is custom, and only there";
  if (!identity)
    return success();
  SmallVector<Type> types, twice;
  for (Value v : components)
    types.push_back(cast<RankedTensorType>(v.getType()).getElementType());
  twice = types;
  llvm::append_range(twice, types);
  bool ok = identity->size() == types.size() && combine.hasOneBlock() && !combine.front().empty();
  for (unsigned k = 0; ok && k < types.size(); ++k) {
    auto number = dyn_cast<TypedAttr>((*identity)[k]);
    ok = number && number.getType() == types[k];
  }
  auto state = ok ? dyn_cast<StateOp>(combine.front().back()) : StateOp();
  if (!state || TypeRange(combine.front().getArgumentTypes()) != TypeRange(twice) || state.getValues().getTypes() != TypeRange(types))
    return op->emitOpError() << "[C3] must have an identity of the " << types.size()
                             << " components, and a region that takes them twice and ends in tile.state of them";
  return success();
}

LogicalResult ReduceOp::canonicalize(ReduceOp op, PatternRewriter &rewriter) {
  SplatElementsAttr splat;
  bool keepsNan = op.getKind() == te::Combiner::Sum || op.getKind() == te::Combiner::Max || op.getKind() == te::Combiner::Min;
  if (!keepsNan)
    return failure();
  auto spread = op.getInputs()[0].getDefiningOp<BroadcastOp>();
  if (!matchPattern(spread ? spread.getInput() : op.getInputs()[0], m_Constant(&splat)))
    return failure();
  auto element = dyn_cast<FloatAttr>(splat.getSplatValue<Attribute>());
  if (!element || !element.getValue().isNaN())
    return failure();
  auto type = cast<ShapedType>(op.getResult(0).getType());
  rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, SplatElementsAttr::get(type, Attribute(element)));
  return success();
}

LogicalResult ReduceOp::verifyRegions() {
  if (getInputs().size() != getResults().size() || getInputs().empty())
    return emitOpError() << "has as many results as inputs";
  for (auto [in, out] : llvm::zip(getInputs().getTypes(), getResults().getTypes())) {
    auto from = cast<RankedTensorType>(in), to = cast<RankedTensorType>(out);
    if (from.getRank() != to.getRank() || from.getElementType() != to.getElementType())
      return emitOpError() << "[C1] keeps rank and element type";
    if (in != out && from.getShape() != cast<RankedTensorType>(getInputs().front().getType()).getShape())
      return emitOpError() << "[C1] has positions for all of its keys";
    for (int64_t d : getDims()) {
      if (d < 0 || d >= to.getRank())
        return emitOpError() << "[C1] reduces dim " << d << " of " << to.getRank();
      if (to.getDimSize(d) != 1)
        return emitOpError() << "reduced dim " << d << " must have extent 1 in the result";
    }
    for (int64_t d = 0; d < to.getRank(); ++d)
      if (!llvm::is_contained(getDims(), d) && to.getDimSize(d) != from.getDimSize(d))
        return emitOpError() << "[C1] keeps the extents of dims that it does not reduce";
  }
  if (failed(verifyStates(*this, getKind(), getIdentity(), getCombine(), getInputs())))
    return failure();
  return getIdentity() ? success() : verifyCombines(*this, getKind(), getResults());
}

LogicalResult ScanOp::verifyRegions() {
  if (getInputs().empty()) // [C1]
    return emitOpError() << "[C1] scans a tile";
  int64_t dim = int64_t(getDim());
  for (auto [in, out, carry, total] : llvm::zip_equal(getInputs(), getOuts(), getCarries(), getTotals())) {
    auto input = cast<RankedTensorType>(in.getType());
    if (dim < 0 || dim >= input.getRank()) // [C1]
      return emitOpError() << "[C1] scans along dim " << dim << " of " << input.getRank();
    SmallVector<int64_t> edge(input.getShape());
    edge[dim] = 1;
    if (out.getType() != input || input.getShape() != cast<RankedTensorType>(getInput().getType()).getShape()) // [C1]
      return emitOpError() << "[C1] has a result of the input's type";
    for (Value v : {Value(carry), Value(total)})
      if (auto type = cast<RankedTensorType>(v.getType());
          type.getShape() != ArrayRef<int64_t>(edge) || type.getElementType() != input.getElementType()) // [C1]
        return emitOpError() << "[C1] has a carry and a total of extent 1 along dim " << dim << ", and like the input's otherwise";
  }
  if (failed(verifyStates(*this, getKind(), getIdentity(), getCombine(), getInputs())))
    return failure();
  Type element = cast<RankedTensorType>(getInput().getType()).getElementType();
  if (!getIdentity() && (getInputs().size() != 1 || te::isArg(getKind()) || !te::combines(getKind(), element))) // [C2]
    return emitOpError() << "[C2] scans elements that " << te::stringifyCombiner(getKind()) << " takes, and no positions";
  return success();
}

LogicalResult TicketOp::verify() {
  if (cast<MemRefType>(getWords().getType()).getElementType().isInteger(64))
    return success();
  return emitOpError() << "counts by the first element of a tensor of i64";
}

LogicalResult LookBackOp::verifyRegions() {
  bool ok = !getTotals().empty() && getTotals().getTypes() == getResults().getTypes();
  for (Value total : getTotals()) {
    auto type = cast<RankedTensorType>(total.getType());
    ok = ok && type.hasStaticShape() && type.getNumElements() == 1 && tells(type.getElementType());
  }
  if (!ok) // [C1]
    return emitOpError() << "[C1] has totals of one element, numbers of at most 64 bits, and as many results of their types";
  bool isCustom = getKind() == te::Combiner::Custom;
  if (isCustom && failed(verifyStates(*this, getKind(), getIdentity(), getCombine(), getTotals()))) // [C2]
    return failure();
  Type element = cast<RankedTensorType>(getTotals().front().getType()).getElementType();
  auto neutral = getIdentity().size() == 1 ? dyn_cast<TypedAttr>(getIdentity()[0]) : TypedAttr();
  if (!isCustom && (!getCombine().empty() || !neutral || neutral.getType() != element))
    return emitOpError() << "[C2] has a region where its kind is custom, and only there, and a neutral number of each total's type";
  if (!isCustom && (getTotals().size() != 1 || te::isArg(getKind()) || !te::combines(getKind(), element)))
    return emitOpError() << "[C2] takes a total that " << te::stringifyCombiner(getKind()) << " takes, and no positions";
  if (!cast<MemRefType>(getWords().getType()).getElementType().isInteger(64) || int64_t(getLevels()) < 1 || int64_t(getLevels()) > 6)
    return emitOpError() << "[C3] has words of i64, and 1 to 6 levels";
  return success();
}

LogicalResult ClusterReduceOp::verify() {
  if (getInputs().empty() || getInputs().getTypes() != getResults().getTypes()) // [C1]
    return emitOpError() << "[C1] has as many results as inputs, of the same types";
  return verifyCombines(*this, getKind(), getResults());
}

LogicalResult RingLoadOp::verify() {
  auto ring = getRing().getType();
  auto tile = getResult().getType();
  bool shared = tile.getElementType().isInteger(8) && tile.getRank() == int64_t(ring.getShape().size()) &&
                llvm::all_of(llvm::zip(tile.getShape(), ring.getShape()),
                             [](auto e) { return std::get<1>(e) > 0 && std::get<0>(e) % std::get<1>(e) == 0; });
  if ((tile.getShape() != ring.getShape() && !shared) || tile.getElementType() != ring.getElementType()) // [C1]
    return emitOpError() << "has the ring's shape and element type, or with bytes multiples of its extents";
  return success();
}

void RolesOp::print(OpAsmPrinter &p) {
  for (auto [i, producer] : llvm::enumerate(getProducers())) {
    p << " producer ";
    if (i == 0)
      p << "registers " << getProducerRegisters() << ' ';
    p.printRegion(producer);
  }
  p << " consumer registers " << getConsumerRegisters() << ' ';
  p.printRegion(getConsumer());
  p.printOptionalAttrDict((*this)->getAttrs(), {"producer_registers", "consumer_registers"});
}

ParseResult RolesOp::parse(OpAsmParser &p, OperationState &state) {
  auto registers = [&](StringRef name) -> ParseResult {
    int64_t count;
    if (p.parseKeyword("registers") || p.parseInteger(count))
      return failure();
    state.addAttribute(name, p.getBuilder().getI64IntegerAttr(count));
    return success();
  };
  Region *consumer = state.addRegion(); // the first, however it is printed
  for (bool first = true; first || succeeded(p.parseOptionalKeyword("producer")); first = false) {
    if (first && (p.parseKeyword("producer") || registers("producer_registers")))
      return failure();
    if (p.parseRegion(*state.addRegion()))
      return failure();
  }
  return failure(p.parseKeyword("consumer") || registers("consumer_registers") || p.parseRegion(*consumer) ||
                 p.parseOptionalAttrDict(state.attributes));
}

static bool isOneI1(RankedTensorType type) { return type.getElementType().isInteger(1) && type.getNumElements() == 1; }

static LogicalResult verifyCondition(Operation *op, Region &condition, size_t numbers, StringRef over) {
  Block &block = condition.front();
  auto holds = block.empty() ? HoldsOp() : dyn_cast<HoldsOp>(block.back());
  bool indices = llvm::all_of(block.getArgumentTypes(), [](Type t) { return t.isIndex(); });
  if (block.getNumArguments() != numbers || !indices || !holds)
    return op->emitOpError() << "has a condition over " << over << ", which ends in tile.holds";
  if (auto type = holds.getValue().getType(); !isOneI1(type))
    return op->emitOpError() << "has a condition of one i1, not " << type;
  return success();
}
LogicalResult CountWhereOp::verifyRegions() { return verifyCondition(*this, getCondition(), 1, "one number"); }
LogicalResult FindWhereOp::verifyRegions() { return verifyCondition(*this, getCondition(), 1, "one number"); }

LogicalResult ExtremeOp::verifyRegions() {
  Block &block = getCondition().front();
  auto gives = block.empty() ? GivesOp() : dyn_cast<GivesOp>(block.back());
  if (block.getNumArguments() != 1 || !block.getArgument(0).getType().isIndex() || !gives)
    return emitOpError() << "has a region over one number, which ends in tile.gives";
  if (getKind() != te::Combiner::Max && getKind() != te::Combiner::Min)
    return emitOpError() << "takes the largest or the smallest: max or min";
  return success();
}

bool kernelc::tile::isSearch(Operation *op) { return isa_and_nonnull<CountWhereOp, FindWhereOp, ExtremeOp>(op); }

template <typename Op> static LogicalResult verifyMask(Op op, size_t rank) {
  if (op.getOffsets().size() != rank)
    return op.emitOpError() << "has " << op.getOffsets().size() << " offsets and a box of " << rank << " indices";
  if (auto type = cast<RankedTensorType>(op.getAll().getType()); !isOneI1(type)) // [C2]
    return op.emitOpError() << "says by one i1 whether all points count, not by " << type;
  return verifyCondition(op, op.getCondition(), rank, "one number per index"); // [C1]
}
LogicalResult MaskOp::verifyRegions() { return verifyMask(*this, size_t(getValue().getType().getRank())); }
LogicalResult RingMaskOp::verifyRegions() { return verifyMask(*this, getRing().getType().getShape().size()); }

bool kernelc::tile::isScalarCode(Operation *op) {
  if (isSearch(op))
    return true;
  auto isTile = [](Type t) { return isa<RankedTensorType>(t); };
  return op->getNumRegions() == 0 && op->getNumResults() > 0 && isMemoryEffectFree(op) && llvm::none_of(op->getResultTypes(), isTile) &&
         llvm::none_of(op->getOperandTypes(), isTile);
}

bool kernelc::tile::isZeroTile(Value tile) {
  auto constant = tile.getDefiningOp<arith::ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
  if (!splat)
    return false;
  return isa<FloatType>(splat.getElementType()) ? splat.getSplatValue<APFloat>().isPosZero() : splat.getSplatValue<APInt>().isZero();
}

namespace {
/// Shape and element type of an operand of a dot, a ring or a tile.
struct DotOperand {
  ArrayRef<int64_t> shape;
  Type element;
};
std::optional<DotOperand> findDotOperand(Value v) {
  if (auto ring = dyn_cast<RingType>(v.getType()))
    return DotOperand{ring.getShape(), ring.getElementType()};
  auto tile = dyn_cast<RankedTensorType>(v.getType());
  return tile ? std::optional(DotOperand{tile.getShape(), tile.getElementType()}) : std::nullopt;
}
} // namespace

LogicalResult DotOp::verify() {
  auto type = getAcc().getType();
  if (getResult().getType() != type)
    return emitOpError() << "has the accumulator's type";
  std::optional<DotOperand> a = findDotOperand(getA()), b = findDotOperand(getB());
  size_t rank = type.getRank();
  if (!a || !b || a->shape.size() != rank || b->shape.size() != rank || (isa<RingType>(getA().getType()) && !getNumber()) ||
      (isa<RingType>(getB().getType()) && !getNumber()) || (getANumber() && !(getNumber() && isa<RingType>(getA().getType()))))
    return emitOpError() << "[C2] takes rings, at a number, or tiles, with the accumulator's " << rank << " dims";
  auto isFloat = [](Type t) { return isa<FloatType>(t); };
  if (isFloat(a->element) != isFloat(type.getElementType()) || isFloat(b->element) != isFloat(type.getElementType()) ||
      !a->element.isIntOrFloat() || !b->element.isIntOrFloat() || !type.getElementType().isIntOrFloat())
    return emitOpError() << "[C3] sums floats in floats, or integers in integers, not " << a->element << " and " << b->element << " in "
                         << type.getElementType();
  llvm::BitVector named(rank);
  for (auto [dims, is] : {std::pair(getM(), 'm'), std::pair(getN(), 'n'), std::pair(getK(), 'k')}) {
    if (dims.empty())
      return emitOpError() << "[C1] names no index in '" << is << "'";
    for (int64_t d : dims) {
      if (d < 0 || d >= int64_t(rank) || named[d])
        return emitOpError() << "[C1] names index " << d << " of " << rank << " in '" << is << "', or names it twice";
      named.set(d);
      int64_t rows = is == 'm'   ? type.getDimSize(d)
                     : is == 'k' ? a->shape[d]
                                 : 1,
              columns = is == 'n'   ? type.getDimSize(d)
                        : is == 'k' ? rows
                                    : 1;
      if (a->shape[d] != rows || b->shape[d] != columns || (is == 'k' && type.getDimSize(d) != 1))
        return emitOpError() << "[C1] has operands of " << a->shape[d] << " and " << b->shape[d] << " and results of " << type.getDimSize(d)
                             << " points along index " << d << ", one of '" << is << "'";
    }
  }
  return success();
}

LogicalResult DotOp::verifyRegions() {
  if (isProduct())
    return getCount() ? emitOpError() << "[C4] has a count of points and no term: of a product the others are zeros" : success();
  Type type = getAcc().getType().getElementType();
  Block &term = getTerm().front();
  auto end = dyn_cast<TermOp>(term.back());
  if (!getTerm().hasOneBlock() || term.getArgumentTypes() != ArrayRef<Type>{type, type} || !end || end.getValue().getType() != type)
    return emitOpError() << "[C4] has a term of two " << type << " that ends in a tile.term of one";
  if (te::isArg(getKind()))
    return emitOpError() << "[C4] combines its terms by " << stringifyCombiner(getKind()) << ", which wants positions, too";
  for (Operation &op : term.without_terminator())
    if (op.getNumRegions() || !isMemoryEffectFree(&op) || llvm::any_of(op.getResultTypes(), llvm::IsaPred<ShapedType>))
      return op.emitOpError() << "[C4] is no scalar op without effects, which a dot's term is made of";
  for (Operation &op : term)
    for (Value v : op.getOperands())
      if (v.getParentRegion() != &getTerm() && !matchPattern(v, m_Constant()))
        return op.emitOpError() << "[C4] takes what is neither made in the dot's term nor a constant";
  return success();
}

LogicalResult RingOp::verify() {
  if (!getOf())
    return success();
  RingType type = getType(), of = cast<RingType>(getOf().getType());
  auto elements = [](RingType ring) {
    return SmallVector<int64_t>(llvm::make_filter_range(ring.getShape(), [](int64_t n) { return n > 1; }));
  };
  auto run = [](RingType ring) {
    return ring.getContiguous() < 0 ? -1
                                    : llvm::count_if(ring.getShape().take_front(ring.getContiguous()), [](int64_t n) { return n > 1; });
  };
  if (elements(type) != elements(of) || run(type) != run(of) || type.getElementType() != of.getElementType() ||
      type.getSlots() != of.getSlots() || type.getPad() != of.getPad())
    return emitOpError() << "has slots that are not those of " << of;
  return success();
}

LogicalResult DotWaitOp::verify() {
  if (getResult().getType() != getAcc().getType())
    return emitOpError() << "has the accumulator's type";
  if (getPending() < 0 || getPending() > 7)
    return emitOpError() << "counts 0 to 7 dots in flight, not " << getPending();
  return success();
}
