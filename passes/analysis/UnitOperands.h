// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In which types, and from where, the units of a target take the factors of a product.
#pragma once

#include "passes/analysis/Contraction.h"
#include "support/Target.h"
#include "support/Unit.h"

namespace kernelc::te {

/// The type in which a matrix unit takes both factors without changing either, where what they are multiplied to is an `accumulator`
/// (Contraction::unitType); null where there is none.
mlir::Type findUnitType(mlir::Value a, mlir::Value b, mlir::Type accumulator);
/// Whether every value of `from` is a value of the matrix unit's type `to`.
bool embeds(mlir::Type from, mlir::Type to);

/// The type in which warpgroup products (wgmma) take both factors as tensor copies bring
/// them, masked in their slots: f16, bf16, f8 or i8 as stored, or tf32 that the copy rounds to. Null where there is none.
mlir::Type findWarpgroupType(const Contraction &c);

/// Where the unit wgmma reads its two factors from: both from shared memory, as tensor copies left them there, or one of them from
/// registers, so that it may be computed from what was loaded.
struct WarpgroupForm {
  mlir::Type type;
  bool aInRegisters = false, bInRegisters = false; ///< one of them at most
};
std::optional<WarpgroupForm> findWarpgroupForm(const Contraction &c);

/// The type in which a unit of `target` takes `factor` of `c`: unitType, its own
/// of f8, or f16 where the unit has no f8.
mlir::Type operandType(const Contraction &c, mlir::Value factor, Unit unit, const Target &target);
/// Whether the rows of all that the factors are computed from begin where tensor copies find them.
bool hasRowsOfCopies(const Contraction &c, const SizeFacts &facts);
/// Whether the target has a matrix unit for the product.
bool hasUnit(const Contraction &c, const Target &target);

/// How many products a unit of `target` that takes `unitType` may sum in its own accumulators before the sum is added to an f32: of
/// f8, whose accumulators have fewer bits, and where the kernel's sums are to be rounded as f32's (accumulatesRounded); 0: any number.
int64_t mostInAccumulators(KernelOp kernel, mlir::Type unitType, const Target &target);

/// The dim of a dense tensor of this shape that runs along memory: the last that is not known to have one element.
unsigned fastestDim(mlir::AffineMap shape);
/// Whether neighbours in memory differ in one of `indices` of the product.
bool runsAlong(ReadOp read, llvm::ArrayRef<unsigned> indices);

/// Bytes of an operand of a matrix unit in shared memory (tf32 lies there as f32).
int64_t unitBytes(mlir::Type unitType);

} // namespace kernelc::te
