// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What te-factor-sums weighs steps of a sum by.
#pragma once

#include "support/Target.h"
#include "support/TargetCosts.h"

namespace kernelc::te {

inline const FactorCosts &factorCosts() { return kMeasuredCosts.factors; }

} // namespace kernelc::te
