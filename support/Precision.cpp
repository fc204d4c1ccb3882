// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Precision.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace kernelc {
namespace {

absl::Status setContract(PrecisionPolicy &policy, absl::string_view value) {
  if (!policy.contract.empty() && policy.contract != value)
    return absl::InvalidArgumentError(absl::StrCat("contract is given twice: ", policy.contract, " and ", value));
  for (absl::string_view known : {"tf32", "bf16", "f16", "f8e4m3", "f8e5m2", "bf16x3", "tf32x3"})
    if (value == known) {
      policy.contract = std::string(value);
      return absl::OkStatus();
    }
  return absl::InvalidArgumentError(absl::StrCat("contract takes tf32, bf16, f16, f8e4m3, f8e5m2, bf16x3 or tf32x3, not '", value, "'"));
}

absl::Status setAccumulate(PrecisionPolicy &policy, absl::string_view value) {
  if (value != "f32" && value != "fast")
    return absl::InvalidArgumentError(absl::StrCat("accumulate takes f32 or fast, not '", value, "'"));
  policy.fastAccumulate = value == "fast";
  return absl::OkStatus();
}

absl::Status setTolerance(PrecisionPolicy &policy, absl::string_view value) {
  double rel = 0;
  if (!absl::SimpleAtod(value, &rel) || !(rel > 0 && rel < 1))
    return absl::InvalidArgumentError(absl::StrCat("rel takes a number between 0 and 1, such as 1e-3, not '", value, "'"));
  if (policy.tolerance != 0 && policy.tolerance != rel)
    return absl::InvalidArgumentError("rel is given twice");
  policy.tolerance = rel;
  return absl::OkStatus();
}

} // namespace

std::string PrecisionPolicy::toString() const {
  std::string types = contract.empty() ? "" : absl::StrCat("contract = ", contract);
  if (fastAccumulate)
    absl::StrAppend(&types, types.empty() ? "" : ", ", "accumulate = fast");
  return tolerance != 0 ? absl::StrCat("tolerance rel = ", tolerance) : types;
}

absl::Status setPrecision(PrecisionPolicy &policy, absl::string_view key, absl::string_view value) {
  absl::Status s;
  if (key == "contract")
    s = setContract(policy, value);
  else if (key == "rel")
    s = setTolerance(policy, value);
  else if (key == "accumulate")
    s = setAccumulate(policy, value);
  else
    s = absl::InvalidArgumentError(absl::StrCat("a precision policy has contract, accumulate and rel, not '", key, "'"));
  if (s.ok() && (!policy.contract.empty() || policy.fastAccumulate) && policy.tolerance != 0)
    return absl::InvalidArgumentError("a precision policy names types or a tolerance, not both");
  return s;
}

absl::Status addPrecision(PrecisionPolicy &policy, absl::string_view text) {
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(part, absl::MaxSplits('=', 1));
    absl::string_view key = absl::StripAsciiWhitespace(pair.first), value = absl::StripAsciiWhitespace(pair.second);
    if (key.empty() || value.empty())
      return absl::InvalidArgumentError(absl::StrCat("'", part, "': expected KEY=VALUE, as in contract=tf32"));
    if (absl::Status s = setPrecision(policy, key, value); !s.ok())
      return s;
  }
  return absl::OkStatus();
}

} // namespace kernelc
