// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values of which only exponentials are taken, and of these few bits.
#pragma once

#include "mlir/IR/Value.h"

namespace kernelc::te {

/// What a device's tanh may be off by where `isOfRoundedExponents` holds of it.
constexpr double kTanhError = 0x1p-21;

/// Whether all that comes of a scalar of a statement is a summand of exponents, multiplied by no more than 2^7 on the way, and all that
/// comes of these exponentials is rounded to 16 bits: then 2^-21 that it is off by are nothing, however small it is. Ways lead through
/// tensors, selects and maxima; of exponentials also through sums over points, which are positive, products and quotients.
bool isOfRoundedExponents(mlir::Value v);

} // namespace kernelc::te
