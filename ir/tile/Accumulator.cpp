#include "ir/tile/Accumulator.h"

#include <algorithm>

namespace kernelc::tile {
namespace {

/// Splits `warps` over rows and columns, each warp getting at least minM × minN
/// where the tile allows; the rest replicates.
struct WarpGrid {
  int64_t m = 1, n = 1, replicas = 1;
};
WarpGrid warpGrid(int64_t m, int64_t n, int64_t warps, int64_t minM, int64_t minN) {
  WarpGrid g;
  while (g.m * g.n < warps) {
    bool canM = m / g.m / 2 >= minM, canN = n / g.n / 2 >= minN;
    if (!canM && !canN)
      break;
    if (canM && (!canN || m / g.m >= n / g.n))
      g.m *= 2;
    else
      g.n *= 2;
  }
  g.replicas = warps / (g.m * g.n);
  return g;
}

AccumulatorShape mmaShape(int64_t m, int64_t n, int64_t warps, bool mPaired, bool nPaired) {
  WarpGrid g = warpGrid(m, n, warps, 16, 16);
  AccumulatorShape s;
  s.warpM = m / g.m;
  s.warpN = n / g.n;
  // Of 16 columns a tile of 8 has the even or the odd ones; of 16 rows likewise.
  s.reg = {{'n', {0, nPaired ? 2 : 1, 2}}, {'m', {0, mPaired ? 1 : 8, 2}}};
  if (nPaired) {
    s.reg.push_back({'n', {0, 1, 2}});
    if (s.warpN > 16)
      s.reg.push_back({'n', {0, 16, s.warpN / 16}});
  } else if (s.warpN > 8) {
    s.reg.push_back({'n', {0, 8, s.warpN / 8}});
  }
  if (s.warpM > 16)
    s.reg.push_back({'m', {0, 16, s.warpM / 16}});
  s.lane = {{'n', {0, nPaired ? 4 : 2, 4}}, {'m', {0, mPaired ? 2 : 1, 8}}};
  if (g.m > 1)
    s.warp.push_back({'m', {0, s.warpM, g.m}});
  if (g.n > 1)
    s.warp.push_back({'n', {0, s.warpN, g.n}});
  if (g.replicas > 1)
    s.warp.push_back({'r', {0, 0, g.replicas}});
  return s;
}

/// Warpgroups share the rows while each keeps 64, then the columns.
AccumulatorShape wgmmaShape(int64_t m, int64_t n, int64_t warps) {
  int64_t groups = std::max<int64_t>(1, warps / 4);
  bool byRows = m / groups >= 64;
  AccumulatorShape s;
  s.warpM = byRows ? m / groups : m;
  s.warpN = byRows ? n : n / groups;
  s.reg = {{'n', {0, 1, 2}}, {'m', {0, 8, 2}}};
  if (s.warpN > 8)
    s.reg.push_back({'n', {0, 8, s.warpN / 8}});
  if (s.warpM > 64)
    s.reg.push_back({'m', {0, 64, s.warpM / 64}});
  s.lane = {{'n', {0, 2, 4}}, {'m', {0, 1, 8}}};
  s.warp = {{'m', {0, 16, 4}}};
  if (groups > 1)
    s.warp.push_back(byRows ? std::pair<char, Digit>{'m', {0, s.warpM, groups}} : std::pair<char, Digit>{'n', {0, s.warpN, groups}});
  return s;
}

AccumulatorShape simtShape(int64_t m, int64_t n, int64_t warps, bool columnsByK) {
  int64_t vector = columnsByK ? 1 : std::min<int64_t>(4, n), laneN = std::min<int64_t>(8, n / vector);
  int64_t laneM = std::min<int64_t>(32 / laneN, m), laneR = 32 / (laneN * laneM);
  WarpGrid g = warpGrid(m, n, warps, laneM, laneN * vector);
  AccumulatorShape s;
  s.warpM = m / g.m;
  s.warpN = n / g.n;
  auto add = [](auto &list, char axis, int64_t stride, int64_t size) {
    if (size > 1)
      list.push_back({axis, {0, stride, size}});
  };
  add(s.reg, 'n', 1, vector);
  add(s.reg, 'n', vector * laneN, s.warpN / (vector * laneN));
  add(s.reg, 'm', laneM, s.warpM / laneM);
  add(s.lane, 'n', vector, laneN);
  add(s.lane, 'm', 1, laneM);
  add(s.lane, 'r', 0, laneR);
  add(s.warp, 'm', s.warpM, g.m);
  add(s.warp, 'n', s.warpN, g.n);
  add(s.warp, 'r', 0, g.replicas);
  return s;
}

} // namespace

Fetch fetchOf(llvm::ArrayRef<int64_t> shape, int64_t contiguous, int64_t bytes, llvm::ArrayRef<int64_t> outer, llvm::ArrayRef<int64_t> k) {
  auto isFastest = [&](llvm::ArrayRef<int64_t> dims) {
    for (size_t i = dims.size(); i-- > 0;)
      if (shape[dims[i]] > 1)
        return dims[i] == contiguous;
    return false;
  };
  if (shape[contiguous] * bytes < 16)
    return Fetch::Gather;
  if (isFastest(k))
    return Fetch::Rows;
  if (!isFastest(outer) || bytes > 2)
    return Fetch::Gather;
  return bytes == 2 ? Fetch::Transposed : Fetch::Bytes;
}

AccumulatorShape operandShape(int64_t m, int64_t n, int64_t k, int64_t warps, int64_t bytes) {
  AccumulatorShape product = wgmmaShape(m, n, warps), s;
  s.warpM = product.warpM;
  s.warpN = k;
  int64_t word = 4 / bytes, piece = 16 / bytes;
  if (word > 1)
    s.reg.push_back({'k', {0, 1, word}});
  s.reg.push_back({'m', {0, 8, 2}});
  s.reg.push_back({'k', {0, piece, k / piece}});
  if (s.warpM > 64)
    s.reg.push_back({'m', {0, 64, s.warpM / 64}});
  s.lane = {{'k', {0, word, 4}}, {'m', {0, 1, 8}}};
  for (auto [axis, digit] : product.warp) // columns that warpgroups share out need all of it
    s.warp.push_back(axis == 'n' ? std::pair<char, Digit>{'r', {0, 0, digit.size}} : std::pair<char, Digit>{axis, digit});
  return s;
}

AccumulatorShape accumulatorShape(llvm::StringRef unit, int64_t m, int64_t n, int64_t warps, Fetch a, Fetch b) {
  return unit == "wgmma" ? wgmmaShape(m, n, warps)
         : unit == "mma" ? mmaShape(m, n, warps, a == Fetch::Bytes, b == Fetch::Bytes)
                         : simtShape(m, n, warps, b == Fetch::Rows);
}

} // namespace kernelc::tile
