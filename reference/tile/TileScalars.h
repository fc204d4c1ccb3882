// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementwise ops, element by element: arith, math and te.convert's meaning.
#pragma once

#include <functional>

#include "mlir/IR/Operation.h"
#include "reference/tile/TileValue.h"

namespace kernelc::reference {

/// One result element from the operands' elements.
using ScalarFunction = std::function<TileElement(const TileElement *)>;

/// Null where the op has no meaning here (with Ring: none of a ring).
ScalarFunction findScalarFunction(mlir::Operation *op, TileArithmetic arithmetic);
/// A constant's element; false where it has none (with Ring: no whole number).
bool findConstant(mlir::Attribute attribute, TileArithmetic arithmetic, TileElement &element);
/// te.convert: to integers truncating and saturating, NaN to 0; to narrow floats saturating.
ScalarFunction convertFunction(mlir::Type from, mlir::Type to, bool toUnsigned, TileArithmetic arithmetic);

/// An f32 rounded to tf32, nearest, ties away from zero.
double roundedToTf32(double v);

} // namespace kernelc::reference
