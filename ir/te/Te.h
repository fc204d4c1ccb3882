// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The te dialect: include this to use its ops.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/te/TeDialect.h.inc"
#include "ir/te/TeEnums.h.inc"

namespace kernelc::te {
class ReturnOp;
class YieldOp;
} // namespace kernelc::te

#define GET_OP_CLASSES
#include "ir/te/TeOps.h.inc"
