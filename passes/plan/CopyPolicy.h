// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// By what te-windows and te-repack decide whether a copy of an operand or a result pays.
#pragma once

#include <algorithm>
#include <optional>

#include "passes/index/Affine.h"
#include "passes/plan/Schedule.h"
#include "support/Target.h"

namespace kernelc::te {

/// The multiply-adds of a product, in all and per element copied, from which copies pay.
struct LeastWork {
  int64_t total = 0, each = 0;
  bool isMet(double work, double copied) const { return work >= std::max(double(each) * copied, double(total)); }
};

struct CopyPolicy {
  const Target *target;
  llvm::SmallVector<int64_t> sizeDiv, sizeMax;
  LeastWork copies;
  LeastWork cores;   ///< of what CUDA cores multiply
  LeastWork rows;    ///< where units would read an operand element by element otherwise
  LeastWork windows; ///< of short sums of windows, whose weights would be many bytes apart

  /// What is known of the sizes; as long as this lives.
  SizeFacts facts() const { return {sizeDiv, sizeMax}; }
  /// Whether so many results take less time written beside each other and read again than stored into a sector each.
  bool paysToTurn(double elements, double bytes) const;
};

/// A pass's options, completed by the target (-1) and the kernel's schedule; nothing where that has no copies at all.
/// Fails with a diagnostic on an unknown target and on facts or records that mean nothing.
mlir::FailureOr<std::optional<CopyPolicy>> getCopyPolicy(KernelOp kernel, llvm::StringRef target, llvm::ArrayRef<int64_t> sizeDiv,
                                                         llvm::ArrayRef<int64_t> sizeMax, int64_t work, int64_t reuse);

} // namespace kernelc::te
