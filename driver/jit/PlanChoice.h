// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which of a kernel's ranked plans a device gets: the first whose code NVRTC does not make slow (registers in local memory, a
// stack frame, products one after the other). The choice is kept in the disk cache, by the version of NVRTC. Internal to the
// driver and the tools.
#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "driver/compile/Compiler.h"
#include "driver/compile/Program.h"
#include "runtime/DiskCache.h"
#include "runtime/VariantCode.h"

namespace kernelc {

/// What choosing a plan takes.
struct PlanCompiler {
  DiskCache &cache;
  std::string nvrtc; ///< which it is (nameOf)
  /// The code of a variant, through the cache.
  absl::FunctionRef<absl::StatusOr<VariantCode>(const Variant &)> compile;
  bool mayCompile = true; ///< else an earlier choice is looked up
};

/// Its version and build: part of the key of a choice.
std::string nameOf(const Nvrtc &nvrtc);

/// Lets the next plan take the place of `kernel`'s only variant where the code of that is slow, and adds one remark for each plan that
/// was not kept. Launches with a schedule from outside keep it. What cannot be compiled stays, for the caller to hear why.
void keepBestPlan(const PlanCompiler &compiler, Program &program, const VariantOptions &options, Kernel &kernel);

/// What a device loses by the code of a launch, for people and as a weight: bytes of registers in memory and of a stack frame;
/// products that NVRTC puts one after the other count more than any. Zero where all is well.
struct Slowness {
  int64_t spilled = 0, stack = 0;
  std::vector<std::string> codes; ///< "C7514"
  int64_t weight() const;
  std::string toString() const; ///< "spills 48 bytes a thread"
};
Slowness slownessOf(const VariantCode &code, const std::string &entry);

} // namespace kernelc
