// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/tune/CostFit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "support/Json.h"

namespace kernelc {
namespace {

/// Terms that stand before and behind what units do; of the others the largest counts.
bool isBeside(absl::string_view term) { return term == "fill" || term == "drain" || term == "start"; }

using Factors = std::vector<std::pair<std::string, double>>;

double factorOf(const Factors &factors, absl::string_view term) {
  auto found = std::find_if(factors.begin(), factors.end(), [&](const auto &f) { return f.first == term; });
  return found == factors.end() ? 1 : found->second;
}

double meanLogError(const std::vector<const CostSample *> &samples, const Factors &factors) {
  double sum = 0;
  for (const CostSample *s : samples)
    sum += std::abs(std::log(modelTime(*s, factors) / s->us));
  return sum / double(samples.size());
}

double medianError(const std::vector<const CostSample *> &samples, const Factors &factors) {
  std::vector<double> errors;
  for (const CostSample *s : samples)
    errors.push_back(std::abs(modelTime(*s, factors) / s->us - 1));
  std::nth_element(errors.begin(), errors.begin() + errors.size() / 2, errors.end());
  return errors[errors.size() / 2];
}

double numberOf(const Json &value) { return value.asDouble() ? *value.asDouble() : value.asInt() ? double(*value.asInt()) : 0; }

} // namespace

double modelTime(const CostSample &sample, const Factors &factors) {
  double time = 0;
  for (const auto &launch : sample.launches) {
    double busy = 0;
    for (const auto &[term, us] : launch) {
      double own = us * factorOf(factors, term);
      if (isBeside(term))
        time += own;
      else
        busy = std::max(busy, own);
    }
    time += busy;
  }
  return time;
}

absl::StatusOr<std::vector<CostSample>> readSamples(absl::string_view text, absl::string_view name) {
  std::vector<CostSample> samples;
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty())
      continue;
    absl::StatusOr<Json> record = parseJson(line);
    if (!record.ok())
      return absl::InvalidArgumentError(absl::StrCat(name, ":", number, ": is no record of kernelc tune: ", record.status().message()));
    const Json *median = record->find("median_us"), *launches = record->find("launches");
    if (!median || !launches || !launches->asArray() || launches->asArray()->empty())
      continue;
    CostSample s;
    s.us = numberOf(*median);
    for (const char *key : {"text", "kernel", "target", "sizes"})
      if (const Json *part = record->find(key))
        absl::StrAppend(&s.group, printJson(*part).value_or(""), " ");
    for (const Json &launch : *launches->asArray()) {
      s.launches.emplace_back();
      if (launch.asObject())
        for (const auto &[term, us] : *launch.asObject())
          s.launches.back().push_back({term, numberOf(us)});
    }
    if (s.us > 0 && modelTime(s, {}) > 0)
      samples.push_back(std::move(s));
  }
  return samples;
}

absl::StatusOr<CostFit> fitCosts(const std::vector<CostSample> &samples) {
  std::map<std::string, bool> isHeldOut; // by group, in an order that does not depend on the file's
  for (const CostSample &s : samples)
    isHeldOut[s.group] = false;
  bool out = false;
  for (auto &[group, held] : isHeldOut)
    held = std::exchange(out, !out);
  std::vector<const CostSample *> fitted, heldOut;
  std::set<std::string> terms;
  for (const CostSample &s : samples) {
    (isHeldOut[s.group] ? heldOut : fitted).push_back(&s);
    for (const auto &launch : s.launches)
      for (const auto &[term, us] : launch)
        terms.insert(term);
  }
  if (fitted.empty() || heldOut.empty())
    return absl::InvalidArgumentError("a fit takes records of two kernels or sizes at least, with times and terms");
  CostFit fit;
  for (const std::string &term : terms)
    fit.factors.push_back({term, 1});
  double least = meanLogError(fitted, fit.factors);
  // One factor after the other, in shorter and shorter steps.
  for (double step : {1.5, 1.2, 1.08, 1.03, 1.01})
    for (bool better = true; better;) {
      better = false;
      for (auto &[term, factor] : fit.factors)
        for (double times : {step, 1 / step}) {
          double before = factor;
          factor *= times;
          double error = meanLogError(fitted, fit.factors);
          if (error < least * (1 - 1e-6)) {
            least = error;
            better = true;
          } else {
            factor = before;
          }
        }
    }
  fit.fitted = fitted.size();
  fit.heldOut = heldOut.size();
  fit.before = medianError(heldOut, {});
  fit.after = medianError(heldOut, fit.factors);
  return fit;
}

} // namespace kernelc
