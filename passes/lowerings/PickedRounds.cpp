// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks by data that decide which tiles a loop visits: evaluated once for each piece of a tile, on which they have one value.
#include "passes/lowerings/LaunchEmitter.h"

#include "ir/cu/Cu.h"

using namespace mlir;

namespace kernelc {

using namespace te;

Value LaunchEmitter::holdsInPieces(CascadeOp op, ArrayRef<PickingMask> masks, ArrayRef<int64_t> dims) {
  Location loc = cu::unnamed(op.getLoc());
  SmallVector<int64_t> ones(c_.rank(), 1), piece(c_.rank(), 0); // by the launch's index
  for (const PickingMask &mask : masks)
    for (auto [d, points] : llvm::enumerate(mask.piece))
      if (points)
        piece[dims[d]] = piece[dims[d]] ? std::min(piece[dims[d]], points) : points;
  ArrayRef<int64_t> tiles = c_.tiles;
  const SmallVector<Value> first(c_.offsets);
  Value any;
  // Evaluated at the first point of each piece.
  std::function<bool(int64_t)> askAlong = [&](int64_t i) -> bool {
    if (i == c_.rank()) {
      c_.tiles = ones;
      BodyToTiles point(b_, c_, op, dims);
      Value all;
      for (const PickingMask &mask : masks) {
        Value holds = point.evaluate(mask.condition);
        if (!holds)
          return false;
        all = point.conjunction(all, holds, loc);
      }
      c_.tiles = tiles;
      any = any ? arith::OrIOp::create(b_, loc, any, all).getResult() : all;
      return true;
    }
    for (int64_t at = 0; at == 0 || (piece[i] && at < tiles[i]); at += piece[i]) {
      bool mayBeBeyond = at || c_.mayBeBeyond[i] || (l_.paired && i == l_.clusterIndex);
      if (piece[i] && mayBeBeyond) // (a piece beyond the extent takes the value of the last point inside)
        c_.offsets[i] =
            arith::MinSIOp::create(b_, loc, at ? arith::AddIOp::create(b_, loc, first[i], constant(at, loc)).getResult() : first[i],
                                   arith::SubIOp::create(b_, loc, extentOf(i, loc), constant(1, loc)));
      if (!askAlong(i + 1))
        return false;
      if (!piece[i])
        break;
    }
    c_.offsets[i] = first[i];
    return true;
  };
  bool ok = askAlong(0);
  c_.tiles = tiles;
  c_.offsets = first;
  return ok ? any : Value();
}

} // namespace kernelc
