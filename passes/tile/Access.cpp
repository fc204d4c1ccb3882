// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/Access.h"

#include "passes/index/Affine.h"
#include "passes/tile/Divisors.h"
#include "passes/tile/TilePoints.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc {

void setBaseLayouts(tile::FuncOp func, ArrayRef<BaseLayout> layouts) {
  if (llvm::all_of(layouts, [](const BaseLayout &l) { return !l.strides && l.alignment == 16; }))
    return;
  Builder b(func.getContext());
  SmallVector<Attribute> strides;
  SmallVector<int64_t> alignment;
  for (const BaseLayout &l : layouts) {
    strides.push_back(l.strides ? Attribute(AffineMapAttr::get(l.strides)) : b.getUnitAttr());
    alignment.push_back(l.alignment);
  }
  func.setArgStridesAttr(b.getArrayAttr(strides));
  func.setArgAlignmentAttr(b.getDenseI64ArrayAttr(alignment));
}

BaseLayout layoutOfBase(tile::FuncOp func, Value base) {
  BaseLayout layout;
  unsigned i = cast<BlockArgument>(base).getArgNumber();
  if (ArrayAttr strides = func.getArgStrides(); !strides.empty())
    if (auto map = dyn_cast<AffineMapAttr>(strides[i]))
      layout.strides = map.getValue();
  if (ArrayRef<int64_t> alignment = func.getArgAlignment(); !alignment.empty())
    layout.alignment = alignment[i];
  return layout;
}

AffineExpr linearAddress(AffineMap map, AffineMap shape, AffineMap strides) {
  MLIRContext *c = map.getContext();
  if (strides) {
    AffineExpr address = getAffineConstantExpr(0, c);
    for (auto [e, s] : llvm::zip(map.getResults(), strides.getResults()))
      address = address + e * s;
    return address;
  }
  AffineExpr address = getAffineConstantExpr(0, c), stride = getAffineConstantExpr(1, c);
  for (int64_t d = int64_t(map.getNumResults()) - 1; d >= 0; --d) {
    address = address + map.getResult(d) * stride;
    stride = stride * shape.getResult(d);
  }
  return address;
}

int64_t contiguousDim(tile::FuncOp func, Value base, AffineMap map, ArrayRef<int64_t> shape) {
  if (map.getNumResults() == 0)
    return -1;
  if (AffineMap strides = layoutOfBase(func, base).strides)
    if (strides.getResults().back() != getAffineConstantExpr(1, map.getContext()))
      return -1;
  ArrayRef<AffineExpr> subscripts = map.getResults();
  AffineExpr one = getAffineConstantExpr(1, map.getContext());
  while (subscripts.size() > 1 && shapeOfBase(func, base).getResult(subscripts.size() - 1) == one && !layoutOfBase(func, base).strides)
    subscripts = subscripts.drop_back(); // of one element
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] <= 1 || te::linearCoefficient(subscripts.back(), d) != 1)
      continue;
    // The dim must not appear in slower subscripts too.
    if (llvm::none_of(subscripts.drop_back(), [&](AffineExpr e) { return e.isFunctionOfDim(d); }))
      return d;
  }
  return -1;
}

ContiguousRun contiguousRun(tile::FuncOp func, Value base, AffineMap map, ArrayRef<int64_t> shape) {
  if (int64_t dim = contiguousDim(func, base, map, shape); dim >= 0 || map.getNumResults() == 0)
    return {dim};
  if (AffineMap strides = layoutOfBase(func, base).strides)
    if (strides.getResults().back() != getAffineConstantExpr(1, map.getContext()))
      return {};
  bool bytes = cast<MemRefType>(base.getType()).getElementType().isInteger(8);
  for (size_t d = 0; bytes && d < shape.size(); ++d) {
    int64_t c = te::neighboursIn(map.getResults().back(), d).value_or(1);
    if (c > 1 && shape[d] % c == 0 && llvm::none_of(map.getResults().drop_back(), [&](AffineExpr e) { return e.isFunctionOfDim(d); }))
      return {int64_t(d), c};
  }
  AffineExpr last = map.getResults().back();
  SmallVector<AffineExpr> origin(map.getNumDims(), getAffineConstantExpr(0, map.getContext()));
  auto offset = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(last.replaceDims(origin), 0, map.getNumSymbols()));
  for (size_t d = 0; offset && d < shape.size(); ++d) {
    int64_t step = te::linearCoefficient(last, d).value_or(0), phase = step > 1 ? (offset.getValue() % step + step) % step : 0;
    if (shape[d] <= 1 || step < 2 || step > 4 ||
        llvm::any_of(map.getResults().drop_back(), [&](AffineExpr e) { return e.isFunctionOfDim(d); }))
      continue;
    auto isRead = [&](int64_t other) {
      AffineExpr there = simplifyAffineExpr(last + (other - phase), map.getNumDims(), map.getNumSymbols());
      return llvm::any_of(base.getUsers(), [&](Operation *user) {
        auto load = dyn_cast<tile::LoadOp>(user);
        return load && load.getMap().getNumDims() == map.getNumDims() &&
               load.getMap().getResults().drop_back() == map.getResults().drop_back() && load.getMap().getResults().back() == there;
      });
    };
    if (llvm::all_of(llvm::seq(step), isRead))
      return {int64_t(d), 1, step, phase};
  }
  return {};
}

SmallVector<int64_t> boxShape(AffineMap map, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> box(shape);
  for (size_t d = 0; d < shape.size(); ++d)
    for (AffineExpr e : map.getResults())
      if (int64_t c = te::neighboursIn(e, d).value_or(1); c > 1 && shape[d] % c == 0)
        box[d] = shape[d] / c;
  return box;
}

int64_t provableVector(tile::FuncOp func, Value base, AffineMap map, int64_t dim, bool ragged, int64_t limit) {
  return provableVector(func, base, map, ContiguousRun{dim}, ragged, limit);
}

int64_t provableVector(tile::FuncOp func, Value base, AffineMap map, const ContiguousRun &run, bool ragged, int64_t limit) {
  // Where windows of a block's own memory are read, neighbours are of neighbouring lanes: vectors of lanes lie in the same banks.
  if (run.dim < 0 || func.isAlignedAlong(unsigned(run.dim)) || llvm::any_of(func.getSources(), tile::isOwnMemory))
    return 1;
  te::SizeFacts facts{func.getSizeDiv(), func.getSizeMax()};
  BaseLayout layout = layoutOfBase(func, base);
  AffineMap shape = shapeOfBase(func, base);
  AffineExpr address = linearAddress(map, shape, layout.strides) - run.phase;
  int64_t bytes = std::max(1u, cast<MemRefType>(base.getType()).getElementTypeBitWidth() / 8);
  limit = std::max<int64_t>(1, std::min(limit, layout.alignment / bytes * run.perElement / run.step));
  auto isMultiple = [](int64_t divisor, int64_t of) { return divisor == 0 || divisor % of == 0; };
  for (int64_t v = llvm::bit_floor(uint64_t(limit)); v > 1 && v % run.perElement == 0; v /= 2) {
    SmallVector<int64_t> dimDiv = divisorsOf(func, map, run.dim, v);
    int64_t elements = v * run.step / run.perElement;
    if (!isMultiple(te::knownDivisor(address, facts, dimDiv), elements))
      continue;
    if (ragged && !isMultiple(te::knownDivisor(func.getExtent(run.dim), facts), v))
      continue;
    // What lies between is inside where rows are whole vectors.
    if ((run.step > 1 || run.phase > 0) && !(isMultiple(te::knownDivisor(map.getResults().back() - run.phase, facts, dimDiv), elements) &&
                                             isMultiple(te::knownDivisor(shape.getResults().back(), facts), elements)))
      continue;
    return v;
  }
  return 1;
}

std::optional<int64_t> findOwnIndex(tile::FuncOp func, AffineExpr subscript, AffineExpr end) {
  auto index = dyn_cast<AffineDimExpr>(subscript);
  bool isOwn = index && index.getPosition() < func.getRank() && func.getExtent(index.getPosition()) == end;
  return isOwn ? std::optional<int64_t>(index.getPosition()) : std::nullopt;
}

/// How far beyond the extent of index `d` a tile may begin: all blocks of the last cluster run, and both tiles of the last pair are taken.
static int64_t mostBeyond(tile::FuncOp func, int64_t d, const te::SizeFacts &facts) {
  int64_t tiles = int64_t(func.getClusterIndex()) != d ? 1 : func.getPaired() ? 2 : int64_t(func.getCluster());
  int64_t points = func.getTiles()[d];
  return te::knownDivisor(func.getExtent(d), facts) % (tiles * points) == 0 ? 0 : (tiles - 1) * points;
}

bool hasWholeTiles(tile::FuncOp func, int64_t d, int64_t points) {
  te::SizeFacts facts{func.getSizeDiv(), func.getSizeMax()};
  return mostBeyond(func, d, facts) == 0 && te::knownDivisor(func.getExtent(d), facts) % points == 0;
}

TilePoints::TilePoints(tile::FuncOp func, AffineMap map, ArrayRef<int64_t> shape, ArrayRef<int64_t> kept)
    : func_(func), kept_(kept), points_(unsigned(func.getSizes().size()), {func.getSizeDiv(), func.getSizeMax()}) {
  te::SizeFacts facts{func.getSizeDiv(), func.getSizeMax()};
  SmallVector<AffineExpr> extents(map.getNumDims()); // (what data say is any number)
  for (auto [d, n] : llvm::enumerate(shape)) {
    AffineExpr extent = func.getExtent(d);
    bool isKept = llvm::is_contained(kept, int64_t(d)), isWalked = func.getTiles()[d] == 1 && map.isFunctionOfDim(d);
    if (isKept || isWalked || llvm::is_contained(func.getGridDims(), int64_t(d)) || te::knownPositive(extent, facts))
      extents[d] = extent + (isKept || hasWholeTiles(func, d, n) ? 0 : mostBeyond(func, d, facts) + n - 1);
  }
  point_ = points_.addPoint(extents);
  for (unsigned d = 0; d < shape.size(); ++d)
    points_.addAtLeastZero(getAffineDimExpr(d, func.getContext()), point_);
}

bool TilePoints::isNeverNegative(AffineExpr e) {
  // (Tiles that begin where vectors do have points before the first one, which only a mask knows.)
  for (unsigned d = 0; d < func_.getRank(); ++d)
    if (func_.mayBeginBefore(d) && e.isFunctionOfDim(d) && !llvm::is_contained(kept_, int64_t(d)))
      return false;
  return points_.isNeverNegative(e, point_);
}

KeptEnds findKeptEnds(tile::FuncOp func, AffineMap map, AffineMap tensor, unsigned r, ArrayRef<int64_t> shape, ArrayRef<int64_t> kept) {
  AffineExpr subscript = map.getResult(r);
  if (std::optional<int64_t> own = findOwnIndex(func, subscript, tensor.getResult(r)); own && llvm::is_contained(kept, *own))
    return {true, true};
  TilePoints points(func, map, shape, kept);
  return {points.isNeverNegative(subscript), points.isNeverNegative(tensor.getResult(r) - 1 - subscript)};
}

int64_t copiedVector(tile::FuncOp func, Value base, AffineMap map, te::BoundsMode bounds, int64_t dim, bool ragged, int64_t limit) {
  auto mayStraddle = [&](AffineExpr e) { return e.isFunctionOfDim(dim) && !isa<AffineDimExpr>(e); };
  if (bounds == te::BoundsMode::Pad && llvm::any_of(map.getResults(), mayStraddle))
    return 1;
  return provableVector(func, base, map, dim, ragged, limit);
}

bool isZeroPadded(tile::LoadOp load) {
  if (load.getBounds() != te::BoundsMode::Pad)
    return false;
  return tile::isZeroTile(load.getPadding());
}

bool isOnlyRead(Value base) { return llvm::all_of(base.getUsers(), llvm::IsaPred<tile::LoadOp, tile::RingCopyOp>); }

bool isCopyable(tile::FuncOp func, tile::LoadOp load, int64_t dim) {
  if (dim < 0 || !load.getIndexTiles().empty())
    return false;
  auto mode = load.getBounds();
  if (mode != te::BoundsMode::InBounds && mode != te::BoundsMode::Assume && !isZeroPadded(load))
    return false;
  auto type = cast<RankedTensorType>(load.getResult().getType());
  int64_t bytes = std::max(1u, type.getElementTypeBitWidth() / 8);
  int64_t v = copiedVector(func, load.getBase(), load.getMap(), mode, dim, llvm::is_contained(load.getMask(), dim),
                           std::min<int64_t>(16 / bytes, type.getDimSize(dim)));
  return v * bytes >= 4;
}

int64_t pointsOf(ArrayRef<int64_t> shape, ArrayRef<int64_t> dims) {
  int64_t points = 1;
  for (int64_t d : dims)
    points *= shape[d];
  return points;
}

AffineMap shapeOfBase(tile::FuncOp func, Value base) { return func.getArgShape(cast<BlockArgument>(base).getArgNumber()); }

} // namespace kernelc
