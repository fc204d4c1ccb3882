// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The end of the compile pipeline alone: cu to a variant of the artifact. For checks
// that look between passes; compiling goes through Compiler.h.
#pragma once

#include "driver/compile/Compiler.h"

namespace kernelc {

/// The variant that `module` stands for: cu, as the whole pipeline or part of its end
/// leaves it, beside the planned kernel. Every tensor dense, without a guard.
absl::StatusOr<Variant> printVariant(mlir::ModuleOp module, const VariantOptions &options, const Kernel &kernel);

} // namespace kernelc
