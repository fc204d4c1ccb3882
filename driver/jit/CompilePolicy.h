// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a call does whose code is not there yet.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kernelc {

/// What times or tunes code takes the full one, whatever the session's policy is.
enum class CompilePolicy {
  Block,  ///< waits for NVRTC
  Tiered, ///< the same, but where code that is compiled fast ends earlier all the same, it runs until the other is there
  Strict, ///< is refused: nothing is compiled at run time
};

/// "block", "tiered", "strict".
absl::StatusOr<CompilePolicy> parseCompilePolicy(absl::string_view name);

} // namespace kernelc
