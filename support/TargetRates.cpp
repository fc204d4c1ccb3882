// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/TargetRates.h"

namespace kernelc {
namespace {
constexpr TargetRates kRates[] = {
#include "support/targets/rates.inc"
};
} // namespace

absl::Span<const TargetRates> allTargetRates() { return kRates; }

const TargetRates *findTargetRates(absl::string_view target) {
  for (const TargetRates &r : kRates)
    if (target == r.name)
      return &r;
  return nullptr;
}

} // namespace kernelc
