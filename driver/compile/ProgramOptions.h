// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How a source is read. Plain data.
#pragma once

#include <string>

#include "support/Constant.h"
#include "support/Precision.h"

namespace kernelc {

struct ProgramOptions {
  /// What locations and diagnostics say.
  std::string fileName = "<string>";
  /// Sizes and `const` parameters fixed now (`--set N=1024`, `--set eps=1e-5`).
  Constants constants;
  /// Import only this kernel; empty: all.
  std::string kernel;
  /// The caller's precision policy; takes the place of what the kernels say.
  PrecisionPolicy precision;
  /// Text of a schedule file (`--schedule`, see driver/compile/ScheduleFile.h); empty: the
  /// cost model alone decides. `scheduleName` is what messages call it.
  std::string schedule, scheduleName;
};

} // namespace kernelc
