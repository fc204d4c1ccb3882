// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-split-reduce: see Passes.td.
#include "passes/Passes.h"

#include "ir/te/Hints.h"
#include "ir/te/Scan.h"
#include "ir/te/ScheduleLoc.h"
#include "ir/te/TeShape.h"
#include "passes/analysis/Contraction.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/Affine.h"
#include "passes/index/Strides.h"
#include "passes/plan/Chain.h"
#include "passes/plan/PartCost.h"
#include "passes/plan/PlanAttr.h"
#include "passes/plan/Rewrite.h"
#include "passes/plan/Schedule.h"
#include "passes/plan/Sharing.h"
#include "passes/plan/WalkParts.h"
#include "passes/te/Cascade.h"
#include "passes/te/Digits.h"
#include "passes/te/Fold.h"
#include "passes/te/Parts.h"
#include "passes/te/RowParts.h"
#include "passes/te/SplitWalk.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TESPLITREDUCE
#include "passes/Passes.h.inc"

using namespace te;

namespace {

class Splitter {
public:
  Splitter(KernelOp kernel, const KnownTarget &known, const KernelSchedule &schedule)
      : kernel_(kernel), target_(*known.target), facts_(known.facts()), expected_(known.expected()), schedule_(schedule) {}

  /// What a part of a reduction is: a point of the first `whole` reduced indices, and `chunk` elements of
  /// the next one (0: all of them).
  struct Parts {
    unsigned whole = 0;
    int64_t chunk = 0;
    bool lastIsShorter = false; ///< the chunk does not divide that index's extent, for all that is known
    bool added = false;         ///< the parts' sums are added into memory (addParts)
  };
  struct Site {
    Operation *op;
    std::optional<ProductWalk> walk; ///< of products' results, cut by `parts` with the products
    std::optional<RowParts> rows;    ///< cut with what rows are reduced to
    Parts parts;
  };
  StringRef name() const { return "te-split-reduce"; }

  /// Fails with a diagnostic where a reduction cannot be cut as the schedule says.
  FailureOr<std::optional<Site>> find(Operation *op) {
    auto fold = dyn_cast<FoldOp>(op);
    if (!isa<ReduceOp, CascadeOp>(op) && !(fold && fold.getMonoid()))
      return std::optional<Site>();
    if (auto cascade = dyn_cast<CascadeOp>(op))
      if (std::optional<ProductWalk> walk = findJoinedWalk(cascade, target_, facts_); walk && !schedule_.parts) {
        int64_t chunk = cascade.getCondition() ? 0 : partsOfWalk(cascade, *walk, target_, facts_).chunk;
        if (!chunk || !canSplitWalk(cascade, *walk, chunk, facts_))
          return std::optional<Site>(); // its results stay in registers
        return std::optional(Site{op, walk, std::nullopt, {0, chunk}});
      }
    if (auto r = dyn_cast<ReduceOp>(op); r && !schedule_.parts && schedule_.merge == Merge::WhereItPays)
      if (std::optional<RowParts> rows = findRowParts(r, facts_, target_))
        return std::optional(Site{op, std::nullopt, rows, {}});
    FailureOr<Parts> parts = partsFor(op);
    if (failed(parts))
      return failure();
    return parts->whole || parts->chunk ? std::optional(Site{op, std::nullopt, std::nullopt, *parts}) : std::nullopt;
  }

  RewriteSketch sketch(const Site &site) const {
    RewriteSketch s;
    auto reduce = dyn_cast<ReduceOp>(site.op);
    if (site.walk)
      sketchSplitWalk(s, cast<CascadeOp>(site.op), *site.walk, site.parts.chunk, facts_);
    else if (site.rows)
      sketchSplitRows(s, reduce, *site.rows, facts_);
    else if (isPlainReduction(site.op))
      sketchSplit(s, reduce, site.parts);
    else if (auto fold = dyn_cast<FoldOp>(site.op))
      sketchSplitFold(s, fold, site.parts.chunk, site.parts.lastIsShorter);
    else if (!reduce || isConvertible(reduce))
      sketchSplitCascade(s, site.op, site.parts.chunk, site.parts.lastIsShorter);
    return s;
  }

  void apply(const Site &site) {
    auto r = dyn_cast<ReduceOp>(site.op);
    const Parts &parts = site.parts;
    if (site.walk)
      return splitWalk(cast<CascadeOp>(site.op), *site.walk, parts.chunk, facts_);
    if (site.rows)
      return splitRows(r, *site.rows, facts_);
    keepApart(site.op);
    if (isPlainReduction(site.op))
      split(r, parts);
    else if (auto fold = dyn_cast<FoldOp>(site.op))
      splitFold(fold, parts.chunk, parts.lastIsShorter);
    else if (CascadeOp cascade = r ? convertArgReduction(r) : cast<CascadeOp>(site.op))
      splitCascade(cascade, parts.chunk, parts.lastIsShorter);
  }

  /// Where the schedule asks for adds in memory and no sum may have them.
  void remarkOnMerge() {
    if (schedule_.addsInMemory && !adds_)
      kernel_.emitRemark() << "schedule: 'merge' is memory, and there is no sum in parts that may add up in any order ('order(any)')";
  }

private:
  /// Points of a chunk of a product's sum are a multiple of so many, where it is cut along one index: whole tiles of any unit, and lines.
  static constexpr int64_t kLine = 128;

  /// Neither whole indices nor a chunk: leave alone.
  FailureOr<Parts> partsFor(Operation *op) {
    auto r = dyn_cast<ReduceOp>(op);
    if (isInTile(op) || findScanOf(op))
      return Parts();
    if (r && (r.getInit() || r.getOutMap() || (r.isArg() && (r.getCondition() || r.getYield().getCondition()))))
      return Parts(); // (an arg reduction over no point has no position to merge)
    AffineMap extents = getExtents(op);
    unsigned parallel = getNumParallel(op);
    if (parallel == extents.getNumResults())
      return Parts();
    Count points = 1, thin = 1; // of the results; of those that a tile has all points of
    for (unsigned d = 0; d < parallel; ++d) {
      int64_t m = knownMax(extents.getResult(d), expected_);
      if (m < 0)
        return Parts(); // plenty of blocks, for all we know
      (llvm::is_contained(getStreamedDims(op), int64_t(d)) ? thin : points) *= m;
    }
    SmallVector<int64_t> lengths;
    for (unsigned d = parallel; d < extents.getNumResults(); ++d) {
      lengths.push_back(knownMax(extents.getResult(d), expected_));
      if (lengths.back() < 0)
        return Parts();
    }
    std::optional<Contraction> product = r ? findGeneralContraction(r) : std::nullopt;
    // Any chunk is right for any sizes; but parts of products are reckoned by tiles that bounds decide, and a schedule's are a number.
    bool isBounded = llvm::all_of(extents.getResults(), [&](AffineExpr e) { return knownMax(e, facts_) >= 0; });
    if (!isBounded && (product || schedule_.parts))
      return Parts();
    if ((product || isa<CascadeOp>(op)) && !schedule_.parts && isChained(op, target_, facts_))
      return Parts(); // its results stay in registers, or its operand's do
    if (schedule_.parts == 1 || (product && (r.getCondition() || r.getYield().getCondition())))
      return Parts();
    if (schedule_.parts)
      return scheduledParts(op, product, lengths[0], knownDivisor(extents.getResult(parallel), facts_));
    if (r && !product && schedule_.merge != Merge::Launch && findHeldRow(r, facts_, target_))
      return Parts();
    if (!product) {
      Parts parts = partsOf(op, points, int64_t(thin), lengths);
      parts.added = schedule_.addsInMemory && mayAdd(op); // (a launch that merges takes as long as one that zeroes)
      return parts;
    }
    if (std::optional<FedProduct> fed = findFedProduct(r, *product, lengths))
      return partsOfFedProduct(r, *fed, *product);
    return partsOfProduct(r, *product, lengths);
  }

  /// As many as the schedule says, of the first reduced index.
  FailureOr<Parts> scheduledParts(Operation *op, const std::optional<Contraction> &product, int64_t length, int64_t divisor) {
    int64_t chunk = length / schedule_.parts;
    bool added = mayAdd(op) && schedule_.addsInMemory;
    if (chunk && length % schedule_.parts == 0 && divisor % chunk == 0)
      return Parts{0, chunk, /*lastIsShorter=*/false, added};
    // Whole vectors of any type, of products whole tiles of any unit where there is enough for these.
    bool isPlain = isPlainReduction(op) || isa<CascadeOp, FoldOp>(op);
    constexpr int64_t kTile = 128, kVector = 16;
    int64_t equal = llvm::divideCeil(length, schedule_.parts), whole = llvm::alignTo(equal, kTile);
    chunk = product && int64_t(llvm::divideCeil(length, whole)) == schedule_.parts ? whole : llvm::alignTo(equal, kVector);
    if (chunk * 2 <= length && isPlain && (!product || canEndEarly(*product)))
      return Parts{0, chunk, /*lastIsShorter=*/true, added};
    return mlir::emitError(getScheduleLoc(op, op->getParentOfType<KernelOp>().getSymName(), "", {"parts"}))
           << "schedule: a reduction over " << length << " points cannot be cut into " << schedule_.parts
           << (product || !isPlain ? " equal parts" : " parts of 16 points or more");
  }

  /// Whether parts' sums may be added into memory: in any order, as words that atomics add.
  static bool mayAdd(Operation *op) {
    auto r = dyn_cast<ReduceOp>(op);
    return r && r.getAnyOrder() && isa<Float32Type, Float64Type>(r.getResult().getType().getElementType());
  }

  /// The ways in which the sums of a product's parts may become one, whichever takes least time.
  SmallVector<PartSums, 2> waysToSum(ReduceOp r) const {
    bool isRead = !llvm::all_of(r.getResult().getUsers(), llvm::IsaPred<ReturnOp>);
    PartSums added = isRead ? PartSums::AddedAndRead : PartSums::Added;
    if (!mayAdd(r) || schedule_.merge == Merge::Launch)
      return {PartSums::Merged};
    if (schedule_.addsInMemory)
      return {added};
    if (!r.getResult().getType().getElementType().isF32()) // (whose rate alone is known)
      return {PartSums::Merged};
    return {PartSums::Merged, added};
  }

  /// A reduction to single values: neither to positions nor to states.
  static bool isPlainReduction(Operation *op) {
    auto r = dyn_cast<ReduceOp>(op);
    return r && !r.isArg();
  }

  /// How many blocks each multiprocessor should have. `thin`: how many results each block makes of one element that it reads.
  int64_t blocksPerMultiprocessor(int64_t thin, bool columns) const {
    if (thin == 1)
      return costs_.blocks;
    if (columns)
      return std::clamp<int64_t>(costs_.streamedColumnBlocks / thin, 2, costs_.blocks);
    const StreamedCosts &streamed = target_.costs->streamed;
    return thin > streamed.leastShared && thin <= streamed.fewPoints ? costs_.blocks : costs_.streamedBlocks;
  }

  /// A reduction that is no product, of `points` results times `thin` that a tile has all of; its reduced indices
  /// have at most `lengths` points.
  Parts partsOf(Operation *op, Count points, int64_t thin, ArrayRef<int64_t> lengths) {
    bool isPlain = isPlainReduction(op);
    Count length = 1; // of the whole reduction
    for (int64_t of : lengths)
      length *= of;
    // A block takes a warp's width of neighbouring results, or one result; of a streamed operand it has more in flight.
    std::optional<Column> column = findColumn(op, facts_);
    int64_t perBlock = column     ? (thin > 1 ? streamedColumns(thin, *column, target_.costs->streamed) : costs_.columns)
                       : thin > 1 ? streamedRows(streamsElements(op), target_.costs->streamed)
                                  : 1;
    int64_t blocks = std::max<int64_t>(1, int64_t(points / perBlock));
    int64_t wanted = target_.smCount * blocksPerMultiprocessor(thin, column.has_value());
    if (blocks * 2 > wanted || !isWorthSharing(points * thin, length, column.has_value(), costs_))
      return Parts();
    if (schedule_.merge == Merge::WhereItPays && wholeColumns(op, facts_, target_))
      return Parts();
    // The blocks of a cluster can merge, without a second launch: where a schedule says so, where columns of a line fill the
    // device with clusters (up to a seventh faster on an H200), or where no chunk divides the sum (te-plan; also below). Parts
    // of a streamed sum that meets several points stay in the first-level cache with what they read of those.
    bool byCluster = schedule_.merge == Merge::Cluster ||
                     (schedule_.merge == Merge::WhereItPays && isPlain && thin == 1 && column && fillsClusters(points, *column));
    if (target_.cluster > 1 && byCluster && standsAlone(op))
      return Parts();
    // Outer indices are parts as they stand, as long as that does not make far too many.
    Parts parts;
    const int64_t mostParts = column ? costs_.mostColumnParts : costs_.mostParts;
    int64_t wantedParts = std::min(mostParts, int64_t(llvm::divideCeil(wanted, blocks))), rest = int64_t(length);
    while (isPlain && parts.whole + 1 < lengths.size() && lengths[parts.whole] <= 2 * wantedParts &&
           rest / lengths[parts.whole] >= costs_.leastPart) {
      int64_t extent = lengths[parts.whole++];
      rest /= extent;
      wantedParts = llvm::divideCeil(wantedParts, extent);
    }
    if (wantedParts < 2)
      return parts;
    int64_t next = lengths[parts.whole], inner = std::max<int64_t>(1, rest / next); // (0 where the product of all has stopped at its limit)
    int64_t least = llvm::divideCeil(costs_.leastPart, inner);
    int64_t want = std::max<int64_t>(least, llvm::bit_floor(uint64_t(std::max<int64_t>(1, next / wantedParts)))), chunk = want;
    int64_t divisor = knownDivisor(getExtents(op).getResult(getNumParallel(op) + parts.whole), facts_);
    while (chunk > 1 && divisor % chunk)
      chunk /= 2;
    // Many short parts are as many sums to merge: longer ones that are no powers of two, or a cluster's, or a last one that
    // is shorter.
    auto isShort = [&] { return chunk < want / costs_.shorter || Count(next) > 2 * mostParts * Count(chunk); };
    if (isShort()) {
      constexpr int64_t kVector = 16, kMostCuts = 1 << 16; // whole vectors of any type; more parts than any device needs
      int64_t longest = std::max<int64_t>(1, std::min(2 * want, next / 2));
      for (int64_t cuts = std::max<int64_t>(1, llvm::divideCeil(divisor, longest)); cuts <= kMostCuts && divisor / cuts > chunk; ++cuts)
        if (divisor % cuts == 0 && divisor / cuts % kVector == 0) {
          chunk = divisor / cuts;
          break;
        }
      if (isShort()) {
        bool fills = column ? fillsClusters(points, *column) : blocks * target_.cluster >= costs_.rowBlocks * target_.smCount;
        bool merges = target_.cluster > 1 && schedule_.merge != Merge::Launch && !parts.whole && standsAlone(op);
        bool endsEarly = isPlain || isa<CascadeOp, FoldOp>(op);
        if (merges && (fills || !endsEarly))
          return Parts();
        if (endsEarly) {
          chunk = llvm::divideCeil(next, wantedParts);
          // Long ones of whole tiles, as te-plan walks them: a mask less (up to half of the time of odd rows on an H200).
          SmallVector<int64_t> tiles = column ? SmallVector<int64_t>{256} : SmallVector<int64_t>{4096, 2048, 1024};
          const int64_t *whole = llvm::find_if(tiles, [&](int64_t tile) { return chunk >= (column ? 2 * tile : tile); });
          chunk = llvm::alignTo(chunk, whole == tiles.end() ? kVector : *whole);
          parts.lastIsShorter = true;
        }
      }
    }
    if (Count(chunk) * inner >= costs_.leastPart / 4 && chunk * 2 <= next)
      parts.chunk = chunk;
    return parts;
  }

  /// The most points of these indices.
  int64_t extentOf(ReduceOp reduce, ArrayRef<unsigned> dims) { return knownPoints(reduce.getExtents(), dims, facts_); }

  /// A product of which tensor copies can bring enough rows to warpgroups, on a target whose rates are known.
  std::optional<FedProduct> findFedProduct(ReduceOp reduce, const Contraction &c, ArrayRef<int64_t> lengths) {
    std::optional<WarpgroupForm> form = findWarpgroupForm(c);
    if (target_.partRates.sums <= 0 || !target_.wgmma || !form || !hasRowsOfCopies(c, facts_))
      return std::nullopt;
    constexpr int64_t kRows = 64; // of the unit
    FedProduct p{extentOf(reduce, c.batch), extentOf(reduce, c.m), extentOf(reduce, c.n), SmallVector<int64_t, 4>(lengths),
                 unitBytes(form->type)};
    return std::max(p.m, p.n) >= kRows ? std::optional(p) : std::nullopt;
  }

  /// What a statement is computed from.
  static void findSources(Operation *op, llvm::SmallPtrSetImpl<Operation *> &sources) {
    op->walk([&](ReadOp read) {
      if (Operation *producer = read.getTensor().getDefiningOp(); producer && sources.insert(producer).second)
        findSources(producer, sources);
    });
  }

  /// A product with as many columns as it and those have that may run beside it (Beside.h): they need nothing of each other.
  FedProduct withOthers(ReduceOp reduce, FedProduct p) {
    auto workOf = [](const FedProduct &f) {
      double work = double(f.batch) * double(f.m) * double(f.n);
      for (int64_t length : f.lengths)
        work *= double(length);
      return work;
    };
    double own = workOf(p), all = own;
    llvm::SmallPtrSet<Operation *, 16> sources;
    findSources(reduce, sources);
    for (auto other : kernel_.getBlock().getOps<ReduceOp>()) {
      if (other == reduce || sources.contains(other))
        continue;
      std::optional<Contraction> c = findContraction(other);
      SmallVector<int64_t> lengths;
      for (unsigned d = other.getNumParallel(); c && d < other.getNumDims(); ++d)
        lengths.push_back(knownMax(other.getExtents().getResult(d), facts_));
      if (!c || llvm::any_of(lengths, [](int64_t n) { return n <= 0; }) || isChained(other, target_, facts_))
        continue;
      std::optional<FedProduct> fed = findFedProduct(other, *c, lengths);
      llvm::SmallPtrSet<Operation *, 16> others;
      findSources(other, others);
      if (fed && fed->m > 0 && fed->n > 0 && fed->batch > 0 && !others.contains(reduce))
        all += workOf(*fed);
    }
    p.n = int64_t(std::min(double(p.n) * all / own, 1e9));
    return p;
  }

  /// What the parts take decides.
  Parts partsOfFedProduct(ReduceOp reduce, const FedProduct &p, const Contraction &c) {
    auto isEqual = [&](unsigned index, int64_t chunk) { return divisorOf(reduce, index) % chunk == 0; };
    FedProduct all = withOthers(reduce, p);
    std::optional<PartOfSum> best;
    PartSums how = PartSums::Merged;
    for (PartSums way : waysToSum(reduce)) {
      PartOfSum part = bestParts(all, way, target_, [&](unsigned index, int64_t chunk) { return isEqual(index, chunk) || canEndEarly(c); });
      if (!best || part.time < best->time) {
        best = part;
        how = way;
      }
    }
    return {best->whole, best->chunk, /*lastIsShorter=*/best->chunk && !isEqual(best->whole, best->chunk), how != PartSums::Merged};
  }

  /// A known divisor of a summed index's extent.
  int64_t divisorOf(ReduceOp reduce, unsigned index) {
    return knownDivisor(reduce.getExtents().getResult(reduce.getNumParallel() + index), facts_);
  }

  /// Other products with few results and a long sum: as many parts as multiprocessors have
  /// tiles of 64 x 128 to spare (of larger ones there would be more sums to write and to add). On CUDA cores, four blocks each
  /// that have a smaller tile: there the multiply-adds themselves are what takes time.
  Parts partsOfProduct(ReduceOp reduce, const Contraction &c, ArrayRef<int64_t> lengths) {
    bool cores = !hasUnit(c, target_);
    const int64_t kRows = 64, kColumns = cores ? 64 : 128, kPerMultiprocessor = cores ? costs_.coresPerMultiprocessor : 1;
    auto tilesOf = [&](ArrayRef<unsigned> dims, int64_t tile) { return ceilDiv(Count(extentOf(reduce, dims)), tile); };
    Count tiles =
        tilesOf(c.batch, 1) * std::min(tilesOf(c.m, kRows) * tilesOf(c.n, kColumns), tilesOf(c.m, kColumns) * tilesOf(c.n, kRows));
    int64_t parts = kPerMultiprocessor * target_.smCount / int64_t(tiles);
    Count length = 1; // of the whole sum
    for (int64_t of : lengths)
      length *= of;
    const bool isReckoned = cores && target_.partRates.sums > 0;
    PartSums how = waysToSum(reduce).back();
    if (isReckoned)
      std::tie(parts, how) = partsOnCores(reduce, extentOf(reduce, c.batch), extentOf(reduce, c.m), extentOf(reduce, c.n), int64_t(length),
                                          std::max(costs_.mostCoresParts, parts));
    else if (!schedule_.addsInMemory)
      how = PartSums::Merged; // no rate says what adding takes
    // Two or three parts do not pay for the second launch: few rows are bound by the other
    // operand's bytes, which half of the multiprocessors fetch as fast.
    if (parts < costs_.leastProductParts)
      return Parts();
    // Outer indices are parts as they stand where these are no shorter, and no more, than wanted; the next one is cut.
    const int64_t least = costs_.leastProductPart;
    Parts found;
    found.added = how != PartSums::Merged;
    int64_t rest = int64_t(length);
    while (found.whole + 1 < lengths.size() && lengths[found.whole] <= parts && rest / lengths[found.whole] >= least) {
      int64_t extent = lengths[found.whole++];
      rest /= extent;
      parts = llvm::divideCeil(parts, extent);
    }
    int64_t next = lengths[found.whole], inner = std::max<int64_t>(1, rest / next), divisor = divisorOf(reduce, found.whole);
    int64_t shortest = llvm::divideCeil(least, inner), equal = llvm::divideCeil(next, parts);
    const int64_t kWhole = inner > 1 ? 1 : kLine;
    int64_t chunk = std::max<int64_t>(shortest, isReckoned ? llvm::alignTo(equal, kWhole) : llvm::PowerOf2Ceil(equal));
    if (divisor % chunk) {
      chunk = std::max<int64_t>(shortest, llvm::alignTo(equal, kWhole));
      if (!canEndEarly(c))
        return found;
      found.lastIsShorter = divisor % chunk != 0;
    }
    if (parts > 1 && chunk * 2 <= next)
      found.chunk = chunk;
    return found;
  }

  /// In how many parts, of at most `most`, and with which sums of them a product on CUDA cores takes least time; 1: as a whole.
  std::pair<int64_t, PartSums> partsOnCores(ReduceOp reduce, int64_t batch, int64_t m, int64_t n, int64_t length, int64_t most) {
    if (m <= 0 || n <= 0)
      return {1, PartSums::Merged};
    const ProductTile large{128, 128, 100}, small{64, 64, target_.costs->cores.smallTilePercent}; // as te-plan has them
    batch = std::max<int64_t>(1, batch);
    auto chunkOf = [&](int64_t parts) { return parts == 1 ? length : int64_t(llvm::alignTo(llvm::divideCeil(length, parts), kLine)); };
    auto timeOfParts = [&](int64_t parts, PartSums how) {
      int64_t all = int64_t(Count(batch) * parts);
      const ProductTile &tile = timeOf(small, m, n, all, target_) < timeOf(large, m, n, all, target_) ? small : large;
      double blocks = double(ceilDiv(Count(all) * ceilDiv(Count(m), tile.m) * ceilDiv(Count(n), tile.n), target_.smCount));
      double one = double(tile.m) * tile.n * double(chunkOf(parts)) * 100 / tile.percent / costs_.coresRate + costs_.coresBlock;
      double time = blocks * one * (blocks > 1 ? 1 : costs_.coresAlone);
      return time + timeOfSums(double(m) * double(n) * double(batch), parts, how, target_.partRates);
    };
    std::pair<int64_t, PartSums> best{1, PartSums::Merged};
    double least = timeOfParts(1, PartSums::Merged) / costs_.leastGain;
    for (int64_t parts = costs_.leastProductParts; parts <= most && length / parts >= costs_.leastProductPart; ++parts) {
      if (int64_t(llvm::divideCeil(length, chunkOf(parts))) != parts)
        continue; // fewer, longer ones
      for (PartSums how : waysToSum(reduce))
        if (double time = timeOfParts(parts, how); time < least) {
          least = time;
          best = {parts, how};
        }
    }
    return best;
  }

  /// Whether zeros for what a product reads beyond its sum's end are all that it takes to sum up more.
  static bool canEndEarly(const Contraction &c) {
    auto isZeroBeyond = [](Value factor) {
      ReadOp read = findOperandRead(factor);
      return read && isUnchecked(read);
    };
    return !c.term && isZeroBeyond(c.a) && isZeroBeyond(c.b) && c.partScales.empty();
  }

  /// T[.., k, ..]  →  T.pad(0)[.., k, ..]  in both factors.
  static void padFactors(const Contraction &c) {
    for (Value factor : {c.a, c.b}) {
      ReadOp read = findOperandRead(factor);
      OpBuilder b(read);
      Value zero = arith::ConstantOp::create(b, read.getLoc(), b.getZeroAttr(read.getResult().getType()));
      auto padded = ReadOp::create(b, read.getLoc(), read.getResult().getType(), read.getTensor(), read.getOperands_(), read.getMapAttr(),
                                   BoundsModeAttr::get(b.getContext(), BoundsMode::Pad), zero);
      read.replaceAllUsesWith(padded.getResult());
      read.erase();
    }
  }

  /// Whether rows of a streamed operand may begin inside a vector.
  bool streamsElements(Operation *op) const {
    bool found = false;
    op->walk([&](ReadOp read) { found |= isStreamedRead(op, read) && !hasVectorRows(read, facts_); });
    return found;
  }

  /// Whether clusters of blocks that have the columns of a line each keep half of the multiprocessors busy.
  bool fillsClusters(Count results, const Column &column) const {
    int64_t columns = column.byElements ? target_.costs->columns.byElements : column.perLine();
    return ceilDiv(results, columns) * target_.cluster * 2 >= target_.smCount;
  }

  /// The results' indices alone do not fill the device: what walks further ones for each of them is not to
  /// do so in the blocks that merge the parts.
  void keepApart(Operation *op) {
    for (Value result : op->getResults())
      for (Operation *user : result.getUsers())
        if (auto compute = user->getParentOfType<ComputeOp>(); compute && getExtents(compute).getNumResults() > getNumParallel(op))
          setBehindParts(compute);
  }

  /// The summed dims that parts are points of, among those of `r` with the next one cut, and the place of the parts among the results.
  /// Parts of a product are a batch: rows and columns stay the fastest, as do results that a block has side by side.
  std::pair<SmallVector<unsigned>, unsigned> placesOf(ReduceOp r, const Parts &parts) const {
    unsigned parallel = r.getNumParallel(), kept = parallel + parts.whole;
    bool first = findGeneralContraction(r) || findColumn(r, facts_);
    return {llvm::to_vector(llvm::seq(parallel, kept + (parts.chunk ? 1 : 0))), first ? 0 : parallel};
  }
  /// Of the index that is cut. The last part may be shorter: f of a product is zero beyond K, of other reductions k' ends before.
  static Digits digitsOf(ReduceOp r, const Parts &parts) {
    Digits digits = digitsOfParts(r.getExtents().getResult(r.getNumParallel() + parts.whole), parts.chunk, parts.lastIsShorter);
    digits.endsEarly &= !findGeneralContraction(r);
    return digits;
  }

  /// ⊕_{w, k < K} f(p, w, k)  =  ⊕_{w, q < K/C} ⊕_{k' < C} f(p, w, q·C + k'), with or without w, q.
  void split(ReduceOp r, const Parts &parts) {
    auto [outer, at] = placesOf(r, parts);
    if (parts.chunk) {
      Digits digits = digitsOf(r, parts);
      if (std::optional<Contraction> product = findGeneralContraction(r); product && parts.lastIsShorter)
        padFactors(*product);
      r = splitReducedDim(r, r.getNumParallel() + parts.whole, digits);
    }
    adds_ |= parts.added;
    if (parts.added)
      addParts(r, outer, at);
    else
      reduceByParts(r, outer, at);
  }
  void sketchSplit(RewriteSketch &sketch, ReduceOp r, const Parts &parts) const {
    auto [outer, at] = placesOf(r, parts);
    StatementSketch own = sketch.sketchOf(r);
    if (parts.chunk)
      own.extents = splitExtents(own.extents, own.parallel + parts.whole, digitsOf(r, parts));
    sketch.drop(r);
    sketchParts(sketch, own, outer, at, parts.added);
  }

  KernelOp kernel_;
  const Target &target_;
  const SharingCosts &costs_ = target_.costs->sharing;
  SizeFacts facts_, expected_;
  KernelSchedule schedule_;
  bool adds_ = false; ///< some parts are added in memory
};

struct TeSplitReducePass : impl::TeSplitReduceBase<TeSplitReducePass> {
  using Base::Base;
  void runOnOperation() override {
    FailureOr<KnownTarget> known = getKnownTarget(getOperation(), target, sizeDiv, sizeMax, sizeLike);
    if (failed(known))
      return signalPassFailure();
    FailureOr<KernelSchedule> schedule = getKernelSchedule(getOperation(), target);
    if (failed(schedule))
      return signalPassFailure();
    Splitter splitter(getOperation(), *known, *schedule);
    if (failed(rewriteEach(getOperation(), splitter)))
      return signalPassFailure();
    splitter.remarkOnMerge();
  }
};

} // namespace
} // namespace kernelc
