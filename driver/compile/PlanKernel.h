// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One kernel's plan, for all that asks what the compiler would do and compiles nothing.
#pragma once

#include "driver/compile/Compiler.h"
#include "ir/te/Te.h"
#include "passes/plan/PlanAttr.h"

namespace kernelc {

struct PlannedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< what holds the kernel
  te::KernelOp kernel;                      ///< as the passes have left it, which put sums into parts and the like
  te::KernelPlan plan;
};

/// Plans a copy of kernel `name` of `module`. Diagnostics go to the context's handler; the status repeats that there was one.
absl::StatusOr<PlannedKernel> planKernel(mlir::ModuleOp module, const std::string &name, const VariantOptions &options);

} // namespace kernelc
