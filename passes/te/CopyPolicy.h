// By what te-windows and te-repack decide whether a copy of an operand or a result pays.
#pragma once

#include <optional>

#include "passes/te/Affine.h"
#include "passes/te/Schedule.h"
#include "support/Target.h"

namespace kernelc::te {

struct CopyPolicy {
  const Target *target;
  llvm::SmallVector<int64_t> sizeDiv, sizeMax;
  int64_t work, reuse; ///< multiply-adds of a product, in all and per element copied, from which copies pay
  int64_t coresWork = 0, coresReuse = 0; ///< the same of what CUDA cores multiply
  int64_t rowsWork = 0, rowsReuse = 0; ///< the same where units would read an operand element by element otherwise

  /// What is known of the sizes; as long as this lives.
  SizeFacts facts() const { return {sizeDiv, sizeMax}; }
};

/// A pass's options, completed by the target (-1) and the kernel's schedule; nothing where that has no copies at all.
/// Fails with a diagnostic on an unknown target and on facts or records that mean nothing.
mlir::FailureOr<std::optional<CopyPolicy>> getCopyPolicy(KernelOp kernel, llvm::StringRef target, llvm::ArrayRef<int64_t> sizeDiv,
                                                         llvm::ArrayRef<int64_t> sizeMax, int64_t work, int64_t reuse);

} // namespace kernelc::te
