// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A te.kernel to a Program and machine code. Running it is Run.cpp's.
#pragma once

#include "reference/Jit.h"
#include "reference/Program.h"
#include "reference/Reference.h"

namespace kernelc::reference {

using StepFunction = void (*)(int64_t *context, int64_t begin, int64_t end);

struct ReferenceKernel::Impl {
  Arithmetic arithmetic = Arithmetic::Own;
  Program program;
  std::unique_ptr<JitModule> code;
  std::vector<StepFunction> functions; ///< one per step
};

absl::StatusOr<std::unique_ptr<ReferenceKernel::Impl>> compileKernel(te::KernelOp kernel, Arithmetic arithmetic, Sums sums);

} // namespace kernelc::reference
