// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fields of a launch's record, and the tables of them, as Schedule.td has them: by their keys in plans, schedule files and tile.func
// alike, with what a schedule may say.
#pragma once

#include "mlir/IR/Dialect.h"

#include "ir/tile/TileDialect.h.inc"

namespace kernelc::tile {

using ScheduleRecord = TileDialect::ScheduleRecord;
using ScheduleNumber = TileDialect::ScheduleNumber;
using ScheduleFlag = TileDialect::ScheduleFlag;
inline constexpr auto &kScheduleNumbers = TileDialect::kScheduleNumbers;
inline constexpr auto &kScheduleFlags = TileDialect::kScheduleFlags;

/// Whether a plan says nothing of a field of this record.
inline bool isLeftOut(const ScheduleFlag &f, const ScheduleRecord &r) { return f.isRare && !(r.*f.field); }
inline bool isLeftOut(const ScheduleNumber &n, const ScheduleRecord &r) { return n.isRare && !(r.*n.field); }

} // namespace kernelc::tile
