// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What loops over tiles carry from round to round beside tiles: counts and places.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kernelc {

/// Whether `op`, or what stands in it, uses a value that `isOne` holds for.
bool usesAny(mlir::Operation &op, llvm::function_ref<bool(mlir::Value)> isOne);

/// Lets `loop` carry further values, `inits` before it; what it yields for them is still to be set
/// (setCarried), until then they stay as they are. `loop` becomes the new loop. Fails where the loop
/// cannot be rewritten.
mlir::FailureOr<llvm::SmallVector<mlir::BlockArgument>> carry(mlir::scf::ForOp &loop, llvm::ArrayRef<mlir::Value> inits);
/// What `carried`, an argument of a loop, becomes after a round.
void setCarried(mlir::BlockArgument carried, mlir::Value next);
mlir::Value getCarriedNext(mlir::BlockArgument carried);

/// Lets `loop` carry a count that is zero before it and `next(builder, count)` after a
/// round; `next` may use what the body computes.
mlir::FailureOr<mlir::Value> carryCount(mlir::scf::ForOp &loop, llvm::StringRef name, mlir::Location loc,
                                        llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value)> next);

/// Stops counts that only their own next round uses; canonicalization then drops them.
void stopUnusedCounts(mlir::scf::ForOp loop);

} // namespace kernelc
