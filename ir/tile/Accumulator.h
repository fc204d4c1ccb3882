// How the accumulator of a block's matrix product is spread over its threads.
#pragma once

#include <string>
#include <utility>

#include "ir/tile/Layout.h"
#include "llvm/ADT/StringRef.h"

namespace kernelc::tile {

/// Digits over the linear rows ('m') and columns ('n') of the product; 'r' is
/// replication.
struct AccumulatorShape {
  llvm::SmallVector<std::pair<char, Digit>> reg, lane, warp;
  int64_t warpM = 1, warpN = 1; ///< rows and columns of one warp's part (wgmma: of one warpgroup's)
};

/// For unit "mma": fragments of mma.m16n8 (PTX ISA, "matrix fragments for
/// mma.m16n8k16"), warps in a grid that keeps a warp's part nearly square. For
/// "wgmma": fragments of wgmma.m64nNk16, registers of one m64 block after another. For
/// "simt": four columns in a vector, lanes 4 × 8 (m × n); neighbouring columns in
/// neighbouring lanes where the second operand is contiguous along k (`columnsByK`): they
/// are rows of its slot, which the swizzle spreads over the banks. Powers of two.
AccumulatorShape accumulatorShape(llvm::StringRef unit, int64_t m, int64_t n, int64_t warps, bool columnsByK = false);

} // namespace kernelc::tile
