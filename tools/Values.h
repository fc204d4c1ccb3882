// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The VALUEs of the command line: files, generated tensors and numbers, turned into
// the arguments of a kernel; and results turned back into files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driver/jit/Arguments.h"
#include "driver/jit/HostTensor.h"
#include "runtime/DeviceTensor.h"
#include "support/Artifact.h"

namespace kernelc::tools {

/// The arguments of one call in host memory: one tensor per parameter (scalars are
/// rank-0 tensors).
struct HostArguments {
  std::vector<HostTensor> tensors;
  std::vector<int64_t> sizes;

  /// As the session takes them.
  std::vector<LaunchValue> values(const Kernel &kernel) const;
};

/// Makes every argument of `kernel`: inputs from `values` (NAME -> VALUE), missing
/// tensors random (zero when `fillMissing` is false: nobody looks at them), outputs zero. Sizes
/// come from files and from `named`.
absl::StatusOr<HostArguments> makeArguments(const Kernel &kernel, const std::map<std::string, std::string> &values,
                                            const std::vector<NamedSize> &named, bool fillMissing = true);

/// Splits NAME=VALUE texts; the name must be an input of the kernel, and no name may be given twice.
absl::StatusOr<std::map<std::string, std::string>> parseAssignments(const Kernel &kernel, const std::vector<std::string> &texts);

} // namespace kernelc::tools
