// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu to CUDA C text. Prints; never changes the IR. The text is header-free, uses
// only the helpers it needs, names its `.kc` lines by `#line` marks (what one means:
// support/LineMarks.h), and is the same bytes for the same input.
#pragma once

#include <string>

#include "ir/cu/Cu.h"
#include "mlir/IR/BuiltinOps.h"
#include "support/Target.h"

namespace kernelc::codegen {

struct EmitOptions {
  const Target *target = nullptr;
  std::string header; ///< comment lines at the top (without "// ")
};

/// The text of all cu.kernel ops of `module`, in order. On an op without a
/// spelling: a diagnostic for each, then failure.
mlir::FailureOr<std::string> emitCuda(mlir::ModuleOp module, const EmitOptions &options);

/// A text of emitCuda as two: what it calls, for a file `name`, and the kernels, which include that.
struct SeparateText {
  std::string helpers, kernels;
};
SeparateText separateHelpers(llvm::StringRef text, llvm::StringRef name);

} // namespace kernelc::codegen
