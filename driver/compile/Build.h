// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which kernelc this is: its version, and what tells two builds apart in cache keys.
#pragma once

#include <string>

namespace kernelc {

/// "0.1.0".
const char *versionString();
/// The linker's build id of this program or library, else its size and time.
const std::string &buildId();

} // namespace kernelc
