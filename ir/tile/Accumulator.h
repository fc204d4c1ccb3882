// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How the accumulator of a block's matrix product is spread over its threads.
#pragma once

#include <string>
#include <utility>

#include "ir/tile/Layout.h"
#include "support/Unit.h"

namespace kernelc::tile {

/// Digits over the linear rows ('m') and columns ('n') of the product; 'r' is
/// replication.
struct AccumulatorShape {
  llvm::SmallVector<std::pair<char, Digit>> reg, lane, warp;
  int64_t warpM = 1, warpN = 1; ///< rows and columns of one warp's part (wgmma: of one warpgroup's)
};

/// How the fragments of mma.sync come out of a slot. Rows: ldmatrix, 16-byte runs
/// along K. Transposed: ldmatrix.trans, 16-bit elements that run along rows (columns).
/// Bytes: the same on pairs of bytes, which are then dealt out to two rows. Gather:
/// element by element.
enum class Fetch { Rows, Transposed, Bytes, Gather };

/// For an operand with rows (columns) `outer` and reduced dims `k`, all slowest first,
/// in a slot of `shape`, elements of `bytes`, neighbours along `contiguous`.
Fetch fetchOf(llvm::ArrayRef<int64_t> shape, int64_t contiguous, int64_t bytes, llvm::ArrayRef<int64_t> outer, llvm::ArrayRef<int64_t> k);

/// What one load of a thread takes of an operand's slot: elements that are neighbours in memory
/// and along the product's rows (columns), or along k.
struct Runs {
  int64_t outer = 1, k = 1; ///< at most 16 bytes; one of them is 1
};
/// `pad`: of the slot's rows (SlotLayout); where it is 0, runs go on over the rows' other dims.
Runs runsOf(llvm::ArrayRef<int64_t> shape, int64_t contiguous, int64_t pad, int64_t bytes, llvm::ArrayRef<int64_t> outer,
            llvm::ArrayRef<int64_t> k);

/// An operand as the threads of a product find it.
struct Supply {
  Fetch fetch = Fetch::Rows; ///< mma
  Runs runs = {};            ///< simt
};
Supply supplyOf(llvm::ArrayRef<int64_t> shape, int64_t contiguous, int64_t pad, int64_t bytes, llvm::ArrayRef<int64_t> outer,
                llvm::ArrayRef<int64_t> k);

/// Which of 64 rows wgmma takes for which of its own: a thread's pair of rows, its lanes along rows
/// (beside the four that share a row) and its warps. A product does not care, as long as its accumulator
/// lies the same way.
struct RowOrder {
  int64_t pair = 8; ///< from a thread's one row to the other
  Digits lane = {{0, 1, 8}}, warp = {{0, 16, 4}};
  bool whole = false; ///< mma: a warp has whole rows, 16 of them, as a product that takes another's results from registers needs them
};

/// For a first operand of words that threads take from slots whose rows run along the product's: pairs are neighbours, loaded at
/// once; of the bits of a row's number, lanes have one within the 16-byte chunk (2), then that of the chunk's number which the four
/// rows of the slot that share it do not exchange (16). No two of the 16 lanes that load 8 bytes at once meet in a bank.
inline RowOrder rowsAlong() { return {1, {{0, 2, 2}, {0, 16, 2}, {0, 4, 2}}, {{0, 8, 2}, {0, 32, 2}}}; }

/// For Unit::Mma: fragments of mma.m16n8 (PTX ISA, "matrix fragments for
/// mma.m16n8k16"), warps in a grid that keeps a warp's part nearly square. An operand
/// fetched by Bytes gives a lane rows (columns) 2i and 2i + 1 of 16, not i and i + 8. For
/// Unit::Wgmma: fragments of wgmma.m64nNk16, registers of one m64 block after another, rows in order `rows`. For
/// Unit::Simt: up to four neighbouring rows and columns in a thread where its loads run along them,
/// else neighbouring ones in neighbouring lanes: rows of a slot, which the padding spreads over the
/// banks. Lanes 4 × 8 (m × n), two rows at a time: of four neighbouring lanes two read the same of
/// either operand, and then two quarters of a warp's 16-byte loads are one access. Powers of two; of
/// Unit::Simt also three times as many.
AccumulatorShape accumulatorShape(Unit unit, int64_t m, int64_t n, int64_t warps, const Supply &a = {}, const Supply &b = {},
                                  const RowOrder &rows = {});

/// Whether CUDA cores have tiles of so many rows or columns: a power of two, or three times one from which a thread has whole vectors and a
/// warp has two threads side by side.
inline constexpr bool isCoresSide(int64_t n) {
  constexpr int64_t kLeast = 24;
  auto isPower = [](int64_t x) { return x > 0 && (x & (x - 1)) == 0; };
  return isPower(n) || (n >= kLeast && n % 3 == 0 && isPower(n / 3));
}

/// The index among `columns`, slowest first, along which an epilogue is cut into parts of about `part` columns, and how many of its
/// points a part has: those of the fewest columns, but 16. Threads have registers of all of them.
struct ColumnCut {
  size_t index;
  int64_t extent;
};
ColumnCut cutColumns(llvm::ArrayRef<int64_t> columns, int64_t part);

/// The first operand of wgmma in registers (PTX ISA, "register fragments for
/// wgmma.mma_async"), elements of `bytes`, over the linear rows 'm' and the reduced
/// elements 'k' of a product of m × n: four words of k for each instruction, instructions
/// in the order of k, then blocks of 64 rows.
AccumulatorShape operandShape(int64_t m, int64_t n, int64_t k, int64_t warps, int64_t bytes, const RowOrder &rows = {});

} // namespace kernelc::tile
