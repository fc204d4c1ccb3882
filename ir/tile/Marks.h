// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The marks of tile (ir/Mark.h): what passes leave on loops, which are of scf, and on others' arithmetic.
#pragma once

#include "ir/Mark.h"
#include "ir/tile/Tile.h"

namespace kernelc::tile {

/// A loop that goes round once or not at all, behind the loop whose results it starts from.
inline constexpr UnitMark kLastRound{"tile.last_round", isOp<mlir::scf::ForOp>, "loops"};

/// A reduction of numbers of f32 and of conditions, to the largest and whether one holds, of which nobody asks unless the largest is above
/// this number or a condition holds: a warp in which neither is so anywhere gives -inf and false.
inline constexpr NumberMark kAskedAbove{"tile.asked_above", isOp<ReduceOp>, "reductions"};

/// A difference with what is mostly zero: a thread for whose elements it is leaves them as they are, which costs it a branch.
inline constexpr UnitMark kMostlyZero{"tile.mostly_zero", isOp<mlir::arith::SubFOp>, "differences"};

/// A scan whose results are read behind the look-back of its total only: its elements may wait for that in shared memory, and leave their
/// registers to blocks that load.
inline constexpr UnitMark kHeld{"tile.held", isOp<ScanOp>, "scans"};

inline constexpr const Mark *kMarks[] = {&kLastRound, &kAskedAbove, &kMostlyZero, &kHeld};

} // namespace kernelc::tile
