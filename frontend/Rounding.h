// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of a text as values of narrower types.
#pragma once

#include <string>

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

namespace kernelc::frontend {

/// `f` rounded to `type`; an f8 saturates, as everywhere.
llvm::APFloat roundTo(mlir::FloatType type, double f);

/// "1e+39 is beyond f32: it is inf", where `rounded` is hardly what was meant by the number `f`; else nothing.
std::string describeLoss(mlir::FloatType type, double f, const llvm::APFloat &rounded);

} // namespace kernelc::frontend
