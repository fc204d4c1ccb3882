// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a launch's record may say: one numbered list. The cost model, schedule files, the plans behind a first one and the search of
// `kernelc tune` all go by it, since each of their records comes through te-plan, which asks it.
#pragma once

#include "passes/plan/PlanAttr.h"

namespace kernelc::te {

/// What a rule says.
struct PlanSentence {
  int number;
  llvm::StringLiteral key; ///< of the record, at which a message points
  llvm::StringLiteral sentence;
};

/// A rule of a record by itself. Those that also take the product of the launch, its operands and what a thread holds of them (from 20 on)
/// stand in UnitCheck.cpp, which has these at hand. docs/dialects/generated/rules.md is the whole list.
struct PlanRule {
  PlanSentence says;
  /// Why `l` breaks it, with its numbers; empty where it does not. `ops`: the kernel's domain ops.
  std::string (*broken)(KernelOp kernel, const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops);
};

/// Fails with a diagnostic where a record breaks a rule.
mlir::LogicalResult checkRecord(KernelOp kernel, const LaunchPlan &l, llvm::ArrayRef<mlir::Operation *> ops);

} // namespace kernelc::te
