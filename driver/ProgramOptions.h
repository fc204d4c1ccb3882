// How a source is read. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace kernelc {

struct ProgramOptions {
  /// What locations and diagnostics say.
  std::string fileName = "<string>";
  /// Sizes and `const` parameters fixed now (`--set N=1024`).
  std::map<std::string, int64_t> constants;
  /// Import only this kernel; empty: all.
  std::string kernel;
  /// Text of a schedule file (`--schedule`, see driver/ScheduleFile.h); empty: the
  /// cost model alone decides. `scheduleName` is what messages call it.
  std::string schedule, scheduleName;
};

} // namespace kernelc
