// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the sources of the reference include besides IrPch.h; the same rule holds:
// nothing may rely on this file.
#include "cmake/IrPch.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
