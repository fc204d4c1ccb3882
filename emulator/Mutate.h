// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Strength of the checks, measured: each barrier, wait, fence and mask of a text
// is taken away in turn. A mutant that neither yields a finding nor changes an
// output either shows a synchronisation nobody needs or a gap in the checks.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "emulator/RunKernel.h"

namespace kernelc::emulator {

enum class Verdict {
  Detected, ///< a finding, a wrong value, or no end
  /// Survives, and may at these sizes: a synchronisation that the emulator follows
  /// orders no two accesses that nothing else orders; a condition is always true, or
  /// guards synchronisation and hints only, or asynchronous copies that neither race nor are read, or registers
  /// that are written over or not used (garbage in them does not show), or only masks that do its work; or sums that an
  /// excluded infinity or NaN has spoiled are taken again, exactly.
  Redundant,
  Missed, ///< survives though a condition that was false is made true
};
const char *verdictName(Verdict verdict);

struct Mutant {
  CodeLocation where;            ///< in the CUDA text, with its `.kc` line
  std::string removed;           ///< what stood there
  bool mask = false;             ///< a condition made true, else a call removed
  bool onlySynchronises = false; ///< a mask around nothing but synchronisation and prefetches
  bool onlyCopies = false;       ///< a mask around nothing but asynchronous copies into shared memory
  bool onlyRegisters = false;    ///< a mask around nothing that sets more than registers of the thread; switches 3 and 5 spoil them
  bool addsNothing = false;      ///< a mask `v != 0` around nothing but the addition of v
  /// First and last lines of the blocks that a mask guards, where those write only shared memory and their own variables, or are last
  /// rounds of loops, whose own masks do what is to be done.
  std::vector<std::pair<int, int>> shortCuts;
  Verdict verdict = Verdict::Missed;
  std::string why; ///< the finding's kind, "a wrong value", or why it is redundant
  /// "line 12 (f.kc:3): detected (data race): removed __syncthreads();"
  std::string toString() const;
};

/// One mutant per synchronising call and per mask in the kernels of `text` (helpers
/// inside #ifndef KC_HOST are left alone), and the text in which mutant i is switch i:
/// all of them are one host build.
struct Mutants {
  std::vector<Mutant> all;
  bool sumsAgain = false; ///< the text tests sums for NaN; switch all.size() makes these tests fail
  std::string text;
};
Mutants mutantsOf(absl::string_view text);

struct MutationScore {
  int total = 0, detected = 0, redundant = 0, missed = 0;
  int byFinding = 0; ///< of the detected: by a finding, the others by a wrong value
  std::vector<Mutant> survivors;
  /// With two survivors and more: taking away all of them at once is detected, so
  /// that they stand in for each other.
  bool survivorsNeedEachOther = false;
  /// The share of mutants that are detected or shown to be redundant.
  double percent() const { return total ? 100.0 * (detected + redundant) / total : 100.0; }
  std::string toString() const;
};

/// Runs every mutant of `variant` on each of `runs` (several sizes find more), and on each with
/// a few infinities and NaN among its float inputs, the
/// survivors under several schedules; of a run the launches from the first one on that the mutant changes, until the memory is
/// what the original leaves. Those of `spares` are taken too on which a mutant differs that is as the original on all `runs`. The unchanged
/// text must run without findings, else FailedPrecondition. `judged` (if given) hears of each mutant as soon as it is known, in their
/// order; of `jobs` processes that share them, at the end.
absl::StatusOr<MutationScore> measureMutants(const Kernel &kernel, const Variant &variant, const std::vector<RunArguments> &runs,
                                             const EmulatorOptions &options = {}, const std::function<void(const Mutant &)> &judged = {},
                                             size_t jobs = 1, const std::vector<RunArguments> &spares = {});

} // namespace kernelc::emulator
