// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the elements of a ring's slot lie in shared memory.
//
// A slot holds a box. Its contiguous dim is cut into panels of W elements
// (a power of two, at most 128 bytes); a panel is a matrix of rows (all other dims, the last one
// fastest) of W elements; within a row, 16-byte chunks are exchanged by XOR with
// the row number, as the TMA and wgmma swizzle modes of 128, 64 and 32 bytes do:
//   offset(r, c) = (c / W)·R·W + r·W + (chunk(c) ^ s(r))·E + c mod E
// with E elements in 16 bytes, chunk(c) = (c mod W) / E and s(r) the bits of r that
// change between rows sharing the same 128-byte line index: 128 B: r mod 8,
// 64 B: (r / 2) mod 4, 32 B: (r / 4) mod 2.
//
// A slot with a pad, which may be 0, has neither panels nor exchanged chunks: offset(r, c) =
// r·(W + pad) + c, W the whole extent. Threads that read with plain loads get by with one address
// and constants that way, where each chunk of a swizzled row is an XOR of its own. Its rows lie in
// another order: dims before the contiguous one are the fastest, so that what a launch's index was
// split into (rows of pixels, windows of a pool) is one run of elements where the pad is 0.
#pragma once

#include <cstdint>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace kernelc::tile {

/// In place of a pad: panels of swizzled rows.
inline constexpr int64_t kSwizzled = -1;

struct SlotLayout {
  SlotLayout(llvm::ArrayRef<int64_t> shape, int64_t elementBytes, int64_t contiguous, int64_t pad = kSwizzled);

  int64_t contiguous;   ///< the contiguous dim
  int64_t width;        ///< W: elements of a panel's row
  int64_t pitch;        ///< from row to row: W, or W + pad
  int64_t rows;         ///< R
  int64_t chunk;        ///< E: elements in 16 bytes, or all of a narrower row
  int64_t chunks;       ///< of a row
  int64_t rowShift;     ///< s(r) = (r >> rowShift) & (chunks - 1)
  int64_t elements;     ///< of a slot
  int64_t swizzleBytes; ///< 128, 64, 32, or 0 without a swizzle
  /// Multiplier of each dim's coordinate in the row number (0 for the contiguous dim).
  llvm::SmallVector<int64_t> rowStride;
  /// The dims of rows, slowest first.
  llvm::SmallVector<int64_t> rowDims;
};

/// How many of the innermost `dims` (slowest first) with several points a slot with a pad of 0 has as one run of elements: 0 where the
/// fastest of them is not the contiguous dim.
size_t packedDims(llvm::ArrayRef<int64_t> shape, int64_t contiguous, llvm::ArrayRef<int64_t> dims);

/// The pad that spreads 16-byte chunks in one column of eight neighbouring rows over all banks:
/// an odd number of chunks from row to row. 0 where rows have that as they are.
int64_t paddingOf(int64_t extent, int64_t elementBytes);

} // namespace kernelc::tile
