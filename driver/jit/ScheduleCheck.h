// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedules where nothing is scheduled: the CPU device runs a kernel without a plan, and a
// program's schedule text is still read there as a GPU would.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "driver/compile/Program.h"
#include "runtime/LaunchCheck.h"
#include "support/Artifact.h"

namespace kernelc {

/// Whether the records of the program's schedule name launches, indices, keys and values that kernel
/// `signature` has for these arguments: it is planned for each target that a record names, and for
/// `target` where one names none. OkStatus where the program has no schedule. Thread-safe.
absl::Status checkSchedule(Program &program, const Kernel &signature, const std::string &target, const CheckedArgs &args);

} // namespace kernelc
