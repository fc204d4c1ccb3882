// The plan: what te-plan decides and everything below obeys. It lives in the
// kernel's `plan` attribute; this is its form in C++ and the way in and out.
#pragma once

#include <string>
#include <vector>

#include "ir/te/Te.h"

namespace kernelc::te {

/// One launch and its schedule record.
struct LaunchPlan {
  std::string name;
  /// Statements: positions among the kernel's domain ops, in order.
  llvm::SmallVector<int64_t> ops;
  /// Per statement, the launch index of each of its dims.
  llvm::SmallVector<llvm::SmallVector<int64_t>> dims;
  /// The launch's index space.
  llvm::SmallVector<std::string> indices;
  mlir::AffineMap extents;
  llvm::SmallVector<int64_t> tiles;
  /// Indices mapped to the grid, slowest first.
  llvm::SmallVector<int64_t> grid;
  int64_t warps = 4;
  int64_t minBlocks = 1; ///< blocks a multiprocessor should hold; bounds registers
  int64_t raster = 1;
  int64_t stages = 1;
  bool fillLate = false;  ///< start the next tile behind the product, not before it
  std::string unit = "simt"; ///< simt, mma or wgmma
  bool persistent = false;   ///< a block walks several tiles
  int64_t cluster = 1;       ///< neighbouring tiles along `clusterIndex` that one cluster of blocks computes
  int64_t clusterIndex = 0;
  /// Starts while the launch before it still runs, and waits for it (programmatic dependent launch).
  bool dependent = false;
  int64_t producerWarps = 0; ///< warps beside `warps` that only fill rings, by tensor copies
};

struct KernelPlan {
  std::string target;
  llvm::SmallVector<int64_t> sizeDiv, sizeMax;
  std::vector<LaunchPlan> launches;
};

/// Divisors are positive, bounds -1 or more, and there are not more of them than
/// sizes; a diagnostic otherwise.
mlir::LogicalResult checkSizeFacts(KernelOp kernel, llvm::ArrayRef<int64_t> div, llvm::ArrayRef<int64_t> max);

void setPlan(KernelOp kernel, const KernelPlan &plan);
/// Fails with a diagnostic when the kernel has no plan or a malformed one.
mlir::FailureOr<KernelPlan> getPlan(KernelOp kernel);

/// The domain ops of a kernel in order: what LaunchPlan::ops counts.
llvm::SmallVector<mlir::Operation *> getDomainOps(KernelOp kernel);

} // namespace kernelc::te
