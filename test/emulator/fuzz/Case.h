// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One differential run: a program, a schedule for it, a target and sizes; and what
// came of it.
#pragma once

#include <functional>
#include <map>

#include "test/emulator/fuzz/Program.h"
#include "test/emulator/fuzz/Schedule.h"

namespace kernelc::fuzz {

struct Case {
  Program program;
  Schedule schedule;
  std::string target = "sm_90a";
  bool general = false;                 ///< the variant that assumes nothing of its sizes
  uint64_t seed = 1;                    ///< of sizes and values
  std::map<std::string, int64_t> sizes; ///< if not empty: these and no others
  /// The program, the schedule file, and the rest in a comment.
  std::string toString() const;
};

enum class Outcome {
  Agrees,      ///< no findings, every output within the oracle's bound
  Unsupported, ///< a diagnostic: of the program, or of a schedule that it cannot have
  Differs,     ///< a finding or a wrong value
  Crashed,     ///< a signal, or a time limit
};
struct CaseResult {
  Outcome outcome = Outcome::Agrees;
  /// "values", a finding's kind, "signal 6", ..: what two failures have in common that are the same.
  std::string kind;
  std::string why;   ///< messages
  std::string sizes; ///< "A=3 B=17" of the run that failed
  bool failed() const { return outcome == Outcome::Differs || outcome == Outcome::Crashed; }
};

/// Changes a CUDA text before it runs: a planted bug.
using TextChange = std::function<void(std::string &text)>;

/// Compiles and runs `c` in a child process.
CaseResult runCase(const Case &c, const TextChange &planted = {});

/// The case of a seed: its program, a target, and most often a schedule that the
/// compiler takes.
Case drawCase(uint64_t seed);

} // namespace kernelc::fuzz
