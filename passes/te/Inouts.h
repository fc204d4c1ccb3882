// What happens to the memory of `inout` parameters, statement by statement. A statement that reads one reads what was
// there before the statement that writes: it runs earlier, or in the same launch and block, or it reads a copy.
#pragma once

#include "ir/te/Te.h"
#include "passes/te/PlanAttr.h"

namespace kernelc::te {

/// A statement that writes to the memory of an `inout`, and the tensor that lies there until then: the argument, or what
/// an earlier statement has left for this one (`init`).
struct Update {
  mlir::Value before;
  mlir::Operation *writer;
  mlir::StringRef name; ///< of the parameter
};
/// All of a kernel, the last of each parameter first.
llvm::SmallVector<Update> findUpdates(KernelOp kernel);

/// Whether `read`, in the body of `writer`, reads the element that its point writes.
bool readsOwnPoint(ReadOp read, mlir::Operation *writer);

/// Whether `later` needs what `op` computes, at one remove or several.
bool dependsOn(mlir::Operation *later, mlir::Operation *op);

/// Whether reader's block has read all that it reads of `u.before` when it writes, where both are in launch `l`: the reader is
/// a reduction that the writer waits for, and what a block reads no other one writes.
bool isReadBeforeWritten(const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops, mlir::Operation *reader, const Update &u);

/// The reads of `tensor` in the body of a statement.
llvm::SmallVector<ReadOp> readsOf(mlir::Operation *statement, mlir::Value tensor);

} // namespace kernelc::te
