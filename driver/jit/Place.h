// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where a kernel runs, as `--device` spells it. Plain data.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kernelc {

struct Place {
  enum Kind { Cpu, Emulator, Cuda };
  Kind kind = Cpu;
  int ordinal = 0; ///< of a CUDA device
  friend bool operator==(const Place &, const Place &) = default;
};

/// "cpu", "emulator", "cuda" or "cuda:N".
absl::StatusOr<Place> parsePlace(absl::string_view text);
std::string toString(const Place &place);

} // namespace kernelc
