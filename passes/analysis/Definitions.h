// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors that stand for an expression: who reads an element may compute it instead.
#pragma once

#include "ir/te/Te.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace kernelc::te {

/// Whether `op` is pointwise and defined everywhere, each element from its own point, and nothing says how its tensor lies in memory.
bool isDefinition(ComputeOp op);

/// The definition whose element `read` reads, or null. The element has to exist; under `.edge` and `.pad` the nearest one has to, and
/// the statement that reads has to be pointwise, not a reduction, or to read each row once. Under `.wrap` and `.reflect` that statement
/// is pointwise, too, and the definition does nothing with its point but read there.
ComputeOp findDefinition(ReadOp read);

/// Replaces `read` of a definition, and the equal reads of its block, by the definition's body at its subscripts. Fails,
/// and changes nothing, where a subscript has no spelling in arith.
mlir::LogicalResult inlineRead(mlir::RewriterBase &rewriter, ReadOp read);

/// Clones, at the builder's place, what a statement's body computes `v` from, as far as `mapping` does not say what stands for it. Values
/// of the kernel stand for themselves.
mlir::Value cloneValue(mlir::Value v, mlir::IRMapping &mapping, mlir::OpBuilder &b);

} // namespace kernelc::te
