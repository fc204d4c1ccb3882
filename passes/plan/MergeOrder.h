// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether launches may become one launch: reads and writes of memory must stay in the right order.
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

  /// Whether the statements of `l` may stand in one launch: a block itself computes what its later statements need of earlier ones, and
  /// reads memory before another statement overwrites it.
  bool isOrdered(const LaunchPlan &l);

  /// Whether the later of two launches reads what the earlier one overwrites, so that they must become one launch.
  bool mustMeet(const LaunchPlan &a, const LaunchPlan &b);

  /// Whether every block may compute `op` again for itself: a reduction of values in memory, or a function of such reductions. Only the
  /// first block writes the result.
  bool canBeMadeAgain(mlir::Operation *op);

  /// Whether the launch `merged` writes nothing that the statements of `a` read: one block might write it before another block reads.
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
