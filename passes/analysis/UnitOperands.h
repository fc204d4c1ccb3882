// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// In which type a matrix unit takes the factors of a product, before it is known to be one. What units ask of a contraction: Contraction.h.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// The type in which a matrix unit takes both factors without changing either, where what they are multiplied to is an `accumulator`
/// (Contraction::unitType); null where there is none.
mlir::Type findUnitType(mlir::Value a, mlir::Value b, mlir::Type accumulator);

} // namespace kernelc::te
