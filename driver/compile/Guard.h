// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a variant asks of sizes: the facts it was made for, and with 32-bit indices that no
// offset overflows. Whether any call can pass that is decided here, before anyone ships it.
#pragma once

#include <string>

#include "driver/compile/Compiler.h"
#include "ir/te/Te.h"

namespace kernelc {

struct Guard {
  SizeExpr condition = SizeExpr(1); ///< nonzero where the variant may be used
  std::string text;                 ///< in words; empty: always
  /// Why no sizes of 1 and more pass, and where; empty: some may.
  std::string whyNever;
  std::string wayOut; ///< with whyNever: what to do about it
  mlir::Location place;
  bool wideWould = false; ///< with 64-bit indices some may
};

/// The guard of a variant of `planned`, whose first `ownSizes` sizes are the kernel's own (see te::addStrides), and `options.index32`:
/// where no call could pass a guard for 32-bit indices, indices have 64 bits if `options.mayWiden`. Fails with a diagnostic that says the
/// way out where no call can pass the guard either way.
mlir::FailureOr<Guard> settleGuard(te::KernelOp planned, const Kernel &signature, unsigned ownSizes, VariantOptions &options);

/// The place of a parameter: an argument's, or where the frontend names an output.
mlir::Location placeOfParam(te::KernelOp kernel, llvm::StringRef name);

/// Fails with a diagnostic for each parameter of a kernel in `module` that is larger than memory can be, whatever the open sizes.
mlir::LogicalResult checkTensorsExist(mlir::ModuleOp module);

/// Fails with a diagnostic at `place` where a launch has more blocks than a GPU takes, for all sizes of 1 and more.
mlir::LogicalResult checkBlocks(const SizeExpr &grid, size_t sizes, const std::string &launch, mlir::Location place);

/// Fails with a diagnostic at `place` where `bytes` of `what` are more than memory can be, for all sizes of 1 and more.
mlir::LogicalResult checkBytesExist(const SizeExpr &bytes, size_t sizes, const std::string &what, mlir::Location place);

} // namespace kernelc
