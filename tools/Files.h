// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading inputs and publishing products. A product appears whole or not at all.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kernelc::tools {

/// The bytes of a file; "-" is stdin.
absl::StatusOr<std::string> readInput(const std::string &path);

/// Writes a product: "-" is stdout, a file goes through a temporary name beside it.
absl::Status writeOutput(const std::string &path, absl::string_view bytes);

/// Writes a reproducer to `path`, or where that is empty to a new file in TMPDIR. The path, or
/// "" where it could not be written.
std::string publishReproducer(const std::string &path, absl::string_view text);

} // namespace kernelc::tools
