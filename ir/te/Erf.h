// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums that are a function of their own: 1 + erf(x) and 1 - erf(x).
#pragma once

#include <optional>

#include "mlir/IR/Operation.h"

namespace kernelc::te {

/// A sum that is erfc of x, or of -x where `negated`.
struct ErfBesideOne {
  mlir::Value erf, x;
  bool negated;
};

/// `op` as 1 + erf(x), erf(x) + 1 or 1 - erf(x) of f32.
std::optional<ErfBesideOne> findErfBesideOne(mlir::Operation *op);

} // namespace kernelc::te
