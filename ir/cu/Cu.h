// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cu dialect: include this to use its ops.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "ir/cu/CuDialect.h.inc"

#define GET_OP_CLASSES
#include "ir/cu/CuOps.h.inc"

namespace kernelc::cu {

/// Address spaces of memrefs.
enum AddressSpace : unsigned { Global = 1, Shared = 3, Param = 4, Private = 5 };

/// A memref of `shape` in `space`.
mlir::MemRefType memrefIn(llvm::ArrayRef<int64_t> shape, mlir::Type element, AddressSpace space);
/// The space of a memref; memrefs without one are global.
AddressSpace spaceOf(mlir::Value memref);

/// Whether an op asks a region about numbers, by whole warps.
bool isSearch(mlir::Operation *op);

/// The innermost name of a location ("k0"), or empty.
llvm::StringRef findName(mlir::Location loc);

/// `loc` without its outer names.
mlir::Location unnamed(mlir::Location loc);

/// The guard of a variant with 32-bit indices keeps tensors, and what else is counted, below this: room for a tile
/// beyond the end.
inline constexpr int64_t kFits32 = int64_t(1) << 30;

} // namespace kernelc::cu
