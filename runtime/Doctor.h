// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What `kernelc doctor` prints: what was found, what was not, and what to do about
// it. Works on any machine; a missing driver is a line, not an error.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kernelc {

/// A KERNELC_* variable that kernelc reads.
struct EnvironmentVariable {
  const char *name;
  const char *meaning;
  const char *fallback; ///< what holds when it is not set
};
/// The one list of them, sorted.
const std::vector<EnvironmentVariable> &environmentVariables();

struct DoctorOptions {
  /// Versions that this layer cannot know: {"kernelc", "0.1.0"}, {"MLIR", "22.1.8"}.
  std::vector<std::pair<std::string, std::string>> versions;
  /// Variables that a flag has set, over what the environment said:
  /// {"KERNELC_CACHE_DIR", "--cache-dir"}.
  std::vector<std::pair<std::string, std::string>> flags;
};

/// Lines "name: finding", in a fixed order: versions, NVRTC, driver, one per GPU,
/// cache, one per variable. Opens libraries and creates the cache folder, but no
/// CUDA context.
std::vector<std::string> doctorReport(const DoctorOptions &options = {});

/// "driver 13.0" / "no driver", "NVRTC 13.0" / "no NVRTC": for --version.
std::string driverVersionText();
std::string nvrtcVersionText();

} // namespace kernelc
