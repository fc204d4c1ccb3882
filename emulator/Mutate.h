// Strength of the checks, measured: each barrier, wait, fence and mask of a text
// is taken away in turn; a mutant that neither yields a finding nor changes an
// output either shows a gap in the checks or a synchronisation nobody needs.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "emulator/RunKernel.h"

namespace kernelc::emulator {

struct Mutant {
  int line = 0;        ///< of the CUDA text
  std::string removed; ///< what stood there
  bool mask = false;   ///< a condition made true, else a call removed
  std::string text;
};

/// One mutant per synchronising call and per mask in the kernels of `text`
/// (helpers inside #ifndef KC_HOST are left alone).
std::vector<Mutant> mutantsOf(absl::string_view text);

struct MutationScore {
  int total = 0, detected = 0;
  int byFinding = 0; ///< of the detected: by a finding, the others by a wrong value
  std::vector<Mutant> survivors;
  double percent() const { return total ? 100.0 * detected / total : 100.0; }
  std::string toString() const;
};

/// Runs every mutant of `variant` on each of `runs` (several sizes find more).
/// The unchanged text must run without findings, else FailedPrecondition. Outputs
/// of `runs` are used as scratch memory.
absl::StatusOr<MutationScore> measureMutants(const Kernel &kernel, const Variant &variant,
                                             const std::vector<RunArguments> &runs,
                                             const EmulatorOptions &options = {});

} // namespace kernelc::emulator
