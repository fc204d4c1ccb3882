// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether launches that become one still read and write in the right order.
#pragma once

#include "passes/analysis/Memories.h"
#include "passes/plan/PlanAttr.h"

#include <set>

namespace kernelc::te {

class MergeOrder {
public:
  /// `ops`: the kernel's domain ops.
  MergeOrder(KernelOp kernel, const Target &target, const SizeFacts &facts, llvm::ArrayRef<mlir::Operation *> ops)
      : kernel_(kernel), target_(target), facts_(facts), ops_(ops), places_(placeTensors(kernel)), memories_(kernel) {}

  /// Whether launch `a` can stand behind those between it and `b` (`down`), or `b` before them.
  bool canPass(llvm::ArrayRef<LaunchPlan> launches, size_t a, size_t b, bool down);

  /// Whether statements of one launch may stand in one: what one makes for another a block has at once, and memory that one reads and
  /// another writes is read first.
  bool isOrdered(const LaunchPlan &l);

  /// Whether the later of two launches reads what the earlier one overwrites: as one they do so in time.
  bool mustMeet(const LaunchPlan &a, const LaunchPlan &b);

  /// A reduction of values that are in memory, or what is computed of such; written by the first block alone.
  bool canBeMadeAgain(mlir::Operation *op);

  /// Nothing that the statements of `a` read is written by the launch: some block may have done so before another one reads.
  bool readsOnlyEarlier(const LaunchPlan &a, const LaunchPlan &merged);

private:
  struct Touched {
    std::set<int64_t> read, written; ///< sources (Memories.h)
    /// Whether one of two launches writes what the other one reads or writes.
    bool conflictsWith(const Touched &o) const;
  };
  Touched touchedBy(const LaunchPlan &l);
  bool isOrdered(const LaunchPlan &l, size_t n, mlir::Operation *op);
  bool isOrdered(const LaunchPlan &l, size_t n, size_t m, ReadOp read);
  bool hasRowAtPoint(const LaunchPlan &l, size_t n, size_t m, ReadOp read);

  KernelOp kernel_;
  const Target &target_;
  SizeFacts facts_;
  llvm::ArrayRef<mlir::Operation *> ops_;
  Places places_;
  Memories memories_;
};

} // namespace kernelc::te
