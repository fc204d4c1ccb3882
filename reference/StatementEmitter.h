// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One te.compute or te.reduce as a generated function over a range of its units
// (a unit: one point of the outer dims, or a small tile of points), plus the Step
// that tells the runner how many there are.
#pragma once

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"
#include "reference/ScalarEmitter.h"

namespace kernelc::reference {

struct EmitOptions {
  unsigned vectorBytes = 32; ///< of the host's vector registers
};

/// Appends the functions of `op` to `module`. `out` is the result's slot;
/// `number` names the function and stands in the context word of bad indices.
absl::StatusOr<Step> emitStatement(mlir::ModuleOp module, mlir::Operation *op, Arithmetic arithmetic, const Program &program,
                                   const llvm::DenseMap<Value, int> &slotOf, int out, int number, const EmitOptions &options);

} // namespace kernelc::reference
