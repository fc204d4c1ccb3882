// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The schedules of a text, on the kernels that they are for.
#pragma once

#include "frontend/Ast.h"
#include "frontend/Source.h"
#include "ir/te/Te.h"
#include "mlir/IR/BuiltinOps.h"

namespace kernelc::frontend {

/// Puts each schedule of `ast` on its kernel. `isWhole`: the module has all kernels of the text. False after errors.
bool attachSchedules(mlir::ModuleOp module, const Ast &ast, bool isWhole, Diagnostics &diags);

} // namespace kernelc::frontend
