// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which tile values of a function share a parent layout: those that meet in elementwise code and loops, and rows with what they are reduced
// from or spread over.
#pragma once

#include "ir/tile/Tile.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

namespace kernelc {

inline bool isTile(mlir::Value v) { return llvm::isa<mlir::RankedTensorType>(v.getType()); }
inline llvm::ArrayRef<int64_t> shapeOfTile(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getShape(); }

/// Tile values that must share a parent layout.
struct LayoutComponent {
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<int64_t> shape;
  tile::Layout parent;
  int64_t contiguous = -1;
  bool chosen = false;
  bool hasPlaces = false; ///< the parent follows what a load finds in memory, along no index
};

class LayoutComponents {
public:
  /// What is free to make each user gets for itself.
  explicit LayoutComponents(tile::FuncOp func);

  llvm::MapVector<const void *, LayoutComponent> &all() { return components_; }
  LayoutComponent &of(mlir::Value v);
  /// Values of one op that have other indices.
  llvm::ArrayRef<std::pair<mlir::Value, mlir::Value>> projections() const { return projections_; }
  bool areJoined(mlir::Value a, mlir::Value b) {
    return classes_.getLeaderValue(a.getAsOpaquePointer()) == classes_.getLeaderValue(b.getAsOpaquePointer());
  }

private:
  void separateConstants();
  void connect();
  void tie(mlir::Value a, mlir::Value b);
  void tieProjections(llvm::ArrayRef<mlir::Value> values);

  tile::FuncOp func_;
  llvm::EquivalenceClasses<const void *> classes_;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> projections_;
  llvm::MapVector<const void *, LayoutComponent> components_;
};

} // namespace kernelc
