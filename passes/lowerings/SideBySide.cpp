// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/lowerings/SideBySide.h"

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
    return isVector(own, others, count) ? std::optional(others) : std::nullopt;
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

bool SideBySide::isVector(ArrayRef<Digit> own, ArrayRef<Digit> others, int64_t count) {
  auto pitch = dyn_cast<AffineConstantExpr>(shapeOfBase(func_, base_).getResults().back());
  bool isWorkspace = func_.getSources()[cast<BlockArgument>(base_).getArgNumber()] < 0; // whose start is aligned
  if (!pitch || pitch.getValue() % count || !isWorkspace || layoutOfBase(func_, base_).strides)
    return false;
  for (auto [r, e] : llvm::enumerate(map_.getResults())) {
    std::optional<Coordinates> by = growthOf(e);
    bool isLast = r + 1 == map_.getNumResults();
    if (!by || (isLast && llvm::any_of(*by, [&](int64_t n) { return n % count; })))
      return false;
  }
  te::SizeFacts facts{func_.getSizeDiv(), func_.getSizeMax()};
  for (const Digit &d : own) // a border of a masked dim lies between vectors
    if (llvm::is_contained(mask_, d.dim) && (d.stride != 1 || te::knownDivisor(func_.getExtent(d.dim), facts) % d.size))
      return false;
  SmallVector<Digit> all(others);
  llvm::append_range(all, layout_.lane);
  llvm::append_range(all, layout_.warp);
  return atAll(all, Coordinates(tile_.size()), [&](const Coordinates &first) {
    SmallVector<int64_t> from = subscriptsAt(first);
    int64_t next = 0;
    return from.back() % count == 0 && atAll(llvm::to_vector(llvm::reverse(own)), first, [&](const Coordinates &at) {
             SmallVector<int64_t> expected = from;
             expected.back() += next++;
             return subscriptsAt(at) == expected;
           });
  });
}

SmallVector<int64_t> SideBySide::subscriptsAt(const Coordinates &at) {
  return llvm::map_to_vector(map_.getResults(), [&](AffineExpr e) { return valueOf(e, at); });
}

std::optional<SideBySide::Coordinates> SideBySide::growthOf(AffineExpr e) {
  Coordinates by(tile_.size());
  if (auto d = dyn_cast<AffineDimExpr>(e)) {
    if (d.getPosition() >= tile_.size())
      return std::nullopt; // (data)
    by[d.getPosition()] = tile_[d.getPosition()];
    return by;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(e))
    return by;
  auto bin = dyn_cast<AffineBinaryOpExpr>(e);
  std::optional<Coordinates> x = bin ? growthOf(bin.getLHS()) : std::nullopt, y = bin ? growthOf(bin.getRHS()) : std::nullopt;
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
