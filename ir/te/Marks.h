// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The mark of te (ir/Mark.h). What passes leave on te's own ops are attributes that these declare (ir/te/Hints.h).
#pragma once

#include "ir/Mark.h"
#include "ir/te/TeShape.h"

namespace kernelc::te {

/// The rounding of a factor a to its high part h, as te.round has it as `high_part` (TeOps.td; ir/te/Hints.h asks either).
inline constexpr UnitMark kHighPart{"te.high_part", isOp<mlir::arith::TruncFOp, mlir::arith::ExtFOp>, "roundings of arith"};

/// A part of a mask that holds wherever the other parts do (passes/te/SearchAhead.h): walks begin and end by it, points are not asked.
inline constexpr UnitMark kImplied{"te.implied", isOp<mlir::arith::CmpIOp>, "comparisons of arith"};

inline constexpr const Mark *kMarks[] = {&kHighPart, &kImplied};

/// Whether the marks of `op`, a kernel or what stands in one, are these, where they may be.
mlir::LogicalResult verifyMarks(mlir::Operation *op);

} // namespace kernelc::te
