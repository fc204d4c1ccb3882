// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the parts of a run add up to: the first part may store where the others add to what is there.
#pragma once

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace kernelc {

/// Makes a first part that stores `v` one that adds `v`, as the second part does, to an array that is filled ahead of it with the
/// operation's identity:
///
///     part 0: x[i] = v          x[..] = -0.0
///     part 1: x[i] = x[i] + w   part 0: x[i] = x[i] + v
///
/// The value stays, bit for bit, and so does the machine code once the loop over parts is unrolled. What was changed can be taken back.
class PartBegins {
public:
  /// Changes what `first` and `second`, statements of the two parts, differ by; false, with nothing changed, where this makes them no
  /// more alike.
  bool add(mlir::Operation *first, mlir::Operation *second);

  /// Fills the arrays ahead of `place`.
  void fill(mlir::Operation *place);

  /// Takes back all changes.
  void undo();

private:
  struct Change {
    mlir::memref::StoreOp store;
    mlir::Value stored; ///< before the change
    mlir::Operation *sum = nullptr;
    mlir::memref::LoadOp load;
    mlir::TypedAttr identity;
  };
  llvm::SmallVector<Change, 2> changes_;
};

} // namespace kernelc
