// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/plan/WalkParts.h"

#include "ir/te/TeShape.h"
#include "passes/plan/ChainUnit.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace kernelc::te {

double timeOfColumn(double terms, const Target &target) {
  // What a point takes beside its terms is what chains of so many of them are slower by than products.
  const double own = target.costs->chains.pointTerms;
  return target.costs->chains.tileRows * (terms / target.productRate + own / target.chainRate - own / target.productRate);
}

WalkParts shareOutWalk(double tilesOfRows, int64_t walked, double column, double values, const Target &target) {
  const ChainCosts &costs = target.costs->chains;
  constexpr double kGain = 0.9; // less is not worth another launch
  auto timeOf = [&](int64_t parts, double columns) {
    double merge = parts > 1 ? target.partRates.launch +
                                   2 * tilesOfRows * target.costs->chains.tileRows * double(parts) * values * 4 / target.partRates.memory
                             : 0;
    return std::ceil(tilesOfRows * double(parts) / target.smCount) * (columns * column + costs.partOverhead) + merge;
  };
  WalkParts best{0, timeOf(1, double(countOf(walked)))};
  double whole = best.time;
  for (int64_t parts = 2; parts <= costs.mostParts && walked >= parts * costs.partColumns; ++parts) {
    int64_t chunk = llvm::alignTo(llvm::divideCeil(walked, parts), costs.partColumns);
    double time = timeOf(llvm::divideCeil(walked, chunk), double(chunk));
    if (time < best.time && time < kGain * whole)
      best = {chunk, time};
  }
  return best;
}

/// How many rows a walk has, and how many times.
static std::pair<double, double> rowsOfWalk(CascadeOp cascade, const ProductWalk &walk, const SizeFacts &facts) {
  double rows = 1, others = 1;
  ArrayRef<unsigned> sideOfRows = rowsOf(walk);
  for (auto [at, v] : llvm::enumerate(ReadOp(walk.read).getOperands_())) {
    std::optional<unsigned> d = findIndex(cascade, v);
    if (at != walk.walkedOfS)
      (llvm::is_contained(sideOfRows, unsigned(at)) ? rows : others) *= double(int64_t(pointsOf(cascade.getExtents(), *d, facts)));
  }
  return {rows, others};
}

WalkParts partsOfWalk(CascadeOp cascade, const ProductWalk &walk, const Target &target, const SizeFacts &facts) {
  AffineMap extents = cascade.getExtents();
  double terms = summedOf(walk.firsts(), facts), values = cascade.getNumComponents();
  llvm::BitVector isColumn(cascade.getNumParallel());
  for (const ProductChain &c : walk.products) {
    double columns = double(int64_t(pointsOf(extents, c.columns(), facts)));
    terms += columns;
    values += columns - 1;
    isColumn.set(c.columns().front());
  }
  auto [rows, others] = rowsOfWalk(cascade, walk, facts);
  int64_t walked = knownMax(extents.getResult(walk.walked), facts);
  const double tileRows = double(target.costs->chains.tileRows);
  if (const ChainUnit unit = unitOfChain(walk.first, target); unit.onCores)
    return shareOutWalk(others * std::ceil(rows / unit.tileRows) * unit.tileRows / tileRows, walked, tileRows * terms / unit.chain, values,
                        target);
  double height = rows <= tileRows / 2 ? 0.5 : 1; // (of a tile)
  return shareOutWalk(others * std::ceil(rows / tileRows), walked, height * timeOfColumn(terms, target), values, target);
}

bool paysToSearchAhead(CascadeOp cascade, const ProductWalk &walk, const Target &target, const SizeFacts &expected) {
  constexpr double kStrip = 512; // numbers that a warp asks for at a time (kc_smallest)
  auto [rows, others] = rowsOfWalk(cascade, walk, expected);
  double walked = double(pointsOf(cascade.getExtents(), walk.walked, expected));
  double tiles = others * std::ceil(rows / target.costs->chains.tileRows) / target.smCount;
  // A search waits for memory once per strip, and on average it goes over half of the points before it finds its place.
  double strip = double(target.bytesInFlightPerSm) * target.smCount / target.partRates.memory;
  double own = tiles * std::ceil(walked / kStrip) * strip / 2;
  return own > 2 * target.partRates.launch;
}

} // namespace kernelc::te
