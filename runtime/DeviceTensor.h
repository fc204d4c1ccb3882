// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a caller passes to a kernel: strided tensors on a device, not owned, and
// scalars. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "support/ElementType.h"

namespace kernelc {

struct DeviceTensor {
  void *data = nullptr; ///< device address of element [0, ..., 0]; null only without elements
  ElementType type = ElementType::f32;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides; ///< in elements, any sign; 0 broadcasts (inputs only)
  int device = 0;               ///< CUDA ordinal
};

/// A scalar in the bit pattern of its own type, in the low bits.
struct ScalarValue {
  ElementType type = ElementType::f32;
  uint64_t bits = 0;

  /// Floats round to nearest even; OutOfRange for an integer that does not fit and a finite number beyond the type's largest.
  static absl::StatusOr<ScalarValue> fromDouble(ElementType type, double value);
  static absl::StatusOr<ScalarValue> fromInt(ElementType type, int64_t value);
  static absl::StatusOr<ScalarValue> fromUnsigned(ElementType type, uint64_t value);
};

/// One argument, in the order of Kernel::params.
using LaunchValue = std::variant<DeviceTensor, ScalarValue>;
/// Sizes given by name: {"N", 1024}.
using NamedSize = std::pair<std::string, int64_t>;

/// True when an element of `a` and one of `b` share a byte (a bit, for 4-bit
/// types). Exact for strides met in practice; when the search gets long it says
/// true. Spans must fit into 2^62 bits (LaunchCheck makes sure).
bool mayOverlap(const DeviceTensor &a, const DeviceTensor &b);
/// The same for two different elements of `t`.
bool mayOverlapItself(const DeviceTensor &t);

} // namespace kernelc
