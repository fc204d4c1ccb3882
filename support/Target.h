// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Facts of a GPU architecture: the only place where a number that decides speed
// may come from besides a schedule. One table per architecture in
// support/targets/; passes read it, nobody asks a device.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace kernelc {

struct TargetCosts; // TargetCosts.h
extern const TargetCosts kMeasuredCosts;

/// Rows of a tile of three warpgroups.
constexpr int kThreeWarpgroupRows = 192;

/// A tile of warpgroup products, and what part of the best tile's rate it reaches.
struct ProductTile {
  int m, n, percent;
  int teams = 1; ///< of warps that take tiles in turns: one team's results leave while another one multiplies
};

/// What parts of a product take beside its tiles, in microseconds and bytes a microsecond (te/PartCost.h). 0: not known.
struct PartRates {
  double memory = 0; ///< at which all of them read memory
  double sums = 0;   ///< at which parts' sums are written, read and added
  double launch = 0; ///< microseconds of the launch that adds
  double adds = 0;   ///< at which they are added into memory by atomics
};

struct Target {
  const char *name = nullptr; ///< what NVRTC's -arch takes: "sm_90a"
  int generation = 0;         ///< 75, 80, 86, 89, 90, 100, 120
  int smCount = 0;            ///< of a typical part; the real one is a launch variable
  int maxSharedPerBlock = 0;  ///< bytes, opt-in
  int maxThreadsPerBlock = 0;
  int maxRegistersPerThread = 0;
  int accumulatorRegisters = 0; ///< of them, those that accumulators of products may take
  int registersPerSm = 0;
  int bytesInFlightPerSm = 0;   ///< loads to keep outstanding to fill memory bandwidth
  bool asyncCopy = false;       ///< cp.async
  bool mmaBf16 = false;         ///< mma.sync with bf16, tf32 and m16n8k32 of 8-bit integers
  bool mmaF16 = false;          ///< mma.sync m16n8k16 with f16
  bool mmaF8 = false;           ///< mma.sync m16n8k32 with f8 (as f16 in registers where the unit has none)
  int promoteAfter = 0;         ///< products of f8 that a unit may sum in its own accumulators, which have fewer bits than f32
  bool tma = false;             ///< tensor copies completing on an mbarrier
  bool wgmma = false;           ///< warpgroup matrix products
  bool feedsCores = false;      ///< tensor copies by warps of their own feed products on CUDA cores, too (measured)
  int64_t repackWork = 0;       ///< multiply-adds of a product from which aligned copies of its operands pay (te-repack)
  int64_t repackReuse = 0;      ///< and per element copied
  int64_t repackRowsWork = 0;   ///< the same where rows begin inside vectors, which units would otherwise read element by element
  int64_t repackRowsReuse = 0;  ///< and per element copied
  int64_t coresWork = 0;        ///< the same of CUDA cores' products, whose operands are to run along rows and columns
  int64_t coresReuse = 0;       ///< and per element copied
  bool dependentLaunch = false; ///< griddepcontrol: a launch may start while the one before it ends
  int unrollOperations = 0;     ///< the most that a loop with a constant number of rounds is unrolled to
  int cluster = 1;              ///< the most blocks of a cluster that share a reduced index out; 1 without clusters
  PartRates partRates = {};
  double productRate = 0; ///< multiply-adds of 16 bits that a multiprocessor makes in a microsecond, in large products; 0: not known
  double chainRate = 0;   ///< the same in two products of one launch, one of which takes the other's results; 0: no such launches
  const TargetCosts *costs = &kMeasuredCosts; ///< what else the planner weighs
};

/// The tiles that warpgroup products come in on targets that have them, best first;
/// measured on an H200 at 1024³ to 5120³ (docs/lab).
absl::Span<const ProductTile> wgmmaTiles();
/// Those that products alone take, too, with nothing beside them but their results: three warpgroups, teams, and columns by 8, whose rates
/// lie between those of the measured ones.
absl::Span<const ProductTile> wgmmaPlainTiles();

/// What `batch` products of m × n results take of a device in such tiles, in time of the best tile's results on one
/// multiprocessor: whole rounds over all of them. Below zero, and less for better tiles, where m or n is not known (< 0).
double timeOf(const ProductTile &tile, int64_t m, int64_t n, int64_t batch, const Target &target);

/// Registers of a thread that ptxas asks for beside the accumulators of warpgroup products (C7602).
inline constexpr int64_t kBesideAccumulators = 26;

/// Bytes of a block's shared memory beside its slots: barriers, and what slots are rounded up to.
inline constexpr int64_t kBesideSlots = 4096;

/// Whether the threads that multiply have registers for so many sets of a tile's accumulators: two warpgroups from 128 rows on, three of
/// 192.
bool holdsAccumulators(const ProductTile &tile, int64_t sets, const Target &target);

/// Registers that a thread of a launch's filling and of its multiplying warpgroups may hold, and that each begins with.
struct RegisterShares {
  int64_t producer, consumer, even;
};
/// setmaxnreg takes multiples of 8 from 24 to 240, and what the launch's warpgroups share is what they began with: the
/// even share of a multiprocessor's registers among `blocks` blocks of `producers` + `consumers` threads, rounded down
/// to multiples of 8. `perProducer`: what those that fill keep; 0: what index arithmetic asks for.
RegisterShares shareRegisters(const Target &target, int64_t producers, int64_t consumers, int64_t blocks, int64_t perProducer = 0);

/// The target with that name, or nothing.
const Target *findTarget(absl::string_view name);

/// All targets, oldest first.
absl::Span<const Target> allTargets();

} // namespace kernelc
