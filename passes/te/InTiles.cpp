// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/te/InTiles.h"

#include "ir/te/Hints.h"
#include "ir/te/TeShape.h"
#include "passes/plan/Rewrite.h"
#include "passes/te/Parts.h"

using namespace mlir;

namespace kernelc::te {

/// An index of this extent in tiles of `radix` points.
Digits digitsOfTiles(AffineExpr extent, int64_t radix, const SizeFacts &facts) {
  AffineExpr r = getAffineConstantExpr(radix, extent.getContext());
  bool isMultiple = knownDivisor(extent, facts) % radix == 0;
  return {r, isMultiple ? extent.floorDiv(r) : extent.ceilDiv(r), "_tile", "", !isMultiple};
}

namespace {

/// A reduction over the parts that tiles have, merged by a second one.
class PartsInTiles {
public:
  PartsInTiles(const ReducedProduct &tiled, const SizeFacts &facts) : tiled_(tiled), facts_(facts) {}

  struct Site {
    ReduceOp op;
    SmallVector<PartDim> dims;
    unsigned rank; ///< of the product's results
  };
  StringRef name() const { return "te-reduce-in-tiles"; }

  FailureOr<std::optional<Site>> find(Operation *op) {
    auto r = llvm::find_if(tiled_.reductions, [&](const ReductionOfProduct &r) { return r.op == op; });
    if (r == tiled_.reductions.end())
      return std::optional<Site>();
    Site site{r->op, {}, unsigned(r->places.size())};
    for (auto [d, place] : llvm::enumerate(r->places)) {
      if (place < site.op.getNumParallel() || (!tiled_.radix[d] && llvm::is_contained(tiled_.inTile, d)))
        continue;
      site.dims.push_back({place});
      if (tiled_.radix[d])
        site.dims.back().digits = digitsOfTiles(site.op.getExtents().getResult(place), tiled_.radix[d], facts_);
    }
    llvm::sort(site.dims, [](const PartDim &a, const PartDim &b) { return a.dim < b.dim; });
    return site.dims.empty() ? std::nullopt : std::optional(site);
  }

  RewriteSketch sketch(const Site &site) const {
    RewriteSketch s;
    sketchParts(s, site.op, site.dims, 0);
    return s;
  }

  void apply(const Site &site) {
    SmallVector<Operation *> readers(ReduceOp(site.op)->getUsers());
    reduceByParts(site.op, site.dims, 0).setInTile(true);
    // The blocks that merge the parts are not to walk further indices for what needs the whole.
    for (Operation *read : readers)
      if (auto compute = dyn_cast<ComputeOp>(read->getParentOp());
          compute && getExtents(compute).getNumResults() > site.rank - site.dims.size())
        setBehindParts(compute);
  }

private:
  const ReducedProduct &tiled_;
  const SizeFacts &facts_;
};

/// Two dims in place of one: of the product, or of what reads its results.
class DimInTiles {
public:
  DimInTiles(unsigned dim, int64_t radix, const SizeFacts &facts) : dim_(dim), radix_(radix), facts_(facts) {}

  struct Site {
    Operation *op;
    unsigned dim;
    Digits digits;
  };
  StringRef name() const { return "te-reduce-in-tiles"; }

  FailureOr<std::optional<Site>> find(Operation *op) {
    std::optional<unsigned> dim = results_ ? findDimOfReader(op) : dim_;
    if (!dim)
      return std::optional<Site>();
    return std::optional(Site{op, *dim, digitsOf(op, *dim)});
  }
  RewriteSketch sketch(const Site &site) const {
    RewriteSketch s;
    sketchSplitParallelDim(s, site.op, site.dim, site.digits);
    return s;
  }
  void apply(const Site &site) {
    Operation *split = splitParallelDim(site.op, site.dim, site.digits);
    if (!results_)
      results_ = split->getResult(0);
  }

  /// Of the product, once it is split; its readers are found from then on.
  Value results() const { return results_; }

private:
  Digits digitsOf(Operation *op, unsigned dim) { return digitsOfTiles(getExtents(op).getResult(dim), radix_, facts_); }

  /// The dim of a statement that reads the two of the results as its quotient and remainder, where it can be split.
  std::optional<unsigned> findDimOfReader(Operation *reader) {
    for (Operation *user : results_.getUsers()) {
      auto read = dyn_cast<ReadOp>(user);
      if (!read || read->getParentOp() != reader)
        continue;
      auto low = dyn_cast<AffineBinaryOpExpr>(read.getMapOrIdentity().getResult(dim_ + 1));
      auto index = low && low.getKind() == AffineExprKind::Mod ? dyn_cast<AffineDimExpr>(low.getLHS()) : AffineDimExpr(nullptr);
      std::optional<unsigned> dim = index ? findIndex(reader, read.getOperands_()[index.getPosition()]) : std::nullopt;
      if (dim && canSplitParallelDim(reader, *dim, digitsOf(reader, *dim).endsEarly))
        return dim;
    }
    return std::nullopt;
  }

  unsigned dim_;
  int64_t radix_;
  const SizeFacts &facts_;
  Value results_;
};

/// All statements that read the results' digits as quotient and remainder.
LogicalResult splitReaders(KernelOp kernel, DimInTiles &dim) {
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation *user : dim.results().getUsers()) {
      FailureOr<bool> done = rewriteAt(kernel, user->getParentOp(), dim);
      if (failed(done))
        return failure();
      changed = *done;
      if (changed)
        break;
    }
  }
  return success();
}

} // namespace

// Each step is a rewrite of its own, held against its own sketch: what the later ones meet, the readers of digits, is what the earlier
// ones leave.
FailureOr<bool> reduceInTiles(KernelOp kernel, const ReducedProduct &tiled, const SizeFacts &facts) {
  bool changed = false;
  PartsInTiles parts(tiled, facts);
  for (const ReductionOfProduct &r : tiled.reductions) {
    FailureOr<bool> done = rewriteAt(kernel, r.op, parts);
    if (failed(done))
      return failure();
    changed |= *done;
  }
  // The product and all that follows it have the digits for indices then.
  Operation *product = tiled.product;
  for (unsigned d = tiled.radix.size(); d-- > 0;) {
    if (!tiled.radix[d])
      continue;
    DimInTiles dim(d, tiled.radix[d], facts);
    if (failed(rewriteAt(kernel, product, dim)) || failed(splitReaders(kernel, dim)))
      return failure();
    product = dim.results().getDefiningOp();
    changed = true;
  }
  return changed;
}

} // namespace kernelc::te
