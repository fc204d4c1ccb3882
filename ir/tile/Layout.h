// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layouts: which register of which lane of which warp holds which element of a
// tile. This is the arithmetic on them; the attribute `#tile.layout` is their
// spelling in the IR (see TileOps.td for the definition).
//
// A layout is three lists of digits, fastest first. Digit (dim, stride, size)
// adds stride * value to the coordinate of `dim`. Examples for a tile of 16 × 8
// (dims 0, 1) held by one warp:
//   the accumulator of mma.m16n8: reg [1,1,2] [0,8,2]   lane [1,2,4] [0,1,8]
//   rows of four:                 reg [1,1,4]           lane [1,4,2] [0,1,16]
// Replication is a digit of dim -1: lanes that differ only there hold the same
// element.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace kernelc::tile {

struct Digit {
  int64_t dim = -1;
  int64_t stride = 0;
  int64_t size = 1;
  friend bool operator==(const Digit &, const Digit &) = default;
};
using Digits = llvm::SmallVector<Digit, 4>;

struct Layout {
  Digits reg, lane, warp;

  int64_t numRegisters() const;
  int64_t numWarps() const;
  /// The layout of a tile that has extent 1 in every dim of `lost`: register
  /// digits of those dims go, lane and warp digits become replication.
  Layout dropDims(llvm::ArrayRef<int64_t> lost) const;
  /// The layout of a part of `extent` elements along `dim`: slower register digits of
  /// that dim go. Nothing when lanes or warps hold them.
  std::optional<Layout> slice(int64_t dim, int64_t extent) const;
  /// The smallest shape that contains every element, for `rank` dims.
  llvm::SmallVector<int64_t> shape(int64_t rank) const;
  friend bool operator==(const Layout &, const Layout &) = default;
};

/// A layout for coalesced access to a tile of `shape` whose elements are
/// contiguous in memory along dim `order[0]`, then next along `order[1]`, ...:
/// `vector` elements of order[0] in one thread, neighbouring threads side by side
/// along it, what is left over as further registers. All extents and `vector` are
/// powers of two; threads beyond the tile replicate it. Warps go side by side in
/// `warpOrder`, where that is given.
Layout blockedLayout(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> order, int64_t vector, int64_t warps,
                     llvm::ArrayRef<int64_t> warpOrder = {});

/// A layout for moving a tile, element by element, from memory where neighbours lie along `from` to
/// memory where they lie along `to`: neighbouring threads take `sector` neighbours along `from`, then
/// neighbours along `to`. All extents and `sector` are powers of two; threads beyond the tile replicate it.
Layout acrossLayout(llvm::ArrayRef<int64_t> shape, int64_t from, int64_t to, int64_t sector, int64_t warps);

/// Digits of a linear coordinate of mixed radix (`dims` fastest first, with
/// extents `extents`) spread over those dims. Every digit must lie within one
/// radix or cut it evenly.
Digits spreadDigits(llvm::ArrayRef<Digit> linear, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> extents);

} // namespace kernelc::tile
