// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles, warps and unit of launches with a product: the cost model of contractions on mma.sync and CUDA cores.
#include "passes/plan/Scheduler.h"

#include "ir/te/TeShape.h"
#include "ir/tile/Accumulator.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/LinearRead.h"
#include "passes/index/Strides.h"
#include "passes/plan/ProductTime.h"
#include "passes/plan/TileLengths.h"
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

/// A product on mma.sync or CUDA cores while its launch is planned.
class Scheduler::CoresProduct {
public:
  CoresProduct(Scheduler &scheduler, LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims, bool unit)
      : s_(scheduler), l_(l), c_(c), dims_(dims), unit_(unit), type_(unit ? operandType(c, c.a, Unit::Mma, s_.target_) : Type()),
        bytes_(unit ? unitBytes(type_) : std::max<int64_t>(1, c.aType.getIntOrFloatBitWidth() / 8)),
        copied_(isCopied(c.a) && isCopied(c.b) && !c.isAMasked() && !c.isBMasked()) {
    l.unit = unit ? Unit::Mma : Unit::Simt;
    inTile_ = s_.findInTile(l);
  }

  void schedule(ReduceOp reduce) {
    isPlain_ = isOneIndex(reduce, c_.a, c_.m) && isOneIndex(reduce, c_.b, c_.n) && c_.k.size() == 1 && bytes_ == 4;
    chooseResults();
    tileK_ = unit_ ? 64 / bytes_ : 32;
    assignOuter(c_.m, tileM_, c_.n, tileN_);
    assignOuter(c_.n, tileN_, c_.m, tileM_);
    assignK();
    bm_ = s_.tileProduct(l_, c_.m, dims_);
    bn_ = s_.tileProduct(l_, c_.n, dims_);
    fillInstruction(c_.m, bm_, bn_);
    fillInstruction(c_.n, bn_, bm_);
    if (unit_ && (bm_ < kInstruction || bn_ < kInstruction || bk_ < 32 / bytes_)) // less than one instruction
      l_.unit = Unit::Simt;
    isMma_ = l_.unit == Unit::Mma;
    small_ = bm_ * bn_ <= 64 * 64;
    chooseWarps();
    chooseStages();
    if (isMma_ && s_.target_.tma && !s_.target_.wgmma)
      s_.remark(reduce) << "this product runs on mma.sync, the one matrix unit of " << s_.target_.name << " that kernelc uses";
    addWarpsToFew();
    l_.raster = 8;
    bool isRounded = c_.a.getDefiningOp<RoundOp>() || c_.b.getDefiningOp<RoundOp>(); // which copies to CUDA cores do not
    if (!isMma_ && copied_ && !isRounded && bytes_ == 4)
      s_.feedCores(l_, c_, dims_);
    // Few blocks, of which a multiprocessor has room for more than its share, are placed unevenly while a launch before them ends.
    if (!isMma_ && small_ && !l_.producerWarps && s_.hasFewTiles(l_, c_, dims_))
      l_.dependent = false;
    if (!isMma_)
      spreadUneven(reduce);
  }

private:
  static constexpr int64_t kInstruction = 16; ///< rows of an mma instruction
  static constexpr int64_t kWarpgroup = 4;    ///< warps that warps which fill may stand beside

  /// Whether rows (columns) have one index, or what one was cut into where a tile reduces them (te-reduce-in-tiles).
  bool isOneIndex(ReduceOp reduce, Value factor, ArrayRef<unsigned> side) const {
    ReadOp read = findOperandRead(factor);
    return side.size() == 1 || (inTile_[dims_[side.back()]] && read && areDigitsOfOne(reduce, read, side));
  }

  /// A computed operand needs registers that the second block would take.
  bool isCopied(Value factor) const {
    if (auto round = factor.getDefiningOp<RoundOp>())
      return bool(round.getInput().getDefiningOp<ReadOp>());
    Value narrow = stripWidening(factor);
    return narrow.getDefiningOp<ReadOp>() && (!unit_ || narrow.getType() == operandType(c_, factor, Unit::Mma, s_.target_));
  }

  /// Rows and columns of a tile.
  void chooseResults() {
    // Measured on an H200 at 4096³ (docs/lab): two blocks of four warps
    // beat one of eight, and for mma a short K tile with more slots a long one.
    // Of 64-bit results that another term than a product makes, half as many a thread: a comparison takes registers beside them.
    tileM_ = tileN_ = c_.term && c_.term.getType().getIntOrFloatBitWidth() > 32 ? 64 : 128;
    // Small problems: smaller tiles fill the device, as long as they have all that is reduced in them.
    int64_t m = s_.extentProduct(l_, c_.m, dims_, s_.likely_), n = s_.extentProduct(l_, c_.n, dims_, s_.likely_);
    int64_t batch = std::max<int64_t>(1, s_.extentProduct(l_, c_.batch, dims_, s_.likely_));
    auto leastOf = [&](unsigned d) { return inTile_[dims_[d]] ? std::max<int64_t>(64, s_.clampTile(l_, dims_[d], 128)) : 64; };
    int64_t leastM = leastOf(c_.m.back()), leastN = leastOf(c_.n.back());
    // CUDA cores multiply words in 64 × 64 tiles, too, where the last round of 128 × 128 has little to do.
    bool hasTwoSizes = !unit_ && isPlain_ && m > 0 && n > 0 && leastM == 64 && leastN == 64,
         isCut = isPlain_ && c_.m.size() + c_.n.size() > 2;
    bool onlyTwo = (hasTwoSizes || isCut) && s_.target_.feedsCores; // (the halves between them gain nothing there)
    while (m > 0 && n > 0 && !onlyTwo && batch * ceilDiv(Count(m), tileM_) * ceilDiv(Count(n), tileN_) < s_.target_.smCount) {
      if (tileN_ > std::max(tileM_, leastN))
        tileN_ /= 2;
      else if (tileM_ > leastM)
        tileM_ /= 2;
      else if (tileN_ > leastN)
        tileN_ /= 2;
      else
        break;
    }
    if (hasTwoSizes && tileM_ == 128 && tileN_ == 128) {
      ProductTile tile = chooseCoresTile(m, n, batch, s_.target_);
      tileM_ = tile.m, tileN_ = tile.n;
    }
    // A side that was cut has tiles of one part.
    auto partOf = [&](ArrayRef<unsigned> side, int64_t tile) {
      return isCut && side.size() > 1 ? std::min(tile, s_.clampTile(l_, dims_[side.back()], tile)) : tile;
    };
    tileM_ = partOf(c_.m, tileM_), tileN_ = partOf(c_.n, tileN_);
    if (!unit_ && !isPlain_ && !c_.term && !c_.where && !fitSide(c_.m, c_.n, tileM_, tileN_))
      fitSide(c_.n, c_.m, tileN_, tileM_);
  }

  /// Where a side of one index leaves much of a tile of a power of two empty (20, 40, 72, 96 channels), a tile of three times one that has
  /// less; the other side has what four warps need then.
  bool fitSide(ArrayRef<unsigned> side, ArrayRef<unsigned> beside, int64_t &tile, int64_t &other) {
    const int64_t least = s_.costs_.cores.fourWarps;
    SmallVector<unsigned> tiled = c_.tiledOf(side);
    int64_t extent = tiled.size() == 1 ? s_.likelyExtent(l_, dims_[tiled.front()]) : 0;
    if (extent < 1)
      return false;
    int64_t power = s_.clampTile(l_, dims_[tiled.front()], tile), best = power;
    // Every tile takes the other side's words anew: beside the products where warps fill, else no more tiles may than did.
    const bool isFed = isBrought(c_.a, c_.m) && isBrought(c_.b, c_.n);
    auto tilesOf = [&](int64_t points) { return int64_t(ceilDiv(Count(extent), points)); };
    auto costOf = [&](int64_t points) { return tilesOf(points) * (points + s_.costs_.cores.sideFill); };
    auto isTaken = [&](int64_t points) {
      int64_t most = inTile_[dims_[tiled.front()]] ? s_.extentMax(l_, dims_[tiled.front()]) : points; // what is reduced is whole
      return most >= 0 && most <= points && (isFed || tilesOf(points) <= tilesOf(power)) && pointsOf(beside, least) * points >= least;
    };
    for (int64_t points = power / 4 * 3; tile::isCoresSide(points) && !llvm::isPowerOf2_64(uint64_t(points)); points /= 2)
      if (costOf(points) < costOf(best) && isTaken(points))
        best = points;
    int64_t wide = std::max(other, least / best), all = s_.extentProduct(l_, beside, dims_, s_.likely_);
    int64_t batch = std::max<int64_t>(1, s_.extentProduct(l_, c_.batch, dims_, s_.likely_));
    if (best == power || (all > 0 && batch * ceilDiv(Count(extent), best) * ceilDiv(Count(all), wide) < s_.target_.smCount))
      return false;
    tile = best;
    other = wide;
    return true;
  }

  /// Whether an operand's neighbours run along `side`, so that warps that fill bring it, vector by vector or word by word.
  bool isBrought(Value factor, ArrayRef<unsigned> side) const {
    ReadOp read = findOperandRead(factor);
    return copied_ && bytes_ == 4 && s_.target_.feedsCores && read && runsAlong(read, side);
  }

  void assignOuter(ArrayRef<unsigned> all, int64_t points, ArrayRef<unsigned> other, int64_t otherPoints) {
    SmallVector<unsigned> list = c_.tiledOf(all);
    int64_t filledFor = isFilledByWords(all) ? pointsOf(other, otherPoints) : 0;
    bool isReduced = llvm::any_of(list, [&](unsigned d) { return inTile_[dims_[d]]; });
    if (c_.where || unit_ || (isReduced && !filledFor))
      s_.assign(l_, list, dims_, points);
    else
      s_.assignResults(l_, list, dims_, points, filledFor);
  }

  /// Whether warps that fill will bring the operand of `side` word by word.
  bool isFilledByWords(ArrayRef<unsigned> side) const {
    Value factor = side == ArrayRef<unsigned>(c_.m) ? c_.a : c_.b;
    return s_.target_.feedsCores && copied_ && bytes_ == 4 && !c_.term && s_.isWindowOfWords(factor, side, c_.k);
  }
  /// Of the points that a side is asked for those that it has.
  int64_t pointsOf(ArrayRef<unsigned> side, int64_t points) {
    int64_t extent = s_.extentProduct(l_, side, dims_, s_.likely_);
    return extent > 0 ? std::min(points, int64_t(llvm::PowerOf2Ceil(uint64_t(extent)))) : points;
  }

  void assignK() {
    if (c_.where) // blocks that data picks have its shape
      s_.assign(l_, s_.tiledK(l_, c_, dims_), dims_, tileK_);
    else
      s_.assignRounds(l_, s_.tiledK(l_, c_, dims_), dims_, tileK_, unit_ ? 32 / bytes_ : 1);
    bk_ = s_.tileProduct(l_, c_.k, dims_);
  }
  void halveK() {
    tileK_ /= 2;
    assignK();
  }

  /// Where a tile has fewer rows than an instruction, the rest are zeros: the unit still pays where the other side has 64 points
  /// and more, but not where a condition picks whole blocks of the tile's own size.
  void fillInstruction(ArrayRef<unsigned> list, int64_t &points, int64_t others) {
    if (!unit_ || c_.where || points >= kInstruction || points < s_.costs_.cores.fewestPoints || others < 64)
      return;
    l_.tiles[dims_[list.back()]] *= kInstruction / points;
    points = kInstruction;
  }

  void chooseWarps() {
    // Accumulators of a tile beside those of the sum: half as many of each for a warp.
    sets_ = s_.promoteAfter(type_) || !c_.partScales.empty() ? 2 : 1;
    // CUDA cores: 64 results a thread, but 32 of small tiles, of which the device has few.
    int64_t warpTiles = std::max<int64_t>(1, isMma_ ? sets_ * (bm_ / 64) * (bn_ / 64) : bm_ * bn_ / (small_ ? 1024 : 2048));
    l_.warps = std::clamp<int64_t>(llvm::bit_floor(uint64_t(warpTiles)), 1, 8);
    if (!isMma_ && !llvm::isPowerOf2_64(uint64_t(warpTiles)) && l_.warps % kWarpgroup)
      l_.warps *= 2; // (fitSide)
    if (!isMma_)
      return;
    // Beside accumulators, fragments and indices a thread has two words for each copy that it starts, or one for each element that
    // passes through its registers: as many warps as have room for that.
    auto fetched = [&](Value factor, int64_t points) {
      ReadOp read = isCopied(factor) ? findOperandRead(factor) : ReadOp();
      int64_t width = read ? std::min<int64_t>(16, rowDivisor(read, s_.facts_)) : 0;
      return width >= 4 ? 2 * llvm::divideCeil(points * bytes_, width) : points;
    };
    int64_t words = sets_ * bm_ * bn_ + fetched(c_.a, bm_ * bk_) + fetched(c_.b, bn_ * bk_);
    while (l_.warps < 8 && bm_ * bn_ / l_.warps >= 2048 &&
           words / (32 * l_.warps) + s_.costs_.cores.besideCopies > s_.target_.maxRegistersPerThread)
      l_.warps *= 2;
  }

  /// Blocks beside each other on a multiprocessor, as many k as they have slots for, and how many of those.
  void chooseStages() {
    const Target &target = s_.target_;
    // CUDA cores multiply 8 × 8 words a thread, which takes half of the registers where operands are copied from
    // addresses that a stride apart make.
    bool halves = isMma_ ? sets_ == 1 : target.asyncCopy && isPlain_ && bm_ * bn_ <= 64 * 32 * l_.warps;
    int64_t blocks = copied_ && halves ? 2 : 1;
    auto fitting = [&] { return (target.maxSharedPerBlock / blocks - 1024) / ((bm_ + bn_) * bk_ * bytes_); };
    if (!isMma_)
      shortenK(blocks);
    else if (blocks == 2)
      lengthenK(fitting);
    int64_t fit = fitting();
    l_.stages = isMma_ && target.asyncCopy ? std::clamp<int64_t>(fit, 2, 4) : 2;
    l_.minBlocks = fit >= 2 ? blocks : 1;
    l_.promote = isMma_ ? s_.promoteAfter(type_) : 0;
    l_.fillLate = isMma_ && !readsAhead();
  }

  /// Whether fragments are read ahead of the barrier between rounds (tile-pipeline), with the copies of a later tile beside the products
  /// (docs/lab/2026-11-27-planner-8.md). Not where what is read is worked on before it is
  /// multiplied: words that are rounded, or that move to other accumulators.
  bool readsAhead() const {
    return copied_ && s_.target_.asyncCopy && l_.stages > 2 && bytes_ < 4 && sets_ == 1 && bk_ % (64 / bytes_) == 0;
  }

  /// Rounds of twice as many points, between which half as many barriers stand, where there are slots for one more than two of them
  /// (docs/lab/2026-11-27-planner-10.md): of 16 bits, whose rounds are shorter than those of bytes, in tiles of 128 × 128.
  void lengthenK(llvm::function_ref<int64_t()> fitting) {
    if (bytes_ != 2 || bm_ * bn_ != 128 * 128 || c_.where || c_.k.size() > 1)
      return;
    tileK_ *= 2;
    assignK();
    if (fitting() <= 2)
      halveK();
  }

  void shortenK(int64_t blocks) {
    // What runs along k is turned on its way, element by element (tile-pipeline): of two such operands, half as many at once.
    if (blocks == 2 && !small_ && tileK_ > 16 && runsAlong(findOperandRead(c_.a), c_.k) && runsAlong(findOperandRead(c_.b), c_.k))
      halveK();
    // CUDA cores read padded slots: where two of them for each block do not fit, shorter ones.
    auto paddedBytes = [&](int64_t outer) { return std::max(outer * (bk_ * bytes_ + 16), bk_ * (outer * bytes_ + 16)); };
    while (tileK_ > 1 && 2 * blocks * (paddedBytes(bm_) + paddedBytes(bn_)) > s_.target_.maxSharedPerBlock)
      halveK();
    // What is computed or masked on its way passes through registers, beside the 64 results of a thread.
    auto passing = [&] {
      return std::max(isCopied(c_.a) && !c_.isAMasked() ? 0 : bm_ * bk_, isCopied(c_.b) && !c_.isBMasked() ? 0 : bn_ * bk_);
    };
    while (tileK_ > 8 && passing() > s_.costs_.cores.passing * 32 * l_.warps)
      halveK();
  }

  /// Tiles that a condition makes of unequal length: where the longest takes about as long as all of a multiprocessor's, it has that to
  /// itself, with the registers of two blocks; where it does not take much longer, tiles come the longest first, since a long one that
  /// begins last would run alone (docs/lab/2026-11-27-first-launch-12.md).
  void spreadUneven(ReduceOp reduce) {
    std::optional<TileLengths> lengths = findTileLengths(reduce, l_, dims_, s_.likely_);
    Count tiles = s_.likelyTiles(l_, c_, dims_);
    if (!lengths || lengths->total == lengths->tiles * lengths->longest || tiles <= Count(0) || l_.persistent || l_.cluster > 1)
      return;
    const Count work = 100 * tiles * lengths->total, most = Count(lengths->longest) * lengths->tiles * s_.target_.smCount;
    if (!l_.producerWarps && l_.minBlocks == 1 && bm_ * bn_ >= 64 * 32 * l_.warps && work < s_.costs_.cores.alone * most)
      l_.stages = std::max<int64_t>(l_.stages, s_.target_.maxSharedPerBlock / 2 / ((bm_ + bn_) * bk_ * bytes_) + 1);
    if (work >= s_.costs_.cores.longestFirst * most)
      takeLongestFirst();
  }

  /// Along an index of whose later tiles the sums are longer (`k <= i`).
  void takeLongestFirst() {
    for (int64_t g : l_.grid) {
      auto growsAlongSum = [&](bool fromStart) {
        return llvm::any_of(c_.k, [&](unsigned k) { return s_.growsAlong(l_, g, dims_[k], fromStart); });
      };
      if (!growsAlongSum(false) || growsAlongSum(true))
        continue;
      l_.clusterIndex = g;
      l_.descending = true;
      return;
    }
  }

  /// Few tiles: more warps for each, until a multiprocessor has some of them to turn to.
  void addWarpsToFew() {
    Count tiles = s_.likelyTiles(l_, c_, dims_);
    const CoresCosts &cores = s_.costs_.cores;
    while (!isMma_ && small_ && Count(0) < tiles && 2 * l_.warps <= cores.warpsOfFew &&
           2 * l_.warps * tiles <= cores.warpsOfFew * s_.target_.smCount && bm_ * bn_ >= cores.fewestResults * 64 * l_.warps)
      l_.warps *= 2;
  }

  Scheduler &s_;
  LaunchPlan &l_;
  const Contraction &c_;
  ArrayRef<int64_t> dims_;
  bool unit_;     ///< the matrix unit takes the operands; `isMma_`: and has tiles that fill it
  Type type_;     ///< in the unit
  int64_t bytes_; ///< of an operand's element there
  llvm::BitVector inTile_;
  bool isPlain_ = false;                      ///< one index each of rows, columns and sum, of words
  bool copied_;                               ///< both operands go from memory to slots as they are
  int64_t tileM_ = 0, tileN_ = 0, tileK_ = 0; ///< asked for
  int64_t bm_ = 0, bn_ = 0, bk_ = 0;          ///< that the tiles have
  int64_t sets_ = 1;                          ///< of accumulators
  bool isMma_ = false, small_ = false;
};

void Scheduler::scheduleContraction(LaunchPlan &l, ReduceOp reduce, const Contraction &c, ArrayRef<int64_t> dims) {
  std::optional<Unit> wanted = getScheduledUnit(kernel_, target_.name, l.name);
  if ((!wanted || wanted == Unit::Wgmma) && scheduleWgmma(l, c, dims, unfed_)) {
    unfed_.clear(); // (other ways were tried)
    return;
  }
  if (!unfed_.empty())
    remark(reduce) << "this product is not fed by tensor copies: " << unfed_;
  CoresProduct(*this, l, c, dims, hasUnit(c, target_) && wanted != Unit::Simt).schedule(reduce);
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
  // Four warps alone do not keep a multiprocessor busy: two blocks. Small ones have room for more, but are placed unevenly where launches
  // before them end: no more than a multiprocessor's share of them.
  fed.minBlocks = large ? 1 : small ? smallBlocksBeside(l, c, dims, byBoxes) : 2;
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

int64_t Scheduler::smallBlocksBeside(const LaunchPlan &l, const Contraction &c, ArrayRef<int64_t> dims, bool byBoxes) {
  if (hasFewTiles(l, c, dims))
    return 2;
  Count tiles = likelyTiles(l, c, dims);
  if (!byBoxes || !(Count(0) < tiles)) // what threads bring word by word takes the registers of the others; or nobody knows
    return 1;
  return std::min(int64_t(ceilDiv(tiles, target_.smCount)), costs_.cores.smallBlocks);
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
