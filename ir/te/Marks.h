// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The marks of te (ir/Mark.h): what passes leave on statements, which later ones and the planner keep to; and what is known of a kernel.
#pragma once

#include "ir/Mark.h"
#include "ir/te/ScheduleLoc.h"
#include "ir/te/TeShape.h"

namespace kernelc::te {

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

/// It keeps a launch of its own: what it reads comes from memory, wherever it was made.
inline constexpr UnitMark kOwnLaunch{"own_launch", isDomainOp, "statements"};

/// A reduction whose last index data bounds, for each result, to a segment that is short as a rule.
inline constexpr UnitMark kSegmented{"segmented", isOp<ReduceOp>, "reductions"};

/// And one whose other conditions, if any, hold at all points of the segments: what is read there lies inside.
inline constexpr UnitMark kAllExist{"all_exist", isOp<ReduceOp>, "reductions"};

/// Long straight-line code, of which a thread computes one point at a time.
inline constexpr UnitMark kPointwise{"point_by_point", isDomainOp, "statements"};

/// A reduction over what one tile of a product has.
inline constexpr UnitMark kInTile{"in_tile", isOp<ReduceOp>, "reductions"};

/// A pointwise statement over many more points than the launch has that merges parts of a reduction for it.
inline constexpr UnitMark kBehindParts{"behind_parts", isDomainOp, "statements"};

/// A product that shares no launch with another one: why, as no tile holds both, or two launches take less time.
inline constexpr TextMark kNoSibling{"no_sibling", isOp<ReduceOp>, "reductions"};

bool areBlockDims(mlir::Operation *op, mlir::Attribute numbers);
/// A statement whose launch is a set of such (te-block-windows), which no other statement joins: the set's number, and how many of its
/// first dims are numbers of blocks. What only the set reads stays in a block's shared memory.
inline constexpr NumbersMark kInBlock{"in_block", isOp<ComputeOp>, "pointwise statements", areBlockDims,
                                      "a set's number and how many dims number blocks"};

/// What the planner has to say of a set's times, in words; of a statement that is in none, why not.
inline constexpr TextMark kBlockText{"block_text", isDomainOp, "statements"};

/// A set's reader, once te-chain-products has found that the set pays.
inline constexpr UnitMark kInSet{"in_set", isOp<ReduceOp>, "reductions"};

/// A sum of products that is no contraction although it looks like one, because it reads one of its operands once (te-thin-products): the
/// parallel dims that the other operand alone has.
bool areParallelDims(mlir::Operation *op, mlir::Attribute dims);
inline constexpr NumbersMark kStreamedDims{"streamed", isOp<ReduceOp>, "reductions", areParallelDims, "a list of parallel dims"};

/// A reduction that walks a product's results, which are made once more for others who read them.
inline constexpr UnitMark kWalking{"walks", isOp<ReduceOp>, "reductions"};

/// What a precision policy did to a reduction, in words.
inline constexpr TextMark kPrecisionText{"precision", isOp<ReduceOp>, "reductions"};

/// The rounding of a factor a to its high part h where the rest a - h is rounded and multiplied, too: over the sum of h·h', h·l' and l·h'
/// the factors are off by the square of the type's unit roundoff u, not by u. The bounds of `check` count it so.
inline constexpr UnitMark kRoundsHighPart{"high_part", isOp<mlir::arith::TruncFOp, mlir::arith::ExtFOp, RoundOp>, "roundings"};

/// What the compiler has to say of the laws of a fold's reducer, or of why a fold or recurrence runs in sequence.
inline constexpr TextMark kLawText{"law_text", isOp<FoldOp, RecurrenceOp>, "folds and recurrences"};

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// What te-plan has decided, and the lowerings obey (passes/plan/PlanAttr.h).
inline constexpr AttrMark<mlir::DictionaryAttr> kPlan{"plan", isOp<KernelOp>, "kernels", "a dictionary"};

/// Records of the text or of a file, and where they stand in the text (ScheduleLoc.h).
inline constexpr AttrMark<mlir::ArrayAttr> kSchedule{"schedule", isOp<KernelOp>, "kernels", "a list of records"};
inline constexpr AttrMark<mlir::DictionaryAttr> kScheduleAt{kSchedulePlaces, isOp<KernelOp>, "kernels", "a dictionary of places"};

/// Where data may be at fault (Faults.h), and counts that a variant keeps below numbers (Limits.h).
inline constexpr AttrMark<mlir::ArrayAttr> kFaults{"faults", isOp<KernelOp>, "kernels", "a list of faults"};
inline constexpr AttrMark<mlir::ArrayAttr> kLimits{"limits", isOp<KernelOp>, "kernels", "a list of limits"};

/// Of a variant, per parameter: `unit` for dense tensors, or a map from the sizes to strides; and bytes that addresses are multiples of.
inline constexpr AttrMark<mlir::ArrayAttr> kParamStrides{"param_strides", isOp<KernelOp>, "kernels", "a list of strides"};
inline constexpr AttrMark<mlir::DenseI64ArrayAttr> kParamAlignment{"param_alignment", isOp<KernelOp>, "kernels", "a list of bytes"};

/// The policy, and what te-precision-cast has made of it (Precision.h).
inline constexpr AttrMark<mlir::DictionaryAttr> kPrecision{"precision", isOp<KernelOp>, "kernels",
                                                           "a dictionary with contract, accumulate or tolerance"};
inline constexpr TextMark kPrecisionApplied{"precision_applied", isOp<KernelOp>, "kernels"};
inline constexpr UnitMark kFastAccumulate{"fast_accumulate", isOp<KernelOp>, "kernels"};
inline constexpr UnitMark kRoundedAccumulate{"rounded_accumulate", isOp<KernelOp>, "kernels"};

/// Its sums of f32 are f32 sums, on whatever unit: the oracle puts it on its copy.
inline constexpr UnitMark kSumsInF32{"sums_in_f32", isOp<KernelOp>, "kernels"};

inline constexpr const Mark *kMarks[] = {
    &kOwnLaunch,    &kSegmented,      &kAllExist,  &kPointwise,        &kInTile,         &kBehindParts,
    &kNoSibling,    &kInSet,          &kWalking,   &kStreamedDims,     &kPrecisionText,  &kRoundsHighPart,
    &kLawText,      &kPlan,           &kSchedule,  &kScheduleAt,       &kFaults,         &kLimits,
    &kParamStrides, &kParamAlignment, &kPrecision, &kPrecisionApplied, &kFastAccumulate, &kRoundedAccumulate,
    &kSumsInF32,    &kInBlock,        &kBlockText,
};

/// Whether the marks of `op`, a kernel or what stands in one, are these, where they may be.
mlir::LogicalResult verifyMarks(mlir::Operation *op);

} // namespace kernelc::te
