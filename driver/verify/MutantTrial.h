// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The mutants of a kernel where nobody says sizes: the dense variant with small tiles and short rings, which small sizes fill,
// on several sets of arguments.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "driver/compile/Program.h"
#include "emulator/Mutate.h"

namespace kernelc {

/// Unimplemented where the kernel does not compile for `target`; FailedPrecondition where no small sizes are legal.
absl::StatusOr<emulator::MutationScore> measureKernelMutants(Program &program, const Kernel &signature, const std::string &target,
                                                             const std::function<void(const emulator::Mutant &)> &judged = {},
                                                             size_t jobs = 1);

} // namespace kernelc
