// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a launch on the emulator found: one Finding per distinct mistake, and the
// counts. Plain data; nothing here runs or decides anything.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kernelc::emulator {

/// A position in the CUDA text, with the `.kc` position its `#line` gives.
struct CodeLocation {
  int line = 0;           ///< of the CUDA text, from 1; 0 = unknown
  std::string sourceFile; ///< the `.kc` file; empty = no #line before
  int sourceLine = 0;
};

/// Who: one CUDA thread, or an asynchronous operation it started.
struct Party {
  int64_t block = -1;
  unsigned thread[3] = {0, 0, 0};
  std::string what; ///< "read", "write", "cp.async write", ...
  CodeLocation where;
};

enum class FindingKind {
  DataRace,
  OutOfBounds,
  Uninitialised,
  Misaligned,
  BarrierDivergence,
  Deadlock,
  StepBudget,
  WriteToInput,
  LostAsyncWork,
  BarrierProtocol, ///< mbarrier phases and byte counts, barrier participant counts
  ProxyFence,      ///< a generic write read by TMA or wgmma without fence.proxy.async
  OperandInFlight, ///< registers of a wgmma touched before its wait
  WrittenTwice,    ///< an element of which the program promises that one point writes it
  Trap,
  InvalidOperation, ///< an instruction outside its rules (shape, address space, mask)
};
const char *findingKindName(FindingKind kind);

struct Finding {
  FindingKind kind = FindingKind::DataRace;
  std::string kernel;
  std::string message; ///< the whole report, ready to print
  Party first, second; ///< `second.block` < 0 when only one party is involved
  uint64_t count = 1;  ///< how often the same pair of places was seen
};

/// Counts of one launch (RunKernel adds them up). Requests are per warp.
struct Counts {
  uint64_t barriers = 0; ///< block-wide and named barriers completed
  uint64_t warpOps = 0;  ///< shuffles, votes, warp reductions
  uint64_t mma = 0;      ///< mma.sync and wgmma instructions
  uint64_t globalLoadBytes = 0, globalStoreBytes = 0;
  // With EmulatorOptions::counts. The minimum is what the same bytes need at best:
  // wavefronts beyond it are bank conflicts, sectors beyond it are lost bandwidth.
  uint64_t globalRequests = 0, globalSectors = 0, globalMinimum = 0; ///< 32-byte sectors
  uint64_t sharedRequests = 0, sharedWavefronts = 0, sharedMinimum = 0;
  uint64_t bankConflicts() const { return sharedWavefronts - sharedMinimum; }
  Counts &operator+=(const Counts &other);
};

/// The requests of one instruction of the text, over all warps.
struct AccessSite {
  CodeLocation where;
  bool shared = false;
  int bytes = 0;                                        ///< per lane
  uint64_t requests = 0, transactions = 0, minimum = 0; ///< wavefronts or sectors
};

struct Report {
  std::vector<Finding> findings;
  Counts counts;
  std::vector<AccessSite> sites; ///< with EmulatorOptions::counts, in text order
  uint64_t steps = 0;            ///< basic blocks executed
  uint64_t seed = 0;             ///< of the schedule; replays it
  bool ok() const { return findings.empty(); }
  /// One line per finding.
  std::string toString() const;
};

} // namespace kernelc::emulator
