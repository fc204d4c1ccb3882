// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two tiers of code for one text: NVRTC's, and what it makes fast. The plan is fixed before either is compiled, so that the bits of
// results agree. Internal to the driver.
#pragma once

#include <memory>
#include <vector>

#include "driver/jit/SessionState.h"
#include "runtime/CompileProcess.h"
#include "runtime/VariantCode.h"

namespace kernelc {

/// How fast code of products is made.
struct FastWay {
  bool inPieces = false; ///< of PTX: compiled longer than loops in C, and run much sooner
  double slowdown = 1;   ///< what such code takes at most, in times of full code
  double fullOfFast = 1; ///< what the full compile takes at least, in times of this one

  /// For units that take `seconds` by the roofline (0: not known).
  static FastWay find(double seconds, const VariantCode &code);
  /// Whether such code that took `compiled` to make ends before the full code is there.
  bool endsEarlier(double seconds, absl::Duration compiled) const;
  /// Whether that can be, however long the compile takes.
  bool mayEndEarlier(double seconds) const;
};

/// The full code of a variant on its way, each unit in a worker of its own. One thread at a time.
class RunningCode {
public:
  /// Of `known` the units that are `cold` (SessionState::findCode). Null where they would wait for each other, where there is no worker, or
  /// where none is cold.
  static absl::StatusOr<std::unique_ptr<RunningCode>> start(SessionState &session, VariantCode known, const std::vector<size_t> &cold,
                                                            absl::string_view target, absl::string_view programName);
  /// Whether take() has an answer; waits at most so long.
  bool isReady(absl::Duration atMost = absl::ZeroDuration());
  /// The code, once; it is in the disk cache then.
  absl::StatusOr<VariantCode> take();
  /// The same units, those with products made fast; not in the disk cache. An error where the full code is there before.
  absl::StatusOr<VariantCode> compileFast(const FastWay &way);
  /// The units, those that the cache had with their cubins.
  const VariantCode &code() const { return code_; }

private:
  RunningCode(SessionState &session, std::string target, std::string programName)
      : session_(session), target_(std::move(target)), programName_(std::move(programName)) {}
  SessionState &session_;
  std::string target_, programName_;
  VariantCode code_;
  std::vector<std::pair<size_t, std::unique_ptr<RunningCompile>>> running_; ///< by unit
};

/// Whether NVRTC is done with these units much sooner when it makes them fast: products of CUDA cores. Of texts for matrix
/// units, norms and the like it is not.
bool isWorthFastCode(const VariantCode &code);

} // namespace kernelc
