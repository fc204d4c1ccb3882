// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an architecture's units do at best: the flat part of a roofline, and what a launch's time is reckoned by (LaunchTime.h).
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace kernelc {

/// What one multiprocessor finishes per clock.
struct TargetRates {
  const char *name; ///< of the Target
  int f32;          ///< multiply-adds on CUDA cores
  int int32;        ///< of integers, on CUDA cores
  int matrix16;     ///< dense f16 and bf16 with f32 accumulators, on the matrix units; tf32 is half of that where there is tf32
  int special;      ///< exponentials, roots and quotients of f32
  int shared;       ///< bytes of shared memory
  int clock;        ///< MHz of a known part
  double l2;        ///< bytes of the second-level cache in a microsecond, of the whole part
};

/// The rates of the target with that name, or nothing.
const TargetRates *findTargetRates(absl::string_view target);
absl::Span<const TargetRates> allTargetRates();

} // namespace kernelc
