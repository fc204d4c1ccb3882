// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `kernelc tune --fit`: how far the planner's times (passes/plan/LaunchTime.h) are from measured ones, and by what its coefficients
// would have to be multiplied. Reads what `tune --records` wrote; knows no kernel and no device.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kernelc {

/// A measured kernel: its launches' terms in microseconds by name, as `termsOf` names them.
struct CostSample {
  std::string group; ///< of one kernel and its sizes: on one side of the split
  double us = 0;     ///< measured
  std::vector<std::vector<std::pair<std::string, double>>> launches;
};

/// Lines of JSON of `tune --records`; those without terms or a time are left out. `name`: for messages.
absl::StatusOr<std::vector<CostSample>> readSamples(absl::string_view text, absl::string_view name);

struct CostFit {
  std::vector<std::pair<std::string, double>> factors; ///< by which each term's time is to be multiplied
  size_t fitted = 0, heldOut = 0;                      ///< samples of each side
  /// Medians of |model / measured - 1| on the samples that were held out, as the coefficients are and with the factors.
  double before = 0, after = 0;
};

/// Every second group of samples is held out; the factors make the mean of |log(model / measured)| on the others least. InvalidArgument
/// where a side has no samples.
absl::StatusOr<CostFit> fitCosts(const std::vector<CostSample> &samples);

/// The time of a sample's launches by the model, with these factors.
double modelTime(const CostSample &sample, const std::vector<std::pair<std::string, double>> &factors);

} // namespace kernelc
