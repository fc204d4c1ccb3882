// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NumPy's .npy files, versions 1.0 to 3.0. Reads little and big endian, C and
// Fortran order; writes little endian C order.
//
// Types that NumPy lacks: bf16 and the f8 types are ml_dtypes' void types ('|V2', '|V1') when
// written; raw '<u2' and '|u1', and ml_dtypes' '<f1' for f8e5m2, are read as well. i4 and u4 take a
// byte an element in the file ('|i1', '|u1'; ml_dtypes' '|V1' is read too). Any other type is read as
// itself alone: no bits are reinterpreted, no value is converted.
#pragma once

#include <optional>
#include <string>

#include "support/OwnedTensor.h"

namespace kernelc {

/// `type`: what the caller needs; settles what the file leaves open (void and raw
/// types) and is an error where the file says otherwise, which names both types and a way out.
/// Without it a '|V2' is bf16 and a '|V1' an error. Headers are not trusted: nothing is allocated
/// before the file was found to hold as much data.
absl::StatusOr<OwnedTensor> readNpy(const std::string &path, std::optional<ElementType> type = std::nullopt);

/// Any strides. Replaces the file atomically.
absl::Status writeNpy(const std::string &path, const TensorView &tensor);

} // namespace kernelc
