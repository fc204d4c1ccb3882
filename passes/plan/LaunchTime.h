// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How long a launch takes by its plan: the largest of the times of the units that it keeps busy, and what stands before and behind
// that. For people (explain) and for comparison with measured times (tune --fit).
#pragma once

#include <optional>
#include <string>

#include "passes/index/Affine.h"
#include "passes/plan/PlanAttr.h"

namespace kernelc::te {

/// In microseconds.
struct LaunchTime {
  double blocks = 0, waves = 0; ///< of one block a multiprocessor
  double tensor = 0;            ///< multiply-adds on matrix units, in so many waves
  double cores = 0;             ///< operations on CUDA cores
  double special = 0;           ///< exponentials, roots and the like
  double shared = 0;            ///< what units read of shared memory, and copies write
  double l2 = 0;                ///< what all blocks read and write
  double memory = 0;            ///< each element once
  double steps = 0;             ///< of recurrences, one after the other: rounds of their sums wait for each other
  double fill = 0, drain = 0;   ///< until a block has its first operands; from the last one to its last store
  double launch = 0;
  double tiles = 0; ///< `tensor` at the rates of the products' own tiles
  double busy() const;
  double total() const { return fill + busy() + drain + launch; }
  /// The same at the tiles' own rates: for plans of one launch with other tiles. (Of launches beside each other `total` is compared: their
  /// tiles differ with the blocks that each has.)
  double withTiles() const;
  /// The name of the unit that is busy longest.
  std::string bound() const;
};

/// The name and the value of each term, in an order for people.
llvm::SmallVector<std::pair<llvm::StringRef, double>> termsOf(const LaunchTime &time);

/// Nothing where sizes are not known, or data decides how much there is to do. `likely`: the sizes that it is reckoned for.
std::optional<LaunchTime> timeOf(KernelOp kernel, const LaunchPlan &launch, const Target &target, const SizeFacts &likely);

/// Why `launch` is one of its own behind those before it, and what of it goes through memory, a line each.
std::vector<std::string> describeReasons(KernelOp kernel, const KernelPlan &plan, size_t launch);

} // namespace kernelc::te
