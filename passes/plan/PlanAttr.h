// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plan: what te-plan decides and everything below obeys. It lives in the
// kernel's `plan` attribute; this is its form in C++ and the way in and out.
#pragma once

#include <string>
#include <vector>

#include "ir/cu/Beside.h"
#include "ir/te/Te.h"
#include "passes/index/Affine.h"
#include "support/Target.h"

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
  /// Indices off the grid whose tiles all statements that have them walk together, in one loop: some make points of them, later ones
  /// reduce over them.
  llvm::SmallVector<int64_t> loops;
  /// How many rounds NVRTC unrolls the loop over an index's tiles by, from a schedule: kUnrollAll, or 0: its choice (cu-unroll). Empty:
  /// of all.
  llvm::SmallVector<int64_t> unroll;
  static constexpr int64_t kUnrollAll = -1;
  int64_t warps = 4;
  int64_t minBlocks = 1; ///< blocks a multiprocessor should hold; bounds registers
  int64_t raster = 1;
  int64_t stages = 1;
  bool fillLate = false;     ///< start the next tile behind the product, not before it
  std::string unit = "simt"; ///< simt, mma or wgmma
  bool persistent = false;   ///< a block walks several tiles
  bool rotate = false;       ///< from round to round of persistent blocks each takes the next one's place among the tiles
  bool descending = false;   ///< tiles along `clusterIndex` are taken from the last to the first
  bool paired = false;       ///< a persistent block's tiles along `clusterIndex` come in pairs, one from its end and one from its start
  bool lagging = false;      ///< what a cascade's terms refer to moves only where they would get large without it
  bool held = false;         ///< what a walk's first products take of rows stays in registers, and its slot is free at once
  bool turned = false;       ///< columns of a product take the rows of unit wgmma
  bool backward = false;     ///< a walk that several products share goes from its last tile to its first
  bool peel = false;         ///< rounds of a loop that are full go without masks, ahead of the last one
  int64_t clamp = 0;         ///< a thread with at most so many rows reads the last one in place of those beyond it, if they give no result
  int64_t cluster = 1;       ///< neighbouring tiles along `clusterIndex` that one cluster of blocks computes
  int64_t clusterIndex = 0;
  /// Starts while the launch before it still runs, and waits for it (programmatic dependent launch).
  bool dependent = false;
  /// A unit's own accumulators hold the products of one tile of reduced indices, at most this many,
  /// and are then added to those of the launch; 0: they hold the whole sum.
  int64_t promote = 0;
  /// Products that a warpgroup has in flight at a time where each starts from zero and is added to a sum: accumulators for each.
  /// 0, until the record is complete: two where there is room for them (Scheduler::settle).
  int64_t inFlight = 0;
  int64_t producerWarps = 0; ///< warps beside `warps` that only fill rings, by tensor copies
  int64_t pingpong = 1;      ///< teams of `warps` warps that take a block's tiles in turns
  int64_t producerRegisters =
      0;               ///< that each thread of these keeps, the others get what it gives away; 0: as many as index arithmetic asks for
  int64_t tallies = 0; ///< copies of a scatter's result that a block combines in shared memory first
  int64_t ahead = 0;   ///< rounds of a walk (a scan in order) whose loads are made together, while as many before them are worked in
  int64_t part = 64;   ///< columns of an epilogue that go through shared memory at a time
  /// Not 0: the tiles are those of other blocks of the launch before it, so many of cu::kBesideParts where there are fewer blocks
  /// than tiles (Beside.h).
  int64_t beside = 0;
};

/// The launch index along which the statements of `l` are scans, or are computed from scans: the block walks it from
/// tile to tile, and all statements of the launch with it. `ops`: the kernel's domain ops.
std::optional<int64_t> findScannedIndex(const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops);

/// Whether `result`, of a statement of `l`, lies in memory: it is returned, gone on from, or read by another launch.
bool isStored(const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops, mlir::Value result);

/// Whether `result`, of a statement of `l`, is what a block makes for its own statements to read at any of its points (te-block-windows).
bool isOwnMemory(const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops, mlir::Value result);
/// The dims of such a result that a block has: those that are no numbers of blocks.
llvm::SmallVector<unsigned> ownMemoryDims(mlir::Value result);

/// The fields of a schedule record by the keys they have in plans, schedule files and
/// `tile.func` alike; numbers with the range a schedule may give.
struct ScheduleNumber {
  llvm::StringLiteral key;
  int64_t LaunchPlan::*field;
  int64_t least, most;
};
struct ScheduleFlag {
  llvm::StringLiteral key;
  bool LaunchPlan::*field;
};
inline constexpr ScheduleNumber kScheduleNumbers[] = {
    {"warps", &LaunchPlan::warps, 1, 32},
    {"producer_warps", &LaunchPlan::producerWarps, 0, 4},
    {"stages", &LaunchPlan::stages, 1, 64},
    {"raster", &LaunchPlan::raster, 1, 1 << 16},
    {"min_blocks", &LaunchPlan::minBlocks, 1, 32},
    {"cluster", &LaunchPlan::cluster, 1, 8},
    {"part", &LaunchPlan::part, 16, 256},
    {"pingpong", &LaunchPlan::pingpong, 1, 3},
    {"promote", &LaunchPlan::promote, 0, 1 << 16},
    {"clamp", &LaunchPlan::clamp, 0, 64},
    {"in_flight", &LaunchPlan::inFlight, 1, 4},
    {"tallies", &LaunchPlan::tallies, 0, 32},
    {"producer_registers", &LaunchPlan::producerRegisters, 0, 160},
    {"ahead", &LaunchPlan::ahead, 0, 32},
    {cu::kBesideAttr, &LaunchPlan::beside, 0, cu::kBesideParts - 1},
};
inline constexpr ScheduleFlag kScheduleFlags[] = {
    {"fill_late", &LaunchPlan::fillLate}, {"persistent", &LaunchPlan::persistent},
    {"rotate", &LaunchPlan::rotate},      {"dependent", &LaunchPlan::dependent},
    {"peel", &LaunchPlan::peel},          {"descending", &LaunchPlan::descending},
    {"paired", &LaunchPlan::paired},      {"lagging", &LaunchPlan::lagging},
    {"held", &LaunchPlan::held},          {"backward", &LaunchPlan::backward},
    {"turned", &LaunchPlan::turned},
};

/// Whether a plan says nothing of a field: few launches have it.
inline bool isLeftOut(const ScheduleFlag &f, const LaunchPlan &l) {
  bool LaunchPlan::*few[] = {&LaunchPlan::paired, &LaunchPlan::lagging, &LaunchPlan::held, &LaunchPlan::backward, &LaunchPlan::turned};
  return llvm::is_contained(few, f.field) && !(l.*f.field);
}
inline bool isLeftOut(const ScheduleNumber &n, const LaunchPlan &l) {
  return llvm::is_contained({&LaunchPlan::tallies, &LaunchPlan::producerRegisters, &LaunchPlan::ahead, &LaunchPlan::beside}, n.field) &&
         !(l.*n.field);
}

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
  llvm::SmallVector<int64_t> sizeDiv, sizeMax;
  /// As long as this lives.
  SizeFacts facts() const { return {sizeDiv, sizeMax}; }
};
/// Fails with a diagnostic where getTarget or checkSizeFacts does.
mlir::FailureOr<KnownTarget> getKnownTarget(KernelOp kernel, llvm::StringRef name, llvm::ArrayRef<int64_t> div,
                                            llvm::ArrayRef<int64_t> max);

void setPlan(KernelOp kernel, const KernelPlan &plan);
/// Fails with a diagnostic when the kernel has no plan or a malformed one.
mlir::FailureOr<KernelPlan> getPlan(KernelOp kernel);

} // namespace kernelc::te
