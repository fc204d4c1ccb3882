// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What multiplies and adds in a launch: CUDA cores, mma.sync or warpgroups; and what an instruction of each takes, in one table that
// the planner, the rules of records, layouts and lowerings share. What types a unit takes depends on the product, too
// (passes/analysis/Contraction.h). Constants only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kernelc {

struct Target;

enum class Unit {
  Simt,  ///< CUDA cores: any types and terms
  Mma,   ///< mma.sync, a warp at a time
  Wgmma, ///< wgmma, four warps at a time, beside what they do until they wait for it
};

/// What an instruction of a unit takes.
struct UnitInstruction {
  Unit unit;
  std::string_view name; ///< in plans, schedules and tile.func
  int64_t warps;         ///< that issue it together
  int64_t rows, columns; ///< results that a product's tile has at least
  int64_t mostColumns;   ///< that one instruction has at most; 0: it has `columns`
  int64_t columnStep;    ///< tiles' columns are powers of two, or multiples of this; 0: powers of two alone
  int64_t sumBytes;      ///< of either operand along what is summed; 0: a unit of single points
};

inline constexpr UnitInstruction kUnits[] = {
    {.unit = Unit::Simt, .name = "simt", .warps = 1, .rows = 1, .columns = 1, .mostColumns = 0, .columnStep = 0, .sumBytes = 0},
    {.unit = Unit::Mma, .name = "mma", .warps = 1, .rows = 16, .columns = 16, .mostColumns = 0, .columnStep = 0, .sumBytes = 32},
    {.unit = Unit::Wgmma, .name = "wgmma", .warps = 4, .rows = 64, .columns = 8, .mostColumns = 256, .columnStep = 8, .sumBytes = 32},
};
inline constexpr const UnitInstruction &instructionOf(Unit unit) { return kUnits[int(unit)]; }
inline constexpr std::string_view nameOf(Unit unit) { return instructionOf(unit).name; }
/// The unit of that name; nothing where there is none.
inline constexpr std::optional<Unit> findUnit(std::string_view name) {
  for (const UnitInstruction &u : kUnits)
    if (u.name == name)
      return u.unit;
  return std::nullopt;
}
/// "simt, mma or wgmma", for messages.
inline constexpr std::string_view kUnitNames = "simt, mma or wgmma";

/// Whether it is a matrix unit: products alone, of types that the target has instructions for.
inline constexpr bool isMatrixUnit(Unit unit) { return unit != Unit::Simt; }
/// Whether a tile may have so many columns (rows are powers of two but for those of three warpgroups).
inline constexpr bool isColumns(Unit unit, int64_t n) {
  return n > 0 && ((n & (n - 1)) == 0 || (instructionOf(unit).columnStep && n % instructionOf(unit).columnStep == 0));
}

/// Whether `target` has instructions of the unit; and some that take f8, which others take as f16.
bool hasInstructions(Unit unit, const Target &target);
bool takesF8(Unit unit, const Target &target);

} // namespace kernelc
