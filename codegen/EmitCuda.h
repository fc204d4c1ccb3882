// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cu to CUDA C text. Prints; never changes the IR. The text is header-free, uses
// only the helpers it needs, names its `.kc` lines by `#line` marks (what one means:
// support/LineMarks.h), and is the same bytes for the same input.
#pragma once

#include <set>
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

/// What every kernel begins with, and nothing before it.
inline constexpr llvm::StringLiteral kScheduleComment = "// schedule:";

/// What stands between the header and the kernels: the typedefs and the helpers that they need, with a blank line ahead of each.
std::string calledText(const std::set<std::string> &typedefs, const std::set<std::string> &helpers, int generation);

} // namespace kernelc::codegen
