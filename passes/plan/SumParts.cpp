// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/SumParts.h"

#include "ir/te/Hints.h"
#include "ir/te/Scan.h"
#include "ir/te/ScheduleLoc.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/index/Affine.h"
#include "passes/index/Strides.h"
#include "passes/plan/Chain.h"
#include "passes/plan/ProductParts.h"
#include "passes/plan/Sharing.h"

using namespace mlir;

namespace kernelc::te {
namespace {

constexpr int64_t kVector = 16; ///< whole vectors of any type

/// As many as the schedule says, of the first reduced index.
FailureOr<ReductionParts> scheduledParts(Operation *op, const KernelSchedule &schedule, const std::optional<Contraction> &product,
                                         int64_t length, int64_t divisor) {
  int64_t chunk = length / schedule.parts;
  bool added = mayAddParts(op) && schedule.addsInMemory;
  if (chunk && length % schedule.parts == 0 && divisor % chunk == 0)
    return ReductionParts{0, chunk, /*lastIsShorter=*/false, added};
  // Whole vectors of any type, of products whole tiles of any unit where there is enough for these.
  bool isPlain = isPlainReduction(op) || isa<CascadeOp, FoldOp>(op);
  constexpr int64_t kTile = 128;
  int64_t equal = llvm::divideCeil(length, schedule.parts), whole = llvm::alignTo(equal, kTile);
  chunk = product && int64_t(llvm::divideCeil(length, whole)) == schedule.parts ? whole : llvm::alignTo(equal, kVector);
  if (chunk * 2 <= length && isPlain && (!product || canEndEarly(*product)))
    return ReductionParts{0, chunk, /*lastIsShorter=*/true, added};
  return mlir::emitError(getScheduleLoc(op, op->getParentOfType<KernelOp>().getSymName(), "", {"parts"}))
         << "schedule: a reduction over " << length << " points cannot be cut into " << schedule.parts
         << (product || !isPlain ? " equal parts" : " parts of 16 points or more");
}

/// A reduction that is no product, of `points` results times `thin` that a tile has all of; its reduced indices have at most `lengths`
/// points.
class SumCutter {
public:
  SumCutter(Operation *op, Count points, int64_t thin, ArrayRef<int64_t> lengths, const PartChoice &by)
      : op_(op), points_(points), thin_(thin), lengths_(lengths), by_(by), isPlain_(isPlainReduction(op)),
        column_(findColumn(op, by.facts)), mostParts_(column_ ? costs_.mostColumnParts : costs_.mostParts) {
    for (int64_t of : lengths)
      length_ *= of;
    // A block takes a warp's width of neighbouring results, or one result; of a streamed operand it has more in flight.
    int64_t perBlock = column_    ? (thin > 1 ? streamedColumns(thin, *column_, by.target.costs->streamed) : costs_.columns)
                       : thin > 1 ? streamedRows(streamsElements(), by.target.costs->streamed)
                                  : 1;
    blocks_ = std::max<int64_t>(1, int64_t(points / perBlock));
    wanted_ = by.target.smCount * blocksPerMultiprocessor();
  }

  ReductionParts run() {
    if (!isWorthParts())
      return {};
    wantedParts_ = std::min(mostParts_, int64_t(llvm::divideCeil(wanted_, blocks_)));
    takeWholeIndices();
    return wantedParts_ < 2 ? parts_ : cutNextIndex();
  }

private:
  bool isWorthParts() const {
    if (blocks_ * 2 > wanted_ || !isWorthSharing(points_ * thin_, length_, column_.has_value(), costs_))
      return false;
    if (by_.schedule.merge == Merge::WhereItPays && wholeColumns(op_, by_.facts, by_.target))
      return false;
    // The blocks of a cluster can merge, without a second launch: where a schedule says so, where columns of a line fill the
    // device with clusters (up to a seventh faster on an H200), or where no chunk divides the sum (te-plan; also below). Parts
    // of a streamed sum that meets several points stay in the first-level cache with what they read of those.
    bool byCluster = by_.schedule.merge == Merge::Cluster ||
                     (by_.schedule.merge == Merge::WhereItPays && isPlain_ && thin_ == 1 && column_ && fillsClusters());
    return !(by_.target.cluster > 1 && byCluster && standsAlone(op_));
  }

  /// Outer indices are parts as they stand, as long as that does not make far too many.
  void takeWholeIndices() {
    rest_ = int64_t(length_);
    while (isPlain_ && parts_.whole + 1 < lengths_.size() && lengths_[parts_.whole] <= 2 * wantedParts_ &&
           rest_ / lengths_[parts_.whole] >= costs_.leastPart) {
      int64_t extent = lengths_[parts_.whole++];
      rest_ /= extent;
      wantedParts_ = llvm::divideCeil(wantedParts_, extent);
    }
  }

  ReductionParts cutNextIndex() {
    const int64_t next = lengths_[parts_.whole];
    int64_t inner = std::max<int64_t>(1, rest_ / next); // (0 where the product of all has stopped at its limit)
    int64_t least = llvm::divideCeil(costs_.leastPart, inner);
    const int64_t want = std::max<int64_t>(least, llvm::bit_floor(uint64_t(std::max<int64_t>(1, next / wantedParts_))));
    const int64_t divisor = knownDivisor(getExtents(op_).getResult(getNumParallel(op_) + parts_.whole), by_.facts);
    int64_t chunk = want;
    while (chunk > 1 && divisor % chunk)
      chunk /= 2;
    // Many short parts are as many sums to merge: longer ones that are no powers of two, or a cluster's, or a last one that
    // is shorter.
    auto isShort = [&] { return chunk < want / costs_.shorter || Count(next) > 2 * mostParts_ * Count(chunk); };
    if (isShort())
      chunk = longerDivisor(chunk, std::max<int64_t>(1, std::min(2 * want, next / 2)), divisor);
    if (isShort()) {
      bool fills = column_ ? fillsClusters() : blocks_ * by_.target.cluster >= costs_.rowBlocks * by_.target.smCount;
      bool merges = by_.target.cluster > 1 && by_.schedule.merge != Merge::Launch && !parts_.whole && standsAlone(op_);
      bool endsEarly = isPlain_ || isa<CascadeOp, FoldOp>(op_);
      if (merges && (fills || !endsEarly))
        return {};
      if (endsEarly) {
        chunk = wholeTiles(llvm::divideCeil(next, wantedParts_));
        // A block that holds its part has a tile of a power of two: of 12288 points a quarter of the threads would have none.
        if (isPlain_ && !column_ && chunk <= by_.target.costs->rows.largestHeld)
          chunk = llvm::bit_floor(uint64_t(chunk));
        parts_.lastIsShorter = true;
      }
    }
    if (Count(chunk) * inner >= costs_.leastPart / 4 && chunk * 2 <= next)
      parts_.chunk = chunk;
    return parts_;
  }

  /// A divisor of the index's extent longer than `chunk`, of whole vectors and as long as `longest` may be; `chunk` where there is none.
  static int64_t longerDivisor(int64_t chunk, int64_t longest, int64_t divisor) {
    constexpr int64_t kMostCuts = 1 << 16; // more parts than any device needs
    for (int64_t cuts = std::max<int64_t>(1, llvm::divideCeil(divisor, longest)); cuts <= kMostCuts && divisor / cuts > chunk; ++cuts)
      if (divisor % cuts == 0 && divisor / cuts % kVector == 0)
        return divisor / cuts;
    return chunk;
  }

  /// Long parts of whole tiles, as te-plan walks them: a mask less (up to half of the time of odd rows on an H200).
  int64_t wholeTiles(int64_t chunk) const {
    SmallVector<int64_t> tiles = column_ ? SmallVector<int64_t>{256} : SmallVector<int64_t>{4096, 2048, 1024};
    const int64_t *whole = llvm::find_if(tiles, [&](int64_t tile) { return chunk >= (column_ ? 2 * tile : tile); });
    return llvm::alignTo(chunk, whole == tiles.end() ? kVector : *whole);
  }

  /// How many blocks each multiprocessor should have. `thin`: how many results each block makes of one element that it reads.
  int64_t blocksPerMultiprocessor() const {
    if (thin_ == 1)
      return costs_.blocks;
    if (column_)
      return std::clamp<int64_t>(costs_.streamedColumnBlocks / thin_, 2, costs_.blocks);
    const StreamedCosts &streamed = by_.target.costs->streamed;
    return thin_ > streamed.leastShared && thin_ <= streamed.fewPoints ? costs_.blocks : costs_.streamedBlocks;
  }

  /// Whether rows of a streamed operand may begin inside a vector.
  bool streamsElements() const {
    bool found = false;
    op_->walk([&](ReadOp read) { found |= isStreamedRead(op_, read) && !hasVectorRows(read, by_.facts); });
    return found;
  }

  /// Whether clusters of blocks that have the columns of a line each keep half of the multiprocessors busy.
  bool fillsClusters() const {
    int64_t columns = column_->byElements ? by_.target.costs->columns.byElements : column_->perLine();
    return ceilDiv(points_, columns) * by_.target.cluster * 2 >= by_.target.smCount;
  }

  Operation *op_;
  Count points_;
  int64_t thin_;
  ArrayRef<int64_t> lengths_;
  const PartChoice &by_;
  const SharingCosts &costs_ = by_.target.costs->sharing;
  bool isPlain_;
  std::optional<Column> column_;
  int64_t mostParts_;
  Count length_ = 1; ///< of the whole reduction
  int64_t blocks_ = 0, wanted_ = 0, wantedParts_ = 0;
  int64_t rest_ = 0; ///< of the reduction, in the indices that are no parts as they stand
  ReductionParts parts_;
};

} // namespace

bool isPlainReduction(Operation *op) {
  auto r = dyn_cast<ReduceOp>(op);
  return r && !r.isArg();
}

bool mayAddParts(Operation *op) {
  auto r = dyn_cast<ReduceOp>(op);
  return r && r.getAnyOrder() && isa<Float32Type, Float64Type>(r.getResult().getType().getElementType());
}

FailureOr<ReductionParts> chooseParts(Operation *op, const PartChoice &by) {
  auto r = dyn_cast<ReduceOp>(op);
  if (isInTile(op) || findScanOf(op))
    return ReductionParts();
  if (r && (r.getInit() || r.getOutMap() || (r.isArg() && (r.getCondition() || r.getYield().getCondition()))))
    return ReductionParts(); // (an arg reduction over no point has no position to merge)
  AffineMap extents = getExtents(op);
  unsigned parallel = getNumParallel(op);
  if (parallel == extents.getNumResults())
    return ReductionParts();
  Count points = 1, thin = 1; // of the results; of those that a tile has all points of
  for (unsigned d = 0; d < parallel; ++d) {
    int64_t m = knownMax(extents.getResult(d), by.expected);
    if (m < 0)
      return ReductionParts(); // plenty of blocks, for all we know
    (llvm::is_contained(getStreamedDims(op), int64_t(d)) ? thin : points) *= m;
  }
  SmallVector<int64_t> lengths;
  for (unsigned d = parallel; d < extents.getNumResults(); ++d) {
    lengths.push_back(knownMax(extents.getResult(d), by.expected));
    if (lengths.back() < 0)
      return ReductionParts();
  }
  std::optional<Contraction> product = r ? findGeneralContraction(r) : std::nullopt;
  // Any chunk is right for any sizes; but parts of products are reckoned by tiles that bounds decide, and a schedule's are a number.
  bool isBounded = llvm::all_of(extents.getResults(), [&](AffineExpr e) { return knownMax(e, by.facts) >= 0; });
  if (!isBounded && (product || by.schedule.parts))
    return ReductionParts();
  if ((product || isa<CascadeOp>(op)) && !by.schedule.parts && isChained(op, by.target, by.facts))
    return ReductionParts(); // its results stay in registers, or its operand's do
  if (by.schedule.parts == 1 || (product && (r.getCondition() || r.getYield().getCondition())))
    return ReductionParts();
  if (by.schedule.parts)
    return scheduledParts(op, by.schedule, product, lengths[0], knownDivisor(extents.getResult(parallel), by.facts));
  bool isHeld = r && !product && by.schedule.merge != Merge::Launch &&
                (findHeldRow(r, by.facts, by.target) || isHeldByBlocks(r, by.expected, by.target));
  if (isHeld)
    return ReductionParts();
  if (product)
    return partsOfProduct(r, *product, by);
  ReductionParts parts = SumCutter(op, points, int64_t(thin), lengths, by).run();
  parts.added = by.schedule.addsInMemory && mayAddParts(op); // (a launch that merges takes as long as one that zeroes)
  return parts;
}

} // namespace kernelc::te
