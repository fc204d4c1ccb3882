// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver/jit/Place.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "support/Spelling.h"

namespace kernelc {

absl::StatusOr<Place> parsePlace(absl::string_view text) {
  if (text == "cpu")
    return Place{Place::Cpu};
  if (text == "emulator")
    return Place{Place::Emulator};
  if (text == "cuda")
    return Place{Place::Cuda};
  int ordinal = 0;
  if (absl::StartsWith(text, "cuda:") && absl::SimpleAtoi(text.substr(5), &ordinal) && ordinal >= 0)
    return Place{Place::Cuda, ordinal};
  if (absl::SimpleAtoi(text, &ordinal) && ordinal >= 0)
    return absl::InvalidArgumentError(absl::StrCat("unknown device '", text, "'; did you mean 'cuda:", ordinal, "'?"));
  std::string near = text == "gpu" || text == "GPU" || text == "nvidia" ? "cuda" : findNearest(text, {"auto", "cpu", "emulator", "cuda"});
  return absl::InvalidArgumentError(absl::StrCat("unknown device '", text, "'; ",
                                                 near.empty() ? "devices" : absl::StrCat("did you mean '", near, "'? Devices"),
                                                 " are auto, cpu, emulator, cuda and cuda:N"));
}

std::string toString(const Place &place) {
  switch (place.kind) {
  case Place::Cpu: return "cpu";
  case Place::Emulator: return "emulator";
  case Place::Cuda: return absl::StrCat("cuda:", place.ordinal);
  }
  return "";
}

} // namespace kernelc
