// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The artifact as JSON text: what `--emit json` writes, the request cache keeps and
// ahead-of-time users load. Versioned; the reader is strict, because the text may
// come from a file that somebody else wrote.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "support/Artifact.h"

namespace kernelc {

/// Raised whenever an old reader could misunderstand a new text.
inline constexpr int kArtifactVersion = 4;

/// Deterministic. InvalidArgument when a kernel is malformed (see checkKernel) or
/// holds text that is no UTF-8. `indent`: as of printJson(); 0 for what people do not read.
absl::StatusOr<std::string> artifactToJson(absl::Span<const Kernel> kernels, int indent = 1);

/// The kernels of artifactToJson(). InvalidArgument with the place in the text or
/// the path of the member ("kernels[0].variants[1].guard: ...") for malformed JSON,
/// unknown, missing or mistyped members, another version, or kernels that
/// checkKernel() refuses. Never crashes, whatever the bytes.
absl::StatusOr<std::vector<Kernel>> artifactFromJson(absl::string_view text);

} // namespace kernelc
