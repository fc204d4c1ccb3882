// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The record that a kernel's guards write to: its last argument, an inout of an i64 for each guard, which the program's text does
// not name. A number there is the least of a point at which the guard found its subscript outside; kNoFault: there is none.
#pragma once

#include <limits>

#include "ir/te/Te.h"

namespace kernelc::te {

/// The name of that argument. Another of the name may stand before it.
inline constexpr llvm::StringLiteral kRecord = "faults";
inline constexpr int64_t kNoFault = std::numeric_limits<int64_t>::max();

/// What one number of the record means.
struct Fault {
  mlir::Location loc;
  std::string what; ///< "subscript 0 of 'table' leaves 0:V"
  /// The indices whose values number the points, the last one the fastest, with the least value and the number of values of each.
  llvm::SmallVector<std::string> indices;
  mlir::AffineMap lows, extents; ///< over the sizes
};

/// Whether the kernel's record, if there is one, is well-formed.
bool hasValidFaults(KernelOp kernel);
void setFaults(KernelOp kernel, llvm::ArrayRef<Fault> faults);
/// Those of the record, which is there if there are any.
llvm::SmallVector<Fault> getFaults(KernelOp kernel);

} // namespace kernelc::te
