// Counts that loops over tiles carry from round to round.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace kernelc {

/// Lets `loop` carry a count that is zero before it and `next(builder, count)` after a
/// round; `next` may use what the body computes. `loop` becomes the new loop. Fails where
/// the loop cannot be rewritten.
mlir::FailureOr<mlir::Value> carryCount(mlir::scf::ForOp &loop, llvm::StringRef name, mlir::Location loc,
                                        llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value)> next);

} // namespace kernelc
