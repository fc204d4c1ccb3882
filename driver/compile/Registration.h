// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which dialects and passes the project has: the one list, used by kernelc-opt,
// the compiler and the tests.
#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace kernelc {

/// te, tile, cu and the upstream dialects they stand on.
void registerDialects(mlir::DialectRegistry &registry);

/// All passes and named pipelines, for kernelc-opt. Idempotent.
void registerPasses();

} // namespace kernelc
