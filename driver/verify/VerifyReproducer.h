// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The least that shows how a pass changes the meaning: the module before it, the pass
// with its options, sizes, a seed. Replayed by kernelc-opt --verify-semantics.
// Internal to the driver and the tools.
#pragma once

#include <string>

#include "driver/verify/PassVerifier.h"

namespace kernelc {

/// The text of an MLIR file whose first line is the command (a RUN line of lit). Reduced are:
/// the other kernels, the sizes, and, where the module is te alone, outputs, statements and
/// the ops of their bodies; each step only if the pass still changes the meaning with random
/// inputs. Where it does not even before that (other inputs are needed, or the pass has no
/// name that can be parsed), the file holds the module as it was and says so.
std::string buildVerifyReproducer(PassFailure &failure, const Kernel &signature, bool runCu);

} // namespace kernelc
