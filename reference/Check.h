// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares what a device computed with the f64 oracle and its error bounds. Runs
// the oracle; runs no device.
//
// An element passes when |device - f64| <= bound; where the oracle is surely infinite or
// NaN (SpecialErrors.h) the device must be the same infinity, or NaN; integers must be equal
// unless the oracle says that rounding may move them. Elements whose bound is infinite are
// counted as unchecked, not as passed; an output of nothing else was not checked.
//
// A matrix unit may let an infinity or NaN through that a condition excludes from a sum (docs/language.md, Precision).
// Where the device has a NaN that the oracle has not, a second oracle that lets all of those through (te-admit-excluded)
// says whether this may be one; such elements are counted as admitted, neither passed nor failed.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "reference/Reference.h"

namespace kernelc::reference {

/// One element, as `check` reports it.
struct CheckedElement {
  std::vector<int64_t> index;
  double device = 0, expected = 0, error = 0, bound = 0;
};

struct OutputCheck {
  std::string name;
  int64_t total = 0;    ///< elements of the output
  int64_t elements = 0; ///< of them compared
  int64_t failures = 0, unchecked = 0;
  int64_t admitted = 0;    ///< NaN of excluded terms that a matrix unit may let through
  int64_t special = 0;     ///< of the bounded ones those where the oracle is infinite or NaN
  double largestBound = 0; ///< of all finite ones
  CheckedElement largest;  ///< of all bounded elements the largest |device - f64|
  CheckedElement worst;    ///< the largest error in terms of its bound; the first failure when there is one
  /// Elements that passed or failed.
  int64_t numJudged() const { return elements - unchecked - admitted; }
  /// It has elements, and none of them was judged.
  bool isUnbounded() const { return elements > 0 && numJudged() == 0; }
  bool passed() const { return failures == 0 && !isUnbounded(); }
  /// "y: ok, 4096 elements, largest error 1.2e-07 (bound 3.1e-07) at [3, 5]"
  std::string toString() const;
};

struct CheckOptions {
  /// Scalar operations of the oracle above which samples are compared: boxes at the
  /// corners, across multiples of 64 to 256, and at random.
  double maxWork = 2e10;
  uint64_t seed = 1;
  /// The oracle that lets excluded infinities and NaN through (F64), asked for when it is needed; null: nothing is admitted.
  std::function<absl::StatusOr<std::shared_ptr<const ReferenceKernel>>()> admitting;
};

struct CheckReport {
  std::vector<OutputCheck> outputs;
  bool failed() const;      ///< an output differs
  int numUnbounded() const; ///< outputs without a bound
  bool passed() const { return !failed() && numUnbounded() == 0; }
  std::string toString() const; ///< a line per output
};

/// Compares one output. `device` has the program's type, `expected` f64 (or the
/// integer type), `bound` f64, `admitting`, if given, as `expected`; shapes agree.
absl::StatusOr<OutputCheck> checkOutput(const std::string &name, const TensorView &device, const TensorView &expected,
                                        const TensorView &bound, const TensorView *admitting = nullptr);

/// Runs `oracle` (compiled with F64WithError) on `args`, the inputs as the device
/// saw them before it updated any, and compares `outs`, what the device gave.
absl::StatusOr<CheckReport> checkOutputs(const ReferenceKernel &oracle, absl::Span<const int64_t> sizes, absl::Span<const TensorView> args,
                                         absl::Span<const TensorView> outs, ThreadPool *pool = nullptr, const CheckOptions &options = {});

} // namespace kernelc::reference
