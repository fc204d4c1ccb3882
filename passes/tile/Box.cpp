// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/Box.h"

#include "passes/index/Runs.h"
#include "passes/tile/Access.h"

using namespace mlir;

namespace kernelc {

namespace {

/// The largest step that a tensor map takes (cuTensorMapEncodeTiled, elementStrides).
constexpr int64_t kLargestStep = 8;
/// And elements that a box has along one of its dims.
constexpr int64_t kLongestSide = 256;
/// Copies that one thread starts for a tile.
constexpr int64_t kMostPieces = 16;

/// One dim of the map: the tensor's elements that it follows, and which launch index walks it.
struct MapDim {
  int64_t index = -1; ///< -1: none; of digits the slowest
  int64_t last = -1;  ///< of digits the fastest, else the same
  AffineExpr start, window, stride;
  int64_t size = 1, step = 1;
};

class BoxFinder {
public:
  BoxFinder(const TensorRead &read, const te::SizeFacts &facts, std::string &why)
      : read_(read), facts_(facts), why_(why), seen_(read.box.size()), hasRemainder_(read.box.size()), shared_(read.box.size(), 1) {
    SmallVector<AffineExpr> subscripts; // `h * (E floordiv 8)` is in steps where E is known
    for (AffineExpr e : read.map.getResults())
      subscripts.push_back(te::withPinnedSizes(e, read.map.getNumDims(), read.map.getNumSymbols(), facts));
    read_.map = AffineMap::get(read.map.getNumDims(), read.map.getNumSymbols(), subscripts, read.map.getContext());
  }

  std::optional<Box> find();

private:
  bool no(const char *reason) {
    why_ = reason;
    return false;
  }
  bool takeSubscripts();
  bool areCopied();
  bool isSlotOf(const tile::SlotLayout &slot);
  /// Whether dim r of a dense tensor has one element, which is read: neighbours lie along another dim.
  bool isOnePoint(int64_t r) const {
    MLIRContext *context = read_.map.getContext();
    return !read_.strides && read_.map.getNumResults() > 1 && read_.shape.getResult(r) == getAffineConstantExpr(1, context) &&
           read_.map.getResult(r) == getAffineConstantExpr(0, context);
  }
  bool takeSubscript(int64_t r, AffineExpr stride);
  bool areDigits(int64_t r, SmallVectorImpl<int64_t> &followed);
  bool takePlain(int64_t r, AffineExpr stride, int64_t d);
  bool takeRun(int64_t r, AffineExpr stride, int64_t d);
  bool takeDigits(int64_t r, AffineExpr stride, ArrayRef<int64_t> digits);
  bool takeWindows(int64_t r, AffineExpr stride, ArrayRef<int64_t> followed);
  /// Points of index `d` that follow each other in memory.
  int64_t pointsOf(int64_t d) const { return d == pieces_.along ? pieces_.points : read_.box[d]; }
  bool isRagged(int64_t d) {
    int64_t box = read_.box[d] * shared_[d];
    int64_t tile = read_.tiles.empty() ? box : std::max(box, read_.tiles[d]);
    return te::knownDivisor(read_.extents.getResult(d), facts_) % tile != 0;
  }
  /// Without the part of launch index `d`.
  AffineExpr without(AffineExpr e, int64_t d) {
    SmallVector<AffineExpr> dims;
    for (size_t i = 0; i < read_.box.size(); ++i)
      dims.push_back(int64_t(i) == d ? getAffineConstantExpr(0, e.getContext()) : getAffineDimExpr(i, e.getContext()));
    return simplifyAffineExpr(e.replaceDims(dims), read_.box.size(), read_.shape.getNumSymbols());
  }

  TensorRead read_;
  const te::SizeFacts &facts_;
  std::string &why_;
  llvm::BitVector seen_, hasRemainder_;
  SmallVector<int64_t> shared_; ///< how many neighbours along an index share an element: `d floordiv 2`
  SmallVector<MapDim> dims_;    ///< innermost first
  Pieces pieces_;
};

/// Whether `e` is `least` rounded up to a multiple of something.
bool isRoundedUp(AffineExpr e, AffineExpr least) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return isa<AffineConstantExpr>(least) && c.getValue() >= cast<AffineConstantExpr>(least).getValue();
  auto product = dyn_cast<AffineBinaryOpExpr>(e);
  if (!product || e.getKind() != AffineExprKind::Mul)
    return false;
  auto quotient = dyn_cast<AffineBinaryOpExpr>(product.getLHS());
  return quotient && quotient.getKind() == AffineExprKind::CeilDiv && quotient.getLHS() == least && quotient.getRHS() == product.getRHS();
}

/// The index and c of `d mod c`.
std::optional<std::pair<int64_t, int64_t>> matchRemainder(AffineExpr e) {
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  auto d = bin && e.getKind() == AffineExprKind::Mod ? dyn_cast<AffineDimExpr>(bin.getLHS()) : AffineDimExpr(nullptr);
  auto c = d ? dyn_cast<AffineConstantExpr>(bin.getRHS()) : AffineConstantExpr();
  return c ? std::optional(std::pair(int64_t(d.getPosition()), c.getValue())) : std::nullopt;
}

bool BoxFinder::takeSubscript(int64_t r, AffineExpr stride) {
  AffineExpr e = read_.map.getResult(r);
  SmallVector<int64_t> followed;
  for (size_t d = 0; d < read_.box.size(); ++d) {
    if (read_.box[d] <= 1 || !e.isFunctionOfDim(d))
      continue;
    bool startsAnew = matchRemainder(e).has_value();
    if (!startsAnew && (hasRemainder_[d] && !te::variesInTile(e, d, pointsOf(d))))
      continue; // the same throughout a piece
    int64_t shared = read_.elementBytes == 1 && !read_.points.empty() ? te::neighboursIn(e, d).value_or(1) : 1;
    if (shared > 1 && read_.box[d] * shared != read_.points[d])
      return no("a box ends inside an element that neighbours share");
    int64_t step = startsAnew ? 1 : te::linearCoefficient(e, d).value_or(0);
    if (shared == 1 && step < 0)
      return no("a subscript walks an index backwards");
    if (seen_[d] || (shared == 1 && step == 0))
      return no("a subscript is not a sum of indices, in steps, plus an offset");
    seen_.set(d);
    shared_[d] = shared;
    followed.push_back(d);
  }
  if (followed.size() > 1 && llvm::any_of(followed, [&](int64_t d) { return shared_[d] > 1; }))
    return no("an index that shares elements stands in a subscript with another");
  if (followed.size() <= 1)
    return takePlain(r, stride, followed.empty() ? -1 : followed[0]);
  return areDigits(r, followed) ? takeDigits(r, stride, followed) : takeWindows(r, stride, followed);
}

/// Whether the box's points of `followed`, which are put in order, slowest first, are all elements between the first and the last: `2 * h +
/// u` where it has both u.
bool BoxFinder::areDigits(int64_t r, SmallVectorImpl<int64_t> &followed) {
  AffineExpr e = read_.map.getResult(r);
  llvm::stable_sort(followed, [&](int64_t x, int64_t y) { return *te::linearCoefficient(e, x) > *te::linearCoefficient(e, y); });
  int64_t next = *te::linearCoefficient(e, followed.back());
  for (int64_t d : llvm::reverse(followed)) {
    if (d == pieces_.along || (read_.reduced[d] && isRagged(d)) || *te::linearCoefficient(e, d) != next)
      return false;
    next *= read_.box[d];
  }
  return !dims_.empty() && next <= kLongestSide;
}

bool BoxFinder::takePlain(int64_t r, AffineExpr stride, int64_t d) {
  AffineExpr e = read_.map.getResult(r), extent = read_.shape.getResult(r);
  bool last = dims_.empty();
  bool startsAnew = d >= 0 && matchRemainder(e);
  int64_t shared = d < 0 ? 1 : shared_[d], step = d < 0 || shared > 1 || startsAnew ? 1 : *te::linearCoefficient(e, d);
  if (step > kLargestStep)
    return no("a subscript goes in steps of more than 8");
  if (step > 1 && last)
    return no("elements of a row are not neighbours");
  if (last && d >= 0) {
    // A copy from elsewhere is an illegal instruction (an H200; the PTX manual is silent).
    SmallVector<int64_t> dimDiv(read_.box.size(), 1);
    dimDiv[d] = pointsOf(d) * shared;
    if (te::knownDivisor(e, facts_, dimDiv) * read_.elementBytes % 16 != 0)
      return no("boxes are not known to start at multiples of 16 bytes of a row");
  }
  // Points beyond a reduced index's extent must be zero: the window ends there.
  if (startsAnew && read_.reduced[d] && isRagged(d)) {
    bool isByData = llvm::any_of(read_.map.getResults(), [&](AffineExpr x) {
      return llvm::any_of(llvm::seq<unsigned>(read_.box.size(), read_.map.getNumDims()), [&](unsigned n) { return x.isFunctionOfDim(n); });
    });
    if (!isByData || te::knownDivisor(read_.extents.getResult(d), facts_) % pointsOf(d))
      return no("the end of a reduced index lies inside a page");
  } else if (d >= 0 && read_.reduced[d] && isRagged(d)) {
    if (step > 1)
      return no("the end of a reduced index lies between steps");
    if (te::knownDivisor(read_.extents.getResult(d), facts_) % shared)
      return no("the end of a reduced index lies inside an element");
    AffineExpr position = getAffineDimExpr(d, e.getContext()).floorDiv(shared);
    AffineExpr end = e - position + read_.extents.getResult(d).floorDiv(shared);
    end = simplifyAffineExpr(end, read_.box.size(), read_.shape.getNumSymbols());
    if (!end.isSymbolicOrConstant() && step == 1 && shared == 1 && takeRun(r, stride, d))
      return true;
    if (!end.isSymbolicOrConstant() || (read_.zeroOutside && end != extent && !isRoundedUp(extent, end)))
      return no("the end of a reduced index moves with other indices");
    extent = end;
  } else if (d >= 0 && last && step == 1 && shared == 1 && !startsAnew && isRagged(d) && takeRun(r, stride, d)) {
    return true; // (a tile of columns that goes on behind the run would bring what nobody has written)
  }
  dims_.push_back({d, d, e, extent, stride, d < 0 ? 1 : pointsOf(d), step});
  return true;
}

/// `80 * h + d` with one h to a tile and an end of d inside it (a head's columns in a packed row): d is a dim of the map that ends where
/// the run does, and which run it is another one over the same memory.
bool BoxFinder::takeRun(int64_t r, AffineExpr stride, int64_t d) {
  unsigned dims = read_.map.getNumDims(), symbols = read_.shape.getNumSymbols();
  std::optional<te::Run> run = te::findRun(read_.map.getResult(r), d, dims, symbols, read_.elementBytes, facts_);
  AffineExpr points = te::withPinnedSizes(read_.extents.getResult(d), 0, symbols, facts_);
  if (!run || !isa<AffineConstantExpr>(points) || dims != read_.box.size()) // (a run by data has a dim more)
    return false;
  AffineExpr begin = simplifyAffineExpr(run->which * run->pitch, dims, symbols);
  if (!te::areRunsWhole(begin, points, te::withPinnedSizes(read_.shape.getResult(r), 0, symbols, facts_), facts_))
    return false;
  AffineExpr runs = te::withPinnedSizes((read_.shape.getResult(r) - points).floorDiv(run->pitch) + 1, 0, symbols, facts_);
  dims_.push_back({d, d, getAffineDimExpr(d, points.getContext()), points, stride, pointsOf(d), 1});
  dims_.push_back({-1, -1, run->which, runs, stride * run->pitch});
  return true;
}

/// One dim of the map for all digits.
bool BoxFinder::takeDigits(int64_t r, AffineExpr stride, ArrayRef<int64_t> digits) {
  AffineExpr e = read_.map.getResult(r);
  int64_t step = *te::linearCoefficient(e, digits.back()), points = 1;
  if (step > kLargestStep)
    return no("a subscript goes in steps of more than 8");
  for (int64_t d : digits)
    points *= read_.box[d];
  dims_.push_back({digits.front(), digits.back(), e, read_.shape.getResult(r), stride, points, step});
  return true;
}

/// `2 * q + s` with both indices tiled: windows that overlap, a dim of the map each over the same memory. Nothing but the indices' ends
/// clips them, so that the read must be inside by itself. Where they begin moves in steps (the heads of a group in a packed row, `320 * g +
/// 80 * h + d`): another dim.
bool BoxFinder::takeWindows(int64_t r, AffineExpr stride, ArrayRef<int64_t> followed) {
  if (read_.zeroOutside)
    return no("windows of a tensor that overlap cannot end where it does");
  AffineExpr e = read_.map.getResult(r), begin = e, span = getAffineConstantExpr(1, e.getContext());
  for (int64_t d : followed) {
    begin = without(begin, d);
    span = span + (read_.extents.getResult(d) - 1) * *te::linearCoefficient(e, d);
  }
  int64_t pitch = te::knownDivisor(begin, facts_);
  bool moves = begin != getAffineConstantExpr(0, e.getContext());
  bool isDim = moves && pitch * read_.elementBytes % 16 == 0 && read_.map.getNumDims() == read_.box.size() &&
               te::areRunsWhole(begin, span, read_.shape.getResult(r), facts_);
  if (moves && !isDim)
    return no("windows that overlap start at an offset");
  // The index whose neighbours are neighbours in memory comes first.
  SmallVector<int64_t> order(followed);
  llvm::stable_sort(order, [&](int64_t x, int64_t y) { return *te::linearCoefficient(e, x) < *te::linearCoefficient(e, y); });
  if (dims_.empty() && *te::linearCoefficient(e, order.front()) != 1)
    return no("elements of a row are not neighbours");
  for (int64_t d : order)
    dims_.push_back(
        {d, d, getAffineDimExpr(d, e.getContext()), read_.extents.getResult(d), stride * *te::linearCoefficient(e, d), read_.box[d], 1});
  if (moves) {
    unsigned symbols = read_.shape.getNumSymbols();
    AffineExpr which = te::withPinnedSizes(begin.floorDiv(pitch), read_.box.size(), symbols, facts_);
    AffineExpr starts = te::withPinnedSizes((read_.shape.getResult(r) - span).floorDiv(pitch) + 1, 0, symbols, facts_);
    dims_.push_back({-1, -1, which, starts, stride * pitch});
  }
  return true;
}

std::optional<Box> BoxFinder::find() {
  if (!takeSubscripts() || !areCopied())
    return std::nullopt;
  // Rows arrive in the map's order; the slot has them in its own.
  tile::SlotLayout slot(read_.box, read_.elementBytes, dims_.front().index, read_.pad);
  if (!isSlotOf(slot))
    return std::nullopt;
  Box b;
  b.contiguous = dims_.front().index;
  for (const MapDim &d : dims_) {
    b.starts.push_back(d.start);
    b.window.push_back(d.window);
    b.sizes.push_back(d.size);
    b.steps.push_back(d.step);
    if (b.starts.size() > 1)
      b.strides.push_back(d.stride);
  }
  b.pieces = pieces_;
  b.panels = b.sizes[0] / slot.width;
  b.sizes[0] = slot.width;
  b.swizzleBytes = slot.swizzleBytes;
  for (auto [size, step] : llvm::zip(b.sizes, b.steps))
    if ((size - 1) * step + 1 > kLongestSide) {
      no("a box is longer than 256");
      return std::nullopt;
    }
  return b;
}

/// The dims of the map, the contiguous one first.
bool BoxFinder::takeSubscripts() {
  int64_t rank = read_.map.getNumResults();
  if (rank == 0)
    return no("a tensor copy has one to five dims");
  if (read_.alignment % 16)
    return no("it does not start at a multiple of 16 bytes");
  if (read_.strides && read_.strides.getResults().back() != getAffineConstantExpr(1, read_.map.getContext()))
    return no("no index is contiguous in memory");
  std::optional<Pieces> pieces = findPieces(read_.map, read_.box);
  if (!pieces)
    return no("pages and tiles do not divide each other");
  pieces_ = *pieces;
  for (AffineExpr e : read_.map.getResults())
    if (auto remainder = matchRemainder(e))
      hasRemainder_.set(remainder->first);
  AffineExpr stride = getAffineConstantExpr(read_.elementBytes, read_.map.getContext());
  for (int64_t r = rank - 1; r >= 0; --r) {
    if (isOnePoint(r))
      continue;
    if (read_.strides)
      stride = read_.strides.getResult(r) * read_.elementBytes;
    if (!takeSubscript(r, stride))
      return false;
    stride = stride * read_.shape.getResult(r);
  }
  return true;
}

/// Whether a tensor copy has such dims.
bool BoxFinder::areCopied() {
  if (dims_.size() > 5)
    return no("a tensor copy has one to five dims");
  if (dims_.front().index < 0)
    return no("no index with several points in a tile runs along memory");
  for (const MapDim &d : llvm::drop_begin(dims_))
    if (te::knownDivisor(d.stride, facts_) % 16 != 0)
      return no("rows are not known to be multiples of 16 bytes");
  // Coordinates are ints, strides have 40 bits. (Where nothing is known of them the launch checks it.)
  constexpr int64_t kMostPoints = int64_t(1) << 31, kLongestStride = int64_t(1) << 40;
  for (const MapDim &d : dims_)
    if (te::knownMax(d.window, facts_) > kMostPoints || te::knownMax(d.stride, facts_) >= kLongestStride)
      return no("it is larger than the coordinates of a tensor copy");
  for (size_t d = 0; d < read_.box.size(); ++d)
    if (read_.box[d] > 1 && !seen_[d])
      return no("an index appears in no subscript alone");
  return true;
}

/// Whether rows arrive where `slot` has them.
bool BoxFinder::isSlotOf(const tile::SlotLayout &slot) {
  auto placeOf = [&](int64_t d) { return llvm::find(slot.rowDims, d) - slot.rowDims.begin(); };
  int64_t before = read_.box.size(), place = slot.rowDims.size();
  for (const MapDim &d : llvm::drop_begin(dims_))
    if (d.index >= 0) {
      if (placeOf(d.last) >= place)
        return no("the indices stand in another order than in the tensor");
      before = d.index;
      place = placeOf(d.index);
    }
  if (slot.pitch != slot.width)
    return no("rows of its slots are further apart than they are long");
  if (slot.width * read_.elementBytes < 16)
    return no("rows of a tile are shorter than 16 bytes");
  if (dims_.front().size % slot.width)
    return no("rows of a tile are no whole panels of 128 bytes");
  // The swizzle is a function of the address: panels start on its period of eight rows.
  if (slot.swizzleBytes && slot.rows % 8)
    return no("a tile has fewer than eight rows");
  if (pieces_.count > 1) {
    if (pieces_.along != before || (slot.swizzleBytes && slot.rows / pieces_.count % 8))
      return no("pages are not eight rows of a tile, or more, one page behind the other");
    if (pieces_.count > kMostPieces)
      return no("a tile has more than 16 pages");
  }
  return true;
}

} // namespace

std::optional<Pieces> findPieces(AffineMap map, ArrayRef<int64_t> box) {
  Pieces pieces;
  for (AffineExpr e : map.getResults()) {
    auto remainder = matchRemainder(e);
    if (!remainder || remainder->first >= int64_t(box.size()) || box[remainder->first] == 1)
      continue;
    auto [d, radix] = *remainder;
    if (radix % box[d] == 0)
      continue; // a tile lies within a page
    if (box[d] % radix || (pieces.along >= 0 && (pieces.along != d || pieces.points != radix)))
      return std::nullopt;
    pieces = {d, radix, box[d] / radix};
  }
  return pieces;
}

size_t slowestDim(const Box &box) {
  size_t slowest = box.sizes.size() - 1;
  while (slowest > 0 && box.sizes[slowest] == 1)
    --slowest;
  return slowest;
}

bool canShareBox(const Box &box, int64_t blocks) {
  if (box.pieces.count > 1)
    return false;
  if (box.panels % blocks == 0)
    return true;
  size_t slowest = slowestDim(box);
  return slowest > 0 && box.sizes[slowest] % (8 * blocks) == 0; // swizzles repeat after eight rows
}

std::optional<Box> findBox(const TensorRead &read, const te::SizeFacts &facts, std::string &why) {
  return BoxFinder(read, facts, why).find();
}

/// A box between `base` and slots of `ring`; what it may read or write beyond the
/// indices' extents is still to be said.
static TensorRead accessOf(tile::FuncOp func, Value base, AffineMap map, tile::RingType ring) {
  TensorRead access{map,
                    shapeOfBase(func, base),
                    func.getExtents(),
                    ring.getShape(),
                    std::max<int64_t>(1, ring.getElementType().getIntOrFloatBitWidth() / 8),
                    false,
                    llvm::BitVector(func.getRank())};
  BaseLayout layout = layoutOfBase(func, base);
  access.strides = layout.strides;
  access.alignment = layout.alignment;
  access.pad = ring.getPad();
  return access;
}

std::optional<Box> findBox(tile::FuncOp func, tile::RingCopyOp copy, std::string &why) {
  return findBox(func, copy.getBase(), copy.getMap(), copy.getBounds(), copy.getRing().getType(), why);
}

std::optional<Box> findBox(tile::FuncOp func, Value base, AffineMap map, te::BoundsMode bounds, tile::RingType ring, std::string &why) {
  TensorRead read = accessOf(func, base, map, ring);
  read.points = func.getTiles();
  read.zeroOutside = bounds == te::BoundsMode::Pad;
  // Grid indices' overhang is never stored; all others are reduced over.
  read.reduced.set();
  for (int64_t d : func.getGridDims())
    read.reduced.reset(d);
  return findBox(read, {func.getSizeDiv(), func.getSizeMax()}, why);
}

std::optional<Box> findStoreBox(tile::FuncOp func, Value base, AffineMap map, tile::RingType ring, std::string &why) {
  TensorRead write = accessOf(func, base, map, ring);
  SmallVector<int64_t> tiles(func.getTiles()); // of all blocks of a cluster, which run whether there are tiles for them or not
  if (llvm::is_contained(func.getGridDims(), int64_t(func.getClusterIndex())))
    tiles[func.getClusterIndex()] *= func.getCluster();
  write.tiles = tiles;
  write.reduced.set();
  std::optional<Box> box = findBox(write, {func.getSizeDiv(), func.getSizeMax()}, why);
  if (box && llvm::any_of(box->steps, [](int64_t s) { return s > 1; })) {
    why = "results are not neighbours";
    return std::nullopt;
  }
  // Where a row of the window ends inside 16 bytes, all 16 are written (seen on an H200): in a
  // workspace they are padding, elsewhere another tensor's.
  bool padded = func.getSources()[cast<BlockArgument>(base).getArgNumber()] < 0;
  if (box && !padded && te::knownDivisor(box->window[0] * write.elementBytes, {func.getSizeDiv(), func.getSizeMax()}) % 16 != 0) {
    why = "rows do not end at multiples of 16 bytes";
    return std::nullopt;
  }
  return box;
}

} // namespace kernelc
