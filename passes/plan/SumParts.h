// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Into which parts a reduction is cut whose results alone would leave the device idle. Decides, and changes nothing: te-split-reduce
// carries it out.
#pragma once

#include "passes/plan/PlanAttr.h"
#include "passes/plan/Schedule.h"

namespace kernelc::te {

/// What a part of a reduction is: a point of the first `whole` reduced indices, and `chunk` elements of the next one (0: all of them).
struct ReductionParts {
  unsigned whole = 0;
  int64_t chunk = 0;
  bool lastIsShorter = false; ///< the chunk does not divide that index's extent, for all that is known
  bool added = false;         ///< the parts' sums are added into memory (addParts)
  bool areSeveral() const { return whole || chunk; }
};

/// What the choice hangs on.
struct PartChoice {
  const Target &target;
  SizeFacts facts, expected;
  SizeFacts likely; ///< sizes of the call that the plan is made for, which need not hold: what takes least time is reckoned by them
  const KernelSchedule &schedule;
};

/// The parts of a te.reduce, te.cascade or te.fold. Fails with a diagnostic where it cannot be cut as the schedule says.
mlir::FailureOr<ReductionParts> chooseParts(mlir::Operation *op, const PartChoice &by);

/// A reduction to single values: neither to positions nor to states.
bool isPlainReduction(mlir::Operation *op);
/// Whether parts' sums may be added into memory: in any order, as words that atomics add.
bool mayAddParts(mlir::Operation *op);

} // namespace kernelc::te
