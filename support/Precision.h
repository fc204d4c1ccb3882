// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A precision policy: what a caller allows the compiler to do to the operands of
// contractions. Plain data and its spelling; te-precision-cast carries it out.
//
// Spelling, in a kernel `precision(contract = tf32, accumulate = f32)` or
// `tolerance(rel = 1e-3)`, on a command line `contract=tf32` or `rel=1e-3`.
//
// `accumulate = fast` lets a matrix unit keep the sums of products in accumulators of its own
// that have fewer bits than f32 (f8 on sm_89 and later: about 14), however long the sum.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kernelc {

struct PrecisionPolicy {
  std::string contract;        ///< tf32, bf16, f16, f8e4m3, f8e5m2, bf16x3 or tf32x3; empty: none named
  double tolerance = 0;        ///< the relative error to allow; 0: none named
  bool fastAccumulate = false; ///< accumulate = fast

  bool empty() const { return contract.empty() && tolerance == 0 && !fastAccumulate; }
  /// "contract = tf32", "contract = f8e4m3, accumulate = fast" or "tolerance rel = 0.001"; empty without a policy.
  std::string toString() const;
};

/// Sets one key (contract, accumulate, rel). InvalidArgument where the key or value
/// is none, Unimplemented where it is one that kernelc does not have yet; the
/// message says what there is. A policy names types or a tolerance, not both.
absl::Status setPrecision(PrecisionPolicy &policy, absl::string_view key, absl::string_view value);

/// "contract=tf32,accumulate=f32" or "rel=1e-3" on top of `policy`.
absl::Status addPrecision(PrecisionPolicy &policy, absl::string_view text);

} // namespace kernelc
