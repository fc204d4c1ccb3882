// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "mlir/IR/AffineExpr.h"

namespace kernelc::tile {

/// Rows of a launch that begin anywhere in memory, and its tiles where vectors do: up to `align` - 1 points before the first of `index`.
/// Masks along that index hold from point 0 on.
struct AlignedRows {
  mlir::AffineExpr form; ///< elements from a tensor's first to a point, over the launch's indices and the sizes
  unsigned index = 0;    ///< along which rows lie
  int64_t align = 1;     ///< a tile begins where the form is a multiple of that

  /// Whether a tile may begin before a row's first point: not where each row begins at such a multiple, as the one row of a vector does.
  bool mayBeginBefore() const {
    return !form.replace(mlir::getAffineDimExpr(index, form.getContext()), mlir::getAffineConstantExpr(0, form.getContext()))
                .isMultipleOf(align);
  }
};

} // namespace kernelc::tile
