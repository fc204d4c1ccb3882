// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What te-factor-sums weighs steps of a sum by, the same for all targets.
#pragma once

#include <cstdint>

namespace kernelc::te {

constexpr int64_t kUnknown = 1024;     // what a size counts as of which nothing is known
constexpr double kElement = 16;        // an element of a partial sum, written and read, in multiply-adds
constexpr double kStatement = 1 << 22; // another launch, in multiply-adds
constexpr double kWorthwhile = 2;      // how much less the steps must be

} // namespace kernelc::te
