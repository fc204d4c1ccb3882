// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The disk cache's keys for what is made from a program, and the parts of them that people read. Internal to the driver.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "driver/compile/Compiler.h"
#include "driver/compile/Program.h"
#include "runtime/DiskCache.h"

namespace kernelc {

/// The key for something made from a program; `what` says what.
CacheKey requestKey(const Program &program, absl::string_view what, absl::string_view target);
/// The key of a variant of a program's kernel; `tunedSchedule`: the text of the tuned schedule that it is compiled by, or "".
CacheKey variantKey(const Program &program, const Kernel &signature, const VariantOptions &options, absl::string_view tunedSchedule);

/// `options` as one line: part of keys, and a name for people.
std::string describeOptions(const VariantOptions &options);
/// The sizes that tiles are chosen for, which a variant need not have: part of keys alone.
std::string describeLikely(const VariantOptions &options);
/// Of `describeOptions` what is assumed of parameters.
std::string describeParams(const VariantOptions &options);

} // namespace kernelc
