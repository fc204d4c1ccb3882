// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches whose kernels differ in nothing but names share an entry, so that the layers
// of a network are printed and compiled once. Internal to the compiler.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "support/Artifact.h"

namespace kernelc {

/// Gives each launch of `variant` (one per cu.kernel of `module`, in order) the entry of the first one that runs the same
/// code, and returns the kernels to print. `module` stays as it is.
mlir::OwningOpRef<mlir::ModuleOp> shareEntries(mlir::ModuleOp module, Variant &variant);

} // namespace kernelc
