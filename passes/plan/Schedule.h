// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules from outside the cost model: the kernel's `schedule` attribute, put
// there from a file, the program or the tuning database.
#pragma once

#include "passes/plan/PlanAttr.h"

namespace kernelc::te {

/// Overrides the fields of `launch` that the kernel's `schedule` attribute names for
/// it: an array of dictionaries with `launch`, optionally `target`, and the keys of a
/// launch in `plan`, where `tiles` is a dictionary of index names. Fails with a
/// diagnostic on a key, an index or a value that means nothing.
mlir::LogicalResult applySchedule(KernelOp kernel, llvm::StringRef target, LaunchPlan &launch);

/// Whether the attribute says anything of that field of launch `launch`.
bool isInSchedule(KernelOp kernel, llvm::StringRef target, llvm::StringRef launch, llvm::StringRef key);

/// The unit that the attribute gives launch `launch`, for which the cost model then fills in what it does not say; empty
/// where it leaves the choice.
std::optional<Unit> getScheduledUnit(KernelOp kernel, llvm::StringRef target, llvm::StringRef launch);

/// The indices of a launch of which a tile has one point, whatever the schedule: a product's batches, and those that
/// scales of its blocks depend on.
llvm::BitVector findUntiled(KernelOp kernel, const LaunchPlan &launch);

/// Whether operands and results go through workspaces that tensor copies like better
/// (`{copies = "always"}`: where it is possible at all).
enum class Copies { WhereTheyPay, Always, Never };
/// Who merges the parts of a long reduction: a second launch, or the cluster whose blocks have them.
enum class Merge { WhereItPays, Launch, Cluster };

/// What records without a launch say of the whole kernel.
struct KernelSchedule {
  Copies copies = Copies::WhereTheyPay;
  Merge merge = Merge::WhereItPays;
  bool addsInMemory = false; ///< parts of sums that may add up in any order (`merge: memory`)
  /// Equal parts that each long reduction is cut into, to be merged afterwards; 1: none is cut, 0: the cost model decides.
  int64_t parts = 0;
};
mlir::FailureOr<KernelSchedule> getKernelSchedule(KernelOp kernel, llvm::StringRef target);

/// Whether a record of a launch speaks of a product's unit or ring.
bool schedulesProducts(KernelOp kernel);

/// Fails with a diagnostic when `schedule` names a launch that the plan does not have.
mlir::LogicalResult checkScheduledLaunches(KernelOp kernel, const KernelPlan &plan);

} // namespace kernelc::te
