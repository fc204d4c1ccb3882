// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/TileLengths.h"

#include "ir/te/TeShape.h"
#include "passes/index/Affine.h"

using namespace mlir;

namespace kernelc::te {
namespace {

constexpr int64_t kResults = 8; ///< samples of an index of results
constexpr int64_t kTerms = 16;  ///< of an index that is summed: none of them is at the place of a result
constexpr unsigned kMostSampled = 4;

/// One constraint: a number and a factor of each sampled index.
struct Linear {
  int64_t first = 0;
  SmallVector<int64_t> factors;

  bool holds(ArrayRef<int64_t> point) const {
    int64_t sum = first;
    for (auto [factor, value] : llvm::zip(factors, point))
      sum += factor * value;
    return sum >= 0;
  }
};

/// The condition's constraints over `sampled` of its dims; nothing where one is of another form.
std::optional<SmallVector<Linear>> linearConstraints(IntegerSet set, ArrayRef<unsigned> sampled) {
  SmallVector<AffineExpr> zeros(set.getNumDims(), getAffineConstantExpr(0, set.getContext()));
  SmallVector<Linear> found;
  for (auto [n, e] : llvm::enumerate(set.getConstraints())) {
    auto first = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(e.replaceDims(zeros), 0, set.getNumSymbols()));
    if (!first || set.isEq(n))
      return std::nullopt;
    Linear linear{first.getValue(), {}};
    for (unsigned d : sampled) {
      std::optional<int64_t> factor = linearCoefficient(e, d);
      if (!factor)
        return std::nullopt;
      linear.factors.push_back(*factor);
    }
    found.push_back(std::move(linear));
  }
  return found;
}

} // namespace

std::optional<TileLengths> findTileLengths(Operation *op, const LaunchPlan &l, ArrayRef<int64_t> dims, const SizeFacts &likely) {
  std::optional<IntegerSet> set = getCondition(op);
  if (!set)
    return std::nullopt;
  const unsigned numParallel = getNumParallel(op);
  SmallVector<unsigned> sampled; // those of results first, as the dims are
  SmallVector<int64_t> extents;
  for (unsigned d = 0; d < set->getNumDims() && d < dims.size(); ++d)
    if (llvm::any_of(set->getConstraints(), [&](AffineExpr e) { return e.isFunctionOfDim(d); })) {
      sampled.push_back(d);
      extents.push_back(knownMax(l.extents.getResult(dims[d]), likely));
    }
  std::optional<SmallVector<Linear>> constraints = linearConstraints(*set, sampled);
  if (!constraints || sampled.empty() || sampled.size() > kMostSampled || llvm::any_of(extents, [](int64_t e) { return e < kTerms; }))
    return std::nullopt;
  auto samplesOf = [&](unsigned d) { return d < numParallel ? kResults : kTerms; };
  int64_t terms = 1, points = 1; // samples of a tile's sum, and of all
  for (unsigned d : sampled) {
    terms *= d < numParallel ? 1 : kTerms;
    points *= samplesOf(d);
  }
  TileLengths lengths{0, points / terms, 0};
  SmallVector<int64_t> point(sampled.size());
  for (int64_t n = 0, own = 0; n < points; ++n) {
    int64_t rest = n;
    for (size_t i = sampled.size(); i-- > 0; rest /= samplesOf(sampled[i]))
      point[i] = (2 * (rest % samplesOf(sampled[i])) + 1) * extents[i] / (2 * samplesOf(sampled[i]));
    own = n % terms ? own : 0;
    bool counts = llvm::all_of(*constraints, [&](const Linear &c) { return c.holds(point); });
    own += counts;
    lengths.total += counts;
    lengths.longest = std::max(lengths.longest, own);
  }
  return lengths.longest ? std::optional(lengths) : std::nullopt;
}

} // namespace kernelc::te
