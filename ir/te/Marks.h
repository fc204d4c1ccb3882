// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The marks of te (ir/Mark.h). What passes leave on te's own ops are attributes that these declare (ir/te/Hints.h).
#pragma once

#include "ir/Mark.h"
#include "ir/te/TeShape.h"

namespace kernelc::te {

/// The rounding of a factor a to its high part h, as te.round has it as `high_part` (TeOps.td; ir/te/Hints.h asks either).
inline constexpr UnitMark kHighPart{"te.high_part", isOp<mlir::arith::TruncFOp, mlir::arith::ExtFOp>, "roundings of arith"};

/// A part of a mask that holds wherever the other parts do (passes/te/SearchAhead.h): walks begin and end by it, points are not asked.
inline constexpr UnitMark kImplied{"te.implied", isOp<mlir::arith::CmpIOp>, "comparisons of arith"};

/// A choice of a fold's combine that only what several steps come to needs (a product of factors may overflow where none of them does): of
/// one step behind the state that all steps before it have made, its second value stands for it.
inline constexpr UnitMark kOfManySteps{"te.of_many_steps", isOp<mlir::arith::SelectOp>, "selects of arith"};

inline constexpr const Mark *kMarks[] = {&kHighPart, &kImplied, &kOfManySteps};

/// Whether the marks of `op`, a kernel or what stands in one, are these, where they may be.
mlir::LogicalResult verifyMarks(mlir::Operation *op);

} // namespace kernelc::te
