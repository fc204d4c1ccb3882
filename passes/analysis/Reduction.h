// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Facts about the combiners of reductions, for every level.
#pragma once

#include <limits>

#include "ir/te/Te.h"
#include "mlir/IR/Builders.h"

namespace kernelc::te {

/// The position in the neutral state of an arg reduction, beyond all others. Where nothing was reduced the result is -1.
inline constexpr int64_t kNowhere = std::numeric_limits<int32_t>::max();

/// The neutral element of `kind` for keys or values of `type`.
mlir::TypedAttr identityOf(Combiner kind, mlir::Type type, mlir::OpBuilder &b);

/// a ⊕ b on scalars or tiles; not for arg kinds.
mlir::Value combine(Combiner kind, mlir::Value a, mlir::Value b, mlir::OpBuilder &builder, mlir::Location loc);

/// (key, position) of the better of two candidates: the larger (smaller) key, NaN
/// above all in argmax, the first position among equals.
std::pair<mlir::Value, mlir::Value> combineArg(Combiner kind, mlir::Value keyA, mlir::Value positionA, mlir::Value keyB,
                                               mlir::Value positionB, mlir::OpBuilder &builder, mlir::Location loc);

/// Two states of a reduction: values, or for arg kinds keys and positions.
llvm::SmallVector<mlir::Value> combineStates(Combiner kind, mlir::ValueRange a, mlir::ValueRange b, mlir::OpBuilder &builder,
                                             mlir::Location loc);
/// The neutral state: positions are beyond all others.
llvm::SmallVector<mlir::Value> identityState(Combiner kind, mlir::Type type, unsigned parts, mlir::OpBuilder &builder, mlir::Location loc);

} // namespace kernelc::te
