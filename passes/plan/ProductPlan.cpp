// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles, warps and unit of launches with a product: the cost model of contractions on mma.sync and CUDA cores.
#include "passes/plan/Scheduler.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/Strides.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace kernelc::te {

void Scheduler::remarkOn(ReduceOp reduce, const Contraction &c) {
  if (StringRef why = reduce.getNoSibling(); !why.empty())
    remark(reduce) << "this product could share a launch with another one, and has one of its own: " << why;
  if (StringRef note = reduce.getPrecision(); !note.empty())
    remark(reduce) << "precision: " << note;
  else if (target_.mmaBf16 && !c.term && !c.unitType && c.a.getType().isF32())
    remark(reduce) << "this product runs on CUDA cores: its operands are " << narrowestType(c.a) << " and " << narrowestType(c.b)
                   << "; write bf16(..) around them or give a policy, precision(contract = tf32)";
}

void Scheduler::scheduleContraction(LaunchPlan &l, ReduceOp reduce, const Contraction &c, ArrayRef<int64_t> dims) {
  std::optional<Unit> wanted = getScheduledUnit(kernel_, target_.name, l.name);
  if ((!wanted || wanted == Unit::Wgmma) && scheduleWgmma(l, c, dims, unfed_)) {
    unfed_.clear(); // (other ways were tried)
    return;
  }
  if (!unfed_.empty())
    remark(reduce) << "this product is not fed by tensor copies: " << unfed_;
  bool unit = hasUnit(c, target_) && wanted != Unit::Simt;
  Type type = unit ? operandType(c, c.a, Unit::Mma, target_) : Type();
  int64_t bytes = unit ? unitBytes(type) : std::max<int64_t>(1, c.aType.getIntOrFloatBitWidth() / 8);
  l.unit = unit ? Unit::Mma : Unit::Simt;
  // Measured on an H200 at 4096³ (docs/lab): two blocks of four warps
  // beat one of eight, and for mma a short K tile with more slots a long one.
  // Of 64-bit results that another term than a product makes, half as many a thread: a comparison takes registers beside them.
  int64_t side = c.term && c.term.getType().getIntOrFloatBitWidth() > 32 ? 64 : 128;
  int64_t tileM = side, tileN = side, tileK = unit ? 64 / bytes : 32;
  // Small problems: smaller tiles fill the device, as long as they have all that is reduced in them.
  int64_t m = extentProduct(l, c.m, dims, likely_), n = extentProduct(l, c.n, dims, likely_);
  int64_t batch = std::max<int64_t>(1, extentProduct(l, c.batch, dims, likely_));
  llvm::BitVector inTile = findInTile(l);
  auto leastOf = [&](unsigned d) { return inTile[dims[d]] ? std::max<int64_t>(64, clampTile(l, dims[d], 128)) : 64; };
  int64_t leastM = leastOf(c.m.back()), leastN = leastOf(c.n.back());
  // CUDA cores multiply words in 64 × 64 tiles, too, where the last round of 128 × 128 has little to do.
  const ProductTile largeTile{128, 128, 100}, smallTile{64, 64, costs_.cores.smallTilePercent};
  bool isPlain = c.m.size() == 1 && c.n.size() == 1 && c.k.size() == 1 && bytes == 4;
  bool hasTwoSizes = !unit && isPlain && m > 0 && n > 0 && leastM == 64 && leastN == 64;
  bool onlyTwo = hasTwoSizes && target_.feedsCores; // (the halves between them gain nothing there)
  while (m > 0 && n > 0 && !onlyTwo && batch * ceilDiv(Count(m), tileM) * ceilDiv(Count(n), tileN) < target_.smCount) {
    if (tileN > std::max(tileM, leastN))
      tileN /= 2;
    else if (tileM > leastM)
      tileM /= 2;
    else if (tileN > leastN)
      tileN /= 2;
    else
      break;
  }
  if (hasTwoSizes && tileM == 128 && tileN == 128 && timeOf(smallTile, m, n, batch, target_) < timeOf(largeTile, m, n, batch, target_))
    tileM = tileN = 64;
  auto assignOuter = [&](ArrayRef<unsigned> all, int64_t points) {
    SmallVector<unsigned> list = c.tiledOf(all);
    bool isWhole = c.where || unit || llvm::any_of(list, [&](unsigned d) { return inTile[dims[d]]; });
    if (isWhole)
      assign(l, list, dims, points);
    else
      assignResults(l, list, dims, points);
  };
  assignOuter(c.m, tileM);
  assignOuter(c.n, tileN);
  auto assignK = [&] {
    if (c.where) // blocks that data picks have its shape
      assign(l, tiledK(l, c, dims), dims, tileK);
    else
      assignRounds(l, tiledK(l, c, dims), dims, tileK, unit ? 32 / bytes : 1);
  };
  assignK();
  int64_t bm = tileProduct(l, c.m, dims), bn = tileProduct(l, c.n, dims), bk = tileProduct(l, c.k, dims);
  // An mma instruction has 16 rows. Where a tile has fewer, the rest are zeros: the unit still pays where the other side has 64 points
  // and more, but not where a condition picks whole blocks of the tile's own size.
  constexpr int64_t kInstruction = 16;
  auto fill = [&](ArrayRef<unsigned> list, int64_t &points, int64_t others) {
    if (!unit || c.where || points >= kInstruction || points < costs_.cores.fewestPoints || others < 64)
      return;
    l.tiles[dims[list.back()]] *= kInstruction / points;
    points = kInstruction;
  };
  fill(c.m, bm, bn);
  fill(c.n, bn, bm);
  if (unit && (bm < kInstruction || bn < kInstruction || bk < 32 / bytes)) // less than one instruction
    l.unit = Unit::Simt;
  bool mma = l.unit == Unit::Mma;
  // Accumulators of a tile beside those of the sum: half as many of each for a warp.
  int64_t sets = promoteAfter(type) || !c.partScales.empty() ? 2 : 1;
  // CUDA cores: 64 results a thread, but 32 of small tiles, of which the device has few.
  bool small = bm * bn <= smallTile.m * smallTile.n;
  int64_t warpTiles = std::max<int64_t>(1, mma ? sets * (bm / 64) * (bn / 64) : bm * bn / (small ? 1024 : 2048));
  l.warps = std::clamp<int64_t>(llvm::bit_floor(uint64_t(warpTiles)), 1, 8);
  // A computed operand needs registers that the second block would take.
  auto isCopied = [&](Value factor) {
    if (auto round = factor.getDefiningOp<RoundOp>())
      return bool(round.getInput().getDefiningOp<ReadOp>());
    Value narrow = stripWidening(factor);
    return narrow.getDefiningOp<ReadOp>() && (!unit || narrow.getType() == operandType(c, factor, Unit::Mma, target_));
  };
  bool copied = isCopied(c.a) && isCopied(c.b) && !c.isAMasked() && !c.isBMasked();
  if (mma) {
    // Beside accumulators, fragments and indices a thread has two words for each copy that it starts, or one for each element that
    // passes through its registers: as many warps as have room for that.
    auto fetched = [&](Value factor, int64_t points) {
      ReadOp read = isCopied(factor) ? findOperandRead(factor) : ReadOp();
      int64_t width = read ? std::min<int64_t>(16, rowDivisor(read, facts_)) : 0;
      return width >= 4 ? 2 * llvm::divideCeil(points * bytes, width) : points;
    };
    int64_t words = sets * bm * bn + fetched(c.a, bm * bk) + fetched(c.b, bn * bk);
    while (l.warps < 8 && bm * bn / l.warps >= 2048 && words / (32 * l.warps) + costs_.cores.besideCopies > target_.maxRegistersPerThread)
      l.warps *= 2;
  }
  // CUDA cores multiply 8 × 8 words a thread, which takes half of the registers where operands are copied from
  // addresses that a stride apart make.
  bool halves = mma ? sets == 1 : target_.asyncCopy && isPlain && bm * bn <= 64 * 32 * l.warps;
  int64_t blocks = copied && halves ? 2 : 1;
  auto halveK = [&] {
    tileK /= 2;
    assignK();
    bk = tileProduct(l, c.k, dims);
  };
  // What runs along k is turned on its way, element by element (tile-pipeline): of two such operands, half as many at once.
  if (!mma && blocks == 2 && !small && tileK > 16 && runsAlong(findOperandRead(c.a), c.k) && runsAlong(findOperandRead(c.b), c.k))
    halveK();
  // CUDA cores read padded slots: where two of them for each block do not fit, shorter ones.
  auto paddedBytes = [&](int64_t outer, int64_t k) { return std::max(outer * (k * bytes + 16), k * (outer * bytes + 16)); };
  while (!mma && tileK > 1 && 2 * blocks * (paddedBytes(bm, bk) + paddedBytes(bn, bk)) > target_.maxSharedPerBlock)
    halveK();
  // What is computed or masked on its way passes through registers, beside the 64 results of a thread.
  auto passing = [&] { return std::max(isCopied(c.a) && !c.isAMasked() ? 0 : bm * bk, isCopied(c.b) && !c.isBMasked() ? 0 : bn * bk); };
  while (!mma && tileK > 8 && passing() > costs_.cores.passing * 32 * l.warps)
    halveK();
  int64_t fit = (target_.maxSharedPerBlock / blocks - 1024) / ((bm + bn) * bk * bytes);
  l.stages = mma && target_.asyncCopy ? std::clamp<int64_t>(fit, 2, 4) : 2;
  l.minBlocks = fit >= 2 ? blocks : 1;
  l.fillLate = mma;
  l.promote = mma ? promoteAfter(type) : 0;
  if (mma && target_.tma && !target_.wgmma)
    remark(reduce) << "this product runs on mma.sync, the one matrix unit of " << target_.name << " that kernelc uses";
  // Few tiles: more warps for each, until a multiprocessor has some of them to turn to.
  Count tiles = likelyTiles(l, c, dims);
  const CoresCosts &cores = costs_.cores;
  while (!mma && small && Count(0) < tiles && 2 * l.warps <= cores.warpsOfFew &&
         2 * l.warps * tiles <= cores.warpsOfFew * target_.smCount && bm * bn >= cores.fewestResults * 64 * l.warps)
    l.warps *= 2;
  l.raster = 8;
  bool isRounded = c.a.getDefiningOp<RoundOp>() || c.b.getDefiningOp<RoundOp>(); // which copies to CUDA cores do not
  if (!mma && copied && !isRounded && bytes == 4)
    feedCores(l, c, dims);
  // Few blocks, of which a multiprocessor has room for more than its share, are placed unevenly while a launch before them ends.
  if (!mma && small && !l.producerWarps && hasFewTiles(l, c, dims))
    l.dependent = false;
}

Count Scheduler::likelyTiles(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
  int64_t m = extentProduct(l, c.m, dims, likely_), n = extentProduct(l, c.n, dims, likely_);
  int64_t batch = std::max<int64_t>(1, extentProduct(l, c.batch, dims, likely_));
  if (m <= 0 || n <= 0)
    return 0;
  return batch * ceilDiv(Count(m), tileProduct(l, c.m, dims)) * ceilDiv(Count(n), tileProduct(l, c.n, dims));
}

bool Scheduler::hasFewTiles(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
  Count tiles = likelyTiles(l, c, dims);
  return Count(0) < tiles && tiles <= 2 * target_.smCount;
}

void Scheduler::feedCores(LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
  int64_t bm = tileProduct(l, c.m, dims), bn = tileProduct(l, c.n, dims), bytes = c.aType.getIntOrFloatBitWidth() / 8;
  if (!target_.feedsCores || l.warps % 4)
    return;
  // Long slots of large tiles, whose one block has the registers that a good order of multiply-adds takes; short ones of smaller tiles.
  bool large = bm * bn >= 128 * 128, small = bm * bn <= 64 * 64;
  LaunchPlan fed = l;
  assignRounds(fed, tiledK(fed, c, dims), dims, large ? 64 : 32, 1);
  bool byBoxes = canFeedCores(fed, c.a, c.m, c.k, dims) && canFeedCores(fed, c.b, c.n, c.k, dims);
  if (!byBoxes) {
    // Word by word: shorter slots, of which a thread starts fewer copies at once.
    fed = l;
    assignRounds(fed, tiledK(fed, c, dims), dims, 32, 1);
    auto isBrought = [&](Value factor, ArrayRef<unsigned> outer) {
      return canFeedCores(fed, factor, outer, c.k, dims) || canCopyWords(fed, factor, outer, c.k, dims);
    };
    if (c.where || c.term || !isBrought(c.a, c.m) || !isBrought(c.b, c.n))
      return;
    fed.producerRegisters = costs_.cores.wordFill;
  }
  fed.producerWarps = 4;
  // Four warps alone do not keep a multiprocessor busy: two blocks. Small ones have room for four, but are placed unevenly where launches
  // before them end: of two for each, two.
  fed.minBlocks = large || (small && !hasFewTiles(l, c, dims)) ? 1 : 2;
  // Short slots take a multiprocessor's bytes among all blocks that it is to have (docs/lab/2026-11-26-convolutions-2.md).
  int64_t slotBytes = (bm + bn) * tileProduct(fed, c.k, dims) * bytes, blocks = small ? costs_.cores.smallBlocks : fed.minBlocks;
  fed.stages = byBoxes ? 3 : std::clamp<int64_t>(costs_.cores.wordSlots / blocks / slotBytes, 3, 8);
  // With short sums, persistent blocks hide their epilogues: the next tile's slots fill while results are stored. With long ones the
  // hardware spreads the tiles better, one block each.
  int64_t k = extentProduct(l, c.k, dims, likely_);
  fed.persistent = large && k > 0 && k <= costs_.cores.shortSum;
  if (fed.minBlocks * (fed.stages * slotBytes + partialBytes(fed, c, dims) + kBesideSlots) <= target_.maxSharedPerBlock)
    l = fed;
}

int64_t Scheduler::partialBytes(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
  int64_t bytes = 0;
  for (auto [n, ordinal] : llvm::enumerate(l.ops)) {
    SmallVector<int64_t> reduced = reducedInTile(l, n);
    int64_t rows = 1, kept = 1; // rows that warps share, and results
    for (unsigned d : c.m)
      if (llvm::is_contained(reduced, dims[d]))
        rows *= l.tiles[dims[d]];
    if (rows == 1) // those of a row lie in one warp
      continue;
    for (int64_t index : l.dims[n])
      if (!llvm::is_contained(reduced, index))
        kept *= l.tiles[index];
    for (Value result : ops_[ordinal]->getResults())
      bytes += (std::min<int64_t>(l.warps, rows) + 1) * kept *
               std::max(1u, cast<RankedTensorType>(result.getType()).getElementTypeBitWidth() / 8);
  }
  return bytes;
}

SmallVector<unsigned> Scheduler::tiledK(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims) {
  SmallVector<unsigned> tiled(llvm::make_filter_range(c.k, [&](unsigned d) { return c.isTiledK(d); }));
  if (!c.term)
    return tiled;
  // Points beyond an extent are no zeros there, but left out: behind those that count, so along one index. The longest.
  auto most = [&](unsigned d) { return uint64_t(extentMax(l, dims[d])); }; // (-1, not known, is more than any)
  unsigned longest = tiled.front();
  for (unsigned d : tiled)
    longest = most(d) >= most(longest) ? d : longest;
  return {longest};
}

} // namespace kernelc::te
