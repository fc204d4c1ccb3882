// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of a statement's body that are computed in 32 bits, and are values of a narrower type all the same: signs, small whole numbers.
#pragma once

#include "mlir/IR/BuiltinTypes.h"

namespace kernelc::te {

/// Whether every value that the f32 `value` takes is one of `type`, bf16 or f16: whole numbers of few bits, constants, elements of such a
/// type, and choices among these. False where that is not known.
bool isExactIn(mlir::Value value, mlir::FloatType type);
/// Whether every value that the integer `value` takes is one of 8 bits, of this sign.
bool isExactInByte(mlir::Value value, bool isUnsigned);

} // namespace kernelc::te
