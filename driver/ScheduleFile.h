// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Schedule files: JSON records, put on the kernels they are for.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "mlir/IR/BuiltinOps.h"

namespace kernelc {

/// Reads `text`, a JSON list of records
///   {"kernel": "linear", "launch": "y", "target": "sm_90a", "tiles": {"i": 128}, ..}
/// and puts each on its kernel's `schedule` attribute, where te-plan finds it (see
/// passes/te/Schedule.h for the keys). `target` may be left out: any. `launch` is left out where a record is about the whole kernel:
/// {"kernel": "linear", "copies": "never"}. `fileName` goes into messages. InvalidArgument for what is no such list or names no known target; a kernel that the
/// module does not have is NotFound, unless the module holds `onlyKernel` alone.
absl::Status attachSchedules(mlir::ModuleOp module, const std::string &text, const std::string &fileName,
                             const std::string &onlyKernel);

} // namespace kernelc
