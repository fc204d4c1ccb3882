#include "passes/tile/Box.h"

#include "passes/tile/Access.h"

using namespace mlir;

namespace kernelc {

namespace {

/// The largest step that a tensor map takes (cuTensorMapEncodeTiled, elementStrides).
constexpr int64_t kLargestStep = 8;

/// The launch index with a box of more than one point that `e` follows in steps of
/// `step`; -1 when none does; -2 when `e` depends on such indices otherwise.
int64_t followedIndex(AffineExpr e, ArrayRef<int64_t> box, int64_t &step) {
  int64_t found = -1;
  step = 1;
  for (size_t d = 0; d < box.size(); ++d) {
    if (box[d] <= 1 || !e.isFunctionOfDim(d))
      continue;
    step = te::linearCoefficient(e, d).value_or(0);
    if (found != -1 || step < 1 || step > kLargestStep)
      return -2;
    found = d;
  }
  return found;
}

} // namespace

size_t slowestDim(const Box &box) {
  size_t slowest = box.sizes.size() - 1;
  while (slowest > 0 && box.sizes[slowest] == 1)
    --slowest;
  return slowest;
}

bool canShareBox(const Box &box, int64_t blocks) {
  if (box.panels % blocks == 0)
    return true;
  size_t slowest = slowestDim(box);
  return box.panels == 1 && slowest > 0 && box.sizes[slowest] % (8 * blocks) == 0;
}

std::optional<Box> findBox(const TensorRead &read, const te::SizeFacts &facts, std::string &why) {
  auto no = [&](const char *reason) {
    why = reason;
    return std::nullopt;
  };
  int64_t rank = read.map.getNumResults();
  if (rank == 0 || rank > 5)
    return no("a tensor copy has one to five dims");
  if (read.alignment % 16)
    return no("it does not start at a multiple of 16 bytes");
  if (read.strides && read.strides.getResults().back() != getAffineConstantExpr(1, read.map.getContext()))
    return no("no index is contiguous in memory");
  Box b;
  SmallVector<int64_t> followed;
  llvm::BitVector seen(read.box.size());
  AffineExpr stride = getAffineConstantExpr(read.elementBytes, read.map.getContext());
  for (int64_t r = rank - 1; r >= 0; --r) {
    AffineExpr e = read.map.getResult(r), extent = read.shape.getResult(r);
    int64_t step, d = followedIndex(e, read.box, step);
    if (d == -2 || (d >= 0 && seen[d]))
      return no("a subscript is not one index, in steps of 1 to 8, plus an offset");
    if (step > 1 && r == rank - 1)
      return no("elements of a row are not neighbours");
    if (r == rank - 1 && d >= 0) {
      // A copy from elsewhere is an illegal instruction (an H200; the PTX manual is silent).
      SmallVector<int64_t> dimDiv(read.box.size(), 1);
      dimDiv[d] = read.box[d];
      if (te::knownDivisor(e, facts, dimDiv) * read.elementBytes % 16 != 0)
        return no("boxes are not known to start at multiples of 16 bytes of a row");
    }
    if (d >= 0) {
      seen.set(d);
      bool ragged = te::knownDivisor(read.extents.getResult(d), facts) % read.box[d] != 0;
      // Points beyond a reduced index's extent must be zero: the window ends there.
      if (ragged && read.reduced[d] && step > 1)
        return no("the end of a reduced index lies between steps");
      if (ragged && read.reduced[d]) {
        AffineExpr end = e - getAffineDimExpr(d, e.getContext()) + read.extents.getResult(d);
        end = simplifyAffineExpr(end, read.box.size(), read.shape.getNumSymbols());
        if (!end.isSymbolicOrConstant() || (read.zeroOutside && end != extent))
          return no("the end of a reduced index moves with other indices");
        extent = end;
      }
    }
    b.starts.push_back(e);
    b.window.push_back(extent);
    b.sizes.push_back(d < 0 ? 1 : read.box[d]);
    b.steps.push_back(step);
    followed.push_back(d);
    if (r < rank - 1) {
      if (read.strides)
        stride = read.strides.getResult(r) * read.elementBytes;
      if (te::knownDivisor(stride, facts) % 16 != 0)
        return no("rows are not known to be multiples of 16 bytes");
      b.strides.push_back(stride);
    }
    stride = stride * read.shape.getResult(r);
  }
  if (followed[0] < 0)
    return no("no index is contiguous in memory");
  for (size_t d = 0; d < read.box.size(); ++d)
    if (read.box[d] > 1 && !seen[d])
      return no("an index appears in no subscript alone");
  // Rows arrive in the tensor's order; the slot has them in the launch's.
  int64_t before = read.box.size();
  for (int64_t d : llvm::drop_begin(followed))
    if (d >= 0) {
      if (d > before)
        return no("the indices stand in another order than in the tensor");
      before = d;
    }
  b.contiguous = followed[0];
  tile::SlotLayout slot(read.box, read.elementBytes, b.contiguous);
  if (slot.width * read.elementBytes < 16)
    return no("rows of a tile are shorter than 16 bytes");
  // The swizzle is a function of the address: panels start on its period of eight rows.
  if (slot.swizzleBytes && slot.rows % 8)
    return no("a tile has fewer than eight rows");
  b.panels = b.sizes[0] / slot.width;
  b.sizes[0] = slot.width;
  b.swizzleBytes = slot.swizzleBytes;
  for (auto [size, step] : llvm::zip(b.sizes, b.steps))
    if ((size - 1) * step + 1 > 256)
      return no("a box is longer than 256");
  return b;
}

/// A box between `base` and slots of `ring`; what it may read or write beyond the
/// indices' extents is still to be said.
static TensorRead accessOf(tile::FuncOp func, Value base, AffineMap map, tile::RingType ring) {
  TensorRead access{map, shapeOfBase(func, base), func.getExtents(), ring.getShape(),
                    std::max<int64_t>(1, ring.getElementType().getIntOrFloatBitWidth() / 8), false, llvm::BitVector(func.getRank())};
  BaseLayout layout = layoutOfBase(func, base);
  access.strides = layout.strides;
  access.alignment = layout.alignment;
  return access;
}

std::optional<Box> findBox(tile::FuncOp func, tile::RingCopyOp copy, std::string &why) {
  TensorRead read = accessOf(func, copy.getBase(), copy.getMap(), copy.getRing().getType());
  read.zeroOutside = copy.getBounds() == te::BoundsMode::Pad;
  // Grid indices' overhang is never stored; all others are reduced over.
  read.reduced.set();
  for (int64_t d : func.getGridDims())
    read.reduced.reset(d);
  return findBox(read, {func.getSizeDiv(), func.getSizeMax()}, why);
}

std::optional<Box> findStoreBox(tile::FuncOp func, Value base, AffineMap map, tile::RingType ring, std::string &why) {
  TensorRead write = accessOf(func, base, map, ring);
  write.reduced.set();
  std::optional<Box> box = findBox(write, {func.getSizeDiv(), func.getSizeMax()}, why);
  if (box && llvm::any_of(box->steps, [](int64_t s) { return s > 1; })) {
    why = "results are not neighbours";
    return std::nullopt;
  }
  // Where a row of the window ends inside 16 bytes all of them are written (an H200): in a
  // workspace they are padding, elsewhere somebody's.
  bool padded = func.getSources()[cast<BlockArgument>(base).getArgNumber()] < 0;
  if (box && !padded && te::knownDivisor(box->window[0] * write.elementBytes, {func.getSizeDiv(), func.getSizeMax()}) % 16 != 0) {
    why = "rows do not end at multiples of 16 bytes";
    return std::nullopt;
  }
  return box;
}

} // namespace kernelc
