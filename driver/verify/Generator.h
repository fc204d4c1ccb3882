// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Made-up data as the command line and the C interface name it:
//   zeros   ones   iota   random[:SEED][:LO..HI][:specials]
// Floats of `random` are uniform in [-1, 1) and integers small, or both uniform in [LO, HI). With `specials` a few floats are
// NaN, inf and -inf.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "support/TensorView.h"

namespace kernelc {

struct Generator {
  enum Kind { Zeros, Ones, Iota, Random } kind = Random;
  std::optional<uint64_t> seed; ///< as the text has it
  struct Range {
    double low, high; ///< finite, low < high
  };
  std::optional<Range> range;
  bool specials = false;
};

/// Whether `text` means a generator and no file or number.
bool namesGenerator(absl::string_view text);
/// InvalidArgument says what is wrong with a text that names one, and what is right.
absl::StatusOr<Generator> parseGenerator(absl::string_view text);
/// Fills a dense tensor in host memory. `seed` stands for one that the generator lacks. InvalidArgument
/// where the tensor's type has no value in the range.
absl::Status fillFrom(const Generator &generator, const TensorView &tensor, uint64_t seed);

} // namespace kernelc
