// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an architecture's arithmetic units do at best: the flat part of a roofline.
// For judging measured times; no pass reads it, and nothing here knows a clock.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace kernelc {

/// Multiply-adds that one multiprocessor finishes per clock.
struct TargetRates {
  const char *name; ///< of the Target
  int f32;          ///< on CUDA cores
  int int32;        ///< of integers, on CUDA cores
  int matrix16;     ///< dense f16 and bf16 with f32 accumulators, on the matrix units; tf32 is half of that where there is tf32
};

/// The rates of the target with that name, or nothing.
const TargetRates *findTargetRates(absl::string_view target);
absl::Span<const TargetRates> allTargetRates();

} // namespace kernelc
