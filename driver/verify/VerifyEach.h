// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether each pass keeps a kernel's meaning, on one call's sizes: te runs on the CPU,
// tile in a sequential interpreter, cu as text on the emulator, each compared with the
// f64 reference of the kernel as it was written. Names the pass; does not say what it
// did wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "driver/jit/HostTensor.h"
#include "driver/jit/Session.h"

namespace mlir {
class OpPassManager;
}

namespace kernelc {

struct PassVerdict {
  std::string pass; ///< "source" for the kernel before any pass
  bool passed = false;
  std::string text; ///< where it did not: the outputs, per set of inputs, or findings of the emulator
  /// Where it did not pass, and there was a pass: a file that kernelc-opt replays, reduced.
  std::string reproducer;
};

struct VerifyOptions {
  std::string target = "sm_90a";
  /// Clang for the emulator is not everywhere: stop before cu.
  bool runCu = true;
  /// Build other passes instead of those of the te and cuda pipelines (for tests).
  std::function<void(mlir::OpPassManager &)> te, cuda;
};

/// The kernel as written, then after each pass, up to the first that changed an output
/// beyond its error bound, or an integer output or a ring program at all. Three sets of
/// inputs: `tensors` (they follow Kernel::params and are not written to); small whole
/// numbers, whose sums are exact; and, where the program only adds and multiplies,
/// random integers modulo 2^32 in place of floats (te and tile).
absl::StatusOr<std::vector<PassVerdict>> verifyPasses(JitKernel &kernel, absl::Span<const HostTensor> tensors,
                                                      const std::vector<int64_t> &sizes, const VerifyOptions &options = {});

} // namespace kernelc
