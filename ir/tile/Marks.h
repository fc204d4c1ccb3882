// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The marks of tile (ir/Mark.h): what passes leave on loops, which are of scf.
#pragma once

#include "ir/Mark.h"
#include "ir/tile/Tile.h"

namespace kernelc::tile {

/// A loop that goes round once or not at all, behind the loop whose results it starts from.
inline constexpr UnitMark kLastRound{"tile.last_round", isOp<mlir::scf::ForOp>, "loops"};

inline constexpr const Mark *kMarks[] = {&kLastRound};

} // namespace kernelc::tile
