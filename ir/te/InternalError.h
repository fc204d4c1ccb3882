// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Diagnostics that say that the compiler is at fault, not the program: the driver makes them internal errors (exit 70, with a
// reproducer) where others are the program's.
#pragma once

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace kernelc::te {

inline constexpr llvm::StringLiteral kInternalError = "internal error: ";

inline mlir::InFlightDiagnostic emitInternalError(mlir::Operation *op) { return mlir::emitError(op->getLoc()) << kInternalError; }

} // namespace kernelc::te
