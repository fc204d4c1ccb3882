// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What unit tests of MLIR-facing code include most; the same rule holds: nothing
// may rely on this file.
#include "cmake/IrPch.h"
#include "cmake/TestPch.h"
