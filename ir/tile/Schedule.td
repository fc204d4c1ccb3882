// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fields of a launch's record, a row each: what the planner, schedule files, plans and tile.func call it, what it may be, and what it
// says. ODS makes tile.func's attributes of the rows (TileOps.td), and C++ its record and tables (tile::ScheduleRecord, Schedule.h), by
// which plans are read and written and ranges are checked. Who obeys a field reads it where it stands: nobody else knows it.
#ifndef KERNELC_IR_TILE_SCHEDULE
#define KERNELC_IR_TILE_SCHEDULE

include "mlir/IR/CommonAttrConstraints.td"

/// `key` in plans, schedule files and tile.func; `member` of the record. `isRare`: a plan says nothing of it where it is as usual.
/// `inPlan`: te-to-tile obeys it, and the function has no such attribute.
class ScheduleField<string key_, string member_, string words_, bit isRare_, bit inPlan_> {
  string key = key_;
  string member = member_;
  string words = words_;
  bit isRare = isRare_;
  bit inPlan = inPlan_;
}

/// `usual`: where nobody says anything; `begins`: of a record that the planner has not completed. `least`, `most`: as a schedule may say.
class ScheduleNumber<string key_, string member_, int usual_, int least_, int most_, string words_, bit isRare_ = 0, int begins_ = usual_>
    : ScheduleField<key_, member_, words_, isRare_, 0> {
  int usual = usual_;
  int begins = begins_;
  int least = least_;
  int most = most_;
}

/// False where nobody says anything.
class ScheduleFlag<string key_, string member_, string words_, bit isRare_ = 0, bit inPlan_ = 0>
    : ScheduleField<key_, member_, words_, isRare_, inPlan_>;

defvar scheduleNumbers = [
  ScheduleNumber<"warps", "warps", 4, 1, 32, "warps of a block that compute, of each team where there are several">,
  ScheduleNumber<"producer_warps", "producerWarps", 0, 0, 4, "warps beside those, that only fill rings; 0 without roles">,
  ScheduleNumber<"stages", "stages", 1, 1, 64, "slots of the rings that feed dots">,
  ScheduleNumber<"raster", "raster", 1, 1, 65536,
    "above 1 the last two grid dims of several tiles are walked in groups of that many of the first of them">,
  ScheduleNumber<"min_blocks", "minBlocks", 1, 1, 32, "how many blocks a multiprocessor should hold; bounds registers">,
  ScheduleNumber<"cluster", "cluster", 1, 1, 8,
    "so many blocks, neighbours along index `cluster_index` of the grid, share what they load; program ids along it count clusters. If "
    "the index is not on the grid, the blocks share it out: block r takes tiles r, r + cluster, r + 2 cluster, .., and a reduction over it "
    "meets in `tile.cluster_reduce`">,
  ScheduleNumber<"part", "part", 64, 16, 256, "columns of a product's result that go through shared memory at a time">,
  ScheduleNumber<"pingpong", "pingpong", 1, 1, 3,
    "above 1 the consumer is so many teams of `warps` warps, which take the block's tiles in turns, so that one's epilogue runs beside "
    "another's product">,
  ScheduleNumber<"promote", "promote", 0, 0, 65536,
    "above 0 sums move from the matrix unit's own accumulators to others after at most so many products">,
  ScheduleNumber<"clamp", "clamp", 0, 0, 64,
    "a load in a loop reads points before the extent in place of points beyond it, without a mask, if these become no result and a thread "
    "has at most so many of them (vectors of them) along an index">,
  // (until the record is complete: two where there is room for them, Scheduler::settle)
  ScheduleNumber<"in_flight", "inFlight", 1, 1, 4,
    "above 1 a warpgroup has so many products in flight at a time that start from zero, each in accumulators of its own", 0, 0>,
  ScheduleNumber<"tallies", "tallies", 0, 0, 32,
    "above 0 a block combines what it scatters in so many copies of the result in shared memory first", 1>,
  ScheduleNumber<"producer_registers", "producerRegisters", 0, 0, 160,
    "above 0 the threads of producer warps keep so many registers, and those of the other warps get the rest", 1>,
  ScheduleNumber<"ahead", "ahead", 0, 0, 32,
    "above 1 a loop that walks rounds in order asks for what so many of them read while as many before them are worked in", 1>,
  ScheduleNumber<"beside", "beside", 0, 0, 1023,
    "above 0 its tiles are those of other blocks of the launch before it, so many of 1024 where there are fewer blocks than tiles "
    "(ir/cu/Beside.h)", 1>,
];

defvar scheduleFlags = [
  ScheduleFlag<"fill_late", "fillLate", "the copy of a later tile starts behind the product of this one, not before it">,
  ScheduleFlag<"persistent", "persistent", "no more blocks run than fit the device; each walks several tiles">,
  ScheduleFlag<"rotate", "rotate",
    "in each round of persistent blocks every block takes the place that the next one had in the round before, so that slow tiles at "
    "regular distances do not all meet the same blocks">,
  ScheduleFlag<"dependent", "dependent",
    "the launch starts while the one before it still runs, and waits for the end of that one before anything else; with `waits_last`, before "
    "its own end, because it shares no memory with any launch before it (programmatic dependent launch)">,
  ScheduleFlag<"peel", "peel", "a loop whose last tile may reach beyond the extent runs its full tiles first, without masks">,
  ScheduleFlag<"descending", "descending", "tiles along `cluster_index` are taken from the last to the first", 0, 1>,
  ScheduleFlag<"paired", "paired",
    "a persistent block's tiles come in pairs along `cluster_index`, one from the end and one from the start: where a tile's work grows along "
    "it, each block has the same. Program ids along it count pairs", 1>,
  ScheduleFlag<"lagging", "lagging", "what a cascade's terms refer to moves only where they would get large without it", 1, 1>,
  ScheduleFlag<"held", "held",
    "what the first products of a walk take of rows is loaded to registers before its loop, and the slot is free at once", 1>,
  ScheduleFlag<"backward", "backward", "a walk that several products share goes from its last tile to its first", 1, 1>,
  ScheduleFlag<"turned", "turned", "columns of a product take the rows of the unit wgmma", 1, 1>,
];

//===----------------------------------------------------------------------===//
// What is made of the rows
//===----------------------------------------------------------------------===//

class CppBool<bit b> { string value = !if(b, "true", "false"); }

/// The C++ that the dialect declares.
defvar scheduleCpp = "\n    struct ScheduleRecord {\n      "
  # !interleave(!foreach(n, scheduleNumbers, "int64_t " # n.member # " = " # !cast<string>(n.begins) # ";"), "\n      ") # "\n      "
  # !interleave(!foreach(f, scheduleFlags, "bool " # f.member # " = false;"), "\n      ")
  # "\n    };\n    struct ScheduleNumber {\n      ::llvm::StringLiteral key;\n      int64_t ScheduleRecord::*field;\n"
  # "      int64_t least, most;\n      bool isRare;\n    };\n"
  # "    struct ScheduleFlag {\n      ::llvm::StringLiteral key;\n      bool ScheduleRecord::*field;\n      bool isRare, inPlan;\n    };\n"
  # "    static constexpr ScheduleNumber kScheduleNumbers[] = {\n      "
  # !interleave(!foreach(n, scheduleNumbers, "{\"" # n.key # "\", &ScheduleRecord::" # n.member # ", " # !cast<string>(n.least) # ", "
                          # !cast<string>(n.most) # ", " # CppBool<n.isRare>.value # "},"), "\n      ")
  # "\n    };\n    static constexpr ScheduleFlag kScheduleFlags[] = {\n      "
  # !interleave(!foreach(f, scheduleFlags, "{\"" # f.key # "\", &ScheduleRecord::" # f.member # ", " # CppBool<f.isRare>.value # ", "
                          # CppBool<f.inPlan>.value # "},"), "\n      ")
  # "\n    };\n";

/// Of tile.func: its attributes, but for `warps`, which it asks for, and a line of its description for each.
defvar scheduleNumbersOfFunc = !filter(n, scheduleNumbers, !ne(n.key, "warps"));
defvar scheduleFlagsOfFunc = !filter(f, scheduleFlags, !not(f.inPlan));
defvar scheduleNumberAttrs = !dag(ins, !foreach(n, scheduleNumbersOfFunc, DefaultValuedAttr<I64Attr, !cast<string>(n.usual)>),
                                  !foreach(n, scheduleNumbersOfFunc, n.key));
defvar scheduleFlagAttrs = !dag(ins, !foreach(f, scheduleFlagsOfFunc, DefaultValuedAttr<BoolAttr, "false">),
                                !foreach(f, scheduleFlagsOfFunc, f.key));
defvar scheduleDoc = !interleave(!foreach(n, scheduleNumbers, "    - `" # n.key # "`: " # n.words # "."), "\n") # "\n"
  # !interleave(!foreach(f, scheduleFlagsOfFunc, "    - `" # f.key # "`: " # f.words # "."), "\n");

#endif
