// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether an artifact is well formed: every index in range, every expression
// complete, every number within what the hardware's formats can say. Readers and
// loaders call it once, so that nobody after them needs to.
#pragma once

#include "absl/status/status.h"
#include "support/Artifact.h"

namespace kernelc {

/// InvalidArgument naming the offending part, e.g. "kernel 'f', variant 'v',
/// launch 0, argument 2: no parameter 7".
absl::Status checkKernel(const Kernel &kernel);

/// Limits of the format, shared with the JSON reader.
struct ArtifactLimits {
  static constexpr int kMaxExprTerms = 4096;
  static constexpr int kMaxExprDepth = 64; ///< the evaluator's stack
  static constexpr int kMaxRank = 32;
  static constexpr int kMaxParams = 256;
  static constexpr int kMaxSizes = 256;
  static constexpr int kMaxVariants = 64;
  static constexpr int kMaxLaunches = 256;
  static constexpr int kMaxWorkspaces = 4 * kMaxLaunches;
  static constexpr int kMaxLaunchArgs = 1024;
};

} // namespace kernelc
