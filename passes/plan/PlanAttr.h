// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan: what te-plan decides and everything below obeys. It lives in the
// kernel's `plan` attribute; this is its form in C++ and the way in and out.
#pragma once

#include <string>
#include <vector>

#include "ir/te/Te.h"
#include "ir/tile/Schedule.h"
#include "passes/index/Affine.h"
#include "support/Target.h"
#include "support/Unit.h"

namespace kernelc::te {

/// One launch and its schedule record, whose fields ir/tile/Schedule.td says.
struct LaunchPlan : tile::ScheduleRecord {
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
  /// Indices that are not on the grid, and for which the block has one loop over tiles. All statements with such an index stand in that
  /// loop: the earlier ones make a tile of points, the later ones reduce over it.
  llvm::SmallVector<int64_t> loops;
  /// How many rounds NVRTC unrolls the loop over an index's tiles by, from a schedule: kUnrollAll, or 0: its choice (cu-unroll). Empty:
  /// of all.
  llvm::SmallVector<int64_t> unroll;
  static constexpr int64_t kUnrollAll = -1;
  Unit unit = Unit::Simt;
  int64_t clusterIndex = 0; ///< along which clusters lie, and pairs of tiles, or that the blocks of a cluster share out
};

/// The launch index along which the statements of `l` are scans, or are computed from scans: the block walks it from
/// tile to tile, and all statements of the launch with it. `ops`: the kernel's domain ops.
std::optional<int64_t> findScannedIndex(const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops);
/// Whether a member is reduced over that index, and its results are free of it: no scan along it.
bool isReducedOver(const LaunchPlan &l, size_t member, llvm::ArrayRef<mlir::Operation *> ops, int64_t index);

/// Whether `result`, of a statement of `l`, lies in memory: it is returned, gone on from, or read by another launch.
bool isStored(const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops, mlir::Value result);
/// Whether a statement of `l` makes `tensor`.
bool isMadeIn(const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops, mlir::Value tensor);

using tile::isLeftOut, tile::kScheduleFlags, tile::kScheduleNumbers, tile::ScheduleFlag, tile::ScheduleNumber;

struct KernelPlan {
  std::string target;
  llvm::SmallVector<int64_t> sizeDiv, sizeMax;
  std::vector<LaunchPlan> launches;
};

/// The target of that name; fails with a diagnostic at the kernel.
mlir::FailureOr<const Target *> getTarget(KernelOp kernel, llvm::StringRef name);

/// Divisors are positive, bounds -1 or more, and there are not more of them than
/// sizes; a diagnostic otherwise.
mlir::LogicalResult checkSizeFacts(KernelOp kernel, llvm::ArrayRef<int64_t> div, llvm::ArrayRef<int64_t> max);

/// What a pass's options say of the device and of the sizes.
struct KnownTarget {
  const Target *target;
  llvm::SmallVector<int64_t> sizeDiv, sizeMax, expectedMax;
  /// As long as this lives.
  SizeFacts facts() const { return {sizeDiv, sizeMax}; }
  /// What speed is reckoned by; nothing may be wrong where it does not hold.
  SizeFacts expected() const { return {sizeDiv, expectedMax}; }
};
/// Bounds of sizes, and of a size that has none what is likely of it (`like`; -1 there too: nothing is known).
llvm::SmallVector<int64_t> expectedSizes(llvm::ArrayRef<int64_t> max, llvm::ArrayRef<int64_t> like);
/// Fails with a diagnostic where getTarget or checkSizeFacts does.
mlir::FailureOr<KnownTarget> getKnownTarget(KernelOp kernel, llvm::StringRef name, llvm::ArrayRef<int64_t> div, llvm::ArrayRef<int64_t> max,
                                            llvm::ArrayRef<int64_t> like = {});

void setPlan(KernelOp kernel, const KernelPlan &plan);
/// Fails with a diagnostic when the kernel has no plan or a malformed one.
mlir::FailureOr<KernelPlan> getPlan(KernelOp kernel);

} // namespace kernelc::te
