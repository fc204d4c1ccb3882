// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What of a tensor's memory holds elements where rows lie further apart than they are long.
#pragma once

#include "ir/te/Te.h"

namespace kernelc::te {

/// The extents of what the tensor's statement writes, from 0 on along each dim, where its memory has more: nobody may read what is beyond.
/// Null where the statement writes all of the shape, and where others write there, too.
mlir::AffineMap findWrittenBox(mlir::Value tensor);

/// Whether a read may lie outside of `box` at some point that its statement's extents have: where a condition excludes that point, or a
/// bounds form says what is there, a tile has it all the same.
bool mayLeave(ReadOp read, mlir::AffineMap box);

} // namespace kernelc::te
