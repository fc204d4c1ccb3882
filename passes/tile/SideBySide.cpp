// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/tile/SideBySide.h"

#include "passes/index/Affine.h"
#include "passes/tile/Access.h"

using namespace mlir;

namespace kernelc {

using tile::Digit;

std::optional<tile::Digits> SideBySide::find(int64_t count) {
  int64_t points = 1;
  for (auto [n, digit] : llvm::enumerate(layout_.reg)) {
    if (points * digit.size < count) {
      points *= digit.size;
      continue;
    }
    int64_t part = count / points; // of this digit, the last that vectors have
    if (digit.dim < 0 || count % points || digit.size % part)
      return std::nullopt;
    tile::Digits own(ArrayRef(layout_.reg).take_front(n)), others;
    own.push_back({digit.dim, digit.stride, part});
    if (digit.size > part)
      others.push_back({digit.dim, digit.stride * part, digit.size / part});
    llvm::append_range(others, ArrayRef(layout_.reg).drop_front(n + 1));
    return isVector(own, others) ? std::optional(others) : std::nullopt;
  }
  return std::nullopt;
}

/// Whether `holds` at all points of `digits`, the last the fastest, from `at` on.
static bool atAll(ArrayRef<Digit> digits, const SmallVector<int64_t> &at, llvm::function_ref<bool(const SmallVector<int64_t> &)> holds) {
  if (digits.empty())
    return holds(at);
  const Digit &d = digits.front();
  for (int64_t n = 0; n < (d.dim < 0 ? 1 : d.size); ++n) {
    SmallVector<int64_t> next = at;
    if (d.dim >= 0)
      next[d.dim] += n * d.stride;
    if (!atAll(digits.drop_front(), next, holds))
      return false;
  }
  return true;
}

static SmallVector<int64_t> minus(ArrayRef<int64_t> x, ArrayRef<int64_t> y) {
  return llvm::map_to_vector(llvm::zip(x, y), [](auto pair) { return std::get<0>(pair) - std::get<1>(pair); });
}

static int64_t valueOf(AffineExpr e, ArrayRef<int64_t> at) {
  if (auto d = dyn_cast<AffineDimExpr>(e))
    return at[d.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(e))
    return constant.getValue();
  auto bin = cast<AffineBinaryOpExpr>(e); // (growthOf lets no others through, and nothing is negative)
  int64_t x = valueOf(bin.getLHS(), at), y = valueOf(bin.getRHS(), at);
  switch (e.getKind()) {
  case AffineExprKind::Add: return x + y;
  case AffineExprKind::Mul: return x * y;
  case AffineExprKind::Mod: return x % y;
  default: return x / y;
  }
}

bool SideBySide::isVector(ArrayRef<Digit> own, ArrayRef<Digit> others) {
  te::SizeFacts facts{func_.getSizeDiv(), func_.getSizeMax()};
  int64_t count = 1;
  for (const Digit &d : own) {
    count *= d.size;
    // A border of a masked dim lies between vectors.
    if (llvm::is_contained(mask_, d.dim) && (d.stride != 1 || te::knownDivisor(func_.getExtent(d.dim), facts) % d.size))
      return false;
  }
  auto pitch = dyn_cast<AffineConstantExpr>(shapeOfBase(func_, base_).getResults().back());
  bool isWorkspace = func_.getSources()[cast<BlockArgument>(base_).getArgNumber()] < 0; // whose start is aligned
  if (!pitch || pitch.getValue() % count || !isWorkspace || layoutOfBase(func_, base_).strides)
    return false;
  std::optional<tile::Digits> starts = findStarts(count);
  if (!starts)
    return false;
  tile::Digits threads(layout_.lane), ownInOrder(llvm::reverse(own));
  llvm::append_range(threads, layout_.warp);
  Coordinates origin(tile_.size());
  return atAll(*starts, origin, [&](const Coordinates &tile) {
    return atAll(threads, tile, [&](const Coordinates &thread) {
      return atAll(others, thread, [&](const Coordinates &first) {
        Coordinates expected = subscriptsAt(tile);
        for (auto [n, x, y] : llvm::zip(expected, subscriptsAt(minus(thread, tile)), subscriptsAt(minus(first, thread))))
          n += x + y;
        return expected.back() % count == 0 && atAll(ownInOrder, first, [&](const Coordinates &at) {
                 bool isNext = subscriptsAt(at) == expected;
                 ++expected.back();
                 return isNext;
               });
      });
    });
  });
}

std::optional<tile::Digits> SideBySide::findStarts(int64_t count) {
  constexpr int64_t kTiles = 64; // of a period
  if (map_.getNumResults() == 0)
    return std::nullopt; // one number
  tile::Digits starts;
  for (auto [d, extent] : llvm::enumerate(tile_)) {
    auto repeats = [&](int64_t by) {
      Coordinates step(tile_.size());
      step[d] = by;
      std::optional<Coordinates> last;
      for (AffineExpr e : map_.getResults())
        if (last = growthOf(e, step); !last)
          return false;
      return (*last)[d] % count == 0;
    };
    int64_t tiles = 1;
    while (tiles < kTiles && !repeats(extent * tiles))
      tiles *= 2;
    if (tiles == kTiles)
      return std::nullopt;
    if (tiles > 1)
      starts.push_back({int64_t(d), extent, tiles});
  }
  return starts;
}

/// `half` behind `digits`, as part of the last where it goes on from that.
static void append(tile::Digits &digits, const Digit &half) {
  Digit *last = digits.empty() ? nullptr : &digits.back();
  if (last && last->dim == half.dim && last->stride * last->size == half.stride)
    last->size *= half.size;
  else
    digits.push_back(half);
}

std::optional<tile::Layout> SideBySide::inOrderOfMemory(tile::FuncOp func, Value base, AffineMap map, ArrayRef<int64_t> mask,
                                                        ArrayRef<int64_t> shape, int64_t warps, int64_t along) {
  constexpr int64_t kVector = 16, kLine = 128; // bytes
  tile::Layout none;
  SideBySide access(func, base, map, mask, shape, none);
  Coordinates origin(shape.size());
  if (!access.findStarts(1))
    return std::nullopt;
  // Halves of indices, in the order of what they add to subscripts.
  std::vector<std::pair<SmallVector<int64_t>, Digit>> halves;
  for (auto [d, extent] : llvm::enumerate(shape)) {
    if (!llvm::isPowerOf2_64(extent))
      return std::nullopt;
    for (int64_t stride = 1; stride < extent; stride *= 2) {
      Coordinates at(origin);
      at[d] = stride;
      halves.push_back({access.subscriptsAt(at), Digit{int64_t(d), stride, 2}});
    }
  }
  llvm::sort(halves, [](const auto &x, const auto &y) { return x.first < y.first; });
  int64_t bytes = std::max(1u, cast<MemRefType>(base.getType()).getElementTypeBitWidth() / 8);
  for (int64_t count = kVector / bytes; count > 1; count /= 2) {
    if (count * 32 * warps > llvm::product_of(shape))
      continue;
    tile::Layout layout;
    SmallVector<Digit> left = llvm::map_to_vector(halves, [](const auto &half) { return half.second; });
    auto take = [&](tile::Digits &digits, int64_t points) {
      for (int64_t n = 1; n < points; n *= 2)
        append(digits, *std::exchange(left, SmallVector<Digit>(llvm::drop_begin(left))).begin());
    };
    take(layout.reg, count);
    int64_t inLine = along < 0 ? 32 : std::min<int64_t>(32, kLine / bytes / count);
    take(layout.lane, inLine);
    std::stable_partition(left.begin(), left.end(), [&](const Digit &d) { return d.dim == along; });
    take(layout.lane, 32 / inLine);
    take(layout.warp, warps);
    take(layout.reg, llvm::product_of(shape) / (count * 32 * warps));
    if (SideBySide(func, base, map, mask, shape, layout).find(count))
      return layout;
  }
  return std::nullopt;
}

SmallVector<int64_t> SideBySide::subscriptsAt(const Coordinates &at) {
  return llvm::map_to_vector(map_.getResults(), [&](AffineExpr e) { return valueOf(e, at); });
}

std::optional<SideBySide::Coordinates> SideBySide::growthOf(AffineExpr e, const Coordinates &step) {
  Coordinates by(tile_.size());
  if (auto d = dyn_cast<AffineDimExpr>(e)) {
    if (d.getPosition() >= tile_.size())
      return std::nullopt; // (data)
    by[d.getPosition()] = step[d.getPosition()];
    return by;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(e))
    return by;
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  std::optional<Coordinates> x = bin ? growthOf(bin.getLHS(), step) : std::nullopt, y = bin ? growthOf(bin.getRHS(), step) : std::nullopt;
  if (!x || !y)
    return std::nullopt;
  auto constant = dyn_cast<AffineConstantExpr>(bin.getRHS());
  if (e.getKind() != AffineExprKind::Add && !constant)
    return std::nullopt;
  for (auto [n, a, b] : llvm::zip(by, *x, *y)) {
    bool isDivision = e.getKind() != AffineExprKind::Add && e.getKind() != AffineExprKind::Mul;
    if (isDivision && (a % constant.getValue() || e.getKind() == AffineExprKind::CeilDiv))
      return std::nullopt;
    n = e.getKind() == AffineExprKind::Add   ? a + b
        : e.getKind() == AffineExprKind::Mul ? a * constant.getValue()
        : e.getKind() == AffineExprKind::Mod ? 0
                                             : a / constant.getValue();
  }
  return by;
}

} // namespace kernelc
