// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The marks of tile (ir/Mark.h): what passes leave on loops and counts for later ones, and what a function has of its launch beside what it
// declares.
#pragma once

#include "ir/Mark.h"
#include "ir/cu/Beside.h"
#include "ir/tile/Tile.h"

namespace kernelc::tile {

/// A loop that goes round once or not at all, behind the loop whose results it starts from.
inline constexpr UnitMark kLastRound{"tile.last_round", isOp<mlir::scf::ForOp>, "loops"};

/// What counts a loop's rounds, where it is more than a sum of sizes: how many there are at least.
inline constexpr NumberMark kLeastRounds{"tile.least", isOp<ApplyOp>, "tile.apply"};

/// A barrier between the steps of a recurrence: what they tell each other lies in memory, so that cu-barriers must not take it away.
inline constexpr UnitMark kStep{"step", isOp<BarrierOp>, "barriers"};

/// The kernel of the program of which a function is a launch, and the launch's place in the plan (look-back's zeros have none).
inline constexpr TextMark kKernel{"kernel", isOp<FuncOp>, "functions"};
inline constexpr NumberMark kNumber{"number", isOp<FuncOp>, "functions"};

/// Its tiles are those of other blocks of the launch before it (ir/cu/Beside.h).
inline constexpr NumberMark kBeside{cu::kBesideAttr, isOp<FuncOp>, "functions"};

/// Per argument: `unit` for dense tensors, or a map from the sizes to strides; and bytes that addresses are multiples of.
inline constexpr AttrMark<mlir::ArrayAttr> kArgStrides{"arg_strides", isOp<FuncOp>, "functions", "a list of strides"};
inline constexpr AttrMark<mlir::DenseI64ArrayAttr> kArgAlignment{"arg_alignment", isOp<FuncOp>, "functions", "a list of bytes"};

inline constexpr const Mark *kMarks[] = {&kLastRound, &kStep, &kLeastRounds, &kKernel, &kNumber, &kBeside, &kArgStrides, &kArgAlignment};

} // namespace kernelc::tile
