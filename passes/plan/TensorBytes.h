// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How much memory tensors take at likely sizes.
#pragma once

#include <algorithm>

#include "ir/te/TeShape.h"
#include "passes/index/Affine.h"

namespace kernelc::te {

/// Of one element: a byte at least, though several may share it.
inline double bytesOfElement(mlir::Type element) { return std::max(8u, element.getIntOrFloatBitWidth()) / 8.0; }

/// The elements of a tensor; an extent of which nothing is known counts for `unknown`.
inline double elementsOf(mlir::Value tensor, const SizeFacts &likely, double unknown) {
  double elements = 1;
  for (mlir::AffineExpr e : getTensorShape(tensor).getResults()) {
    int64_t most = knownMax(e, likely);
    elements *= most < 0 ? unknown : double(most);
  }
  return elements;
}

inline double bytesOf(mlir::Value tensor, const SizeFacts &likely, double unknown) {
  return bytesOfElement(mlir::cast<mlir::RankedTensorType>(tensor.getType()).getElementType()) * elementsOf(tensor, likely, unknown);
}

} // namespace kernelc::te
