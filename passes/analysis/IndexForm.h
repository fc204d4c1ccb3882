// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a value takes of an index of its statement.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// All of the index, or a form of it (`index // c`, `index % c`) that has fewer values.
struct IndexForm {
  mlir::AffineExpr form, extent;            ///< over the index as d0; its values are 0 to extent - 1
  llvm::SmallVector<mlir::Value, 2> values; ///< those that stand for the form in the body; none for the index itself
};

/// What `value`, in the body of `reduce`, takes of index `d`. A form is found where the index has a constant number of values.
IndexForm indexFormOf(ReduceOp reduce, mlir::Value value, unsigned d);

} // namespace kernelc::te
