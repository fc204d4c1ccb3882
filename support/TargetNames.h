// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What to say of an architecture that no table has.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace kernelc {

/// "; did you mean 'sm_90a'?", by the number in `name` or by its letters; "" where no target is near.
std::string suggestTarget(absl::string_view name);

/// "unknown architecture 'sm_90'; did you mean 'sm_90a'? known are ..".
std::string describeUnknownTarget(absl::string_view name);

} // namespace kernelc
