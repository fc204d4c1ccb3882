// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How tools end when something went wrong: a message on stderr, an exit status, and
// for kernelc's own mistakes a reproducer.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace kernelc::tools {

/// Remembers what a reproducer needs. main() gives the arguments, whoever reads a
/// source gives its text.
void rememberCommand(const std::vector<std::string> &args);
void rememberSource(const std::string &path, const std::string &text);

/// Prints the status. kFailed; or, for an internal error, kInternal after writing a
/// reproducer and naming its folder.
int reportFailure(const absl::Status &status);

/// A crash also leaves a reproducer and exits with kInternal.
void installCrashHandler();

} // namespace kernelc::tools
