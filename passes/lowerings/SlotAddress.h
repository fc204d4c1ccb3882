// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Addresses of elements in the slots of a ring, as index arithmetic.
#pragma once

#include "ir/tile/SlotLayout.h"
#include "passes/lowerings/ThreadCode.h"

namespace kernelc {

class SlotAddress {
public:
  /// `oncePerRow`: each of the thread's rows is asked for once, outside of rounds. Its swizzle comes from the whole row then, a value that
  /// the place has, too; that of rows in rounds from what is the same in each of them.
  SlotAddress(ThreadCode &c, tile::RingType ring, mlir::Location loc, bool oncePerRow = false)
      : c_(c), layout_(layoutOf(ring)), ring_(ring), loc_(loc), oncePerRow_(oncePerRow) {}

  static tile::SlotLayout layoutOf(tile::RingType ring);
  const tile::SlotLayout &layout() const { return layout_; }

  /// The first element of slot number mod slots.
  mlir::Value slotStart(mlir::Value number);
  /// Row number of coordinates (null coordinates are zero).
  mlir::Value row(llvm::ArrayRef<mlir::Value> coords);
  /// Offset within a slot of (row, column along the contiguous dim).
  mlir::Value offset(mlir::Value row, mlir::Value column);
  /// Offset within a slot of the element at coordinates (null coordinates are zero).
  mlir::Value at(llvm::ArrayRef<mlir::Value> coords);
  int64_t rank() const { return int64_t(ring_.getShape().size()); }

private:
  ThreadCode &c_;
  tile::SlotLayout layout_;
  tile::RingType ring_;
  mlir::Location loc_;
  bool oncePerRow_;
};

} // namespace kernelc
