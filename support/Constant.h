// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a size or a `const` parameter is fixed to from outside. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kernelc {

/// True and False are 1 and 0; a uint64_t is 2^63 or more.
using Constant = std::variant<int64_t, double, uint64_t>;
using Constants = std::map<std::string, Constant>;

/// "64", "2.5", "1e-05", "2.0": two have one text only when they are the same.
std::string toString(const Constant &constant);
/// The constant that `text` spells (an integer, a float, True or False); InvalidArgument
/// when it spells none.
absl::StatusOr<Constant> parseConstant(absl::string_view text);

} // namespace kernelc
