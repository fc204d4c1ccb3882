// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Constant.h"

#include <charconv>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace kernelc {

std::string toString(const Constant &constant) {
  if (const int64_t *i = std::get_if<int64_t>(&constant))
    return absl::StrCat(*i);
  if (const uint64_t *u = std::get_if<uint64_t>(&constant))
    return absl::StrCat(*u);
  char buffer[32];
  double d = std::get<double>(constant);
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof(buffer), d).ptr); // shortest that reads back
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

absl::StatusOr<Constant> parseConstant(absl::string_view text) {
  int64_t i = 0;
  uint64_t u = 0;
  double d = 0;
  if (absl::EqualsIgnoreCase(text, "true"))
    return Constant(int64_t(1));
  if (absl::EqualsIgnoreCase(text, "false"))
    return Constant(int64_t(0));
  if (absl::SimpleAtoi(text, &i))
    return Constant(i);
  if (absl::SimpleAtoi(text, &u))
    return Constant(u);
  if (!absl::SimpleAtod(text, &d))
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is no number (as 1024 or 1e-5) and neither True nor False"));
  if (std::isinf(d) && text.find_first_of("0123456789") != absl::string_view::npos)
    return absl::InvalidArgumentError("the number is too large");
  return Constant(d);
}

} // namespace kernelc
