// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel of one variant as the disk cache keeps it, so that a hit neither takes quotes off its CUDA text nor cuts that into compile
// units: the units' names, the text as it is, and the rest as an artifact. Internal to the driver.
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "support/Artifact.h"

namespace kernelc {

/// Names the variant's compile units (Variant::units).
void nameUnits(Variant &variant);

/// The bytes of `kernel`, which has one variant.
absl::StatusOr<std::string> keptOf(Kernel kernel);
/// The kernel of such bytes; nothing where a build that thought otherwise has written them.
std::optional<Kernel> readKept(absl::string_view kept);

} // namespace kernelc
