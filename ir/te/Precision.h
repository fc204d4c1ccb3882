// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The precision policy of a kernel in the IR: the `precision` attribute, a
// dictionary with `contract = "tf32"`, `accumulate = "fast"` or `tolerance = 1.0e-3 : f64`. The frontend
// and the driver set it; te-precision-cast carries it out and takes it away.
#pragma once

#include "ir/te/Te.h"
#include "support/Precision.h"

namespace kernelc::te {

/// Sets or replaces the policy; an empty one removes it.
void setPrecision(KernelOp kernel, const PrecisionPolicy &policy);
/// Empty when the kernel has none; a diagnostic when the attribute is malformed.
mlir::FailureOr<PrecisionPolicy> getPrecision(KernelOp kernel);

/// What te-precision-cast did: an attribute `precision_applied` for people, "" when
/// it did nothing.
void setAppliedPrecision(KernelOp kernel, llvm::StringRef what);
llvm::StringRef getAppliedPrecision(KernelOp kernel);

/// Whether matrix units may keep sums of products in accumulators with fewer bits than f32,
/// however long the sums: what `accumulate = "fast"` became.
bool accumulatesFast(KernelOp kernel);
void setAccumulatesFast(KernelOp kernel);

/// Whether sums of products are to be about as close as additions in f32 make them: units, which cut what they add to their
/// accumulators, sum only some there. What the policies bf16x3 and tf32x3 ask for, whose operands are nearly f32s.
bool accumulatesRounded(KernelOp kernel);
void setAccumulatesRounded(KernelOp kernel);
/// How many: products of tf32, eight additions of the unit; of narrower types, whose parts leave more out than 16 additions cut.
inline constexpr int64_t kMostInUnitTf32 = 64, kMostInUnit = 256;

/// An f32 (or a tile of them) rounded to tf32 by arithmetic on its bits: nearest,
/// ties away from zero, NaN and infinity as they are. What te.round means where no
/// instruction does it.
mlir::Value buildRoundToTf32(mlir::OpBuilder &b, mlir::Location loc, mlir::Value v);

} // namespace kernelc::te
