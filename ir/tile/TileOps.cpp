// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Verifiers of functions and of ops on tiles; those of rings and dots are in TileRings.cpp, of masks and searches in TileSearch.cpp. What
// ops fold to is in TileFold.cpp.
#include "ir/te/Combiners.h"
#include "ir/tile/FuncVerifier.h"
#include "ir/tile/Tile.h"

using namespace mlir;
using namespace kernelc;
using namespace kernelc::tile;

AffineMap FuncOp::getArgShape(unsigned i) { return cast<AffineMapAttr>(getArgShapes()[i]).getValue(); }
AffineExpr FuncOp::getExtent(unsigned d) { return getExtents().getResult(d); }

AffineExpr FuncOp::getNumPrograms(unsigned d) {
  int64_t blocks = int64_t(getClusterIndex()) != d ? 1 : getPaired() ? 2 : getCluster();
  AffineExpr points = mayBeginBefore(d) ? getExtent(d) + (findAlignedRows()->align - 1) : getExtent(d);
  return points.ceilDiv(getTiles()[d] * blocks);
}

std::optional<AlignedRows> FuncOp::findAlignedRows() {
  AffineMapAttr attr = getAlignedRows();
  if (!attr)
    return std::nullopt;
  AffineMap map = attr.getValue();
  return AlignedRows{map.getResult(0), cast<AffineDimExpr>(map.getResult(1)).getPosition(),
                     cast<AffineConstantExpr>(map.getResult(2)).getValue()};
}

void FuncOp::setAlignedRows(const AlignedRows &rows) {
  Builder b(getContext());
  AffineExpr results[] = {rows.form, b.getAffineDimExpr(rows.index), b.getAffineConstantExpr(rows.align)};
  setAlignedRowsAttr(AffineMapAttr::get(AffineMap::get(getRank(), getSizes().size(), results, getContext())));
}

LogicalResult FuncOp::verifyRegions() { return verifyFunc(*this); }

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
      return emitOpError() << "[C1] scans along dim " << dim << ", and its input has " << input.getRank() << " dims";
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
