// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random schedules for programs whose launches are known, as lists of single fields
// that a reducer can take away one by one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/compile/Compiler.h"
#include "support/Unit.h"

namespace kernelc::fuzz {

/// A launch of the plan that the cost model made.
struct Launch {
  std::string name;
  Unit unit;
  std::vector<std::string> indices;
  std::vector<int64_t> tiles;
};

/// One field of one launch's record. `key` is "tile i" for the tile of an index;
/// "copies" is of the whole kernel.
struct ScheduleField {
  std::string launch, key;
  std::string value; ///< as JSON
  friend bool operator==(const ScheduleField &, const ScheduleField &) = default;
};
using Schedule = std::vector<ScheduleField>;

/// The launches of `kernel` in `module` as planned without a schedule; none where that fails.
std::vector<Launch> planLaunches(mlir::ModuleOp module, const std::string &kernel, const VariantOptions &options);

/// Fields for some of `launches`, each within its range; together legal or not, as the compiler says.
Schedule drawSchedule(uint64_t seed, const std::vector<Launch> &launches);

/// As a schedule file for `kernel`. Fields of launches or indices that `launches` does not have are left out.
std::string printSchedule(const Schedule &schedule, const std::string &kernel, const std::vector<Launch> &launches);

} // namespace kernelc::fuzz
