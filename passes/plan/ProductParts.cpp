// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/ProductParts.h"

#include "ir/te/TeShape.h"
#include "passes/analysis/UnitOperands.h"
#include "passes/index/Affine.h"
#include "passes/plan/Chain.h"
#include "passes/plan/PartCost.h"
#include "passes/plan/ProductTime.h"

using namespace mlir;

namespace kernelc::te {
namespace {

class ProductCutter {
public:
  explicit ProductCutter(const PartChoice &by) : by_(by) {}

  ReductionParts run(ReduceOp reduce, const Contraction &c) {
    SmallVector<int64_t> lengths = lengthsOf(reduce);
    if (std::optional<FedProduct> fed = findFedProduct(reduce, c, lengths))
      return partsOfFedProduct(reduce, *fed, c);
    return partsOfProduct(reduce, c, lengths);
  }

private:
  /// Points of a chunk of a product's sum are a multiple of so many, where it is cut along one index: whole tiles of any unit, and lines.
  static constexpr int64_t kLine = 128;

  /// The ways in which the sums of a product's parts may become one, whichever takes least time.
  SmallVector<PartSums, 2> waysToSum(ReduceOp r) const {
    bool isRead = !llvm::all_of(r.getResult().getUsers(), llvm::IsaPred<ReturnOp>);
    PartSums added = isRead ? PartSums::AddedAndRead : PartSums::Added;
    if (!mayAddParts(r) || by_.schedule.merge == Merge::Launch)
      return {PartSums::Merged};
    if (by_.schedule.addsInMemory)
      return {added};
    if (!r.getResult().getType().getElementType().isF32()) // (whose rate alone is known)
      return {PartSums::Merged};
    return {PartSums::Merged, added};
  }

  /// The likely points of these indices.
  int64_t extentOf(ReduceOp reduce, ArrayRef<unsigned> dims) { return knownPoints(reduce.getExtents(), dims, by_.likely); }
  /// And of those that are summed.
  SmallVector<int64_t> lengthsOf(ReduceOp reduce) {
    SmallVector<int64_t> lengths;
    for (unsigned d = reduce.getNumParallel(); d < reduce.getNumDims(); ++d)
      lengths.push_back(knownMax(reduce.getExtents().getResult(d), by_.likely));
    return lengths;
  }

  /// A product of which tensor copies can bring enough rows to warpgroups, on a target whose rates are known.
  std::optional<FedProduct> findFedProduct(ReduceOp reduce, const Contraction &c, ArrayRef<int64_t> lengths) {
    std::optional<WarpgroupForm> form = findWarpgroupForm(c);
    if (by_.target.partRates.sums <= 0 || !by_.target.wgmma || !form || !hasRowsOfCopies(c, by_.facts))
      return std::nullopt;
    constexpr int64_t kRows = 64; // of the unit
    FedProduct p{extentOf(reduce, c.batch), extentOf(reduce, c.m), extentOf(reduce, c.n), SmallVector<int64_t, 4>(lengths),
                 unitBytes(form->type)};
    auto isAcross = [&](Value factor) {
      ReadOp read = findOperandRead(factor);
      return read && !runsAlong(read, c.k);
    };
    p.acrossRows = isAcross(c.a);
    p.acrossColumns = isAcross(c.b);
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
    for (auto other : getKernel(reduce).getBlock().getOps<ReduceOp>()) {
      if (other == reduce || sources.contains(other))
        continue;
      std::optional<Contraction> c = findContraction(other);
      SmallVector<int64_t> lengths = lengthsOf(other);
      if (!c || llvm::any_of(lengths, [](int64_t n) { return n <= 0; }) || isChained(other, by_.target, by_.facts))
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
  ReductionParts partsOfFedProduct(ReduceOp reduce, const FedProduct &p, const Contraction &c) {
    auto isEqual = [&](unsigned index, int64_t chunk) { return divisorOf(reduce, index) % chunk == 0; };
    FedProduct all = withOthers(reduce, p);
    std::optional<PartOfSum> best;
    PartSums how = PartSums::Merged;
    for (PartSums way : waysToSum(reduce)) {
      PartOfSum part =
          bestParts(all, way, by_.target, [&](unsigned index, int64_t chunk) { return isEqual(index, chunk) || canEndEarly(c); });
      if (!best || part.time < best->time) {
        best = part;
        how = way;
      }
    }
    return {best->whole, best->chunk, /*lastIsShorter=*/best->chunk && !isEqual(best->whole, best->chunk), how != PartSums::Merged};
  }

  /// A known divisor of a summed index's extent.
  int64_t divisorOf(ReduceOp reduce, unsigned index) {
    return knownDivisor(reduce.getExtents().getResult(reduce.getNumParallel() + index), by_.facts);
  }

  /// Whether an operand passes through registers on its way to a slot of mma.sync.
  bool isComputed(const Contraction &c, Value factor) {
    if (auto round = factor.getDefiningOp<RoundOp>())
      factor = round.getInput();
    Value narrow = stripWidening(factor);
    return !narrow.getDefiningOp<ReadOp>() ||
           (!factor.getType().isF32() && narrow.getType() != operandType(c, factor, Unit::Mma, by_.target));
  }

  /// Other products with few results and a long sum: as many parts as multiprocessors have
  /// tiles of 64 x 128 to spare (of larger ones there would be more sums to write and to add). On CUDA cores, four blocks each
  /// that have a smaller tile: there the multiply-adds themselves are what takes time. Of operands that threads compute, as many warps.
  ReductionParts partsOfProduct(ReduceOp reduce, const Contraction &c, ArrayRef<int64_t> lengths) {
    bool cores = !hasUnit(c, by_.target);
    const int64_t kRows = 64, kColumns = cores ? 64 : 128;
    // What threads compute on its way to a slot has one round on its way a warp: as many warps as CUDA cores have blocks.
    bool hasFewRows = std::min(extentOf(reduce, c.m), extentOf(reduce, c.n)) < kRows;
    const int64_t kWarps = hasFewRows ? 1 : kColumns / kRows;
    const int64_t kPerMultiprocessor = cores                                      ? costs_.coresPerMultiprocessor
                                       : isComputed(c, c.a) || isComputed(c, c.b) ? costs_.coresPerMultiprocessor / kWarps
                                                                                  : 1;
    auto tilesOf = [&](ArrayRef<unsigned> dims, int64_t tile) { return ceilDiv(Count(extentOf(reduce, dims)), tile); };
    Count tiles =
        tilesOf(c.batch, 1) * std::min(tilesOf(c.m, kRows) * tilesOf(c.n, kColumns), tilesOf(c.m, kColumns) * tilesOf(c.n, kRows));
    int64_t parts = kPerMultiprocessor * by_.target.smCount / int64_t(tiles);
    Count length = 1; // of the whole sum
    for (int64_t of : lengths)
      length *= of;
    const bool isReckoned = cores && by_.target.partRates.sums > 0;
    PartSums how = waysToSum(reduce).back();
    if (isReckoned)
      std::tie(parts, how) = partsOnCores(reduce, extentOf(reduce, c.batch), extentOf(reduce, c.m), extentOf(reduce, c.n), int64_t(length),
                                          std::max(costs_.mostCoresParts, parts));
    else if (!by_.schedule.addsInMemory)
      how = PartSums::Merged; // no rate says what adding takes
    // Two or three parts do not pay for the second launch: few rows are bound by the other
    // operand's bytes, which half of the multiprocessors fetch as fast.
    if (parts < costs_.leastProductParts)
      return {};
    // Outer indices are parts as they stand where these are no shorter, and no more, than wanted; the next one is cut.
    const int64_t least = costs_.leastProductPart;
    ReductionParts found;
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
    const ProductTile large{128, 128, 100}, small{64, 64, by_.target.costs->cores.smallTilePercent}; // as te-plan has them
    batch = std::max<int64_t>(1, batch);
    auto chunkOf = [&](int64_t parts) { return parts == 1 ? length : int64_t(llvm::alignTo(llvm::divideCeil(length, parts), kLine)); };
    auto timeOfParts = [&](int64_t parts, PartSums how) {
      int64_t all = int64_t(Count(batch) * parts);
      const ProductTile &tile = timeOf(small, m, n, all, by_.target) < timeOf(large, m, n, all, by_.target) ? small : large;
      double blocks = double(ceilDiv(Count(all) * ceilDiv(Count(m), tile.m) * ceilDiv(Count(n), tile.n), by_.target.smCount));
      double one = double(tile.m) * tile.n * double(chunkOf(parts)) * 100 / tile.percent / costs_.coresRate + costs_.coresBlock;
      double time = blocks * one * (blocks > 1 ? 1 : costs_.coresAlone);
      return time + timeOfSums(double(m) * double(n) * double(batch), parts, how, by_.target.partRates);
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

  const PartChoice &by_;
  const SharingCosts &costs_ = by_.target.costs->sharing;
};

} // namespace

ReductionParts partsOfProduct(ReduceOp reduce, const Contraction &product, const PartChoice &by) {
  return ProductCutter(by).run(reduce, product);
}

bool canEndEarly(const Contraction &c) {
  auto isZeroBeyond = [](Value factor) {
    ReadOp read = findOperandRead(factor);
    return read && isUnchecked(read);
  };
  return !c.term && isZeroBeyond(c.a) && isZeroBeyond(c.b) && c.partScales.empty();
}

} // namespace kernelc::te
