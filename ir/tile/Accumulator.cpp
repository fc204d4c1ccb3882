// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/tile/Accumulator.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "llvm/Support/MathExtras.h"

#include "ir/tile/SlotLayout.h"

namespace kernelc::tile {
namespace {

/// Splits `warps` over rows and columns, each warp getting at least minM × minN, and whole `stepM` × `stepN`,
/// where the tile allows; the rest replicates.
struct WarpGrid {
  int64_t m = 1, n = 1, replicas = 1;
};
WarpGrid warpGrid(int64_t m, int64_t n, int64_t warps, int64_t minM, int64_t minN, int64_t stepM = 1, int64_t stepN = 1) {
  WarpGrid g;
  while (g.m * g.n < warps) {
    int64_t halfM = m / g.m / 2, halfN = n / g.n / 2;
    bool canM = halfM >= minM && halfM % stepM == 0, canN = halfN >= minN && halfN % stepN == 0;
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

/// Warpgroups share the rows where each keeps a multiple of 64, else the columns.
AccumulatorShape wgmmaShape(int64_t m, int64_t n, int64_t warps, const RowOrder &rows) {
  int64_t groups = std::max<int64_t>(1, warps / 4);
  bool byRows = m % (64 * groups) == 0;
  AccumulatorShape s;
  s.warpM = byRows ? m / groups : m;
  s.warpN = byRows ? n : n / groups;
  s.reg = {{'n', {0, 1, 2}}, {'m', {0, rows.pair, 2}}};
  if (s.warpN > 8)
    s.reg.push_back({'n', {0, 8, s.warpN / 8}});
  if (s.warpM > 64)
    s.reg.push_back({'m', {0, 64, s.warpM / 64}});
  s.lane = {{'n', {0, 2, 4}}};
  for (const Digit &d : rows.lane)
    s.lane.push_back({'m', d});
  for (const Digit &d : rows.warp)
    s.warp.push_back({'m', d});
  if (groups > 1)
    s.warp.push_back(byRows ? std::pair<char, Digit>{'m', {0, s.warpM, groups}} : std::pair<char, Digit>{'n', {0, s.warpN, groups}});
  return s;
}

/// 16 rows a warp with all columns: its results lie as a first operand's fragments do.
AccumulatorShape wholeRows(int64_t m, int64_t n, int64_t warps) {
  AccumulatorShape s = wgmmaShape(m, n, warps, RowOrder());
  s.warpM = 16;
  return s;
}

AccumulatorShape simtShape(int64_t m, int64_t n, int64_t warps, const Runs &a, const Runs &b, bool wholeRows) {
  constexpr int64_t kMost = 4; // neighbours of one thread
  // Threads and neighbours go by powers of two; three times as many rows (columns) are three registers of each.
  auto powerIn = [](int64_t points) { return points & -points; };
  int64_t vectorM = std::min({kMost, a.outer, powerIn(m)}), vectorN = std::min({kMost, b.outer, powerIn(n)});
  int64_t mostM = powerIn(m) / vectorM, mostN = powerIn(n) / vectorN;
  int64_t laneN = std::min<int64_t>(8, mostN), laneM = std::min<int64_t>(32 / laneN, mostM);
  laneN = std::min<int64_t>(32 / laneM, mostN);
  int64_t laneR = 32 / (laneN * laneM);
  int64_t warpM = laneM * vectorM, warpN = laneN * vectorN;
  WarpGrid g = wholeRows ? WarpGrid{warps, 1, 1} : warpGrid(m, n, warps, warpM, warpN, warpM, warpN);
  AccumulatorShape s;
  s.warpM = m / g.m;
  s.warpN = n / g.n;
  auto add = [](auto &list, char axis, int64_t stride, int64_t size) {
    if (size > 1)
      list.push_back({axis, {0, stride, size}});
  };
  add(s.reg, 'n', 1, vectorN);
  add(s.reg, 'n', vectorN * laneN, s.warpN / (vectorN * laneN));
  add(s.reg, 'm', 1, vectorM);
  add(s.reg, 'm', vectorM * laneM, s.warpM / (vectorM * laneM));
  int64_t pair = std::min<int64_t>(2, laneM);
  add(s.lane, 'm', vectorM, pair);
  add(s.lane, 'n', vectorN, laneN);
  add(s.lane, 'm', vectorM * pair, laneM / pair);
  add(s.lane, 'r', 0, laneR);
  add(s.warp, 'm', s.warpM, g.m);
  add(s.warp, 'n', s.warpN, g.n);
  add(s.warp, 'r', 0, g.replicas);
  return s;
}

} // namespace

/// Whether neighbours of the slot follow one another along `dims`, slowest first.
static bool isFastest(llvm::ArrayRef<int64_t> shape, int64_t contiguous, llvm::ArrayRef<int64_t> dims) {
  for (size_t i = dims.size(); i-- > 0;)
    if (shape[dims[i]] > 1)
      return dims[i] == contiguous;
  return false;
}

Fetch fetchOf(llvm::ArrayRef<int64_t> shape, int64_t contiguous, int64_t bytes, llvm::ArrayRef<int64_t> outer, llvm::ArrayRef<int64_t> k) {
  if (shape[contiguous] * bytes < 16)
    return Fetch::Gather;
  if (isFastest(shape, contiguous, k))
    return Fetch::Rows;
  if (!isFastest(shape, contiguous, outer) || bytes > 2)
    return Fetch::Gather;
  return bytes == 2 ? Fetch::Transposed : Fetch::Bytes;
}

Runs runsOf(llvm::ArrayRef<int64_t> shape, int64_t contiguous, int64_t pad, int64_t bytes, llvm::ArrayRef<int64_t> outer,
            llvm::ArrayRef<int64_t> k) {
  int64_t most = 16 / bytes, run = std::min(shape[contiguous], most);
  if (isFastest(shape, contiguous, k))
    return {1, run};
  if (!isFastest(shape, contiguous, outer))
    return {1, 1};
  // Rows of all packed dims begin at multiples of their points.
  int64_t points = 1;
  size_t packed = pad == 0 ? packedDims(shape, contiguous, outer) : 0;
  for (size_t i = outer.size(); i-- > 0 && packed > 0;)
    if (shape[outer[i]] > 1) {
      points *= shape[outer[i]];
      --packed;
    }
  while (run < most && points % (2 * run) == 0)
    run *= 2;
  return {run, 1};
}

Supply supplyOf(llvm::ArrayRef<int64_t> shape, int64_t contiguous, int64_t pad, int64_t bytes, llvm::ArrayRef<int64_t> outer,
                llvm::ArrayRef<int64_t> k) {
  return {fetchOf(shape, contiguous, bytes, outer, k), runsOf(shape, contiguous, pad, bytes, outer, k)};
}

ColumnCut cutColumns(llvm::ArrayRef<int64_t> columns, int64_t part) {
  constexpr int64_t kLeast = 16;
  int64_t all = std::accumulate(columns.begin(), columns.end(), int64_t(1), std::multiplies<>());
  ColumnCut best{columns.size() - 1, columns.back()};
  int64_t fewest = all, inner = 1; // columns of one point
  for (size_t index = columns.size(); index-- > 0; inner *= columns[index]) {
    int64_t extent = std::gcd(std::max<int64_t>(1, part / inner), columns[index]);
    if (inner * extent < kLeast) // both sides are whole parts
      extent = std::min(columns[index], int64_t(llvm::divideCeil(kLeast, inner)));
    int64_t own = all / columns[index] * extent;
    if (columns[index] % extent == 0 && own < fewest) {
      best = {index, extent};
      fewest = own;
    }
  }
  return best;
}

AccumulatorShape operandShape(int64_t m, int64_t n, int64_t k, int64_t warps, int64_t bytes, const RowOrder &rows) {
  AccumulatorShape product = wgmmaShape(m, n, warps, rows), s;
  s.warpM = product.warpM;
  s.warpN = k;
  int64_t word = 4 / bytes, piece = 16 / bytes;
  if (word > 1)
    s.reg.push_back({'k', {0, 1, word}});
  s.reg.push_back({'m', {0, rows.pair, 2}});
  s.reg.push_back({'k', {0, piece, k / piece}});
  if (s.warpM > 64)
    s.reg.push_back({'m', {0, 64, s.warpM / 64}});
  s.lane = {{'k', {0, word, 4}}};
  for (const Digit &d : rows.lane)
    s.lane.push_back({'m', d});
  for (auto [axis, digit] : product.warp) // columns that warpgroups share out need all of it
    s.warp.push_back(axis == 'n' ? std::pair<char, Digit>{'r', {0, 0, digit.size}} : std::pair<char, Digit>{axis, digit});
  return s;
}

AccumulatorShape accumulatorShape(Unit unit, int64_t m, int64_t n, int64_t warps, const Supply &a, const Supply &b, const RowOrder &rows) {
  return unit == Unit::Wgmma               ? wgmmaShape(m, n, warps, rows)
         : unit == Unit::Mma && rows.whole ? wholeRows(m, n, warps)
         : unit == Unit::Mma               ? mmaShape(m, n, warps, a.fetch == Fetch::Bytes, b.fetch == Fetch::Bytes)
                                           : simtShape(m, n, warps, a.runs, b.runs, rows.whole);
}

} // namespace kernelc::tile
