// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Questions about te that the frontend and the passes ask: element types, shapes of tensors, what ops over a domain have in common.
#pragma once

#include "ir/te/Te.h"
#include "support/ElementType.h"

namespace kernelc::te {

/// The signless MLIR type that stores `t` (bool: i1, i4: i4, f8e4m3: f8E4M3FN).
mlir::Type getStorageType(mlir::MLIRContext *context, ElementType t);

/// The element type named by an `arg_types`/`out_types` entry. Asserts on others:
/// the verifier of te.kernel admits only known names.
ElementType getElementType(mlir::StringAttr name);

/// The kernel an op stands in.
KernelOp getKernel(mlir::Operation *op);

/// Dims over the kernel's sizes of any tensor value of a kernel: an argument's
/// `arg_shapes` entry or the defining op's result shape.
mlir::AffineMap getTensorShape(mlir::Value tensor);

/// Replaces size i of the kernel by `by[i]` in all its maps and sets, which then have `symbols` symbols.
void replaceSizes(KernelOp kernel, mlir::ArrayRef<mlir::AffineExpr> by, unsigned symbols);

/// True for the ops that define tensors over a domain (compute, reduce, cascade, fold, recurrence, scatter).
bool isDomainOp(mlir::Operation *op);

/// The recurrence that `self` belongs to, if it is the tensor by which bodies of a recurrence read results of earlier steps; else null.
RecurrenceOp findRecurrence(mlir::Value self);

/// Which parallel dims of the op that defines `result` are dims of the result, in the result's order.
llvm::SmallVector<unsigned> getResultDims(mlir::Value result);

/// The domain ops of a kernel in order; a plan names them by their numbers here.
llvm::SmallVector<mlir::Operation *> getDomainOps(KernelOp kernel);

/// Calls `f` with the domain op cast to its own class.
template <typename F> auto onDomainOp(mlir::Operation *op, F f) {
  if (auto compute = mlir::dyn_cast<ComputeOp>(op))
    return f(compute);
  if (auto cascade = mlir::dyn_cast<CascadeOp>(op))
    return f(cascade);
  if (auto fold = mlir::dyn_cast<FoldOp>(op))
    return f(fold);
  if (auto recurrence = mlir::dyn_cast<RecurrenceOp>(op))
    return f(recurrence);
  if (auto scatter = mlir::dyn_cast<ScatterOp>(op))
    return f(scatter);
  return f(mlir::cast<ReduceOp>(op));
}

// Accessors of what every domain op has.
mlir::AffineMap getExtents(mlir::Operation *domainOp);
unsigned getNumParallel(mlir::Operation *domainOp);
mlir::ArrayAttr getIndices(mlir::Operation *domainOp);
std::optional<mlir::IntegerSet> getCondition(mlir::Operation *domainOp);
/// The tensor that the results of `op` continue from; null where they start afresh, and for a null `op` (an argument has none).
mlir::Value findInit(mlir::Operation *op);
/// The dim that `v` is in a body of the domain op; nothing for other values.
std::optional<unsigned> findIndex(mlir::Operation *domainOp, mlir::Value v);
/// The yield of its body (of a cascade's element).
YieldOp getYield(mlir::Operation *domainOp);

} // namespace kernelc::te
